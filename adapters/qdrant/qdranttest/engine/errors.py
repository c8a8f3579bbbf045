"""Errors with the codes and messages of a Qdrant server."""
import re

import grpc


class ServerError(Exception):
    """A failure that a client sees: a gRPC status code and its message."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def argument(message):
    return ServerError(grpc.StatusCode.INVALID_ARGUMENT, message)


def bad_input(message):
    return argument("Wrong input: " + message)


def invalid(message):
    return argument("Validation error in body: [%s]" % message)


def not_found(message):
    return ServerError(grpc.StatusCode.NOT_FOUND, "Not found: " + message)


def unimplemented(message):
    return ServerError(grpc.StatusCode.UNIMPLEMENTED, "engine server: " + message)


# The engine raises bare exceptions that carry the server's message; these are the ones a server calls the client's fault.
BAD_INPUT = re.compile(
    r"Vector dimension error|Not existing vector name|Wrong usage of (sparse|multi)|Validation failed|No range index|No appropriate index|"
    r"Payload type does not match|Unable to infer type|Invalid type for variable|The expression .* non-finite|failed to parse"
)
CONVERSION = re.compile(r"^Wrong usage of (sparse|multi) vectors$")


def status_of(error):
    """The (code, message) that a client gets for an exception."""
    if isinstance(error, ServerError):
        return error.code, str(error)
    if isinstance(error, ValueError) or (type(error) is Exception and BAD_INPUT.match(str(error))):
        return grpc.StatusCode.INVALID_ARGUMENT, "Wrong input: " + CONVERSION.sub(r"Conversion between \1 and regular vectors failed", str(error))
    return grpc.StatusCode.INTERNAL, "Service internal error: %s: %s" % (type(error).__name__, error)
