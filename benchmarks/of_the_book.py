"""Measures what is asked of a book itself: chapters, who says a line, who somebody is, and to whom.

    python -m benchmarks.of_the_book --data NARRATIVEQA [--half choose]

Six figures of docs/facts.md, by the models that STORYQA_SIZE says:

- the natural questions of a half whose answers stand in a marked chapter: whether that is the first of the
  chapters that are told for them, and how sure it is said to be;
- lines of six novels beside which the story names the speaker, drawn by a pattern: "Who says ...?";
- persons of half A's stories whom the summary calls something ("Luca Corsini, a Dominican monk"): ROUGE-L of
  the answer to "Who is ...?" against these words;
- 384 questions such as "Who is Nina's father?", "Whom does Romola marry?", "Where does Holmes live?" and
  "What is Claude's profession?", by ``related_persons.csv`` beside this file, which has the beginnings of
  words that a right answer has;
- 39 for several, "Who are Nina's parents?": whether any is named who is one, and how many of all names are;
- 17 for the colour of eyes and hair.
"""

from __future__ import annotations

import argparse
import csv
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean

from rich.progress import track

from answering.book_qa import Ask, BookQA
from answering.of_itself import OfItself
from answering.readable_chapters import chapter_at
from answering.which_chapter import MOST_HITS, chapters_of
from evaluation.benchmarks.narrativeqa import load, read_story
from evaluation.metrics.overlap import rouge_l
from evaluation.natural import natural_questions
from evaluation.run import index_books
from evaluation.systems import Books
from service.settings import load_settings

FEWEST_CHAPTERS = 3
SPOKEN_OF_EACH = 12
NOVELS = ("bfaf8bc1", "c6bf28c8", "879287f2", "542feab2", "e5514678", "7caf2f44")  # of spoken lines
_SPOKEN = re.compile(
    r"[“\"]([^“”\"]{25,160})[”\"],? (?:said|cried|asked|replied|answered|exclaimed) "
    r"((?:Mr\.|Mrs\.|Miss|Lord|Lady|Sir|Dr\.)? ?[A-Z][a-z]+)\b(?! [A-Z])"
)
_NAME = r"((?:(?:Mr|Mrs|Dr)\. |Miss |Lady |Lord |Sir )?[A-Z][a-z'’-]+(?: [A-Z][a-z'’-]+){0,2})"
_CALLED = (
    re.compile(
        _NAME + r"(?:,| is| was| \() (?:is |was )?"
        r"(?P<what>(?:a|an|the|his|her|their|son|daughter)\b[^,.;()]{6,80})[,.;)]"
    ),
    re.compile(r"\b(?P<what>(?:a|an|his|her|their|the)\b (?:[a-z'-]+ ){1,6})(?:named|called|,)? ?" + _NAME),
)
_FEWEST_PLACES = 3
SEVERAL, COLOUR = "several", "colour"
_SEED = 1
_SHORT_ID = 8


def chapters(qa: BookQA, half: str) -> None:
    """Whether the chapter told first for what is found is one that has the answer."""
    rows = []
    for question in track(natural_questions(half), "chapters"):
        index = qa.open(question.book)
        if not question.places or question.follows or len(index.chapters) < FEWEST_CHAPTERS:
            continue
        gold = {chapter_at(index.chapters, start) for start, _ in question.places}
        [searched] = qa.search_many([Ask(question.book, question.question, k=MOST_HITS)])
        best = chapters_of(question.question, searched.found.hits).candidates[0]
        rows.append((best.confidence, best.text in gold))
    rows.sort()
    right = sum(is_right for _, is_right in rows)
    print(f"chapters: {right} of {len(rows)} right, mean confidence {fmean(sure for sure, _ in rows):.3f}")
    for quarter in range(4):
        part = rows[quarter * len(rows) // 4 : (quarter + 1) * len(rows) // 4]
        print(f"  {part[0][0]:.2f} to {part[-1][0]:.2f}: {sum(one for _, one in part)} of {len(part)}")


def speakers(qa: BookQA, ids: Sequence[str]) -> None:
    """Whether whoever is named beside a speech is told to have said it."""
    draw, right, asked = random.Random(_SEED), 0, 0
    for id in track(ids, "speakers"):
        spoken = list(_SPOKEN.finditer(qa.open(id).book.text))
        for line in draw.sample(spoken, min(SPOKEN_OF_EACH, len(spoken))):
            quoted = " ".join(line[1].split()).rstrip(",")
            right += line[2].split()[-1] in qa.answer(Ask(id, f'Who says "{quoted}"?')).text
            asked += 1
    print(f"speakers: {right} of {asked} right")


def called(summary: str) -> dict[str, list[str]]:
    """What a summary calls whom it names."""
    found: dict[str, list[str]] = defaultdict(list)
    for pattern in _CALLED:
        for match in pattern.finditer(summary):
            found[match[1] if pattern is _CALLED[0] else match[2]].append(match["what"].strip())
    return found


def described(qa: BookQA, summaries: Books, ids: Sequence[str]) -> Iterator[tuple[Ask, list[str]]]:
    """The questions about persons of these stories, with what their summaries call them."""
    for id in ids:
        index = qa.open(id)
        book = OfItself(index, index.characters)
        for name, words in called(summaries[id]().text).items():
            person = book.person(name)
            if person is not None and person.is_person and len(person.places) >= _FEWEST_PLACES:
                yield Ask(id, f"Who is {person.name}?"), words


def persons(qa: BookQA, summaries: Books, ids: Sequence[str]) -> None:
    """How near the answers are to what the summaries say."""
    asks = list(described(qa, summaries, ids))
    scores, withheld = [], 0
    for ask, words in track(asks, "persons"):
        cited = qa.answer(ask)
        withheld += cited.verdict == "none"
        scores.append(rouge_l(cited.text, words))
    print(f"persons: ROUGE-L {fmean(scores):.4f} of {len(scores)}, {withheld} withheld")


def related_persons(ids: Iterable[str]) -> list[dict[str, str]]:
    """The kind of a question, its book of these, itself, and the words that are right, parted by bars."""
    with (Path(__file__).parent / "related_persons.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    whole = {id[:_SHORT_ID]: id for id in ids}
    return [{**row, "book": whole[row["book"]]} for row in rows]


def relations(qa: BookQA, asked: Sequence[dict[str, str]], called: str) -> None:
    """Whether relations, homes, occupations and colours of somebody, and whoever has a trade, are told."""
    found: dict[str, list[bool]] = defaultdict(list)
    for row in track(asked, called):
        cited = qa.answer(Ask(row["book"], row["question"]))
        is_right = re.search(rf"\b(?:{row['accepted']})", cited.text.lower()) is not None
        for of in ("all", row["kind"], f"shown as {cited.verdict}"):
            found[of].append(is_right)
    for of, right in found.items():
        print(f"{called}, {of}: {sum(right)} of {len(right)} right")


def relatives(qa: BookQA, asked: Sequence[dict[str, str]]) -> None:
    """Whether any of several relatives is told, and how many of the names that are told are right."""
    right: dict[str, list[int]] = defaultdict(list)
    names = 0
    for row in track(asked, "relatives"):
        cited = qa.answer(Ask(row["book"], row["question"]))
        told = cited.text.lower().split(", ")
        found = sum(re.search(rf"\b(?:{row['accepted']})", name) is not None for name in told)
        names += len(told)
        for of in ("all", f"shown as {cited.verdict}"):
            right[of].append(found)
    for of, counts in right.items():
        print(
            f"relatives, {of}: some right of {sum(map(bool, counts))} of {len(counts)}, {sum(counts)} names"
        )
    print(f"relatives: {names} names told")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what is asked of a book itself.")
    parser.add_argument("--data", type=Path, required=True, help="the NarrativeQA folder")
    parser.add_argument("--half", default="choose", choices=("choose", "figure"))
    given = parser.parse_args()
    stories = load(given.data, setting="stories", half="A")
    summaries = load(given.data, setting="summaries", half="A")
    natural = {question.book for question in natural_questions(given.half)}
    files = {path.stem: path for path in sorted((given.data / "tmp").glob("*.content"))}
    novels = [id for id in files if id.startswith(NOVELS)]
    half_a = list(dict.fromkeys(question.story for question in stories.questions))
    related = related_persons(files)
    configuration = load_settings(None).configuration()
    qa = BookQA.of(replace(configuration, store=configuration.cache / "evaluation"))
    books = {
        id: partial(read_story, files[id], id)
        for id in {*natural, *novels, *half_a, *(row["book"] for row in related)}
    }
    index_books(books, sorted(books), qa.store, lambda *_: None)
    chapters(qa, given.half)
    speakers(qa, novels)
    persons(qa, summaries.books, half_a)
    relations(qa, [row for row in related if row["kind"] not in {SEVERAL, COLOUR}], "relations")
    relatives(qa, [row for row in related if row["kind"] == SEVERAL])
    relations(qa, [row for row in related if row["kind"] == COLOUR], "colours")


if __name__ == "__main__":
    main()
