#!/usr/bin/env python3
"""Runs the questions of corpora through `throughline-eval --stdio` and keeps all features, for fit.py.

    python3 dump.py THROUGHLINE_EVAL OUT.pickle [--only NAME[,NAME]] [--every N] [--prompts none] DIR [DIR ...]

Each DIR holds corpus.jsonl[.gz] and queries.jsonl[.gz]. For the gate, every corpus also gets the
questions of the others and everyday prompts (`unrelated`); --prompts none skips these, which is
enough for records and sessions. With --only, the other folders only supply questions, so that
several runs can go in parallel; with --every N, one question in N is asked.
"""
import gzip
import json
import os
import pickle
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "../../crates/throughline-eval/src/everyday_prompts.txt"), encoding="utf8") as lines:
    EVERYDAY = [line.strip() for line in lines if line.strip()]


def rows(folder, name):
    for end in (".jsonl.gz", ".jsonl"):
        path = os.path.join(folder, name + end)
        if os.path.exists(path):
            with (gzip.open(path, "rt", encoding="utf8") if end.endswith("gz") else open(path, encoding="utf8")) as file:
                return [json.loads(line) for line in file if line.strip()]
    sys.exit(f"no {name} in {folder}")


class Throughline:
    def __init__(self, program):
        self.home = tempfile.mkdtemp()
        self.child = subprocess.Popen([program, "--stdio", "--home", self.home], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.names = self.call({"op": "hello"})["names"]

    def call(self, request):
        self.child.stdin.write(json.dumps(request, ensure_ascii=False) + "\n")
        self.child.stdin.flush()
        reply = json.loads(self.child.stdout.readline())
        if reply.get("error"):
            sys.exit(reply["error"])
        return reply


def main():
    program, out, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    options = {}
    while rest[0].startswith("--"):
        options[rest[0]], rest = rest[1], rest[2:]
    only = options["--only"].split(",") if "--only" in options else None
    every = int(options.get("--every", 1))
    sends = options.get("--prompts") != "none"
    folders = [folder.rstrip("/") for folder in rest]
    asked = [folder for folder in folders if not only or os.path.basename(folder) in only]
    corpora = {os.path.basename(folder): rows(folder, "corpus") for folder in asked}
    questions = {os.path.basename(folder): rows(folder, "queries") for folder in folders}
    dumped = {"sets": {}}
    for name, corpus in corpora.items():
        memory = Throughline(program)
        for ns in dict.fromkeys(row["ns"] for row in corpus):
            own = [row for row in corpus if row["ns"] == ns]
            for at in range(0, len(own), 500):
                memory.call({"op": "ingest", "records": own[at:at + 500]})
        memory.call({"op": "flush"})
        session_of = {row["id"]: row["session"] for row in corpus}

        def ask(ns, text, k=200):
            reply = memory.call({"op": "search", "ns": ns, "query": text, "k": k, "explain": True})
            found = reply["results"]
            return {"ns": ns, "query": text, "ids": [r["id"] for r in found], "features": [r["features"] for r in found],
                    "of": [session_of[r["id"]] for r in found], "sessions": reply["sessions"], "session_features": reply["session_features"]}

        def prompt(ns, text):
            if not sends:
                return {}
            reply = memory.call({"op": "context", "ns": ns, "prompt": text})
            return {"gate": reply["gate"], "confidence": reply["confidence"], "injects": reply["injects"], "shown": reply["shown"]}

        asked = [{**ask(q["ns"], q["query"]), **prompt(q["ns"], q["query"]), "gold": q["gold"], "gold_sessions": q["gold_sessions"], "qid": q["qid"], "category": q["category"]}
                 for q in questions[name][::every] if q["gold"] or q["gold_sessions"]]
        places = list(dict.fromkeys(row["ns"] for row in corpus))
        others = [q["query"] for other in questions if other.split("-")[0] != name.split("-")[0] for q in questions[other][::3 * every]]
        unrelated = [{"query": text, "everyday": i >= len(others), **prompt(places[i % len(places)], text)}
                     for i, text in enumerate(others + EVERYDAY) if sends]
        dumped["names"] = memory.names
        dumped["sets"][name] = {"asked": asked, "unrelated": unrelated}
        print(name, len(asked), len(unrelated), flush=True)
        memory.child.stdin.write('{"op":"bye"}\n')
        memory.child.stdin.close()
        memory.child.wait()
    with open(out, "wb") as file:
        pickle.dump(dumped, file)


if __name__ == "__main__":
    main()
