"""Milvus Lite behind Milvus's gRPC API, for tests, with a door of its own for the test to fill and change collections.

It prints READY with the address of the API, and of the door, an HTTP server that takes JSON. It stops when its input ends.
"""

import base64
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
from milvus_lite.adapter.grpc import server as lite
from milvus_lite.db import MilvusLite
from pymilvus import DataType, Function, FunctionType, MilvusClient

TOKEN = "reader:secret"  # of the plugin; calls with another are the door's, or refused

called: set[str] = set()  # by the plugin


class Watch(grpc.ServerInterceptor):
    """Tells calls of the plugin from those of the door."""

    def intercept_service(self, continuation: Any, details: Any) -> Any:
        given = dict(details.invocation_metadata).get("authorization", "")
        token = base64.b64decode(given).decode() if given else ""
        if token == TOKEN:
            called.add(details.method.rsplit("/", 1)[-1])
        elif token != "door:door":
            return grpc.unary_unary_rpc_method_handler(
                lambda request, context: context.abort(grpc.StatusCode.UNAUTHENTICATED, "auth check failure")
            )
        return continuation(details)


def start(folder: str) -> tuple[grpc.Server, int]:
    """Starts the engine as milvus_lite does, with Watch before it. The server lives as long as it is held."""
    plain = grpc.server
    grpc.server = lambda *given, **named: plain(*given, **named, interceptors=[Watch()])
    server = lite._build_server(MilvusLite(folder), 32)
    grpc.server = plain
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port


class Door:
    """What a test asks for. One thing at a time: the engine does not bear concurrent writes."""

    def __init__(self, port: int):
        self.client = MilvusClient(uri=f"http://127.0.0.1:{port}", token="door:door")
        self.lock = threading.Lock()

    def create(self, name: str, metric: str, index: str, dim: int, json_metadata: bool, bm25: bool, model: str) -> None:
        schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=not json_metadata)
        schema.add_field("key", DataType.VARCHAR, is_primary=True, max_length=512)
        schema.add_field("body", DataType.VARCHAR, max_length=65535, enable_analyzer=True)
        schema.add_field("dense", DataType.FLOAT_VECTOR, dim=dim)
        schema.add_field("groups", DataType.ARRAY, element_type=DataType.VARCHAR, max_capacity=16, max_length=256, nullable=True)
        for field in ("doc_id", "edition_of_doc", "embedding_model", "indexed", "changed"):
            schema.add_field(field, DataType.VARCHAR, max_length=512, nullable=True)
        if json_metadata:
            schema.add_field("metadata", DataType.JSON, nullable=True)
        indexes = self.client.prepare_index_params()
        indexes.add_index(
            field_name="dense", index_type=index, metric_type=metric, params={"M": 16, "efConstruction": 200} if index == "HNSW" else {}
        )
        if bm25:
            schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
            schema.add_function(
                Function(name="bm25", function_type=FunctionType.BM25, input_field_names=["body"], output_field_names=["sparse"])
            )
            indexes.add_index(field_name="sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
        properties = {"embedding_model": model} if model else {}
        self.client.create_collection(name, schema=schema, index_params=indexes, consistency_level="Strong", properties=properties)

    def put(self, name: str, rows: list[dict[str, Any]]) -> None:
        for start in range(0, len(rows), 500):
            self.client.upsert(name, rows[start : start + 500])

    def change(self, name: str, row: dict[str, Any]) -> None:
        self.client.upsert(name, [row], partial_update=True)

    def delete(self, name: str, keys: list[str]) -> None:
        self.client.delete(name, ids=keys)

    def alias(self, name: str, alias: str) -> None:
        self.client.create_alias(name, alias)

    def release(self, name: str) -> None:
        self.client.release_collection(name)

    def calls(self) -> list[str]:
        return sorted(called)


def handler(door: Door) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *given: Any) -> None:
            pass

        def do_POST(self) -> None:
            status, answer = 200, None
            try:
                with door.lock:
                    answer = getattr(door, self.path.strip("/"))(**json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            except Exception as error:
                status, answer = 500, f"{type(error).__name__}: {error}"
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler


if __name__ == "__main__":
    server, port = start(sys.argv[1])
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler(Door(port)))
    threading.Thread(target=http.serve_forever, daemon=True).start()
    print(f"READY 127.0.0.1:{port} 127.0.0.1:{http.server_port}", flush=True)
    sys.stdin.read()
