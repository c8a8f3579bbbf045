"""The HTTP side that the embedder and the reranker share: JSON in, JSON out, errors in OpenAI's form."""
import json
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Refused(Exception):
    def __init__(self, status, message, param=None, code=None):
        super().__init__(message)
        self.status, self.error = status, {"message": message, "type": "invalid_request_error", "param": param, "code": code}


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


def serve(port, posts, gets, *ready):
    """Serves until standard input ends: posts and gets map a path to a function of the request's body."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1  # one write for the whole answer

        def log_message(self, *_):
            pass

        def answer(self, status, body):
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            self.wfile.flush()

        def handle_with(self, handlers, body):
            try:
                if self.path not in handlers:
                    raise Refused(404, "there is no %s" % self.path)
                self.answer(200, handlers[self.path](body))
            except Refused as refused:
                self.answer(refused.status, {"error": refused.error})

        def do_GET(self):
            self.handle_with(gets, None)

        def do_POST(self):
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            try:
                body = json.loads(raw)
            except ValueError as error:
                return self.answer(400, {"error": Refused(400, "invalid JSON: %s" % error).error})
            if not isinstance(body, dict):
                return self.answer(400, {"error": Refused(400, "the body must be a JSON object").error})
            self.handle_with(posts, body)

    server = Server(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    print("READY", server.server_port, *ready, flush=True)
    stop.wait()


def texts_of(value, name, most):
    """A non-empty list of non-empty strings."""
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, list) or not value or not all(isinstance(text, str) and text for text in value):
        raise Refused(400, "%s must be a non-empty string or a list of them" % name, name)
    if len(value) > most:
        raise Refused(422, "batch size %d > maximum allowed batch size %d" % (len(value), most), name)
    return value
