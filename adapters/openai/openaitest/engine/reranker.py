"""Serves a reranker made of all-MiniLM-L6-v2 by late interaction, for tests: python reranker.py [--port 0] [--shape cohere] ...

The score of a passage is the mean, over the query's tokens, of the best cosine with one of the passage's tokens. No package carries
the weights of a cross-encoder; this is a real reranker all the same, with scores of its own and a limit to what it reads.

Prints "READY <port>" when it listens, and stops when its standard input ends or on SIGTERM. It listens on 127.0.0.1 alone.
"""
import argparse

import numpy as np

from minilm import MAX_TOKENS, MODEL, Model
from web import Refused, serve, texts_of

NAME = MODEL + "-late-interaction"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--shape", choices=("cohere", "tei"), default="cohere", help="cohere: that of Cohere, Jina and vLLM")
    parser.add_argument("--most", type=int, default=1000, help="passages of one call")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def unit(rows):
    inner = rows[1:-1] if len(rows) > 2 else rows  # without the marks of begin and end
    return inner / np.linalg.norm(inner, axis=1, keepdims=True)


def main():
    arguments = parse_arguments()
    model = Model("onnx", arguments.threads)
    model.embed(["warm up"])

    def scores(query, passages):
        states, tokens = model.states([query] + passages)
        asked = unit(states[0])
        return [float((asked @ unit(rows).T).max(1).mean()) for rows in states[1:]], tokens

    def ranked(query, passages):
        if not isinstance(query, str) or not query:
            raise Refused(400, "query must be a non-empty string", "query")
        found, tokens = scores(query, passages)
        return sorted(enumerate(found), key=lambda pair: (-pair[1], pair[0])), tokens

    def cohere(body):
        if body.get("model") != NAME:
            raise Refused(404, "the model %r does not exist" % body.get("model"), "model", "model_not_found")
        passages = texts_of(body.get("documents"), "documents", arguments.most)
        order, tokens = ranked(body.get("query"), passages)
        cut = [n > MAX_TOKENS for n in model.tokens(passages)]
        results = [{"index": i, "relevance_score": score, "truncated": cut[i]} for i, score in order]
        return {"id": "rerank-1", "model": NAME, "results": results[: body.get("top_n") or len(results)], "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}

    def tei(body):
        passages = texts_of(body.get("texts"), "texts", arguments.most)
        if not body.get("truncate") and max(model.tokens(passages)) > MAX_TOKENS:
            raise Refused(413, "Input validation error: `inputs` must have less than %d tokens" % MAX_TOKENS)
        order, _ = ranked(body.get("query"), passages)
        return [{"index": i, "score": score} for i, score in order]

    serve(arguments.port, {"/rerank": {"cohere": cohere, "tei": tei}[arguments.shape]}, {}, NAME)


if __name__ == "__main__":
    main()
