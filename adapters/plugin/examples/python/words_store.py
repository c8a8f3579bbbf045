"""A Culprit plugin that serves a file with one JSON object a line, as culprit plugin fixture prints it: the shortest store, to be copied.

pip install -r requirements.txt
culprit plugin test python3 --settings '{"path": "{fixture}"}' -- words_store.py
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import plugin_pb2 as pb
from culprit_plugin import Call, Fault, Role, serve

SCHEMA = """
{"type": "object", "additionalProperties": false, "required": ["path"], "properties": {"path": {"type": "string", "minLength": 1}}}
"""
FIELDS = ("id", "source", "revision", "text", "embed_model")
BATCH = 500  # items of a scan that are sent at once


class WordsStore:
    """The items of a file, ranked by how many words they share with the query. Nothing is changed after it was read."""

    def __init__(self, settings: dict[str, Any], directory: Path):
        path = directory / settings["path"]
        try:
            data = path.read_bytes()
        except FileNotFoundError as error:
            raise Fault("not-found", f"path: {error}") from error
        try:
            rows = [json.loads(line) for line in data.splitlines() if line.strip()]
            self._items = {row["id"]: _item(row) for row in rows if "collection" not in row}  # this store has one collection
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Fault("invalid", f"path: {path} is not one item a line: {type(error).__name__}: {error}") from error
        self._path, self._sum = str(path), hashlib.sha256(data).hexdigest()
        self._words = {key: _words(item.text) for key, item in self._items.items()}

    def capabilities(self, request: pb.CapabilitiesRequest, call: Call) -> pb.StoreCapabilities:
        return pb.StoreCapabilities(modes=["keyword"], exact=True, filter=True)  # what is not declared is refused by Culprit

    def describe(self, request: pb.DescribeRequest, call: Call) -> pb.StoreInfo:
        return pb.StoreInfo(
            engine="words",
            collection=self._path,
            count=len(self._items),
            declared_per_item=Counter(item.embed_model for item in self._items.values()),
            fingerprint=self._sum,  # required, and so is what it cannot see
            fingerprint_misses="changes of the file after it was opened",
        )

    def search(self, request: pb.SearchRequest, call: Call) -> pb.SearchResponse:
        if request.mode != "keyword":
            raise Fault("unsupported", f"there is no {request.mode} search")
        if request.limit < 1:
            raise Fault("invalid", f"limit {request.limit} is not at least 1")
        asked = _words(request.query)
        shared = {key: len(asked & words) for key, words in self._words.items() if asked & words}
        admitted = [key for key in shared if all(_holds(condition, self._items[key]) for condition in request.filter)]
        ranked = sorted(admitted, key=lambda key: (-shared[key], key))  # ties by id, so that every ranking is the same
        response = pb.SearchResponse(exact=True, received=request.query)
        for rank, key in enumerate(ranked[: request.limit], 1):
            response.hits.add(item=self._items[key], rank=rank, score=shared[key])
        return response

    def scan(self, request: pb.ScanRequest, call: Call) -> Iterator[pb.ScanBatch]:
        items = list(self._items.values())
        for start in range(0, len(items), BATCH):
            call.check()
            yield pb.ScanBatch(items=items[start : start + BATCH])
        yield pb.ScanBatch(report=pb.ScanReport(scanned=len(items), counted=len(self._items)))

    def fetch(self, request: pb.FetchRequest, call: Call) -> pb.FetchResponse:
        return pb.FetchResponse(items=[self._items[key] for key in request.ids if key in self._items])

    def close(self) -> None:
        """There is nothing to give back."""


def _item(row: dict[str, Any]) -> pb.Item:
    item = pb.Item(access=row.get("access", []), **{name: row.get(name, "") for name in FIELDS})
    for field, values in row.get("metadata", {}).items():  # numbers and booleans as JSON writes them
        item.metadata[field].values.extend(value if isinstance(value, str) else json.dumps(value) for value in values)
    for name in ("indexed_at", "updated_at"):
        if name in row:
            getattr(item, name).FromJsonString(row[name])
    return item


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.lower()))


def _holds(condition: pb.Condition, item: pb.Item) -> bool:
    name = condition.field
    if name in ("id", "source", "revision"):
        values = [getattr(item, name)]
    elif name == "access":
        values = item.access
    else:
        values = item.metadata[name].values if name in item.metadata else []
    return any(value in condition.any_of for value in values) != getattr(condition, "not")


if __name__ == "__main__":
    serve("words", "1.0.0", store=Role(WordsStore, SCHEMA))
