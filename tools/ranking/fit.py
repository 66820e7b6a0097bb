#!/usr/bin/env python3
"""Fits the weights of the ranker and of the gate to what dump.py kept, and prints them as constants.

    python3 fit.py DUMP.pickle [--l2 0.003]

The ranker's loss is listwise: each gold record against everything that is not (where only sessions are gold, their records together). Every
corpus weighs the same. Namespaces are left out in turn (five folds) to say how well the weights carry over. Needs numpy and scipy.
"""
import argparse
import pickle
import zlib

import numpy as np
from scipy.optimize import minimize


def lists(dump):
    """Yields (fold, set, features, gold mask, is_session_level, share of gold that is reachable)."""
    for name, data in dump.items():
        for q in data["asked"]:
            if not q["ids"]:
                continue
            x = np.array(q["features"])
            if q["gold"]:
                mask = np.array([i in set(q["gold"]) for i in q["ids"]])
                total, session = len(q["gold"]), False
                fold = zlib.crc32(q["ns"].encode()) % 5
            else:
                mask = np.array([s in set(q["gold_sessions"]) for s in q["of"]])
                total, session = 1, True
                fold = zlib.crc32(q["gold_sessions"][0].encode()) % 5
            yield {"fold": fold, "set": name, "x": x, "gold": mask, "session": session, "total": total, "q": q}


def loss(w, data, l2, weights):
    value, gradient = l2 * (w @ w), 2 * l2 * w
    for d, share in zip(data, weights):
        s = d["x"] @ w
        s = s - s.max()
        e = np.exp(s)
        if d["session"]:
            pos, all_ = e[d["gold"]].sum(), e.sum()
            value += share * -np.log(pos / all_)
            gradient = gradient + share * (d["x"].T @ (e / all_) - d["x"][d["gold"]].T @ (e[d["gold"]] / pos))
            continue
        rest = e[~d["gold"]]
        rest_sum, rest_x = rest.sum(), d["x"][~d["gold"]].T @ rest
        n = d["gold"].sum()
        for i in np.flatnonzero(d["gold"]):
            z = e[i] + rest_sum
            value += share / n * -np.log(e[i] / z)
            gradient = gradient + share / n * ((rest_x + d["x"][i] * e[i]) / z - d["x"][i])
    return value, gradient


# How late a record is among the others: no corpus here rewards it, and it must not be held against anybody.
RECENT, RECENT_WEIGHT = 27, 0.05
EVERYDAY_WEIGHT = 6
PERSON, MODEL, TOOL, LENGTH_OF_OTHERS = 14, 15, 16, 26
BOUNDS = {PERSON: (0.4, None), MODEL: (0, None), TOOL: (None, -0.2), LENGTH_OF_OTHERS: (-1.5, None)}


def fit(data, l2, without=()):
    usable = [d for d in data if d["gold"].any()]
    counts = {}
    for d in usable:
        counts[d["set"]] = counts.get(d["set"], 0) + 1
    weights = [1 / counts[d["set"]] / len(counts) for d in usable]
    size = usable[0]["x"].shape[1]
    bounds = [(0, 0) if i in without else (None, None) for i in range(size)]
    bounds[RECENT] = (RECENT_WEIGHT, RECENT_WEIGHT)
    # A person's words come before a tool's, whatever a corpus of summaries rewards.
    for at, bound in BOUNDS.items():
        if at not in without:
            bounds[at] = bound
    return minimize(loss, np.zeros(size), (usable, l2, weights), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200}).x


def measure(data, w):
    out = {}
    for d in data:
        order = np.argsort(-(d["x"] @ w), kind="stable")
        if d["session"]:
            continue
        places = np.flatnonzero(d["gold"][order])
        m = out.setdefault(d["set"], [])
        m.append(((places < 10).sum() / d["total"], (places < 20).sum() / d["total"], 1 / (places[0] + 1) if len(places) else 0))
    return {k: tuple(round(100 * x, 1) for x in np.mean(v, 0)) for k, v in out.items()}


def session_measure(data, w, sharp=1.0, decay=0.7, top=5, words=0.3):
    out = {}
    for d in data:
        gold = set(d["q"]["gold_sessions"])
        if not gold:
            continue
        s = d["x"] @ w
        felt = np.exp(sharp * (s - s.max()))
        by = {}
        for session, value in zip(d["q"]["of"], felt):
            by.setdefault(session, []).append(value)
        sums = {k: sum(x * decay ** i for i, x in enumerate(sorted(v, reverse=True)[:top])) for k, v in by.items()}
        hi = max(sums.values())
        docs = {k: words * p[1] for k, p in zip(d["q"]["sessions"], d["q"]["parts"])}
        score = {k: sums.get(k, 0) / hi + docs.get(k, 0) for k in set(sums) | set(docs)}
        order = sorted(score, key=lambda k: -score[k])
        places = [i for i, k in enumerate(order) if k in gold]
        n = len(gold)
        out.setdefault(d["set"], []).append((bool(places and places[0] == 0), sum(p < 5 for p in places) / n, sum(p < 10 for p in places) / n, 1 / (places[0] + 1) if places else 0))
    return {k: tuple(round(100 * float(x), 1) for x in np.mean(np.array(v, float), 0)) for k, v in out.items()}


GROUPS = [("words of the best passage", (0, 1, 2, 4, 24)), ("neighbours", (3, 22)), ("speaker and day", (12, 13, 20, 21)), ("words together", (5,)),
          ("who says it, and how long", (14, 15, 16, 17, 18, 19, 26)), ("session", (10, 11)), ("meaning", (6, 7, 8, 9, 23, 25))]


def ablate(data, l2):
    have = set()
    for name, group in GROUPS:
        have |= set(group)
        w = fit(data, l2, without=set(range(27)) - have)
        print("ablation:", name, measure(data, w), session_measure(data, w))


def gate_data(dump, w):
    xs, ys, sets, often = [], [], [], []
    for name, data in dump.items():
        for q in data["asked"]:
            if not q["ids"]:
                continue
            order = np.argsort(-(np.array(q["features"]) @ w), kind="stable")[:8]
            top = {q["ids"][i] for i in order} if q["gold"] else {q["of"][i] for i in order}
            if top & set(q["gold"] or q["gold_sessions"]):
                xs.append(q["gate"]); ys.append(1); sets.append(name); often.append(1)
        for q in data["unrelated"]:
            xs.append(q["gate"] if q["gate"] else [0.0] * 14); ys.append(0); sets.append(name); often.append(1)
        # The last thirty are what people type every day, and so often.
        often[-30:] = [EVERYDAY_WEIGHT] * 30
    return np.array(xs), np.array(ys), sets, np.array(often)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dump")
    parser.add_argument("--l2", type=float, default=0.0002)
    parser.add_argument("--ablate", action="store_true", help="also print what each group of features adds")
    args = parser.parse_args()
    with open(args.dump, "rb") as file:
        dump = pickle.load(file)
    data = list(lists(dump))
    everything = fit(data, args.l2)
    if args.ablate:
        ablate(data, args.l2)
    print("records, all in: recall@10, recall@20, mrr", measure(data, everything))
    left_out = {}
    for fold in range(5):
        w = fit([d for d in data if d["fold"] != fold], args.l2)
        for d in data:
            if d["fold"] == fold:
                left_out.setdefault(fold, (w, []))[1].append(d)
    total = {}
    for w, part in left_out.values():
        for name, values in measure(part, w).items():
            count = sum(d["set"] == name for d in part)
            old = total.get(name, (0, np.zeros(3)))
            total[name] = (old[0] + count, old[1] + count * np.array(values))
    print("records, left out:", {k: tuple(np.round(v[1] / v[0], 1)) for k, v in total.items()})
    print("sessions: hit@1, recall@5, recall@10, mrr")
    for sharp in (0.5, 1.0):
        for words in (0.0, 0.3, 0.6):
            print(" ", sharp, words, session_measure(data, everything, sharp=sharp, words=words))
    print("weights:", ", ".join(f"{x:.2f}" for x in everything))
    x, y, sets, often = gate_data(dump, everything)
    bounds = [(None, None)] * (x.shape[1] + 1)

    def gate_loss(v):
        z = x @ v[:-1] + v[-1]
        p = 1 / (1 + np.exp(-np.clip(z, -30, 30)))
        share = np.where(y == 1, 0.5 / max(1, y.sum()), 0.5 * often / max(1, ((1 - y) * often).sum()))
        value = -(share * (y * np.log(p + 1e-12) + (1 - y) * np.log(1 - p + 1e-12))).sum() + 1e-4 * (v[:-1] @ v[:-1])
        g = share * (p - y)
        return value, np.append(x.T @ g + 2e-4 * v[:-1], g.sum())

    v = minimize(gate_loss, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B", bounds=bounds).x
    z = x @ v[:-1] + v[-1]
    cut = np.quantile(z[y == 0], 0.955)
    print(f"gate: at 4.5 % of unrelated, {100 * (z[y == 1] > cut).mean():.1f} % of answered pass")
    for name in dump:
        at = np.array([s == name for s in sets])
        print(f"  {name}: answered {100 * (z[(y == 1) & at] > cut).mean():.1f} % pass, unrelated {100 * (z[(y == 0) & at] > cut).mean():.1f} %")
    # The bias makes one half the default.
    print("gate weights:", ", ".join(f"{a:.2f}" for a in v[:-1]), "bias", f"{v[-1] - cut:.2f}")


if __name__ == "__main__":
    main()
