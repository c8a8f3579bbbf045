"""Measures the cosines of stored against fresh vectors where it is known how the stored ones were made; see README.md."""
import glob
import hashlib
import json
import os
import pathlib
import random
import sys
import time
import zlib

import numpy as np

from minilm import DIMENSIONS, Embedder, Float32, Int8

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
SAMPLE, SAMPLES, KEPT, SLOW = 32, 6, 6, 3  # texts of a sample; samples measured, written row by row, and measured with fp32 weights, which are slow
PREFIXES = ["", "query: ", "passage: ", "search_document: ", "title: none | text: "]
QUANTILES = [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1]
MATCH = 0.999


def chunks():
    """Windows of 25 to 240 words over the documents of this project that overlap, so that many texts have close neighbours."""
    files = sorted(glob.glob("*.md", root_dir=ROOT) + glob.glob("docs/*.md", root_dir=ROOT) + glob.glob("experiments/**/*.md", root_dir=ROOT, recursive=True)
                   + glob.glob("experiments/**/*.yaml", root_dir=ROOT, recursive=True))
    rng, out = random.Random(4), {}
    for f in files:
        words, at = (ROOT / f).read_text().split(), 0
        while at < len(words):
            n = rng.choice([25, 50, 90, 160, 240])
            text = " ".join(words[at:at + n])
            if len(words[at:at + n]) >= 20:
                out.setdefault(text, os.path.basename(f))
            at += n * 2 // 5
    rows = sorted(out.items())
    random.Random(7).shuffle(rows)
    rows = rows[:SAMPLE * SAMPLES]
    assert len(rows) == SAMPLE * SAMPLES, len(rows)
    return [t for t, _ in rows], [f for _, f in rows]


def unit(v):
    n = np.linalg.norm(v, axis=-1, keepdims=True)
    return v / np.where(n == 0, 1, n)


def hashed(texts):
    out = np.zeros((len(texts), DIMENSIONS), np.float32)
    for i, t in enumerate(texts):
        for w in t.lower().split():
            out[i, zlib.crc32(w.encode()) % DIMENSIONS] += 1
    return unit(out)


def cosine(a, b):
    n = min(a.shape[1], b.shape[1])  # a shorter stored vector is held against the first numbers of the fresh one
    return (unit(a[:, :n].astype(np.float64)) * unit(b[:, :n].astype(np.float64))).sum(1)


def scenarios(texts, titles, int8, fp32):
    """Yields a name, how the stored vectors were made, the prefix that the fresh ones get, and the stored vectors."""
    base = int8(texts)
    yield "same", "by the same backend in batches of eight, fresh ones one by one", "", int8(texts, batch=8)
    yield "float16", "kept as float16", "", base.astype(np.float16).astype(np.float32)
    yield "not-normalised", "at their own length", "", int8(texts, how="length")
    yield "shortened", "the first 192 of 384 numbers, brought to unit length", "", unit(base[:, :192])
    q, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((DIMENSIONS, DIMENSIONS)))
    yield "rotated", "of another space: a random rotation", "", base @ q.astype(np.float32)
    yield "hashing", "of another model: hashed words", "", hashed(texts)
    mixed = base.copy()
    mixed[::4] = hashed(texts)[::4]
    yield "mixed", "each fourth of another model: hashed words", "", mixed
    yield "shifted", "those of the next text of the sample", "", np.concatenate([base[SAMPLE * k + np.roll(np.arange(SAMPLE), -1)] for k in range(SAMPLES)])
    yield "shifted-unseen", "those of a text outside the sample", "", np.roll(base, SAMPLE, axis=0)
    blank = base.copy()
    blank[3::8] = 0
    yield "zeros", "each eighth of zeros", "", blank
    yield "lower-case", "of the text in lower case", "", int8([t.lower() for t in texts])
    yield "truncated-128", "of the first 128 tokens", "", int8(texts, limit=128)
    yield "truncated-256", "of the first 256 tokens", "", int8(texts, limit=256)
    yield "prefix-lost", "without a prefix, fresh ones with `passage: `", "passage: ", base
    yield "prefix-added", "with `passage: `, fresh ones without", "", int8(["passage: " + t for t in texts])
    yield "prefix-swapped", "with `query: `, fresh ones with `passage: `", "passage: ", int8(["query: " + t for t in texts])
    yield "prefix-unknown", "with `Represent this text for search: `, fresh ones without", "", int8(["Represent this text for search: " + t for t in texts])
    yield "title", "of the file's name and the text", "", int8([f + "\n" + t for f, t in zip(titles, texts)])
    yield "edited", "of the text with each tenth word missing", "", int8([" ".join(w for i, w in enumerate(t.split()) if i % 10) for t in texts])
    few = texts[:SAMPLE * SLOW]
    yield "precision", "by fp32 weights, fresh ones by int8", "", fp32(few)
    yield "five-layers", "by fp32 weights, five of the six layers", "", fp32(few, how="five")
    yield "cls-pooled", "by fp32 weights, the first token's vector instead of the mean", "", fp32(few, how="cls")


def find_cut(embed, text, stored):
    """The best cosine with the first words of a text, as runner/identity_explain.go looks for it."""
    words = text.split()
    low, high, best, at = 0, len(words), cosine(stored[None], embed([text]))[0], len(words)
    for _ in range(3):
        steps = sorted({low + (high - low) * i // 8 for i in range(1, 8)} - {low, high})
        if best >= MATCH or not steps:
            break
        for w, c in zip(steps, cosine(np.stack([stored] * len(steps)), embed([" ".join(words[:w]) for w in steps]))):
            if c > best:
                best, at = c, w
        low, high = max([low] + [w for w in steps if w < at]), min([high] + [w for w in steps if w > at])
    return best


def measure(texts, prefix, stored, int8):
    fresh = int8([prefix + t for t in texts])
    own = cosine(stored, fresh)
    n = min(stored.shape[1], fresh.shape[1])
    near, at = np.zeros(len(texts)), np.zeros(len(texts), int)
    for k in range(0, len(texts), SAMPLE):
        c = unit(stored[k:k + SAMPLE, :n].astype(np.float64)) @ unit(fresh[k:k + SAMPLE, :n].astype(np.float64)).T
        at[k:k + SAMPLE], near[k:k + SAMPLE] = c.argmax(1), c.max(1)
    candidates = {}
    for p in PREFIXES:
        if p != prefix and (own < MATCH).any():
            candidates[p] = cosine(stored, int8([p + t for t in texts]))
    return own, at, near, candidates


def millionths(v):
    return [int(round(float(x) * 1e6)) for x in v]


def main():
    started = time.time()
    texts, titles = chunks()
    int8, fp32 = Embedder(Int8()), Embedder(Float32())
    out = {
        "unit": "cosines in millionths; at is the place, within its sample of 32, of the text whose fresh vector is nearest",
        "texts": len(texts), "texts_sha256": hashlib.sha256("\0".join(texts).encode()).hexdigest(), "sample": SAMPLE, "quantiles_at": QUANTILES, "scenarios": [],
    }
    all_texts = texts
    for name, made, prefix, stored in scenarios(all_texts, titles, int8, fp32):
        texts = all_texts[:len(stored)]
        own, at, near, candidates = measure(texts, prefix, stored, int8)
        first = SAMPLE * KEPT
        norms = np.linalg.norm(stored, axis=1)
        row = {
            "name": name, "made": made, "prefix": prefix, "n": len(texts), "matching": int((own >= MATCH).sum()),
            "own_is_nearest": [int((at[k:k + SAMPLE] == np.arange(SAMPLE)).sum()) for k in range(0, len(texts), SAMPLE)],
            "quantiles": millionths(np.quantile(own, QUANTILES)), "norms": [round(float(norms.min()), 3), round(float(norms.max()), 3)],
            "own": millionths(own[:first]), "at": [int(x) for x in at[:first]], "near": millionths(near[:first]),
            "candidates": {p: millionths(c[:first]) for p, c in candidates.items()},
        }
        if stored.shape[1] != DIMENSIONS:
            row["dimensions"] = stored.shape[1]
        if name.startswith("truncated"):
            row["cuts"] = millionths([find_cut(int8, texts[i], stored[i]) for i in range(SAMPLE) if own[i] < MATCH])
        out["scenarios"].append(row)
        best = np.max([own, *candidates.values()], axis=0) if candidates else own
        print(f"{time.time() - started:5.0f}s {name:15} own {np.round(np.quantile(own, QUANTILES), 4)} match {(own >= MATCH).mean():.3f} nearest {row['own_is_nearest']} explained {(best >= MATCH).mean():.3f} cuts {row.get('cuts', '')}", file=sys.stderr, flush=True)
    (HERE / "cosines.json").write_text("{\n" + ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in out.items() if k != "scenarios")
                                       + ",\n \"scenarios\": [\n" + ",\n".join("  " + json.dumps(s, separators=(",", ":")) for s in out["scenarios"]) + "\n ]\n}\n")


if __name__ == "__main__":
    main()
