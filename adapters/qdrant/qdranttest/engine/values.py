"""Payloads and point ids between the wire and the engine."""
import uuid

from errors import argument
from stubs import pb


def optional(message, field):
    return getattr(message, field) if message.HasField(field) else None


def from_value(value):
    kind = value.WhichOneof("kind")
    if kind in (None, "null_value"):
        return None
    if kind == "struct_value":
        return {name: from_value(inner) for name, inner in value.struct_value.fields.items()}
    if kind == "list_value":
        return [from_value(inner) for inner in value.list_value.values]
    return getattr(value, kind)


def into_value(x, out):
    """Writes x into the Value out. Strings come first: most of what a scan returns is text."""
    if type(x) is str:
        out.string_value = x
    elif x is None:
        out.null_value = 0
    elif x is True or x is False:
        out.bool_value = x
    elif type(x) is int and -(2**63) <= x < 2**63:
        out.integer_value = x
    elif isinstance(x, (int, float)):
        out.double_value = float(x)
    elif isinstance(x, dict):
        out.struct_value.SetInParent()
        for key, inner in x.items():
            into_value(inner, out.struct_value.fields[key])
    else:
        out.list_value.SetInParent()
        for inner in x:
            into_value(inner, out.list_value.values.add())


def from_id(point_id):
    kind = point_id.WhichOneof("point_id_options")
    if kind == "num":
        return point_id.num
    if kind == "uuid":
        try:
            return uuid.UUID(point_id.uuid)
        except ValueError:
            raise argument("Unable to parse UUID: " + point_id.uuid)
    raise argument("Malformed PointId: no PointIdOptions provided")


def into_id(identifier, out):
    if isinstance(identifier, int):
        out.num = identifier
    else:
        out.uuid = str(identifier)


def new_id(identifier):
    out = pb.PointId()
    into_id(identifier, out)
    return out
