"""The connection to Milvus: pymilvus behind a door that lets only reading calls through, each with the deadline of its caller."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
from pymilvus import MilvusClient, MilvusException
from pymilvus.grpc_gen import milvus_pb2_grpc

from culprit_plugin import Call, Fault

# All that this program can ask of a server. Loading a collection is not among it: it changes what the server holds in memory.
READS = {
    "Connect",
    "GetVersion",
    "DescribeCollection",
    "ShowCollections",
    "ShowPartitions",
    "ListAliases",
    "DescribeIndex",
    "GetLoadState",
    "Query",
    "Search",
    "HybridSearch",
    "AllocTimestamp",
}

_deadline = threading.local()

_STATUS = {
    grpc.StatusCode.UNAVAILABLE: "transient",
    grpc.StatusCode.ABORTED: "transient",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "rate-limited",
    grpc.StatusCode.UNAUTHENTICATED: "unauthorised",
    grpc.StatusCode.PERMISSION_DENIED: "unauthorised",
    grpc.StatusCode.INVALID_ARGUMENT: "invalid",
    grpc.StatusCode.NOT_FOUND: "not-found",
    grpc.StatusCode.DEADLINE_EXCEEDED: "timeout",
    grpc.StatusCode.CANCELLED: "canceled",
}

# Codes of Milvus itself. Those below 100 are also used by Milvus Lite, which keeps to an older list.
_CODES = {
    4: "not-found",
    6: "invalid",
    8: "rate-limited",
    9: "rate-limited",
    100: "not-found",
    200: "not-found",
    700: "not-found",
    800: "not-found",
    1100: "invalid",
    1101: "invalid",
    1400: "unauthorised",
    1401: "unauthorised",
    2200: "transient",
}


class _ReadingStub(milvus_pb2_grpc.MilvusServiceStub):
    """The stub of every connection that pymilvus makes in this process."""

    def __init__(self, channel: grpc.Channel):
        super().__init__(channel)
        for name, method in list(vars(self).items()):
            setattr(self, name, _guarded(method) if name in READS else _refusal(name))


def _guarded(method: Any) -> Any:
    def call(request: Any, **given: Any) -> Any:
        given["timeout"] = getattr(_deadline, "seconds", 30)
        try:
            return method(request, **given)
        except grpc.RpcError as error:  # hidden from pymilvus, which would try 75 times
            raise Fault(_STATUS.get(error.code(), "permanent"), f"Milvus: {error.details()}") from None

    return call


def _refusal(name: str) -> Any:
    def call(request: Any, **given: Any) -> Any:
        raise Fault("unsupported", f"{name} is not a call that reads, and the plugin makes no other")

    return call


milvus_pb2_grpc.MilvusServiceStub = _ReadingStub
logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it logs every error with a traceback, and is told of it besides


@contextmanager
def asking(call: Call | None = None) -> Iterator[None]:
    """What pymilvus does inside ends by the deadline of the call, and its errors come as faults."""
    _deadline.seconds = call.remaining() if call else 30
    try:
        yield
    except Exception as error:
        raise _fault(error) from None


def _fault(error: BaseException) -> BaseException:
    cause: BaseException | None = error
    while cause is not None:  # pymilvus puts errors of its own around ours
        if isinstance(cause, Fault):
            return cause
        cause = None if cause.__cause__ is cause else cause.__cause__  # it raises errors from themselves
    if not isinstance(error, MilvusException):
        return error
    kind = _CODES.get(error.code) or ("invalid" if error.is_input_error else "transient" if error.retriable else "permanent")
    return Fault(kind, f"Milvus: {error.message}")


def connect(uri: str, token: str, database: str) -> MilvusClient:
    """A client of its own. The address is not tried for longer than ten seconds."""
    if uri.endswith(".db"):
        raise Fault(
            "invalid", "setting uri: a file is opened by writing to it; start a server on it (milvus-lite server) and name its address"
        )
    with asking():
        try:
            return MilvusClient(uri=uri, token=token, db_name=database, timeout=10, dedicated=True)
        except MilvusException as error:
            if "connecting" in error.message or "connect" in error.message.lower():
                raise Fault("transient", f"setting uri: no Milvus answers at {uri!r}") from error
            raise
