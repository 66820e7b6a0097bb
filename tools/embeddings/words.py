"""The words of a text as Throughline reads them (crates/throughline-store/src/terms), and the teacher's pieces of them."""
import json
import os
import re
import unicodedata

import numpy as np
import scipy.sparse as sparse

HERE = os.path.dirname(os.path.abspath(__file__))
STOP_LIST = os.path.join(HERE, "../../crates/throughline-store/src/terms/stop.rs")
RUN = re.compile(r"[^\W_]+")
SEAM = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
WORD_MAX, PIECE_MAX, PIECES_MAX = 48, 32, 16


class Words:
    def __init__(self, model):
        with open(f"{model}/tokenizer.json", encoding="utf8") as file:
            self.numbers = json.load(file)["model"]["vocab"]
        with open(STOP_LIST, encoding="utf8") as file:
            self.stop = set(re.findall(r'^    "(.*?)",', file.read(), re.M))
        self.pieces = sorted(self.numbers, key=self.numbers.get)
        self.kept = np.array([not (piece.startswith("[") and piece.endswith("]")) for piece in self.pieces])
        self.known = {}

    def bags(self, texts):
        """Which pieces occur in each text, and how often."""
        found, ends = [], [0]
        for text in texts:
            found += self.bag(text)
            ends.append(len(found))
        bags = sparse.csr_matrix((np.ones(len(found), np.float32), found, ends), shape=(len(texts), len(self.pieces)))
        bags.sum_duplicates()
        return bags

    def bag(self, text):
        return [piece for word in split(text) if self.is_content(word) for piece in self.cut(word)]

    def is_content(self, word):
        return (len(word) > 1 or word.isdigit() or not word.isascii()) and word not in self.stop

    def cut(self, word):
        if word not in self.known:
            self.known[word] = self.longest_first(word)
        return self.known[word]

    def longest_first(self, word):
        cut, start = [], 0
        while start < len(word):
            for end in range(min(len(word), start + PIECE_MAX), start, -1):
                number = self.numbers.get(("##" if start else "") + word[start:end])
                if number is not None:
                    break
            else:
                return []
            cut.append(number)
            start = end
        return cut[:PIECES_MAX]


def split(text):
    for run in RUN.findall(text):
        if not run.isascii():
            yield "".join(c for c in unicodedata.normalize("NFKD", run) if c.isalnum()).lower()
        elif len(run) <= WORD_MAX:
            yield from (part.lower() for part in SEAM.split(run))
