"""One batch for the retriever's encoder: questions, windows, and which windows answer which question."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.benchmarks.benchmark import Place
from evaluation.systems import overlaps
from indexing.manifest import WINDOW_STEP, WINDOW_WORDS
from indexing.passages import split
from training.corpora.corpus import Work, sparse_index
from training.distant_supervision import distant_gold

PARAGRAPHS = 16  # of one article in a batch
QUESTIONS_OF_A_BOOK = 6  # in a batch


@dataclass(frozen=True, slots=True)
class Board:
    """One batch: questions, windows, and which windows answer which question (at least one each)."""

    questions: tuple[str, ...]
    windows: tuple[str, ...]
    right: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class WorkWindow:
    """A window of a work's passage: its place in the work, its text, and whether its passage begins there."""

    place: Place
    text: str
    first: bool


def windows_of(work: Work) -> list[WorkWindow]:
    """The windows of a work's passages, in order, as ``indexing.vectors.windows`` cuts them."""
    found = []
    for start, end in work.passages:
        for piece in split(work.text[start:end], WINDOW_WORDS, WINDOW_WORDS - WINDOW_STEP):
            place = start + piece.start, start + piece.end
            found.append(WorkWindow(place, work.text[slice(*place)], piece.number == 0))
    return found


def _answering(place: Place, gold: Sequence[Place]) -> bool:
    """Whether the shorter of the window and a gold place lies by half or more in the other."""
    return any(
        2 * (min(place[1], end) - max(place[0], start)) >= min(place[1] - place[0], end - start)
        for start, end in gold
    )


def board_of_tales(works: Sequence[Work]) -> Board:
    """All questions and windows of a few stories: of the same story are the hardest negatives there are."""
    windows: list[str] = []
    questions: list[str] = []
    right: list[tuple[int, ...]] = []
    for work in works:
        pieces = windows_of(work)
        for one in work.asked:
            answering = tuple(
                len(windows) + i for i, piece in enumerate(pieces) if _answering(piece.place, one.gold)
            )
            if answering:
                questions.append(one.question)
                right.append(answering)
        windows += [piece.text for piece in pieces]
    return Board(tuple(questions), tuple(windows), tuple(right))


def board_of_article(work: Work, rng: random.Random) -> Board:
    """Some paragraphs of an article and the questions about them."""
    chosen = sorted(rng.sample(range(len(work.passages)), min(PARAGRAPHS, len(work.passages))))
    questions, right = [], []
    for one in work.asked:
        for row, number in enumerate(chosen):
            if overlaps(work.passages[number], one.gold):
                questions.append(one.question)
                right.append((row,))
                break
    return Board(tuple(questions), tuple(work.texts[i] for i in chosen), tuple(right))


def board_of_book(work: Work, rng: random.Random) -> Board:
    """Questions about a book, passages that hold their answers, and those that BM25 takes for them."""
    asked = rng.sample(work.asked, min(QUESTIONS_OF_A_BOOK, len(work.asked)))
    right_passages: list[list[int]] = []
    questions = []
    numbers: set[int] = set()
    for one in asked:
        gold = distant_gold(work, one)
        if gold:
            questions.append(one.question)
            right_passages.append(gold)
            mistaken = np.argsort(-work.sparse.bm25(one.question), kind="stable")[:6].tolist()
            numbers.update(gold)
            numbers.update(rng.sample(mistaken, min(2, len(mistaken))))
    # The opening is where editors and title pages stand: never an answer, always among the negatives.
    numbers.update(rng.sample(range(min(4, len(work.passages))), 1))
    windows: list[str] = []
    of_passage: dict[int, list[int]] = defaultdict(list)
    for number in sorted(numbers):
        text = work.texts[number]
        for piece in split(text, WINDOW_WORDS, WINDOW_WORDS - WINDOW_STEP):
            of_passage[number].append(len(windows))
            windows.append(text[piece.start : piece.end])
    right = tuple(tuple(w for number in gold for w in of_passage[number]) for gold in right_passages)
    return Board(tuple(questions), tuple(windows), right)


def pairs_of(
    works: Sequence[Work], rivals: Mapping[str, Mapping[str, int]], rng: random.Random
) -> list[tuple[Work, ...]]:
    """Every work once, beside a rival that is still free, or else any: an odd one stays alone."""
    free = {work.name: work for work in rng.sample(works, len(works))}
    pairs: list[tuple[Work, ...]] = []
    while free:
        name = next(iter(free))
        one = free.pop(name)
        if not free:
            pairs.append((one,))
            break
        choices = {other: count for other, count in rivals.get(name, {}).items() if other in free}
        other = rng.choices(list(choices), list(choices.values()))[0] if choices else next(iter(free))
        pairs.append((one, free.pop(other)))
    return pairs


def rivals_of(works: Sequence[Work]) -> dict[str, dict[str, int]]:
    """For each work the others whose passages BM25 ranks high for its questions, and how often it does.

    BM25-mined hard negatives, a story at a time: both stories' questions then share all windows.
    """
    texts = [text for work in works for text in work.texts]
    owners = [number for number, work in enumerate(works) for _ in work.passages]
    sparse = sparse_index(texts)
    found = {}
    for number, work in enumerate(works):
        mistaken: Counter[int] = Counter()
        for one in work.asked:
            best = np.argpartition(-sparse.bm25(one.question), min(10, len(texts) - 1))[:10]
            mistaken.update(owner for i in best.tolist() if (owner := owners[i]) != number)
        found[work.name] = {works[i].name: count for i, count in mistaken.most_common(30)}
    return found
