"""How much of the oracles' height on full stories comes from how long the stories are.

    python -m benchmarks.oracle_lengths --data NARRATIVEQA

The paper's table 6 is on books and film scripts, and here are the books alone. Each book of valid is read
whole, and once more as a piece as long as one of valid's scripts, drawn at random: what stands there is as
little about the question as a script's other scenes are, but there are as few spans to choose from. Prints
BLEU-1, BLEU-4 and ROUGE-L of both, and their mean, which is what a table on both halves would have.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import defaultdict
from pathlib import Path

from rich.console import Console
from rich.progress import track

from evaluation.benchmarks.files import read_rows
from evaluation.benchmarks.narrativeqa import load
from evaluation.metrics.overlap import bleu, bleu_statistics, rouge_l
from readers import open_reader
from readers.reading import Reading

ORACLES = ("ir-bleu1@query=answer,ties=random", "ir-rouge-l@query=answer,ties=random")
_COLUMNS = ("set", "kind", "story_word_count")


def script_lengths(folder: Path) -> list[int]:
    """The words of each film script of valid."""
    rows = read_rows(folder / "documents.csv", _COLUMNS, "the official documents.csv")
    return [
        int(row["story_word_count"]) for row in rows if row["set"] == "valid" and row["kind"] != "gutenberg"
    ]


def piece(text: str, words: int, rng: random.Random) -> str:
    """So many words of the text in a row, anywhere; all of a shorter one."""
    starts = [match.start() for match in re.finditer(r"\S+", text)]
    first = rng.randint(0, max(0, len(starts) - words))
    end = starts[first + words] if first + words < len(starts) else len(text)
    return text[starts[first] : end]


def main() -> None:
    parser = argparse.ArgumentParser(description="The oracles on whole books, and on as much as a script.")
    parser.add_argument("--data", type=Path, required=True, help="NarrativeQA, with its stories")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    benchmark = load(given.data, "valid", "stories")
    lengths, rng = script_lengths(given.data), random.Random(given.seed)
    asked = defaultdict(list)
    for question in benchmark.questions:
        asked[question.story].append(question)
    answers: dict[tuple[str, str], list[str]] = defaultdict(list)
    for story, questions in track(asked.items(), "reading", console=Console(stderr=True), transient=True):
        text = benchmark.books[story]().text
        for kind, context in (("books", text), ("cut", piece(text, rng.choice(lengths), rng))):
            readings = [Reading(one.text, (context,), one.answers) for one in questions]
            for name in ORACLES:
                found = open_reader(name).read(readings)
                answers[name, kind] += [best[0].text if best else "" for best in found]
    references = [one.answers for questions in asked.values() for one in questions]
    for name in ORACLES:
        scores = []
        for kind in ("books", "cut"):
            sums = bleu_statistics(answers[name, kind], references).sum(axis=0)
            rouge = [rouge_l(*pair) for pair in zip(answers[name, kind], references, strict=True)]
            scores.append((float(bleu(sums, 1)), float(bleu(sums, 4)), sum(rouge) / len(rouge)))
        mean = tuple(sum(pair) / 2 for pair in zip(*scores, strict=True))
        for kind, row in zip(("books", "cut", "mean"), (*scores, mean), strict=True):
            print(f"{name:38}{kind:6}" + "".join(f"{100 * score:8.2f}" for score in row))


if __name__ == "__main__":
    main()
