"""Filters from the wire to the engine."""
import qdrant_edge as engine

from errors import argument
from values import from_id, optional

# qdrant-edge-py 0.9.0 reads MatchValue(True) as the integer 1. Its bindings take a numpy.bool_ for a bool only: pose as one.
NumpyBool = type("bool_", (), {"__module__": "numpy", "__init__": lambda s, v: setattr(s, "v", v), "__bool__": lambda s: s.v})

MATCHES = {
    "keyword": "MatchValue",
    "integer": "MatchValue",
    "boolean": "MatchValue",
    "text": "MatchText",
    "phrase": "MatchPhrase",
    "text_any": "MatchTextAny",
    "prefix": "MatchPrefix",
    "substring": "MatchSubstring",
}


def from_filter(f):
    if f is None:
        return None
    return engine.Filter(
        must=[condition(c) for c in f.must] or None,
        should=[condition(c) for c in f.should] or None,
        must_not=[condition(c) for c in f.must_not] or None,
        min_should=engine.MinShould([condition(c) for c in f.min_should.conditions], f.min_should.min_count) if f.HasField("min_should") else None,
    )


def condition(c):
    kind = c.WhichOneof("condition_one_of")
    if kind == "field":
        return field(c.field)
    if kind == "is_empty":
        return engine.IsEmptyCondition(c.is_empty.key)
    if kind == "is_null":
        return engine.IsNullCondition(c.is_null.key)
    if kind == "has_id":
        return engine.HasIdCondition({from_id(p) for p in c.has_id.has_id})
    if kind == "has_vector":
        return engine.HasVectorCondition(c.has_vector.has_vector)
    if kind == "nested":
        return engine.NestedCondition(c.nested.key, from_filter(c.nested.filter))
    if kind == "filter":
        return from_filter(c.filter)
    raise argument("Malformed Condition: " + str(kind))


def field(f):
    tests = {}
    if f.HasField("match"):
        tests["match"] = match(f.match)
    if f.HasField("range"):
        tests["range"] = engine.RangeFloat(**bounds(f.range))
    if f.HasField("datetime_range"):
        tests["range"] = engine.RangeDateTime(**{k: v and v.ToJsonString() for k, v in bounds(f.datetime_range).items()})
    if f.HasField("values_count"):
        tests["values_count"] = engine.ValuesCount(**bounds(f.values_count))
    for test in ("is_empty", "is_null"):
        if f.HasField(test):
            tests[test] = getattr(f, test)
    if not tests:
        raise argument("Malformed FieldCondition: at least one condition must be specified")
    return engine.FieldCondition(f.key, **tests)


def bounds(message):
    return {bound: optional(message, bound) for bound in ("lt", "gt", "gte", "lte")}


def match(m):
    kind = m.WhichOneof("match_value")
    if kind is None:
        raise argument("Malformed Match condition")
    if kind in MATCHES:
        value = getattr(m, kind)
        return getattr(engine, MATCHES[kind])(NumpyBool(value) if kind == "boolean" else value)
    values = getattr(m, kind)
    values = list(values.strings if kind.endswith("keywords") else values.integers)
    return engine.MatchExcept(values) if kind.startswith("except") else engine.MatchAny(values)


def keys(message):
    """The payload keys that a request filters by, for strict mode."""
    if message.DESCRIPTOR.name == "FieldCondition":
        yield message.key
        return
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None or descriptor.message_type.GetOptions().map_entry:
            continue
        for inner in value if descriptor.is_repeated else [value]:
            yield from keys(inner)
