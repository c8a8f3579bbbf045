"""A small retrieval-augmented generation service with an interface of its own: python3 service.py

POST /chat takes {"question", "id", "top"} and answers {"result", "hits", "used", ...}. It takes no context and always answers, so that
culprit maps it (profile python) and says which parts of a verdict were not production. Standard library only.
"""
import argparse
import json
import math
import pathlib
import re
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BUDGET = 50  # words of context
INSTRUCTIONS = "Answer from the context only and cite the id of what you use, like [c00].\nIf the context does not hold the answer, say: I don't know."
STOP = set("""
a about above after again all also am an and any are as at be because been before being below between both but
by can could d did do does doing don down during each few for from further get gets had has have having he her
here hers him his how i if in into is it its itself just ll m may me might more most must my no nor not now of
off on once only or other our ours out over own per please re s shall she should so some such t tell than that
the their theirs them then there these they this those through to too under until up us ve very was we were
what when where which while who whom whose why will with within would you your yours
""".split())


def words(text):
    return re.findall(r"[^\W_]+", text.lower())


def content(text):
    return {word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words(text) if word not in STOP}


class Index:
    def __init__(self, path):
        self.docs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        self.counts = [Counter(words(doc["text"])) for doc in self.docs]
        self.lengths = [sum(count.values()) for count in self.counts]
        self.holds = Counter(word for count in self.counts for word in count)

    def search(self, query):
        """BM25 with the usual constants: (document, score), best first."""
        k1, b, mean = 1.2, 0.75, sum(self.lengths) / len(self.docs)
        asked = {word for word in words(query) if word not in STOP}
        found = []
        for doc, count, length in zip(self.docs, self.counts, self.lengths):
            score = 0.0
            for word in sorted(asked & count.keys()):
                idf = max(math.log((len(self.docs) - self.holds[word] + 0.5) / (self.holds[word] + 0.5)), 1e-6)
                score += idf * count[word] * (k1 + 1) / (count[word] + k1 * (1 - b + b * length / mean))
            if score > 0:
                found.append((doc, score))
        return sorted(found, key=lambda hit: (-hit[1], hit[0]["id"]))


def pack(hits):
    used, packed = 0, []
    for doc, _ in hits:
        used += len(doc["text"].split())
        if used > BUDGET:
            break
        packed.append(doc)
    return packed


def answer(packed, question):
    """Stands in for a model: the sentence of the first document that shares two words with the question."""
    asked = content(question)
    for doc in packed:
        if len(content(doc["text"]) & asked) >= 2:
            best = max(re.split(r"(?<=\.) ", doc["text"]), key=lambda sentence: len(content(sentence) & asked))
            return "%s [%s]" % (best, doc["id"])
    return "I don't know."


def chat(index, body):
    question = body["question"]
    hits = index.search(question)
    packed = pack(hits[: body.get("top") or 2])
    shown = "".join("[%s] %s\n" % (doc["id"], doc["text"]) for doc in packed)
    return {
        "id": body.get("id"),
        "result": answer(packed, question),
        "hits": [{"doc": doc["id"], "body": doc["text"], "score": score} for doc, score in hits],
        "used": [{"doc": doc["id"], "body": doc["text"]} for doc in packed],
        "instructions": INSTRUCTIONS,
        "input": "Context:\n%s\nAnswer with the sentence of the context that says it, word for word.\nQuestion: %s" % (shown, question),
    }


def handler(index):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def reply(self, status, body):
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self):
            self.reply(404, {"detail": "not found"})

        def do_POST(self):
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path != "/chat":
                return self.reply(404, {"detail": "not found"})
            try:
                self.reply(200, chat(index, json.loads(raw)))
            except (KeyError, TypeError, ValueError) as error:
                self.reply(422, {"detail": repr(error)})

    return Handler


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8078)
    parser.add_argument("--corpus", type=pathlib.Path, default=pathlib.Path(__file__).with_name("policy.jsonl"))
    arguments = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", arguments.port), handler(Index(arguments.corpus)))
    print("listening on http://127.0.0.1:%d/chat" % server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
