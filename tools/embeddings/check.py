#!/usr/bin/env python3
"""Says what a table of meanings is worth alone: nothing but the nearness of a question's sum to a record's.

    python3 check.py MODEL_DIR TABLE DIR [DIR ...]      # MODEL_DIR as for make.py; each DIR holds corpus.jsonl[.gz] and queries.jsonl[.gz]

A short record (under 400 characters) is as near as the nearest of its sentences or the whole, a long one as its first 2,400 characters. Prints recall@10
and MRR; where only sessions are known, recall@5 and hit@1 of the sessions in the order of their best records. Then how near pairs of words are that mean the same.
"""
import gzip
import json
import os
import re
import struct
import sys

import numpy as np

from words import Words, split

SHORT, LONG_MAX, SENTENCE_MIN = 400, 2400, 30
PAIRS = """car automobile,doctor physician,film movie,buy purchase,kid child,begin start,big large,happy glad,error bug,fix repair,delete remove,job occupation,house home,
picture photo,trip travel,fast quick,function method,folder directory,password credential,speed latency,crash failure,wife spouse,dog puppy,beach shore,money cash,exam test,song music,
paint painting,author writer,repo repository,config configuration,login authentication,database sqlite,cache caching,schedule calendar,meal dinner,cook recipe,exercise workout,sick ill,angry mad,
concert gig,sibling brother,birthday celebration,adopt adoption,hike trail,budget finance,salary income,bike bicycle,plane flight,ocean sea,store shop,teacher instructor,class course,phone mobile,
picnic park,jog running,ui interface,spec specification,deploy release,merge branch,retry backoff,token authentication,hook callback,session conversation,test assertion,thread concurrency,
socket network,parse parser,regex pattern,encrypt cipher"""


def main():
    words = Words(sys.argv[1])
    table = read(sys.argv[2], words)
    for folder in sys.argv[3:]:
        print(f"{os.path.basename(folder.rstrip('/')):12} {'%5.1f %5.1f' % measure(words, table, folder)}", flush=True)
    print("pairs: other word among the ten nearest %.0f %%, cosine %.2f" % pairs(words, table))


def read(path, words):
    with open(path, "rb") as file:
        data = file.read()
    dims, pieces, slots = struct.unpack("<III", data[4:16])
    at = 16 + 2 * slots
    ends = np.frombuffer(data, "<u4", pieces + 1, at)
    at += ends.nbytes
    scales = np.frombuffer(data, "<f4", pieces, at)
    at += scales.nbytes
    vectors = np.frombuffer(data, np.int8, pieces * dims, at).reshape(pieces, dims) * scales[:, None]
    at += pieces * dims
    table = np.zeros((len(words.pieces), dims), np.float32)
    for number in range(pieces):
        table[words.numbers[data[at + ends[number]:at + ends[number + 1]].decode()]] = vectors[number]
    return table


def rows(folder, name):
    for end, load in ((".jsonl.gz", gzip.open), (".jsonl", open)):
        if os.path.exists(f"{folder}/{name}{end}"):
            with load(f"{folder}/{name}{end}", "rt", encoding="utf8") as file:
                return [json.loads(line) for line in file if line.strip()]
    sys.exit(f"no {name} in {folder}")


def parts(text):
    if len(text) >= SHORT:
        return [text[:LONG_MAX]]
    sentences = [part for part in re.split(r"(?<=[.!?])\s+|\n+", text) if len(part) >= SENTENCE_MIN]
    return [text, *sentences] if len(sentences) > 1 else [text]


def measure(words, table, folder):
    corpus, questions = rows(folder, "corpus"), rows(folder, "queries")
    places = {}
    for record in corpus:
        places.setdefault(record["ns"], []).append(record)
    found = []
    for ns, records in places.items():
        texts = [(i, part) for i, record in enumerate(records) for part in parts(record["text"])]
        owners = np.array([i for i, _ in texts])
        vectors = unit(words.bags([part for _, part in texts]) @ table)
        for question in questions:
            if question["ns"] == ns and (question["gold"] or question["gold_sessions"]):
                # Each word of a question counts once.
                asked = unit(words.bags([" ".join(dict.fromkeys(split(question["query"])))]) @ table)[0]
                near = np.full(len(records), -1.0)
                np.maximum.at(near, owners, vectors @ asked)
                found.append(score(question, [records[i] for i in np.argsort(-near, kind="stable")[:200]]))
    return tuple(100 * np.mean(found, axis=0))


def score(question, ranked):
    if question["gold"]:
        at = [i for i, record in enumerate(ranked) if record["id"] in question["gold"]]
        return sum(i < 10 for i in at) / len(question["gold"]), 1 / (at[0] + 1) if at else 0
    sessions = list(dict.fromkeys(record["session"] for record in ranked))
    gold = question["gold_sessions"]
    return sum(session in gold for session in sessions[:5]) / len(gold), sessions[0] in gold


def pairs(words, table):
    """Common words are those of the first 12,000 pieces."""
    common = [w for w, n in words.numbers.items() if 1996 < n < 12000 and len(w) > 2 and w.isascii() and w.isalpha() and words.is_content(w)]
    vectors = unit(words.bags(common) @ table)
    ranks, cosines = [], []
    for pair in PAIRS.replace("\n", "").split(","):
        a, b = unit(words.bags(pair.split()) @ table)
        for one in (a, b):
            ranks.append((vectors @ one > a @ b + 1e-6).sum())
            cosines.append(a @ b)
    return 100 * np.mean(np.array(ranks) <= 10), np.mean(cosines)


def unit(vectors):
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


if __name__ == "__main__":
    main()
