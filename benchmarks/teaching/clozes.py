"""Questions about texts that nobody asked about: sentences with a name, a year or a number in question.

    python benchmarks/teaching/clozes.py CORPUS… --apart squad2-dev.json… --output clozes.json [--count 22000]

CORPUS is what `train pretrain` takes. Each question is about another stretch of a few sentences, short enough for one
window; `mix` adds unanswerable ones and rewordings. They are clumsy, and meant for whoever learns from a teacher's
labels: what counts is how many different texts the teacher is asked about. Stretches that share eight words in a row
with a text of --apart, by which the reader is to be measured, are left out.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pocketbert.data.corpus import open_corpus
from pocketbert.data.unanswerable import mix, write_squad_json
from pocketbert.data.unanswerable.example import Answerable, Span
from pocketbert.data.unanswerable.names import Name, NameFinder
from pocketbert.data.unanswerable.words import STOPWORDS, Sentence, sentences, tidy, words

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from teaching.apart import Apart

LONGEST, SHORTEST = 480, 200
"""Characters of a stretch."""
WORDS = range(6, 31)
"""Of a sentence that becomes a question."""
ASKING = {
    "person": "who", "place": "which place", "group": "which group", "event": "which event",
    "year": "what year", "number": "how many", "small number": "how many", "month": "what month",
}  # fmt: skip
PREPOSITIONS = ("in", "on", "at", "by", "to", "of", "from", "with", "for", "during", "after", "before")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", nargs="+", help="files, folders or sets of the hub")
    parser.add_argument("--apart", nargs="+", required=True, help="questions in SQuAD's format")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--count", type=int, default=22000, help="stretches to ask about")
    parser.add_argument("--ratio", type=float, default=0.8, help="unanswerable questions for each of them")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    apart = Apart(options.apart)
    stretches = [text for document in open_corpus(options.corpus).documents() for text in cut(document)]
    chance = random.Random(options.seed)
    chance.shuffle(stretches)
    finder = NameFinder(stretches[: options.count])
    questions: list[Answerable] = []
    for text in stretches:
        if len(questions) == options.count:
            break
        question = None if apart.has_text(text) else asked(text, finder, chance)
        if question is not None:
            questions.append(question)
    items = mix(questions, ratio=options.ratio, harmless_ratio=0.3, seed=options.seed)
    write_squad_json(options.output, items)
    print(f"{len(questions)} stretches, {len(items)} questions", file=sys.stderr)


def cut(document: Sequence[str]) -> Iterator[str]:
    """The stretches of a document: sentences that follow each other, as many as fit."""
    text = ""
    for sentence in (*document, ""):
        longer = f"{text} {sentence}".strip()
        if sentence and len(longer) <= LONGEST:
            text = longer
            continue
        if SHORTEST <= len(text) <= LONGEST:
            yield text
        text = sentence


def asked(text: str, finder: NameFinder, chance: random.Random) -> Answerable | None:
    """A question about one of its sentences, None if none has something to ask for."""
    names = finder.find(text)
    able = [
        (sentence, name)
        for sentence in sentences(text)
        if len(words(text[sentence.start : sentence.end])) in WORDS
        for name in names
        if sentence.start <= name.start and name.end <= sentence.end
        if name.kind not in ("ordinal", "weekday") and text.count(name.text) == 1
    ]
    if not able:
        return None
    # A question about the subject, which stands first, sounds like one.
    first = [(sentence, name) for sentence, name in able if name.start - sentence.start <= len("The ")]
    sentence, name = chance.choice(first if first and chance.random() < 0.6 else able)
    question = cloze(text, sentence, name, chance)
    digest = hashlib.sha256(f"{question}\0{text}".encode()).hexdigest()[:16]
    return Answerable(digest, "", question, text, (Span(name.text, name.start),))


def cloze(text: str, sentence: Sentence, name: Name, chance: random.Random) -> str:
    """The clause around the name; the question word takes its place or goes before the rest."""
    asking = ASKING.get(name.kind, "what")
    before = clause(text[sentence.start : name.start], last=True, chance=chance).split()
    after = clause(text[name.end : sentence.end].rstrip(" .!?;:"), last=False, chance=chance).split()
    if before and before[-1].lower() == "the":
        before.pop()
    if before and before[0].lower() in STOPWORDS:
        before[0] = before[0].lower()
    if not before or chance.random() < 0.2:
        parts = [*before, asking, *after]
    else:
        front = [before.pop()] if before[-1].lower() in PREPOSITIONS else []
        helper = chance.choice(([], ["did"], ["was"]))
        parts = [*front, asking, *helper, *before, *after]
    question = " ".join(part for part in parts if len(parts) < 8 or part in asking or chance.random() > 0.08)
    return tidy(f"{question.rstrip(' ,;:')}?")


def clause(part: str, *, last: bool, chance: random.Random) -> str:
    """What stands before or after the name, often no further than to a comma."""
    pieces: Sequence[str] = part.split(", ")
    if len(pieces) == 1 or chance.random() < 0.3:
        return part.strip()
    nearest = pieces[-1] if last else pieces[0]
    if len(nearest.split()) < 4:
        nearest = ", ".join(pieces[-2:] if last else pieces[:2])
    return nearest.strip()


if __name__ == "__main__":
    main()
