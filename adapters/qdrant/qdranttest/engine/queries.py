"""Queries from the wire to the engine."""
import qdrant_edge as engine

import vectors
from errors import bad_input, invalid, not_found, unimplemented
from filters import from_filter
from stubs import pb
from values import from_id, optional


def payload_selector(message, default):
    selector = optional(message, "with_payload")
    kind = selector.WhichOneof("selector_options") if selector is not None else None
    if kind is None:
        return default
    if kind == "enable":
        return selector.enable
    fields = list(getattr(selector, kind).fields)
    return engine.PayloadSelector.Include(fields) if kind == "include" else engine.PayloadSelector.Exclude(fields)


def vector_selector(message):
    selector = optional(message, "with_vectors")
    kind = selector.WhichOneof("selector_options") if selector is not None else None
    if kind is None:
        return False
    return selector.enable if kind == "enable" else list(selector.include.names)


def order_by(order):
    start = order.start_from.WhichOneof("value") if order.HasField("start_from") else None
    value = getattr(order.start_from, start) if start else None
    descending = order.HasField("direction") and order.direction == pb.Direction.Desc
    direction = engine.Direction.Desc if descending else engine.Direction.Asc
    return engine.OrderBy(order.key, direction, value.ToJsonString() if start == "timestamp" else value)


def search_params(message):
    if not message.HasField("params"):
        return None
    p, quantization = message.params, None
    if p.HasField("quantization"):
        q = p.quantization
        quantization = engine.QuantizationSearchParams(ignore=q.ignore, rescore=optional(q, "rescore"), oversampling=optional(q, "oversampling"))
    return engine.SearchParams(hnsw_ef=optional(p, "hnsw_ef"), exact=p.exact, indexed_only=p.indexed_only, quantization=quantization)


def nearest(shard, vector, using, excluded):
    """The engine's vector of a VectorInput. A point that is asked by is not among its own results."""
    if vector.WhichOneof("variant") != "id":
        return vectors.from_query(vector)
    identifier = from_id(vector.id)
    excluded.append(identifier)
    found = shard.retrieve([identifier], False, True)
    if not found:
        raise not_found("No point with id %s found" % identifier)
    stored = found[0].vector
    stored = stored.get(using) if isinstance(stored, dict) else (stored if using == "" else None)
    if stored is None:
        raise bad_input("Not existing vector name error: " + using)
    return stored


def variant(shard, message, excluded):
    if not message.HasField("query"):
        return None
    query, using = message.query, message.using if message.HasField("using") else ""
    kind = query.WhichOneof("variant")
    if kind == "nearest":
        return engine.Query.Nearest(nearest(shard, query.nearest, using, excluded), using)
    if kind == "fusion":
        return engine.Fusion.Rrf(2) if query.fusion == pb.Fusion.RRF else engine.Fusion.Dbsf()
    if kind == "rrf":
        return engine.Fusion.Rrf(query.rrf.k if query.rrf.HasField("k") else 2, list(query.rrf.weights) or None)
    if kind == "order_by":
        return order_by(query.order_by)
    if kind == "sample":
        return engine.Sample.Random
    raise unimplemented("a query of kind %s" % kind)


def build(shard, message, root=True):
    """The engine's form of a QueryPoints or, below the root, of a PrefetchQuery."""
    limit = message.limit if message.HasField("limit") else 10
    if limit < 1:
        raise invalid("%slimit: value 0 invalid, must be 1 or larger" % ("" if root else "prefetch[0]."))
    excluded = []
    query, f = variant(shard, message, excluded), from_filter(optional(message, "filter"))
    if excluded:
        f = engine.Filter(must=[f] if f else None, must_not=[engine.HasIdCondition(set(excluded))])
    arguments = dict(
        limit=limit + (message.offset if root else 0),  # the service skips `offset` hits itself
        query=query,
        prefetches=[build(shard, p, False) for p in message.prefetch],
        params=search_params(message),
        filter=f,
        score_threshold=optional(message, "score_threshold"),
    )
    if not root:
        return engine.Prefetch(**arguments)
    return engine.QueryRequest(with_vector=vector_selector(message), with_payload=payload_selector(message, False), **arguments)
