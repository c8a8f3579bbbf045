"""How a collection is laid out, and what that makes of its rows and of conditions on them."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pymilvus import DataType

import plugin_pb2 as pb
from culprit_plugin import Fault

TEXTS = {DataType.VARCHAR, DataType.STRING}
WHOLE = {DataType.INT8, DataType.INT16, DataType.INT32, DataType.INT64}
BROKEN = {DataType.FLOAT, DataType.DOUBLE}
VECTORS = {
    DataType.FLOAT_VECTOR,
    DataType.FLOAT16_VECTOR,
    DataType.BFLOAT16_VECTOR,
    DataType.INT8_VECTOR,
    DataType.BINARY_VECTOR,
    DataType.SPARSE_FLOAT_VECTOR,
}
VECTOR_TYPES = {DataType.FLOAT_VECTOR: "float32"}
MEANINGS = ("text", "source", "revision", "access", "indexed_at", "updated_at", "embed_model")

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEYWORDS = {"and", "or", "not", "in", "like", "is", "null", "exists", "iso", "interval", "true", "false"}
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")


@dataclass
class Layout:
    """One collection as describe_collection and describe_index tell it, with the settings' names of its fields."""

    description: dict[str, Any]
    index: dict[str, Any]  # of the dense vector; empty: it has none
    vector: str  # the dense vector; empty: there is none
    sparse: str  # the output of a BM25 function; empty: there is none
    names: dict[str, str]  # what a field means → its name
    lite: bool  # the engine is Milvus Lite, which reads a smaller language
    fields: dict[str, dict[str, Any]] = field(init=False)
    key: str = field(init=False)

    def __post_init__(self) -> None:
        self.fields = {f["name"]: f for f in self.description["fields"]}
        self.key = next(name for name, f in self.fields.items() if f.get("is_primary"))

    @property
    def name(self) -> str:
        return self.description["collection_name"]

    @property
    def dimensions(self) -> int:
        return int(self.fields[self.vector]["params"]["dim"]) if self.vector else 0

    @property
    def metric(self) -> str:
        return self.index.get("metric_type", "COSINE").upper()

    @property
    def flat(self) -> bool:
        """The engine itself compares with every vector."""
        return self.index.get("index_type", "").upper() == "FLAT"

    def output(self, vectors: bool) -> list[str]:
        """The fields to ask for."""
        names = [name for name, f in self.fields.items() if f["type"] not in VECTORS]
        if self.description.get("enable_dynamic_field"):
            names.append("$meta")
        return names + [self.vector] * (vectors and bool(self.vector))

    # Rows.

    def item(self, row: dict[str, Any]) -> pb.Item:
        """A row as an item. What has no meaning is metadata; null, and what is not there, is left out."""
        values = {name: value for name, value in row.items() if name not in self.fields or self.fields[name]["type"] not in VECTORS}
        values.pop("$meta", None)
        held = self.names.get("metadata", "")
        if isinstance(values.get(held), dict):
            values |= {key: value for key, value in values.pop(held).items() if key not in self.fields}
        item = pb.Item(id=str(values.pop(self.key)))
        flat = {key: texts for key, texts in _flatten(values) if texts}
        for meaning in MEANINGS:
            texts = flat.pop(self.names.get(meaning, ""), [])
            if meaning == "access":
                item.access.extend(texts)
            elif meaning in ("indexed_at", "updated_at"):
                if texts and (when := _time(texts[0])):
                    getattr(item, meaning).FromDatetime(when)
            elif texts:
                setattr(item, meaning, texts[0])
        for key, texts in flat.items():
            item.metadata[key].values.extend(texts)
        vector = row.get(self.vector) if self.vector else None
        if vector is not None:
            item.vector.extend(vector)
        return item

    # Conditions, as expressions of Milvus. Everything that is not ours is a literal in quotes or the name of a declared field.

    def only(self, ids: list[str]) -> str:
        """Holds for the items with these ids."""
        if self.fields[self.key]["type"] in TEXTS:
            return f"{self.key} in [{', '.join(map(quote, ids))}]"
        return f"{self.key} in [{', '.join(str(int(i)) for i in ids if re.fullmatch(r'-?[0-9]{1,18}', i) and str(int(i)) == i)}]"

    def after(self, last: str | int | None) -> str:
        """Holds for what comes after this key in the order of keys."""
        if last is None:
            return ""
        return f"{self.key} > {quote(last) if isinstance(last, str) else last}"

    def conditions(self, conditions: Iterable[pb.Condition], only: Sequence[str]) -> str:
        """All conditions of a search in one expression, with the restriction to ids, if there is one."""
        parts = [self._condition(c) for c in conditions]
        if only:
            parts.append(self.only(list(only)))
        return " and ".join(f"({part})" for part in parts if part)

    def _condition(self, condition: pb.Condition) -> str:
        name = (
            self.key if condition.field == "id" else self.names.get(condition.field, "" if condition.field in MEANINGS else condition.field)
        )
        literals = [text for value in condition.any_of if (text := _literal(value, condition.typed)) is not None]
        holds = self._holds(name, literals, list(condition.any_of), condition.typed) if name and literals else ""
        if not getattr(condition, "not"):
            return holds or self.only([])
        if not holds:
            return ""
        absent = self._absent(name)
        return f"{absent} or not ({holds})" if absent else f"not ({holds})"

    def _holds(self, name: str, literals: list[str], values: list[str], typed: bool) -> str:
        declared = self.fields.get(name)
        if declared is None:
            path, bare = self._path(name)
            if not path:
                return ""
            equal = " or ".join(f"{path} == {literal}" for literal in literals)
            return f"{equal} or json_contains_any({bare}, [{', '.join(literals)}])" if bare else equal
        if name == self.key and not typed:
            return self.only(values)
        kind = declared["type"]
        if kind == DataType.ARRAY:
            return (
                f"array_contains_any({name}, [{', '.join(fitting)}])"
                if (fitting := _fitting(literals, declared["element_type"], typed))
                else ""
            )
        if kind == DataType.BOOL:
            return " or ".join(f"{name} == {literal}" for literal in _fitting(literals, kind, typed))
        return f"{name} in [{', '.join(fitting)}]" if (fitting := _fitting(literals, kind, typed)) else ""

    def _absent(self, name: str) -> str:
        declared = self.fields.get(name)
        if declared is None:
            return f"not (exists {self._path(name)[0]})"
        return f"{name} is null" if declared.get("nullable") else ""

    def _path(self, name: str) -> tuple[str, str]:
        """The path of an undeclared field, and the form of it that json_contains_any takes, empty where there is none."""
        held = self.names.get("metadata", "")
        if held in self.fields:
            path = held + "".join(f"[{quote(part)}]" for part in name.split("."))
            return path, path
        if not self.description.get("enable_dynamic_field"):
            return "", ""
        path = "$meta" + "".join(f"[{quote(part)}]" for part in name.split("."))
        if not self.lite:
            return path, path
        plain = _IDENTIFIER.fullmatch(name) and name.lower() not in _KEYWORDS
        return path, name if plain else ""


def quote(text: str) -> str:
    """A string literal of an expression. These are the escapes that both Milvus and Milvus Lite know; they take the rest as it is."""
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(plain, escaped)
    return f'"{text}"'


def _literal(value: str, typed: bool) -> str | None:
    if not typed:
        return quote(value)
    return value if value in ("true", "false") or _NUMBER.fullmatch(value) else None


def _fitting(literals: list[str], kind: int, typed: bool) -> list[str]:
    """Those of the literals that a field of this type can equal. Milvus refuses the others, or compares them in ways of its own."""
    if kind in TEXTS:
        return [] if typed else literals
    numbers = [literal for literal in literals if typed and literal not in ("true", "false")]
    if kind == DataType.BOOL:
        return [literal for literal in literals if typed and literal in ("true", "false")]
    if kind in WHOLE:
        return [str(int(float(number))) for number in numbers if float(number).is_integer()]
    return numbers if kind in BROKEN else []


def _flatten(values: dict[str, Any], before: str = "") -> Iterator[tuple[str, list[str]]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{before}{key}.")
        elif isinstance(value, (str, int, float, bool)):
            yield before + key, [_text(value)]
        elif value is not None:
            yield before + key, [_text(part) for part in value]


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)  # as JSON writes it elsewhere
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _time(text: str) -> datetime | None:
    """RFC 3339, a date, or seconds since 1970; to the microsecond."""
    try:
        if _NUMBER.fullmatch(text):
            return datetime.fromtimestamp(float(text), UTC).replace(tzinfo=None)
        when = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text))
    except (ValueError, OverflowError, OSError):
        return None
    return when.astimezone(UTC).replace(tzinfo=None) if when.tzinfo else when


def layout(client: Any, collection: str, settings: dict[str, Any], lite: bool) -> Layout:
    """Asks for the layout of a collection and holds the settings against it."""
    description = client.describe_collection(collection)
    fields = {f["name"]: f for f in description["fields"]}
    dense = [name for name, f in fields.items() if f["type"] == DataType.FLOAT_VECTOR]
    vector = settings.get("vector", "") or (dense[0] if len(dense) == 1 else "")
    if vector and vector not in dense:
        raise Fault(
            "invalid", f"setting vector: {vector!r} is none of the float vectors of {collection!r}: {', '.join(dense) or 'it has none'}"
        )
    if len(dense) > 1 and not vector:
        raise Fault("invalid", f"setting vector: collection {collection!r} has several float vectors, name one of {', '.join(dense)}")
    names = {"text": "text"} | settings.get("fields", {})
    if names["text"] not in fields and not description.get("enable_dynamic_field") and names.get("metadata", "") not in fields:
        raise Fault("invalid", f"setting fields.text: collection {collection!r} has no field {names['text']!r}, but {', '.join(fields)}")
    sparse = [name for f in description.get("functions", []) if int(f["type"]) == 1 for name in _names(f["output_field_names"])]
    index = next(
        (i for name in client.list_indexes(collection) if (i := client.describe_index(collection, name)).get("field_name") == vector), {}
    )
    return Layout(description, index, vector, sparse[0] if sparse else "", names, lite)


def _names(value: Any) -> list[str]:
    return re.findall(r"[^\[\]',\s]+", value) if isinstance(value, str) else list(value)  # pymilvus gives a list as its text
