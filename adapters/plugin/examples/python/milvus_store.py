"""A Culprit plugin that reads a collection of Milvus. It never writes: milvus_client.py lets only reading calls through.

pip install -r requirements-milvus.txt
culprit plugin test python3 --settings '{"uri": "http://localhost:19530", "collection": "fixture"}' -- milvus_store.py
"""

import hashlib
import heapq
import json
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pymilvus import AnnSearchRequest, DataType, RRFRanker

import plugin_pb2 as pb
from culprit_plugin import Call, Fault, Role, serve
from milvus_client import asking, connect
from milvus_layout import VECTOR_TYPES, Layout, layout

SCHEMA = Path(__file__).with_suffix(".schema.json")
MOST = 16384  # the most that a search or a query of Milvus returns
SAMPLE = 256  # items that the fingerprint reads
SLACK = 16  # hits beyond the limit, so that the items of a tie at its edge are known
DISTANCES = {"COSINE": "cosine", "IP": "dot", "L2": "euclid"}
STRONG = {"consistency_level": "Strong"}  # what was written before is read


class MilvusStore:
    """The store of one process."""

    def __init__(self, settings: dict[str, Any], directory: Path):
        self._settings = settings
        self._rrf_k = settings.get("rrf_k", 60)
        self._client = connect(settings["uri"], _key(settings), settings.get("database", ""))
        with asking():
            self._version = self._client.get_server_version()
            self._lite = self._version.startswith("milvus_lite")
            main = self._layout("")
        if main.vector and main.metric not in DISTANCES:
            raise Fault("unsupported", f"the index of {main.vector!r} compares by {main.metric}; the plugin knows {', '.join(DISTANCES)}")
        modes = ["keyword"] * bool(main.sparse) + ["dense"] * bool(main.vector)
        self._modes = modes + ["hybrid"] * (len(modes) == 2)

    def capabilities(self, request: pb.CapabilitiesRequest, call: Call) -> pb.StoreCapabilities:
        return pb.StoreCapabilities(
            modes=self._modes, exact=True, threshold=True, filter=True, vectors="dense" in self._modes, collections=True, only=True
        )

    def describe(self, request: pb.DescribeRequest, call: Call) -> pb.StoreInfo:
        with asking(call):
            main = self._layout("")
            count = self._count(main)
            rows = self._rows(main, "", None, SAMPLE, vectors=True)
            info = pb.StoreInfo(
                engine="milvus",
                version=self._version,
                collection=main.name,
                collections=sorted(self._client.list_collections()),
                count=count,
                dimensions=main.dimensions,
                distance=DISTANCES[main.metric] if main.vector else "",
                embed_model=_declared_model(main.description),
                fingerprint=_digest(main, count, rows),
                fingerprint_misses=f"An item after the first {SAMPLE} by id that is changed in place, or takes the place of another.",
                notes=self._notes(main, count),
            )
        if main.vector:
            info.vector_type = VECTOR_TYPES[DataType(main.fields[main.vector]["type"])]
        return info

    def search(self, request: pb.SearchRequest, call: Call) -> pb.SearchResponse:
        if request.limit < 1:
            raise Fault("invalid", f"limit {request.limit} is not at least 1")
        with asking(call):
            main = self._layout("")
            if request.mode not in self._modes:
                raise Fault("unsupported", f"collection {main.name!r} has no {request.mode} search")
            if request.mode != "keyword":
                _check_vector(request.vector, main.dimensions)
            ranked = self._exact(main, request, call) if request.exact else self._ranked(main, request, request.mode, request.limit)
            rows = {} if request.ids_only else self._fetched(main, [key for _, key in ranked], vectors=False)
        lower = request.mode == "dense" and main.metric == "L2"
        response = pb.SearchResponse(lower_is_better=lower, exact=request.exact or main.flat, received=request.query)
        if request.limit > MOST and len(ranked) == MOST:
            response.cap = MOST
        for score, key in ranked:
            if request.HasField("threshold") and (score > request.threshold if lower else score < request.threshold):
                break
            if request.ids_only or key in rows:  # not what was deleted in between
                item = pb.Item(id=str(key)) if request.ids_only else main.item(rows[key])
                response.hits.add(item=item, rank=len(response.hits) + 1, score=score)
        return response

    def scan(self, request: pb.ScanRequest, call: Call) -> Iterator[pb.ScanBatch]:
        with asking(call):
            place = self._layout(request.collection)
        report = pb.ScanReport()
        last = None
        while True:
            call.check()
            with asking(call):
                rows = self._rows(place, "", last, self._settings.get("page", 500), request.vectors)
            if not rows:
                break
            last = rows[-1][place.key]
            report.scanned += len(rows)
            items = [place.item(row) for row in rows]
            for item in items if request.collection else ():
                item.collection = place.name
            yield pb.ScanBatch(items=items)
        with asking(call):
            report.counted = self._count(place)
            report.unread = self._unread(place)
        yield pb.ScanBatch(report=report)

    def fetch(self, request: pb.FetchRequest, call: Call) -> pb.FetchResponse:
        with asking(call):
            main = self._layout("")
            rows = {str(key): row for key, row in self._fetched(main, list(request.ids), request.vectors).items()}
        return pb.FetchResponse(items=[main.item(rows[i]) for i in request.ids if i in rows])

    def close(self) -> None:
        self._client.close()

    # What is asked of the server.

    def _layout(self, collection: str) -> Layout:
        return layout(self._client, collection or self._settings["collection"], self._settings, self._lite)

    def _count(self, place: Layout) -> int:
        return self._client.query(place.name, output_fields=["count(*)"], **STRONG)[0]["count(*)"]

    def _rows(self, place: Layout, holds: str, after: str | int | None, limit: int, vectors: bool) -> list[dict[str, Any]]:
        """The next rows in the order of keys. pymilvus has an iterator for this, which does not escape the keys that are texts."""
        parts = [f"({part})" for part in (holds, place.after(after)) if part]
        return self._client.query(
            place.name, filter=" and ".join(parts), output_fields=place.output(vectors), limit=limit, iterator="True", **STRONG
        )

    def _fetched(self, place: Layout, keys: list[Any], vectors: bool) -> dict[Any, dict[str, Any]]:
        rows: dict[Any, dict[str, Any]] = {}
        for start in range(0, len(keys), 500):
            holds = place.only([str(key) for key in keys[start : start + 500]])
            for row in self._client.query(place.name, filter=holds, output_fields=place.output(vectors), **STRONG):
                rows[row[place.key]] = row
        return rows

    def _ranked(self, place: Layout, request: pb.SearchRequest, mode: str, limit: int) -> list[tuple[float, Any]]:
        """The ranking of the engine, ties by id. It asks for more than the limit while the limit falls into a tie."""
        most = min(limit, MOST)
        asked = MOST if self._narrows(request, mode) else min(most + SLACK, MOST)
        while True:
            hits = self._engine(place, request, mode, asked)
            ranked = [(float(hit["distance"]), hit[place.key]) for hit in hits]
            if len(ranked) < asked or asked == MOST or ranked[-1][0] != ranked[most - 1][0]:
                break
            asked = min(2 * asked, MOST)
        if mode == "keyword" and ranked and ranked[0][0] < 0:  # Milvus Lite gives the negative of BM25, which is never below 0
            ranked = [(-score, key) for score, key in ranked]
        if self._narrows(request, mode):
            ranked = [hit for hit in ranked if str(hit[1]) in request.only]
        return sorted(ranked, key=_order(mode == "dense" and place.metric == "L2"))[:most]

    def _narrows(self, request: pb.SearchRequest, mode: str) -> bool:
        """Milvus Lite scores words by how rare they are among what the conditions admit: one item alone would have another score."""
        return self._lite and mode == "keyword" and len(request.only) > 0

    def _engine(self, place: Layout, request: pb.SearchRequest, mode: str, limit: int) -> list[dict[str, Any]]:
        holds = place.conditions(request.filter, [] if self._narrows(request, mode) else request.only)
        tuning = {"metric_type": place.metric, "params": self._settings.get("search_params", {})}
        arms = {
            "dense": ([list(request.vector)], place.vector, tuning),
            "keyword": ([request.query], place.sparse, {"metric_type": "BM25"}),
        }
        given: dict[str, Any] = {"limit": limit, "output_fields": [place.key]} | STRONG
        if mode == "hybrid":
            asked = [AnnSearchRequest(*arm, limit, expr=holds) for arm in arms.values()]
            return self._client.hybrid_search(place.name, asked, RRFRanker(self._rrf_k), **given)[0]
        data, field, params = arms[mode]
        return self._client.search(place.name, data=data, anns_field=field, search_params=params, filter=holds, **given)[0]

    def _exact(self, place: Layout, request: pb.SearchRequest, call: Call) -> list[tuple[float, Any]]:
        """The exact ranking. The engine's own keyword search is exact, and so is its dense search on a flat index."""
        if request.mode == "keyword" or place.flat:
            return self._ranked(place, request, request.mode, request.limit)
        if request.mode == "dense":
            return self._compare_all(place, request, request.limit, call)
        fused: dict[Any, float] = {}
        for arm in (self._compare_all(place, request, MOST, call), self._ranked(place, request, "keyword", MOST)):
            for rank, (_, key) in enumerate(arm, 1):
                fused[key] = fused.get(key, 0) + 1 / (self._rrf_k + rank)
        return sorted(((score, key) for key, score in fused.items()), key=_order(False))[: request.limit]

    def _compare_all(self, place: Layout, request: pb.SearchRequest, limit: int, call: Call) -> list[tuple[float, Any]]:
        """Compares with every vector that the conditions admit, a page at a time."""
        query, holds, last = np.array(request.vector, np.float32), place.conditions(request.filter, request.only), None
        best: list[tuple[float, Any]] = []
        while rows := self._rows(place, holds, last, 1000, vectors=True):
            call.check()
            last = rows[-1][place.key]
            rows = [row for row in rows if row[place.vector] is not None]
            scores = _scores(place.metric, query, np.array([row[place.vector] for row in rows], np.float32).reshape(len(rows), -1))
            best += [(float(score), row[place.key]) for score, row in zip(scores, rows, strict=True)]
            best = heapq.nsmallest(limit, best, key=_order(place.metric == "L2"))
        return best

    def _unread(self, place: Layout) -> str:
        if self._lite:  # it has no partition that can be away from memory
            return ""
        away = [
            name
            for name in self._client.list_partitions(place.name)
            if "Loaded" not in str(self._client.get_load_state(place.name, partition_name=name).get("state"))
        ]
        return f"partitions that are not loaded, and are neither read nor counted: {', '.join(away)}" if away else ""

    def _notes(self, place: Layout, count: int) -> list[str]:
        notes = []
        if place.name != self._settings["collection"]:
            notes.append(f"{self._settings['collection']} is an alias of {place.name}.")
        if place.vector and place.metric == "L2":
            notes.append("A score is the square of the Euclidean distance.")
        if place.vector and not place.index:
            notes.append(f"The vector {place.vector} has no index that can be described, so that its distance is taken to be the cosine.")
        if self._lite:
            notes.append(
                "Milvus Lite counts how rare a word is segment by segment, and scores by the negative of BM25, which is turned round here."
            )
            if place.vector and place.fields[place.vector].get("nullable"):
                notes.append("Milvus Lite keeps an item without a vector as one whose vector is zero.")
        if place.description.get("num_shards", 1) > 1 and place.sparse:
            notes.append(
                "How rare a word is, is counted for each segment, so that equal texts may have different scores in keyword search."
            )
        return notes


def _order(ascending: bool) -> Callable[[tuple[float, Any]], tuple[float, str]]:
    """Sorts a ranking: best first, ties by id."""
    return lambda hit: (hit[0] if ascending else -hit[0], str(hit[1]))


def _key(settings: dict[str, Any]) -> str:
    name = settings.get("token_env", "")
    if not name:
        return ""
    if not os.environ.get(name):
        raise Fault(
            "invalid",
            f"setting token_env: the variable {name!r} is not set: name it in env of the plugin too, so that Culprit passes it on",
        )
    return os.environ[name]


def _declared_model(description: dict[str, Any]) -> str:
    """The embedding model that the collection declares: as a property, or in a description that is JSON."""
    properties = description.get("properties") or {}
    try:
        told = json.loads(description.get("description") or "{}")
    except ValueError:
        told = {}
    told = told if isinstance(told, dict) else {}
    names = ("embedding_model", "embed_model")
    return next((str(place[name]) for place in (properties, told) for name in names if place.get(name)), "")


def _digest(place: Layout, count: int, rows: list[dict[str, Any]]) -> str:
    told = {key: value for key, value in place.description.items() if key not in ("aliases", "update_timestamp")}
    index = {key: value for key, value in place.index.items() if key not in ("total_rows", "indexed_rows", "pending_index_rows", "state")}
    seen = hashlib.sha256(json.dumps([told, index, count], sort_keys=True, default=str).encode())
    for row in rows:
        seen.update(place.item(row).SerializeToString(deterministic=True))
    return f"milvus-{seen.hexdigest()[:32]}"


def _check_vector(vector: Any, dimensions: int) -> None:
    if len(vector) != dimensions:
        raise Fault("invalid", f"the query's vector has {len(vector)} dimensions, those of the collection have {dimensions}")
    if not all(map(math.isfinite, vector)):
        raise Fault("invalid", "the query's vector holds what is no number")


def _scores(metric: str, query: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    if metric == "L2":
        return ((vectors - query) ** 2).sum(axis=1)
    products = (vectors * query).sum(axis=1)  # row by row, so that equal vectors have equal scores
    if metric == "IP":
        return products
    lengths = np.sqrt((vectors * vectors).sum(axis=1) * (query * query).sum())
    return products / np.where(lengths == 0, 1, lengths)


if __name__ == "__main__":
    serve("milvus", "1.0.0", store=Role(MilvusStore, SCHEMA.read_text()))
