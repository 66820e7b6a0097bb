#!/usr/bin/env python3
"""Fits the weights of records, sessions and the gate to the features that dump.py kept.

    python3 fit.py DUMP.pickle [DUMP.pickle ...] [--ablate] [--write]

Prints each weight with the name of its feature. With --write it replaces the weights in the Rust
sources, matched by name: a feature that the sources do not declare is an error.

The losses of records and sessions are listwise: gold against everything else. Every corpus weighs
the same. Namespaces are left out in turn (five folds; where there is one namespace, the sessions
that questions are about) to measure how well the weights generalise. Needs numpy and scipy.
"""
import argparse
import json
import os
import pickle
import re
import zlib

import numpy as np
from scipy.optimize import minimize

FOLDS = 5
# No corpus here rewards recency, and it must not count against a record.
FIXED = {"recency": 0.05}
# A person's words come before a tool's, whatever a corpus of summaries rewards.
BOUNDS = {"person": (0.4, None), "model": (0, None), "tool": (None, -0.2),
          "other_length": (-1.5, None), "other_length_x_other_length": (-1, None)}
SESSION_BOUNDS = {"size": (0, 0)}
# Everyday prompts are typed far more often than questions about somebody else's work.
EVERYDAY_WEIGHT = 3
# Few questions are known that a project's own memory cannot answer.
HARD_WEIGHT = 10
FALSE_MAX = {"foreign": 0.01, "everyday": 0.008, "hard": 0.05}
GATE_L2 = 5e-4

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                       "../../crates/throughline-recall/src")


def show_weights(path, weights):
    print(f"{path}:")
    for name, value in sorted(weights.items(), key=lambda pair: -abs(pair[1])):
        print(f"    {name:40}{value:6.2f}")


def write_weights(path, weights):
    """Replaces the weights in lines `name = value => weight;` of a Rust source."""
    path = os.path.join(SOURCES, path)
    with open(path, encoding="utf8") as file:
        text = file.read()
    for name, value in weights.items():
        line = re.compile(rf"(^    {name} =(?:(?!=>|;\n).|\n)*=>\s*)-?[0-9.]+;", re.M)
        text, count = line.subn(lambda found: f"{found[1]}{value:.2f};", text)
        if count != 1:
            raise SystemExit(f"{path} declares the feature {name} {count} times")
    with open(path, "w", encoding="utf8") as file:
        file.write(text)


def declared_features(path):
    """Returns the names of the features that a Rust source declares, in their order."""
    with open(os.path.join(SOURCES, path), encoding="utf8") as file:
        return re.findall(r"^    (\w+) =(?:(?!=>|;\n).|\n)*=>\s*-?[0-9.]+;", file.read(), re.M)


def declared_weights(path, names):
    """Returns the weights that a Rust source declares, in the order of the names."""
    with open(os.path.join(SOURCES, path), encoding="utf8") as file:
        text = file.read()
    found = (re.search(rf"^    {name} =(?:(?!=>|;\n).|\n)*=>\s*(-?[0-9.]+);", text, re.M)
             for name in names)
    return np.array([float(match[1]) for match in found])


def fold_of(name):
    return zlib.crc32(name.encode()) % FOLDS


class Lists:
    """The candidates of every question, padded to one block."""

    def __init__(self, dump, kind, weights=None):
        rows = [(name, q) for name, data in dump["sets"].items() for q in data["asked"] if q["ids"]]
        rows = [(name, q) for name, q in rows if kind == "records" or q["gold_sessions"]]
        places = {name: sorted({q["ns"] for q in data["asked"]}) for name, data in dump["sets"].items()}
        width = max(len(q["ids"]) if kind == "records" else len(q["sessions"]) for _, q in rows)
        size = len(dump["names"]["features" if kind == "records" else "session_features"])
        self.x = np.zeros((len(rows), width, size), np.float32)
        self.valid = np.zeros((len(rows), width), bool)
        self.gold = np.zeros((len(rows), width), bool)
        self.together = np.zeros(len(rows), bool)
        self.total = np.ones(len(rows))
        self.sets = np.array([name for name, _ in rows])
        self.rows = rows
        self.fold = np.zeros(len(rows), int)
        for i, (name, q) in enumerate(rows):
            if len(places[name]) > 1:
                self.fold[i] = places[name].index(q["ns"]) % FOLDS
            else:
                self.fold[i] = fold_of(q["gold_sessions"][0])
            if kind == "records":
                n, self.together[i] = len(q["ids"]), not q["gold"]
                keys, gold = (q["of"], q["gold_sessions"]) if not q["gold"] else (q["ids"], q["gold"])
                self.x[i, :n] = q["features"]
            else:
                n, keys, gold = len(q["sessions"]), q["sessions"], q["gold_sessions"]
                self.x[i, :n] = q["session_features"]
                records = dump["names"]["session_features"].index("records")
                self.x[i, :n, records] = best_records(q, weights)
            self.valid[i, :n] = True
            self.gold[i, :n] = [key in set(gold) for key in keys]
            self.total[i] = len(gold)

    def shares(self, among):
        counts = {name: (self.sets[among] == name).sum() for name in set(self.sets[among])}
        return np.array([1 / counts[name] / len(counts) if ok else 0 for name, ok in zip(self.sets, among)])


def best_records(q, weights, decay=0.7, top=5):
    """Returns the feature `records` of score/sessions.rs."""
    s = np.array(q["features"]) @ weights
    by = {}
    for session, value in zip(q["of"], np.exp(s - s.max())):
        by.setdefault(session, []).append(value)
    sums = {k: sum(x * decay ** i for i, x in enumerate(sorted(v, reverse=True)[:top])) for k, v in by.items()}
    best = max(sums.values())
    return [sums.get(k, 0) / best for k in q["sessions"]]


def fit(lists, among, names, bounds, l2, without=()):
    usable = among & lists.gold.any(1)
    x, valid, gold = lists.x[usable], lists.valid[usable], lists.gold[usable]
    share = lists.shares(usable)[usable]
    together = lists.together[usable][:, None]
    count = gold.sum(1)

    def loss(w):
        s = np.where(valid, x @ w.astype(np.float32), -1e9).astype(float)
        e = np.exp(s - s.max(1, keepdims=True)) + 1e-30 * valid
        rest = (e * ~gold).sum(1, keepdims=True)
        alone = e / (e + rest + 1e-30)
        each = share[:, None] / count[:, None] * gold
        pos, everything = (e * gold).sum(1, keepdims=True), e.sum(1, keepdims=True)
        value = np.where(together, -share[:, None] * np.log(np.where(together, pos, everything) / everything) / e.shape[1], -each * np.log(np.where(gold, alone + 1e-30, 1))).sum()
        pull = (each / (e + rest + 1e-30)).sum(1, keepdims=True)
        down = np.where(gold, -each * (1 - alone), e * pull)
        d = np.where(together, share[:, None] * (e / everything - e * gold / np.maximum(pos, 1e-30)), down)
        g = np.einsum("qnf,qn->f", x, d.astype(np.float32), optimize=True).astype(float)
        return value + l2 * (w @ w), g + 2 * l2 * w

    limits = [(0, 0) if n in without else (FIXED[n], FIXED[n]) if n in FIXED else bounds.get(n, (None, None)) for n in names]
    start = np.array([FIXED.get(n, 0.0) for n in names])
    return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": 300}).x


def measure(lists, scores, among):
    out = {}
    for i in np.flatnonzero(among):
        if lists.together[i]:
            continue
        s = np.where(lists.valid[i], scores[i], -1e9)
        places = np.flatnonzero(lists.gold[i][np.argsort(-s, kind="stable")])
        n = lists.total[i]
        gain = (1 / np.log2(places[places < 10] + 2)).sum() / (1 / np.log2(np.arange(min(10, int(n))) + 2)).sum()
        out.setdefault(lists.sets[i], []).append(
            (len(places) > 0 and places[0] == 0, (places < 5).sum() / n, (places < 10).sum() / n, (places < 20).sum() / n,
             1 / (places[0] + 1) if len(places) else 0, gain))
    return {k: tuple(round(100 * float(x), 1) for x in np.mean(np.array(v, float), 0)) for k, v in out.items()}


def show(title, measured):
    print(f"{title}: hit@1, recall@5, recall@10, recall@20, mrr, ndcg@10")
    for name, values in measured.items():
        print("   ", name.ljust(12), *(f"{value:5.1f}" for value in values))


def left_out(lists, names, bounds, l2):
    scores = np.zeros(lists.valid.shape)
    for fold in range(FOLDS):
        out = lists.fold == fold
        scores[out] = lists.x[out] @ fit(lists, ~out, names, bounds, l2)
    return scores


GROUPS = [
    ("words of the best passage",
     "lexical lexical_share coverage exact text_lexical rarest rank_lexical"),
    ("neighbours", "coverage_nearby nearby_lexical rarest_nearby follows_question"),
    ("speaker and date", "speaker other_speaker date time_for_time number_for_count"),
    ("adjacent words", "adjacent adjacent_in_chat"),
    ("author and length",
     "person model tool person_in_chat person_length question other_length text_lexical_in_chat"),
    ("session", "session_lexical session_best window session_lexical_in_chat"),
    ("embeddings",
     "cosine_text cosine_passage cosine_raw similar nearby_cosine lexical_and_cosine similar_soft "
     "nearby_similar rank_cosine rank_similar cosine_passage_in_chat"),
    ("preferences and kinds of questions",
     "standing standing_for_advice preference preference_for_advice prompt_for_overview "
     "model_for_overview cosine_passage_x_standing"),
    ("openings", "opening opening_for_overview later later_for_overview"),
    ("products", "*"),
]


def corpora_left_out(lists, names, bounds, l2):
    """Scores each corpus with weights that were fitted to the others, BEAM counting as one."""
    scores = np.zeros(lists.valid.shape)
    families = np.array([name.split("-")[0] for name in lists.sets])
    for family in sorted(set(families)):
        out = families == family
        scores[out] = lists.x[out] @ fit(lists, ~out, names, bounds, l2)
    return scores


def table_row(title, records, sessions):
    """Returns a row of the ablation table: recall@10 / MRR, for coding sessions hit@1 / recall@5."""
    def cell(measured, name, first, second):
        values = measured.get(name)
        return f"{values[first]:.1f} / {values[second]:.1f}" if values else "–"

    cells = [cell(records, name, 2, 4) for name in ("locomo", "beam-100k", "beam-500k")]
    cells.append(cell(sessions, "entire-cli", 0, 1))
    return f"| {title} | {' | '.join(cells)} |"


def ablate(dump, lists, names, l2):
    """Prints a table of what each group of features adds."""
    everything = np.ones(len(lists.sets), bool)
    of = dump["names"]["session_features"].index
    have = set(FIXED)
    print("| step | LoCoMo recall@10 / MRR | BEAM 100K | BEAM 500K "
          "| entire-cli hit@1 / recall@5 |\n| --- | --- | --- | --- | --- |")

    def row(title, scores, w):
        sessions = Lists(dump, "sessions", w)
        by_records = sessions.x[:, :, of("records")] + 0.3 * sessions.x[:, :, of("words")]
        print(table_row(title, measure(lists, scores, everything),
                        measure(sessions, by_records, np.ones(len(sessions.sets), bool))),
              flush=True)

    for title, group in GROUPS:
        have |= set(names) if group == "*" else set(group.split())
        w = fit(lists, everything, names, BOUNDS, l2, without=set(names) - have)
        row(f"+ {title}" if have > set(GROUPS[0][1].split()) | set(FIXED) else title, lists.x @ w, w)
    left = measure(lists, left_out(lists, names, BOUNDS, l2), everything)
    print(table_row("the same, conversations left out in turn", left, {}))
    apart = measure(lists, corpora_left_out(lists, names, BOUNDS, l2), everything)
    print(table_row("the same, fitted to the other corpora only", apart, {}))


def gate_rows(dump, w):
    """Returns prompts whose evidence is among the best eight, and prompts without evidence."""
    rows = []
    for name, data in dump["sets"].items():
        for q in data["asked"]:
            if not q["ids"]:
                continue
            order = np.argsort(-(np.array(q["features"]) @ w), kind="stable")[:8]
            top = {q["ids"][i] for i in order} if q["gold"] else {q["of"][i] for i in order}
            if top & set(q["gold"] or q["gold_sessions"]):
                rows.append((name, "answerable", q))
        rows += [(name, "everyday" if q["everyday"] else "foreign", q) for q in data["unrelated"]]
    return rows


def answer_rows(path):
    """Returns the questions of `throughline-eval answers --features` as rows of the gate."""
    rows = []
    with open(path, encoding="utf8") as lines:
        for q in map(json.loads, lines):
            if not q["gold"]:
                rows.append(("answers", "hard", q))
            elif set(q["ids"][:8]) & set(q["gold"]):
                rows.append(("answers", "answerable", q))
    return rows


def gate_values(names, have, values):
    """Returns the features of the gate; products that the dump does not have are multiplied."""
    known = dict(zip(have, np.array(values).T))
    columns = []
    for name in names:
        a, _, b = name.partition("_x_")
        columns.append(known[name] if name in known else known[a] * known[b])
    return np.array(columns).T


def fit_gate(dump, w, answers):
    rows = gate_rows(dump, w) + (answer_rows(answers) if answers else [])
    have = dump["names"]["gate"]
    names = declared_features("gate/mod.rs")
    x = gate_values(names, have, [q["gate"] for _, _, q in rows])
    # Products are far larger than their factors, so each is scaled to its spread.
    middle, spread = x.mean(0), x.std(0) + 1e-9
    x = (x - middle) / spread
    # Prompts that get nothing whatever the gate says do not train it.
    able = np.array([bool(q["shown"]) for _, _, q in rows])
    kinds = np.array([kind for _, kind, _ in rows])
    sets = np.array([name for name, _, _ in rows])
    y = kinds == "answerable"
    fold = np.array([fold_of(q["query"]) for _, _, q in rows])

    def weights(among):
        often = np.select([kinds == "everyday", kinds == "hard"], [EVERYDAY_WEIGHT, HARD_WEIGHT], 1.0)
        often = often * among * able
        # Each set counts the same among those that could be answered.
        per = {name: max(1, (often * y * (sets == name)).sum()) for name in set(sets)}
        positive = np.array([1 / per[name] / len(per) for name in sets])
        return np.where(y, 0.5 * positive, 0.5 / max(1, (often * ~y).sum())) * often

    def train(among):
        share = weights(among)

        def loss(v):
            p = 1 / (1 + np.exp(-np.clip(x @ v[:-1] + v[-1], -30, 30)))
            value = -(share * np.where(y, np.log(p + 1e-12), np.log(1 - p + 1e-12))).sum() + GATE_L2 * (v[:-1] @ v[:-1])
            g = share * (p - y)
            return value, np.append(x.T @ g + 2 * GATE_L2 * v[:-1], g.sum())

        v = minimize(loss, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B").x
        z = np.where(able, x @ v[:-1] + v[-1], -99)
        cuts = [np.quantile(z[among & (kinds == kind)], 1 - most)
                for kind, most in FALSE_MAX.items() if (among & (kinds == kind)).any()]
        return v, z, max(cuts)

    def report(title, z):
        print(f"{title}: share that gets something")
        for kind in ("answerable", "foreign", "everyday", "hard"):
            for name in sorted(set(sets[kinds == kind])):
                at = (kinds == kind) & (sets == name)
                print(f"    {kind:10} {name:12} {at.sum():5} {100 * (z[at] >= 0).mean():5.1f} %")
            at = kinds == kind
            if at.any():
                print(f"    {kind:10} {'all':12} {at.sum():5} {100 * (z[at] >= 0).mean():5.1f} %")

    everything = np.ones(len(rows), bool)
    v, z, cut = train(everything)
    report("gate, all in", z - cut)
    out = np.zeros(len(rows))
    for f in range(FOLDS):
        _, part, at = train(fold != f)
        out[fold == f] = (part - at)[fold == f]
    report("gate, left out", out)
    print("gate curve:")
    for false in (0.01, 0.02, 0.04, 0.05, 0.1, 0.2):
        at = np.quantile(z[~y], 1 - false)
        print(f"    {100 * false:4.0f} % of unrelated, {100 * (z[y] > at).mean():5.1f} % of answerable")
    for name in sorted(set(sets)):
        _, part, at = train(sets != name)
        out[sets == name] = (part - at)[sets == name]
    report("gate, fitted to the other corpora", out)
    raw = v[:-1] / spread
    print(f"gate/mod.rs: BIAS {v[-1] - cut - raw @ middle:.2f} (set by hand)")
    return dict(zip(names, raw))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dump", nargs="+")
    parser.add_argument("--l2", type=float, default=0.0002)
    parser.add_argument("--session-l2", type=float, default=0.001)
    parser.add_argument("--answers", help="the questions and hits of `throughline-eval answers "
                        "--features`, for the gate")
    parser.add_argument("--gate-only", action="store_true",
                        help="fit the gate to the weights of records in the sources")
    parser.add_argument("--without", default="", help="features to leave out, with commas between")
    parser.add_argument("--ablate", action="store_true",
                        help="also print what each group of features adds")
    parser.add_argument("--only-ablate", action="store_true", help="print nothing else")
    parser.add_argument("--write", action="store_true",
                        help="replace the weights in the Rust sources")
    args = parser.parse_args()
    dump = {"sets": {}}
    for path in args.dump:
        with open(path, "rb") as file:
            part = pickle.load(file)
        dump["names"] = part["names"]
        dump["sets"].update(part["sets"])
    names = dump["names"]["features"]
    if args.gate_only:
        gate = fit_gate(dump, declared_weights("score/features.rs", names), args.answers)
        show_weights("gate/mod.rs", gate)
        if args.write:
            write_weights("gate/mod.rs", gate)
        return
    bounds = {**BOUNDS, **{name: (0, 0) for name in args.without.split(",") if name}}
    lists = Lists(dump, "records")
    everything = np.ones(len(lists.sets), bool)
    if args.ablate or args.only_ablate:
        ablate(dump, lists, names, args.l2)
    if args.only_ablate:
        return
    w = fit(lists, everything, names, bounds, args.l2)
    show("records, all in", measure(lists, lists.x @ w, everything))
    show("records, left out", measure(lists, left_out(lists, names, bounds, args.l2), everything))
    # Sessions are fitted to the weights of records as they are shipped: with two digits.
    w = np.round(w, 2)
    sessions = Lists(dump, "sessions", w)
    all_sessions = np.ones(len(sessions.sets), bool)
    session_names = dump["names"]["session_features"]
    v = fit(sessions, all_sessions, session_names, SESSION_BOUNDS, args.session_l2)
    show("sessions, all in", measure(sessions, sessions.x @ v, all_sessions))
    show("sessions, left out", measure(sessions, left_out(sessions, session_names, SESSION_BOUNDS, args.session_l2), all_sessions))
    fitted = {"score/features.rs": dict(zip(names, w)),
              "score/sessions.rs": dict(zip(session_names, v))}
    if all("gate" in q for data in dump["sets"].values() for q in data["asked"]):
        fitted["gate/mod.rs"] = fit_gate(dump, w, args.answers)
    for path, weights in fitted.items():
        show_weights(path, weights)
        if args.write:
            write_weights(path, weights)


if __name__ == "__main__":
    main()
