"""What a Culprit plugin in Python needs beside its own code. Copy this file and the two plugin_pb2 modules next to it.

A plugin is a class for each role that it plays, and one call:

    if __name__ == "__main__":
        serve("mystore", "1.0.0", store=Role(MyStore, schema))

The class is made with (settings, directory): the settings as a dict that Culprit has held against the schema, and the folder that
relative paths in them are relative to. Making it is opening the backend. Its methods have the names of the protocol's calls in
lower case (capabilities, describe, search, scan, fetch, close; describe, embed, close; …); each takes the request and a Call and
returns the response of plugin.proto. scan yields. They are called from many threads at once. To fail, raise Fault.

Log to standard error (logging does). Standard output belongs to the handshake; what is printed to it goes to standard error.
"""

import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import grpc
from google.protobuf import any_pb2
from google.rpc import status_pb2
from grpc_status import rpc_status

import plugin_pb2 as pb
import plugin_pb2_grpc as pb_grpc

PROTOCOL = 1
LARGEST_MESSAGE = 256 << 20
THREADS = 64  # a scan keeps one for as long as it is read, and what reads it may make other calls

# The kinds of a fault, each with its place on the wire and the status that tells it to whoever reads no details.
KINDS = {
    "permanent": (pb.KIND_PERMANENT, grpc.StatusCode.INTERNAL),
    "transient": (pb.KIND_TRANSIENT, grpc.StatusCode.UNAVAILABLE),
    "rate-limited": (pb.KIND_RATE_LIMITED, grpc.StatusCode.RESOURCE_EXHAUSTED),
    "unauthorised": (pb.KIND_UNAUTHORISED, grpc.StatusCode.UNAUTHENTICATED),
    "not-found": (pb.KIND_NOT_FOUND, grpc.StatusCode.NOT_FOUND),
    "unsupported": (pb.KIND_UNSUPPORTED, grpc.StatusCode.UNIMPLEMENTED),
    "invalid": (pb.KIND_INVALID, grpc.StatusCode.INVALID_ARGUMENT),
    "too-long": (pb.KIND_TOO_LONG, grpc.StatusCode.FAILED_PRECONDITION),
    "timeout": (pb.KIND_TIMEOUT, grpc.StatusCode.DEADLINE_EXCEEDED),
    "canceled": (pb.KIND_CANCELED, grpc.StatusCode.CANCELLED),
}


class Fault(Exception):
    """A failed call: why in one of the words of KINDS, and a message without secrets that says what to do next."""

    def __init__(self, kind: str, message: str, retry_after: float = 0, closed: bool = False):
        super().__init__(message)
        self.kind, self.retry_after, self.closed = kind, retry_after, closed


class Role(NamedTuple):
    """A role that the plugin plays: what opens it, and the JSON Schema of its settings."""

    open: Callable[[dict[str, Any], Path], Any]
    schema: str


class Call:
    """The call that is being answered: how long it may take, and whether anybody still waits for it."""

    def __init__(self, context: grpc.ServicerContext):
        self._context = context

    def remaining(self, most: float = 60) -> float:
        """Seconds until the call's deadline, at most those given."""
        left = self._context.time_remaining()
        return most if left is None else max(0.001, min(left, most))

    def check(self) -> None:
        """Raises where nobody waits any more. Long work asks now and then."""
        if not self._context.is_active():
            raise Fault("canceled", "the caller gave up")


class _Served:
    """One backend of one role behind its service."""

    def __init__(self, name: str, role: Role):
        self._name, self._role = name, role
        self._lock = threading.Lock()
        self._backend: Any = None
        self._closed = False

    def Open(self, request: pb.OpenRequest, context: grpc.ServicerContext) -> pb.OpenResponse:
        try:
            with self._lock:
                if self._backend is not None:
                    raise Fault("invalid", f"{self._name} is open: one process serves one backend")
                self._backend = self._role.open(json.loads(request.settings or b"{}"), Path(request.dir or "."))
        except Exception as error:
            self._fail("open", error, context)
        return pb.OpenResponse()

    def Close(self, request: pb.CloseRequest, context: grpc.ServicerContext) -> pb.CloseResponse:
        with self._lock:
            first, self._closed = not self._closed, True
        if first and self._backend is not None:
            self._backend.close()
        return pb.CloseResponse()

    def _call(self, op: str, request: Any, context: grpc.ServicerContext) -> Any:
        try:
            return getattr(self._opened(), op)(request, Call(context))
        except Exception as error:
            self._fail(op, error, context)

    def Capabilities(self, request: Any, context: grpc.ServicerContext) -> Any:
        return self._call("capabilities", request, context)

    def Describe(self, request: Any, context: grpc.ServicerContext) -> Any:
        return self._call("describe", request, context)

    def Search(self, request: Any, context: grpc.ServicerContext) -> Any:
        return self._call("search", request, context)

    def Fetch(self, request: Any, context: grpc.ServicerContext) -> Any:
        return self._call("fetch", request, context)

    def Embed(self, request: Any, context: grpc.ServicerContext) -> Any:
        return self._call("embed", request, context)

    def Generate(self, request: Any, context: grpc.ServicerContext) -> Any:
        return self._call("generate", request, context)

    def Rerank(self, request: Any, context: grpc.ServicerContext) -> Any:
        return self._call("rerank", request, context)

    def Scan(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        try:
            yield from self._opened().scan(request, Call(context))
        except Exception as error:
            self._fail("scan", error, context)

    def _opened(self) -> Any:
        if self._closed:
            raise Fault("permanent", "the plugin's backend is closed", closed=True)
        if self._backend is None:
            raise Fault("invalid", "the plugin's backend was never opened")
        return self._backend

    def _fail(self, op: str, error: Exception, context: grpc.ServicerContext) -> NoReturn:
        """Ends the call with the fault, or with what an unforeseen error says of itself."""
        if not isinstance(error, Fault):
            logging.exception("%s failed", op)
            error = Fault("permanent", f"{type(error).__name__}: {error}")
        kind, code = KINDS[error.kind]
        message = str(error)[:8192]
        fault = pb.Error(adapter=self._name, op=op, kind=kind, message=message, closed=error.closed)
        if error.retry_after > 0:
            fault.retry_after.FromMilliseconds(round(error.retry_after * 1000))
        detail = any_pb2.Any()
        detail.Pack(fault)
        context.abort_with_status(rpc_status.to_status(status_pb2.Status(code=code.value[0], message=message, details=[detail])))
        raise AssertionError("abort_with_status returns never")


class _Info(pb_grpc.PluginServicer):
    def __init__(self, info: pb.InfoResponse):
        self._info = info

    def Info(self, request: pb.InfoRequest, context: grpc.ServicerContext) -> pb.InfoResponse:
        return self._info


def serve(name: str, version: str, **roles: Role) -> None:
    """Plays the roles (store, embedder, generator, reranker) until Culprit ends the process."""
    if os.environ.get("CULPRIT_PLUGIN") != "started-by-culprit":
        sys.exit(f"{name} {version} is a plugin of Culprit and is started by it.\nTry it:  culprit plugin test {sys.executable} -- {sys.argv[0]}")
    handshake = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not follow the handshake
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for Culprit, which then ends the plugin
    limits = [("grpc.max_receive_message_length", LARGEST_MESSAGE), ("grpc.max_send_message_length", LARGEST_MESSAGE)]
    server = grpc.server(ThreadPoolExecutor(THREADS), options=limits)
    info = pb.InfoResponse(name=name, version=version, protocol_version=PROTOCOL)
    for role, given in sorted(roles.items()):
        info.roles.add(name=role, settings_schema=given.schema.encode())
        getattr(pb_grpc, f"add_{role.capitalize()}Servicer_to_server")(_Served(name, given), server)
    pb_grpc.add_PluginServicer_to_server(_Info(info), server)
    server.add_generic_rpc_handlers((_health(), _controller(server)))
    print(f"1|{PROTOCOL}|{_listen(server)}|grpc", file=handshake, flush=True)
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    server.wait_for_termination()
    os._exit(0)  # threads of libraries may not hold it up


def _listen(server: grpc.Server) -> str:
    """Listens, on a socket in the folder that Culprit gave where there is one: other users cannot reach that."""
    path = os.path.join(os.environ.get("TMPDIR", ""), "plugin.sock")
    if os.name == "posix" and os.path.isabs(path) and len(path.encode()) < 100:
        server.add_insecure_port(f"unix:{path}")
        address = f"unix|{path}"
    else:
        address = f"tcp|127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    return address


def _health() -> grpc.GenericRpcHandler:
    serving = grpc.unary_unary_rpc_method_handler(lambda request, context: b"\x08\x01")  # HealthCheckResponse{status: SERVING}
    return grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": serving})


def _controller(server: grpc.Server) -> grpc.GenericRpcHandler:
    def shutdown(request: bytes, context: grpc.ServicerContext) -> bytes:
        server.stop(grace=0.1)
        return b""

    return grpc.method_handlers_generic_handler("plugin.GRPCController", {"Shutdown": grpc.unary_unary_rpc_method_handler(shutdown)})


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
