"""The gRPC services: collections, aliases, strict mode, keys, and the points of a collection."""
import re
import shutil
import tempfile
import threading
import time

import grpc

import filters
from collection import Collection
from errors import ServerError, argument, bad_input, invalid, not_found, status_of
from stubs import pb

NAME = re.compile(r'[^<>:"/\\|?*\0\x1f]{1,255}')


def rpc(method):
    """Makes a method of the server one of a service: it checks the key, times the call and turns exceptions into codes."""

    def call(server, request, context):
        server.authorize(context)
        began = time.perf_counter()
        try:
            response = method(server, request)
        except BaseException as error:  # also the panics of the engine, which are no Exception
            context.abort(*status_of(error))
        if "time" in response.DESCRIPTOR.fields_by_name:
            response.time = time.perf_counter() - began
        return response

    return call


def writing(method):
    def call(server, request):
        getattr(server.collection(request.collection_name), method)(request)
        status = pb.UpdateStatus.Completed if request.wait else pb.UpdateStatus.Acknowledged
        return pb.PointsOperationResponse(result=pb.UpdateResult(operation_id=server.operation(), status=status))

    return rpc(call)


def asks_exactly(request):
    fields = request.DESCRIPTOR.fields_by_name
    if "exact" in fields:
        return request.exact or request.DESCRIPTOR.name == "CountPoints" and not request.HasField("exact")
    return "params" in fields and (request.params.exact or any(asks_exactly(p) for p in request.prefetch))


class Server:
    """What the services share. api_key, where it is set, is what every call but the health check must bring."""

    def __init__(self, wire, version, api_key):
        self.wire, self.version, self.api_key = wire, version, api_key
        self.collections, self.aliases, self.operations = {}, {}, 0
        self.lock, self.root = threading.RLock(), tempfile.mkdtemp(prefix="qdrant-engine-")

    def close(self):
        with self.lock:
            for collection in self.collections.values():
                collection.close()
            shutil.rmtree(self.root, ignore_errors=True)

    def authorize(self, context):
        if not self.api_key:
            return
        metadata = dict(context.invocation_metadata())
        if metadata.get("api-key") == self.api_key or metadata.get("authorization") == "Bearer " + self.api_key:
            return
        if "api-key" in metadata or "authorization" in metadata:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "Invalid API key or JWT")
        context.abort(grpc.StatusCode.UNAUTHENTICATED, "Must provide an API key or an Authorization bearer token")

    def operation(self):
        with self.lock:
            self.operations += 1
            return self.operations

    def collection(self, name):
        with self.lock:
            name = self.aliases.get(name, name)
            if name not in self.collections:
                raise not_found("Collection `%s` doesn't exist!" % name)
            return self.collections[name]

    def readable(self, request):
        """The collection of a request that strict mode lets through."""
        collection = self.collection(request.collection_name)
        strict = collection.request.strict_mode_config
        if not strict.enabled:
            return collection
        if strict.HasField("max_query_limit") and "limit" in request.DESCRIPTOR.fields_by_name and (request.limit or 10) > strict.max_query_limit:
            most = strict.max_query_limit
            raise argument(
                'Bad request: Limit exceeded %d > %d for "limit". Help: Reduce the "limit" parameter to or below %d.' % (request.limit, most, most)
            )
        if strict.HasField("search_allow_exact") and not strict.search_allow_exact and asks_exactly(request):
            raise argument("Bad request: Exact search disabled!. Help: Set exact=false.")
        if strict.HasField("unindexed_filtering_retrieve") and not strict.unindexed_filtering_retrieve:
            for key in filters.keys(request):
                if key not in collection.indexes:
                    raise argument(
                        'Bad request: Index required but not found for "%s". Help: Create an index for this key or use a different filter.' % key
                    )
        return collection

    @rpc
    def create(self, r):
        name, dense = r.collection_name, r.vectors_config
        if not NAME.fullmatch(name):
            raise invalid("collection_name: invalid")
        for p in [dense.params] if dense.WhichOneof("config") == "params" else list(dense.params_map.map.values()):
            if not 1 <= p.size <= 65536:
                raise invalid("vectors_config.config.size: value %d invalid, must be from 1 to 65536" % p.size)
            if p.distance == 0:
                raise argument("Malformed distance: UnknownDistance")
        with self.lock:
            if name in self.collections:
                raise ServerError(grpc.StatusCode.ALREADY_EXISTS, "Wrong input: Collection `%s` already exists!" % name)
            self.collections[name] = Collection(r, tempfile.mkdtemp(dir=self.root), self.wire)
        return pb.CollectionOperationResponse(result=True)

    @rpc
    def update(self, r):
        kept = self.collection(r.collection_name).request
        for key, value in r.metadata.items():
            kept.metadata[key].CopyFrom(value)
        return pb.CollectionOperationResponse(result=True)

    @rpc
    def drop(self, r):
        with self.lock:
            collection = self.collections.pop(r.collection_name, None)
            self.aliases = {alias: name for alias, name in self.aliases.items() if name != r.collection_name}
        if collection:
            collection.close()
        return pb.CollectionOperationResponse(result=collection is not None)

    @rpc
    def update_aliases(self, r):
        with self.lock:
            for action in r.actions:
                kind = action.WhichOneof("action")
                change = getattr(action, kind)
                if kind == "create_alias":
                    if change.collection_name not in self.collections:
                        raise not_found("Collection `%s` doesn't exist!" % change.collection_name)
                    if change.alias_name in self.collections:
                        raise bad_input("Collection `%s` already exists!" % change.alias_name)
                    self.aliases[change.alias_name] = change.collection_name
                elif kind == "delete_alias":
                    self.aliases.pop(change.alias_name, None)
                else:
                    self.aliases[change.new_alias_name] = self.aliases.pop(change.old_alias_name)
        return pb.CollectionOperationResponse(result=True)

    @rpc
    def list_aliases(self, r):
        return pb.ListAliasesResponse(
            aliases=[pb.AliasDescription(alias_name=alias, collection_name=name) for alias, name in sorted(self.aliases.items())]
        )

    @rpc
    def list(self, r):
        return pb.ListCollectionsResponse(collections=[pb.CollectionDescription(name=name) for name in sorted(self.collections)])

    @rpc
    def exists(self, r):
        return pb.CollectionExistsResponse(result=pb.CollectionExists(exists=self.aliases.get(r.collection_name, r.collection_name) in self.collections))

    @rpc
    def info(self, r):
        collection = self.collection(r.collection_name)
        asked = collection.request
        out = pb.CollectionInfo(status=pb.CollectionStatus.Green, optimizer_status=pb.OptimizerStatus(ok=True))
        params = out.config.params
        params.shard_number = asked.shard_number or 1
        params.replication_factor = params.write_consistency_factor = 1
        params.on_disk_payload = asked.on_disk_payload if asked.HasField("on_disk_payload") else True
        params.vectors_config.CopyFrom(asked.vectors_config)
        if asked.HasField("sparse_vectors_config"):
            params.sparse_vectors_config.CopyFrom(asked.sparse_vectors_config)
        out.config.hnsw_config.CopyFrom(pb.HnswConfigDiff(m=16, ef_construct=100, full_scan_threshold=10000, max_indexing_threads=0, on_disk=False))
        out.config.hnsw_config.MergeFrom(asked.hnsw_config)
        out.config.optimizer_config.CopyFrom(
            pb.OptimizersConfigDiff(
                deleted_threshold=0.2, vacuum_min_vector_number=1000, default_segment_number=0, indexing_threshold=10000, flush_interval_sec=5
            )
        )
        out.config.optimizer_config.MergeFrom(asked.optimizers_config)
        out.config.wal_config.CopyFrom(pb.WalConfigDiff(wal_capacity_mb=32, wal_segments_ahead=0))
        for part in ("quantization_config", "strict_mode_config"):
            if asked.HasField(part):
                getattr(out.config, part).CopyFrom(getattr(asked, part))
        for key, value in asked.metadata.items():
            out.config.metadata[key].CopyFrom(value)
        collection.describe(out)
        return pb.GetCollectionInfoResponse(result=out)

    @rpc
    def get(self, r):
        response = pb.GetResponse()
        self.collection(r.collection_name).get(r, response.result)
        return response

    @rpc
    def scroll(self, r):
        return self.readable(r).scroll(r)

    @rpc
    def count(self, r):
        return pb.CountResponse(result=pb.CountResult(count=self.readable(r).count(r)))

    @rpc
    def query(self, r):
        response = pb.QueryResponse()
        self.readable(r).query(r, response.result)
        return response

    @rpc
    def query_batch(self, r):
        response = pb.QueryBatchResponse()
        for i, query in enumerate(r.query_points):
            if not query.collection_name:
                raise invalid('query_points[%d].collection_name: value "" invalid, must be from 1 to 255 characters' % i)
            self.readable(query).query(query, response.result.add().result)
        return response

    @rpc
    def facet(self, r):
        return pb.FacetResponse(hits=self.readable(r).facet(r))

    upsert, delete = writing("upsert"), writing("delete")
    set_payload, update_vectors = writing("set_payload"), writing("update_vectors")
    create_index, delete_index = writing("create_index"), writing("delete_index")


def register(server, grpc_server):
    """Adds the services; a method that is not named here answers UNIMPLEMENTED."""

    class Qdrant(pb.QdrantServicer):
        def HealthCheck(self, request, context):  # without a key, as on a server
            return pb.HealthCheckReply(title="qdrant engine server", version=server.version)

    class Collections(pb.CollectionsServicer):
        List, Get, Create, Update, Delete = server.list, server.info, server.create, server.update, server.drop
        CollectionExists, UpdateAliases, ListAliases = server.exists, server.update_aliases, server.list_aliases

    class Points(pb.PointsServicer):
        Upsert, Delete, Get, Scroll, Count = server.upsert, server.delete, server.get, server.scroll, server.count
        Query, QueryBatch, Facet = server.query, server.query_batch, server.facet
        SetPayload, UpdateVectors = server.set_payload, server.update_vectors
        CreateFieldIndex, DeleteFieldIndex = server.create_index, server.delete_index

    pb.add_QdrantServicer_to_server(Qdrant(), grpc_server)
    pb.add_CollectionsServicer_to_server(Collections(), grpc_server)
    pb.add_PointsServicer_to_server(Points(), grpc_server)
