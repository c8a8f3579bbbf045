"""A collection: one shard of the engine behind the requests and answers of the wire."""
import shutil
import threading

import qdrant_edge as engine

import queries
import vectors
from errors import argument, bad_input, invalid, unimplemented
from filters import from_filter
from stubs import pb
from values import from_id, from_value, into_id, into_value, new_id, optional

INDEXING_THRESHOLD = 10000  # kilobytes, a server's default
HNSW_DEFAULTS = dict(m=16, ef_construct=100, full_scan_threshold=10000)
HNSW_FIELDS = ("m", "ef_construct", "full_scan_threshold", "max_indexing_threads", "on_disk", "payload_m")
OPTIMIZER_FIELDS = ("deleted_threshold", "vacuum_min_vector_number", "default_segment_number", "max_segment_size", "indexing_threshold")
DATATYPES = {
    1: engine.VectorStorageDatatype.Float32,
    2: engine.VectorStorageDatatype.Uint8,
    3: engine.VectorStorageDatatype.Float16,
}
INDEX_TYPES = ("Keyword", "Integer", "Float", "Geo", "Text", "Bool", "Datetime", "Uuid")


def given(message, fields):
    return {field: getattr(message, field) for field in fields if message.HasField(field)}


def hnsw(message):
    return engine.HnswIndexConfig(**{**HNSW_DEFAULTS, **given(message, HNSW_FIELDS)})


def datatype(message):
    return DATATYPES.get(message.datatype) if message.HasField("datatype") else None


def quantization(config):
    kind = config.WhichOneof("quantization")
    if kind == "scalar":
        return engine.ScalarQuantizationConfig(
            type=engine.ScalarType.Int8, quantile=optional(config.scalar, "quantile"), always_ram=optional(config.scalar, "always_ram")
        )
    if kind == "binary":
        return engine.BinaryQuantizationConfig(always_ram=optional(config.binary, "always_ram"))
    raise unimplemented("quantization of kind %s" % kind)


def vector_params(p):
    return engine.EdgeVectorParams(
        size=p.size,
        distance=getattr(engine.Distance, pb.Distance.Name(p.distance)),
        on_disk=optional(p, "on_disk"),
        datatype=datatype(p),
        multivector_config=engine.MultiVectorConfig(engine.MultiVectorComparator.MaxSim) if p.HasField("multivector_config") else None,
        quantization_config=quantization(p.quantization_config) if p.HasField("quantization_config") else None,
        hnsw_config=hnsw(p.hnsw_config) if p.HasField("hnsw_config") else None,
    )


def sparse_params(p):
    return engine.EdgeSparseVectorParams(
        full_scan_threshold=optional(p.index, "full_scan_threshold"),
        on_disk=optional(p.index, "on_disk"),
        datatype=datatype(p.index),
        modifier=engine.Modifier.Idf if p.modifier == pb.Modifier.Idf else None,
    )


def config(request):
    dense = request.vectors_config
    by_name = {"": dense.params} if dense.WhichOneof("config") == "params" else dense.params_map.map
    optimizers = {"indexing_threshold": INDEXING_THRESHOLD, **given(request.optimizers_config, OPTIMIZER_FIELDS)}
    return engine.EdgeConfig(
        vectors={name: vector_params(p) for name, p in by_name.items()},
        sparse_vectors={name: sparse_params(p) for name, p in request.sparse_vectors_config.map.items()},
        hnsw_config=hnsw(request.hnsw_config),
        optimizers=engine.EdgeOptimizersConfig(**optimizers),
        quantization_config=quantization(request.quantization_config) if request.HasField("quantization_config") else None,
        wal_enabled=False,  # nothing outlives the process
    )


def index_schema(request):
    """The engine's schema of a payload index."""
    kind = request.field_index_params.WhichOneof("index_params") if request.HasField("field_index_params") else None
    if kind is None:
        if not request.HasField("field_type"):
            raise argument("field type is missing")
        return getattr(engine.PayloadSchemaType, INDEX_TYPES[request.field_type])
    arguments = {}
    for field, value in getattr(request.field_index_params, kind).ListFields():
        if field.name == "tokenizer":
            arguments["tokenizer"] = getattr(engine.TokenizerType, pb.TokenizerType.Name(value))
        elif field.name == "stopwords":
            languages = {getattr(engine.Language, language.capitalize()) for language in value.languages}
            arguments["stopwords"] = engine.StopwordsSet(languages, set(value.custom))
        elif field.name == "stemmer":
            arguments["stemmer"] = engine.SnowballParams(getattr(engine.SnowballLanguage, value.snowball.language.capitalize()))
        elif field.message_type is None and field.enum_type is None:
            arguments[field.name] = value
        else:
            raise unimplemented("%s of a payload index" % field.name)
    return getattr(engine, kind.split("_")[0].capitalize() + "IndexParams")(**arguments)


class Collection:
    def __init__(self, request, path, wire):
        self.path, self.wire = path, wire
        self.request = pb.CreateCollection()
        self.request.CopyFrom(request)
        self.indexes = {}
        self.lock, self.dirty = threading.RLock(), False
        self.shard = engine.EdgeShard.create(path, config(request))

    def close(self):
        with self.lock:
            self.shard.close()
            shutil.rmtree(self.path, ignore_errors=True)

    def settle(self):
        """Optimizes, as a server does in the background, before the first read after a write."""
        with self.lock:
            if self.dirty:
                self.shard.optimize()
                self.dirty = False

    def write(self, operation):
        with self.lock:
            self.shard.update(operation)
            self.dirty = True

    def upsert(self, r):
        points = [
            engine.Point(
                from_id(p.id),
                vectors.from_point(p.vectors) if p.HasField("vectors") else {},
                {key: from_value(value) for key, value in p.payload.items()},
            )
            for p in r.points
        ]
        self.write(engine.UpdateOperation.upsert_points(points, None, engine.UpdateMode.Upsert))

    def delete(self, r):
        selector = r.points
        if selector.WhichOneof("points_selector_one_of") == "points":
            self.write(engine.UpdateOperation.delete_points([from_id(p) for p in selector.points.ids]))
        else:
            self.write(engine.UpdateOperation.delete_points_by_filter(from_filter(selector.filter)))

    def set_payload(self, r):
        payload = {key: from_value(value) for key, value in r.payload.items()}
        self.write(engine.UpdateOperation.set_payload([from_id(p) for p in r.points_selector.points.ids], payload))

    def update_vectors(self, r):
        updates = [engine.PointVectors(from_id(p.id), vectors.from_point(p.vectors)) for p in r.points]
        self.write(engine.UpdateOperation.update_vectors(updates))

    def create_index(self, r):
        if not r.field_name:
            raise invalid('field_name: value "" invalid, must be at least 1 characters')
        self.write(engine.UpdateOperation.create_field_index(r.field_name, index_schema(r)))
        self.indexes[r.field_name] = r.field_index_params if r.HasField("field_index_params") else None

    def delete_index(self, r):
        self.write(engine.UpdateOperation.delete_field_index(r.field_name))

    def write_point(self, record, out):
        into_id(record.id, out.id)
        for key, value in (record.payload or {}).items():
            into_value(value, out.payload[key])
        if record.order_value is not None:
            setattr(out.order_value, "int" if isinstance(record.order_value, int) else "float", record.order_value)
        if record.vector is not None:
            vectors.into_point(record.vector, self.wire, out.vectors)

    def get(self, r, out):
        self.settle()
        for record in self.shard.retrieve([from_id(p) for p in r.ids], queries.payload_selector(r, False), queries.vector_selector(r)):
            self.write_point(record, out.add())

    def scroll(self, r):
        limit = r.limit if r.HasField("limit") else 10
        ordered = r.HasField("order_by")
        if limit < 1:
            raise invalid("limit: value 0 invalid, must be 1 or larger")
        if ordered and r.HasField("offset"):
            raise bad_input("Cannot use an `offset` when using `order_by`.")
        self.settle()
        request = engine.ScrollRequest(
            offset=from_id(r.offset) if r.HasField("offset") else None,
            limit=limit,
            filter=from_filter(optional(r, "filter")),
            with_payload=queries.payload_selector(r, True),
            with_vector=queries.vector_selector(r),
            order_by=queries.order_by(r.order_by) if ordered else None,
        )
        records, following = self.shard.scroll(request)
        response = pb.ScrollResponse(next_page_offset=None if following is None or ordered else new_id(following))
        for record in records:
            self.write_point(record, response.result.add())
        return response

    def count(self, r):
        self.settle()
        return self.shard.count(engine.CountRequest(r.exact if r.HasField("exact") else True, from_filter(optional(r, "filter"))))

    def query(self, r, out):
        self.settle()
        for record in self.shard.query(queries.build(self.shard, r))[r.offset :]:
            point = out.add(score=record.score, version=record.version)
            self.write_point(record, point)

    def facet(self, r):
        self.settle()
        found = self.shard.facet(engine.FacetRequest(r.key, r.limit if r.HasField("limit") else 10, r.exact, from_filter(optional(r, "filter"))))
        hits = []
        for hit in found.hits:
            kind = {bool: "bool_value", int: "integer_value"}.get(type(hit.value), "string_value")
            hits.append(pb.FacetHit(value=pb.FacetValue(**{kind: hit.value}), count=hit.count))
        return hits

    def describe(self, out):
        """Writes what the engine counts into the CollectionInfo out."""
        self.settle()
        info = self.shard.info()
        out.points_count, out.indexed_vectors_count, out.segments_count = info.points_count, info.indexed_vectors_count, info.segments_count
        for key, schema in info.payload_schema.items():
            entry = out.payload_schema[key]
            entry.data_type = pb.PayloadSchemaType.Value(str(schema.data_type).split(".")[-1])
            entry.points = schema.points
            if self.indexes.get(key) is not None:
                entry.params.CopyFrom(self.indexes[key])
