"""Serves Qdrant's own engine behind Qdrant's gRPC API, for tests: python serve.py [--port 0] ...

Prints "READY <port>" when it listens, and stops when its standard input ends or on SIGTERM. It listens on 127.0.0.1 alone and
keeps its data in a temporary folder that it removes.

The engine brings segments, HNSW, payload indexes, tokenizers, fusion and BM25. The script brings collections, aliases,
metadata, strict mode, the validation of requests, lookup by id, `offset` and status codes. Any other method is UNIMPLEMENTED.
"""
import argparse
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc

from services import Server, register

MEBIBYTE = 1 << 20


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--wire", choices=("dense", "data"), default="dense", help="data: the form of vectors that servers up to 1.16 answer with")
    parser.add_argument("--version", default="1.17.0", help="the version that the server says it has")
    parser.add_argument("--api-key", help="every call but the health check must bring it")
    parser.add_argument("--tls-cert", help="a PEM file; with --tls-key the server speaks TLS")
    parser.add_argument("--tls-key")
    return parser.parse_args()


def listen(grpc_server, arguments):
    address = "127.0.0.1:%d" % arguments.port
    if not arguments.tls_cert:
        return grpc_server.add_insecure_port(address)
    with open(arguments.tls_key, "rb") as key, open(arguments.tls_cert, "rb") as certificate:
        return grpc_server.add_secure_port(address, grpc.ssl_server_credentials([(key.read(), certificate.read())]))


def main():
    arguments = parse_arguments()
    options = [
        ("grpc.max_receive_message_length", 256 * MEBIBYTE),
        ("grpc.max_send_message_length", 256 * MEBIBYTE),
        ("grpc.so_reuseport", 0),
    ]
    grpc_server = grpc.server(ThreadPoolExecutor(8), options=options)
    server = Server(arguments.wire, arguments.version, arguments.api_key)
    register(server, grpc_server)
    port = listen(grpc_server, arguments)
    grpc_server.start()

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    print("READY", port, flush=True)
    stop.wait()
    grpc_server.stop(1).wait()
    server.close()


if __name__ == "__main__":
    main()
