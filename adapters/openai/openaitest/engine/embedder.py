"""Serves all-MiniLM-L6-v2 behind OpenAI's /v1/embeddings, for tests: python embedder.py [--port 0] [--backend onnx] ...

Prints "READY <port>" when it listens, and stops when its standard input ends or on SIGTERM. It listens on 127.0.0.1 alone.
"""
import argparse
import base64

from minilm import DIMENSIONS, REVERSED, MODEL, Model
from web import Refused, serve, texts_of

MOST = 2048  # texts of one call


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--backend", choices=("onnx", "numpy"), default="onnx", help="onnx: int8; numpy: fp32")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    model = Model(arguments.backend, arguments.threads)
    model.embed(["warm up"])

    def embeddings(body):
        name = body.get("model")
        if name not in (MODEL, REVERSED):
            raise Refused(404, "the model %r does not exist" % name, "model", "model_not_found")
        if body.get("dimensions") not in (None, DIMENSIONS):
            raise Refused(400, "this model has %d dimensions and no others" % DIMENSIONS, "dimensions")
        form = body.get("encoding_format") or "float"
        if form not in ("float", "base64"):
            raise Refused(400, "encoding_format must be float or base64", "encoding_format")
        vectors, tokens = model.embed(texts_of(body.get("input"), "input", MOST), name)
        if form == "base64":
            written = [base64.b64encode(vector.astype("<f4").tobytes()).decode() for vector in vectors]
        else:
            written = [[float(number) for number in vector] for vector in vectors]
        data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(written)]
        return {"object": "list", "model": name, "data": data, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}

    def models(_):
        return {"object": "list", "data": [{"id": name, "object": "model", "created": 0, "owned_by": "local"} for name in (MODEL, REVERSED)]}

    serve(arguments.port, {"/v1/embeddings": embeddings}, {"/v1/models": models}, MODEL)


if __name__ == "__main__":
    main()
