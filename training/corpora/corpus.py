"""The texts of the training data, cut into passages as an index has them, and what was asked about each."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from evaluation.benchmarks import fairytaleqa, narrativeqa, squad
from evaluation.benchmarks.benchmark import Benchmark, Place, Question
from evaluation.benchmarks.holdout import FAIRYTALEQA_SHARE, NARRATIVEQA_SHARE, held_out
from indexing.book import Passage
from indexing.errors import IndexMismatch
from indexing.passages import split
from indexing.sparse import SparseIndex, sparse_arrays
from text.errors import StoryQAError

FAIRYTALES, SUMMARIES, STORIES, ARTICLES = "fairytales", "summaries", "stories", "articles"
TRAIN_SUMMARIES, TRAIN_STORIES = "train summaries", "train stories"  # of NarrativeQA's own training split
TRAIN_SHARE = 0.05  # of that split's documents are held out
_APART = "\n\n"

log = logging.getLogger(__name__)


class NoTrainingData(StoryQAError):
    """A folder that holds no data set that models are trained on."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a work; ``gold`` are the places known to hold its answer, none where unknown.

    ``exact`` says that a gold place is the answer itself, and not the section it stands in.
    """

    question: str
    answers: tuple[str, ...]
    gold: tuple[Place, ...] = ()
    exact: bool = False


@dataclass(frozen=True)
class Work:
    """A text, its passages, and the questions asked about it; ``kind`` says which data set it is from."""

    kind: str
    name: str
    text: str
    passages: tuple[Place, ...]
    asked: tuple[Asked, ...] = field(repr=False)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts of the passages."""
        return tuple(self.text[start:end] for start, end in self.passages)

    @cached_property
    def sparse(self) -> SparseIndex:
        """BM25 over the passages, as an index of the work would have it."""
        return sparse_index(self.texts)


def sparse_index(texts: Sequence[str]) -> SparseIndex:
    """BM25 and TF-IDF over texts in memory."""
    return SparseIndex(**sparse_arrays(texts), passages=len(texts), mismatch=IndexMismatch)


@dataclass(frozen=True, slots=True)
class Library:
    """The works to train on and those held out for choosing."""

    train: tuple[Work, ...]
    held_out: tuple[Work, ...]

    def of(self, *kinds: str) -> list[Work]:
        """The works to train on that are of these kinds."""
        return [work for work in self.train if work.kind in kinds]

    def describe(self) -> dict[str, tuple[int, int]]:
        """Per kind, how many works and questions are trained on."""
        found: dict[str, tuple[int, int]] = {}
        for work in self.train:
            works, questions = found.get(work.kind, (0, 0))
            found[work.kind] = works + 1, questions + len(work.asked)
        return found


def load_library(folders: Sequence[Path]) -> Library:
    """FairytaleQA train, SQuAD v1.1 train and half A of NarrativeQA valid, whichever the folders hold.

    A folder is recognised by what it holds. A tenth of the FairytaleQA stories and a fifth of half A
    are held out (``evaluation.benchmarks.holdout``). Raises NoTrainingData for a folder that holds none of
    them, and the loaders' ``DataError`` for files in another layout.
    """
    works: list[Work] = []
    for folder in folders:
        if (folder / "qaps.csv").is_file():
            works += _half_a(narrativeqa.load(folder, "valid", "summaries"), SUMMARIES)
            if (folder / "tmp").is_dir():
                works += _half_a(narrativeqa.load(folder, "valid", "stories"), STORIES)
        else:
            works += _of_folder(folder)
    return _held_apart(
        works, {FAIRYTALES: FAIRYTALEQA_SHARE, SUMMARIES: NARRATIVEQA_SHARE, STORIES: NARRATIVEQA_SHARE}
    )


def load_official(folders: Sequence[Path], stories: bool = False) -> Library:
    """NarrativeQA's training split, FairytaleQA train and SQuAD v1.1 train, whichever the folders hold.

    Of NarrativeQA its summaries, or its full ``stories``; nothing of valid, on which the models are
    scored: a folder that has no training split is passed over. A twentieth of its documents and a
    tenth of the FairytaleQA stories are held out. Raises as ``load_library``.
    """
    works: list[Work] = []
    kind = TRAIN_STORIES if stories else TRAIN_SUMMARIES
    for folder in folders:
        if (folder / "qaps.csv").is_file():
            if "train" in narrativeqa.splits(folder):
                setting = "stories" if stories else "summaries"
                works += _whole(narrativeqa.load(folder, "train", setting), kind)
            else:
                log.warning("%s has no training split of NarrativeQA, and is not trained on", folder)
        else:
            works += _of_folder(folder)
    if not works:
        raise NoTrainingData(
            f"{', '.join(map(str, folders))}: no training data; wanted NarrativeQA with its training split "
            "(the official qaps.csv and summaries.csv), or FairytaleQA (questions/train and "
            "section-stories/train)"
        )
    return _held_apart(works, {FAIRYTALES: FAIRYTALEQA_SHARE, kind: TRAIN_SHARE})


def _held_apart(works: Sequence[Work], shares: Mapping[str, float]) -> Library:
    """The works without a ``share`` of the works of each kind, and these; held out by name."""
    # A summary and the story that it is of are on the same side.
    names = {kind: {work.name for work in works if work.kind == kind} for kind in shares}
    if SUMMARIES in names:
        names[STORIES] = names[SUMMARIES]
    apart = {kind: held_out(names[kind], share) for kind, share in shares.items()}
    kept = tuple(work for work in works if work.name not in apart.get(work.kind, ()))
    return Library(kept, tuple(work for work in works if work.name in apart.get(work.kind, ())))


def _of_folder(folder: Path) -> list[Work]:
    """The works of FairytaleQA or SQuAD in a folder; raises NoTrainingData where it holds neither."""
    articles = next(iter(sorted(folder.glob("train-v1.1.json*"))), None)
    if (folder / "questions" / "train").is_dir():
        return _whole(fairytaleqa.load(folder, "train", "stories"), FAIRYTALES)
    if articles is not None:
        return _articles(squad.load(articles))
    raise NoTrainingData(
        f"{folder} holds no training data; wanted FairytaleQA (questions/train and "
        "section-stories/train), SQuAD v1.1 (train-v1.1.json or train-v1.1.json.xz) or "
        "NarrativeQA (documents.csv, qaps.csv, third_party/wikipedia/summaries.csv)"
    )


def _half_a(benchmark: Benchmark, kind: str) -> list[Work]:
    return [work for work in _whole(benchmark, kind) if narrativeqa.half(work.name) == "A"]


def _whole(benchmark: Benchmark, kind: str) -> list[Work]:
    """One work per story, in passages of 200 words."""
    asked: dict[str, list[Question]] = defaultdict(list)
    for question in benchmark.questions:
        asked[question.story].append(question)
    works = []
    for story, questions in asked.items():
        text = benchmark.books[questions[0].book]().text
        works.append(
            Work(
                kind,
                story,
                text,
                _places(split(text)),
                tuple(Asked(q.text, q.answers, q.gold) for q in questions),
            )
        )
    return works


def _places(passages: Sequence[Passage]) -> tuple[Place, ...]:
    return tuple((passage.start, passage.end) for passage in passages)


def _articles(benchmark: Benchmark) -> list[Work]:
    """One work per article, its paragraphs the passages."""
    paragraphs: dict[str, dict[str, str]] = defaultdict(dict)
    asked: dict[str, list[Question]] = defaultdict(list)
    for question in benchmark.questions:
        if question.book not in paragraphs[question.story]:
            paragraphs[question.story][question.book] = benchmark.books[question.book]().text
        asked[question.story].append(question)
    works = []
    for story, texts in paragraphs.items():
        starts = [0]
        for text in texts.values():
            starts.append(starts[-1] + len(text) + len(_APART))
        begins = dict(zip(texts, starts, strict=False))
        works.append(
            Work(
                ARTICLES,
                story,
                _APART.join(texts.values()),
                tuple((start, end - len(_APART)) for start, end in pairwise(starts)),
                tuple(
                    Asked(
                        q.text,
                        q.answers,
                        tuple((begins[q.book] + start, begins[q.book] + end) for start, end in q.gold),
                        exact=True,
                    )
                    for q in asked[story]
                ),
            )
        )
    return works
