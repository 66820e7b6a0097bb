#!/usr/bin/env python3
"""Fits the weights that order the answers to questions in logs of tool calls.

    throughline-eval answers --home HOME QUESTIONS.jsonl --features FEATURES.jsonl
    python3 fit_answers.py THROUGHLINE_EVAL FEATURES.jsonl [--write]

All other weights stay as they are: the features below are 0 in conversations and for queries that
ask nothing, so fit.py cannot see them, and fitting them changes nothing that fit.py measures. Only
questions of the part `fit` are used; the others are reported beside them, and so is a fit that
leaves out one repository at a time. Needs numpy and scipy.
"""
import argparse
import json
import subprocess
import tempfile

import numpy as np
from scipy.optimize import minimize

from fit import declared_weights, show_weights, write_weights

FITTED = ["concludes", "asked", "concludes_asked", "exchange_coverage", "concludes_length",
          "call_for_question", "output_for_question", "prompt_for_question", "announcement",
          "cause_for_why", "place_for_where"]
PATH = "score/features.rs"
GROUPS = [
    ("features that were fitted to the other corpora", ""),
    ("+ calls, their output and prompts count less",
     "call_for_question output_for_question prompt_for_question announcement"),
    ("+ the end of a turn counts more", "concludes concludes_length"),
    ("+ an agent's text has the words of its prompt", "asked concludes_asked exchange_coverage"),
    ("+ words for causes and names of files", "cause_for_why place_for_where"),
]


def feature_names(program):
    with tempfile.TemporaryDirectory() as home:
        reply = subprocess.run([program, "--stdio", "--home", home], text=True, check=True,
                               input='{"op":"hello"}\n{"op":"bye"}\n', stdout=subprocess.PIPE)
    return json.loads(reply.stdout.splitlines()[0])["names"]["features"]


def read_questions(path):
    questions = []
    with open(path, encoding="utf8") as lines:
        for line in lines:
            question = json.loads(line)
            # Answers that a search adds to its hits have no features.
            known = [(i, f) for i, f in zip(question["ids"], question["features"]) if any(f)]
            if question["gold"] and known:
                question["gold"] = np.array([i in set(question["gold"]) for i, _ in known])
                question["features"] = np.array([f for _, f in known])
                questions.append(question)
    return questions


def fit(questions, columns, weights, l2):
    usable = [q for q in questions if q["gold"].any()]
    fixed = [q["features"] @ weights - q["features"][:, columns] @ weights[columns] for q in usable]
    free = [q["features"][:, columns] for q in usable]

    def loss(v):
        value, gradient = l2 * (v @ v), 2 * l2 * v
        for q, base, x in zip(usable, fixed, free):
            s = base + x @ v
            e = np.exp(s - s.max())
            total, right = e.sum(), (e * q["gold"]).sum()
            value -= np.log(right / total + 1e-30) / len(usable)
            gradient += x.T @ (e / total - e * q["gold"] / max(right, 1e-30)) / len(usable)
        return value, gradient

    out = weights.copy()
    out[columns] = minimize(loss, np.zeros(len(columns)), jac=True, method="L-BFGS-B").x
    return out


def ranks(questions, weights):
    places = []
    for q in questions:
        order = np.argsort(-(q["features"] @ weights), kind="stable")
        found = np.flatnonzero(q["gold"][order])
        places.append(found[0] if len(found) else 1000)
    return np.array(places)


def show(title, places):
    within = (100 * (places < count).mean() for count in (1, 3, 10))
    print(f"    {title:32}{len(places):5}", *(f"{share:6.1f}" for share in within))


def ablate(parts, names, before, l2):
    """Prints a table of what each group of features adds."""
    print("| step | fitted: first / in three / in ten | held out |\n| --- | --- | --- |")
    have = []
    for title, group in GROUPS:
        have += group.split()
        weights = before.copy()
        weights[[names.index(name) for name in FITTED]] = 0
        if have:
            columns = [names.index(name) for name in have]
            weights = fit(parts["fit"], columns, weights, l2)
        shares = (" / ".join(f"{100 * (places < count).mean():.1f}" for count in (1, 3, 10))
                  for places in (ranks(some, weights) for some in parts.values()))
        print(f"| {title} | {' | '.join(shares)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("features")
    parser.add_argument("--l2", type=float, default=0.003)
    parser.add_argument("--write", action="store_true",
                        help="replace the weights in the Rust sources")
    parser.add_argument("--ablate", action="store_true",
                        help="only print what each group of features adds")
    args = parser.parse_args()
    names = feature_names(args.program)
    columns = [names.index(name) for name in FITTED]
    before = declared_weights(PATH, names)
    questions = read_questions(args.features)
    parts = {part: [q for q in questions if q["part"] == part] for part in ("fit", "held-out")}
    if args.ablate:
        return ablate(parts, names, before, args.l2)
    fitted = fit(parts["fit"], columns, before, args.l2)
    fitted[columns] = np.round(fitted[columns], 2)
    print("answers: questions, first, in three, in ten (before answers replace questions)")
    zero = before.copy()
    zero[columns] = 0
    for title, weights in (("without these features", zero), ("fitted", fitted)):
        for part, some in parts.items():
            show(f"{part}, {title}", ranks(some, weights))
    left_out = [ranks([q for q in questions if q["ns"] == repo],
                      fit([q for q in questions if q["ns"] != repo], columns, before, args.l2))
                for repo in sorted({q["ns"] for q in questions})]
    show("all, repositories left out", np.concatenate(left_out))
    weights = {name: fitted[names.index(name)] for name in FITTED}
    show_weights(PATH, weights)
    if args.write:
        write_weights(PATH, weights)


if __name__ == "__main__":
    main()
