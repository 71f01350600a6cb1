"""Scores who somebody is: the sentences that are chosen beside those that name somebody first.

    python -m benchmarks.who --data NARRATIVEQA [--half B] [--setting summaries|stories]

Questions are NarrativeQA's of the form "Who is NAME?", the book is the summary or the whole story. A sentence
is worth the largest share of a reference answer's tokens that it has in the same order: ROUGE-L recall, for a
quoted sentence says more than an answer. Of several the best counts. A name that is not found counts 0.
Half A is for choosing, half B for reporting: the cross-encoder was trained on questions of half A.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from rich.progress import track

from answering.profiles import SENTENCES, descriptions
from answering.quotes import sentences_at
from encoders.cross_encoder import load_crossencoder
from evaluation.benchmarks.narrativeqa import load
from evaluation.metrics.overlap import scored
from indexing.character_lookup import find_character
from indexing.characters import named
from indexing.errors import UnknownCharacter

_ASKED = re.compile(r"[Ww]ho (?:is|was) (?P<name>[A-Z][\w.'-]*(?: (?:[A-Z][\w.'-]*|of|de|von|the))*)\s*\?")


def recall(sentences: Sequence[str], references: Sequence[str]) -> float:
    """The best ROUGE-L recall of any of the sentences against any of the references; 0 of none."""
    from pycocoevalcap.rouge.rouge import my_lcs  # type: ignore[import-untyped]

    wanted = [scored(reference).split() for reference in references]
    shares = (
        my_lcs(scored(sentence).split(), reference) / len(reference)
        for sentence in sentences
        for reference in wanted
    )
    return max(shares, default=0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description="Score who somebody is, beside first mentions.")
    parser.add_argument("--data", type=Path, required=True, help="the NarrativeQA folder")
    parser.add_argument("--half", default="B", choices=("A", "B"))
    parser.add_argument("--setting", default="summaries", choices=("summaries", "stories"))
    given = parser.parse_args()
    benchmark = load(given.data, setting=given.setting, half=given.half)
    asked = [(one, match["name"]) for one in benchmark.questions if (match := _ASKED.fullmatch(one.text))]
    encoder = load_crossencoder()
    scores: dict[str, list[float]] = defaultdict(list)
    unknown = 0
    with tempfile.TemporaryDirectory() as cache:
        for question, name in track(asked, "asking"):
            book = benchmark.books[question.story]()
            first: list[str] = []
            best: list[str] = []
            try:
                person = find_character(book.text, named(book.text, Path(cache)), name)
            except UnknownCharacter:
                unknown += 1
            else:
                places = sentences_at(book.text, [start for start, _ in person.places])
                first = [book.text[start:end] for start, end in places[:SENTENCES]]
                told = descriptions(book.text, person, SENTENCES, encoder)
                best = [book.text[start:end] for start, end, _ in told]
            for of, sentences in (("first to name them", first), ("chosen", best)):
                for count in (1, SENTENCES):
                    scores[f"{of}, {count}"].append(recall(sentences[:count], question.answers))
    print(f"{len(asked)} questions, {unknown} with a name that is not found; ROUGE-L recall of the best")
    for what, found in scores.items():
        print(f"{what:24}  {fmean(found):.3f}")
    ours, theirs = (scores[f"{of}, {SENTENCES}"] for of in ("chosen", "first to name them"))
    better = sum(a > b for a, b in zip(ours, theirs, strict=True))
    worse = sum(a < b for a, b in zip(ours, theirs, strict=True))
    print(f"of {SENTENCES}: better in {better} questions, worse in {worse}")


if __name__ == "__main__":
    main()
