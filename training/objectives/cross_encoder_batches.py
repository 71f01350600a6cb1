"""What the cross-encoder sees: the questions of a run, and batches of windows with what is right in each."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from encoders.device import sent
from encoders.windows import Window
from readers.default.decoding import answer_tokens
from training.context_sampling import Example
from training.corpora.cloze_documents import CLOZES
from training.corpora.corpus import Corpus, Document, LabelledQuestion, iter_questions
from training.corpora.everyday import EVERYDAY
from training.corpora.fairytaleqa import FAIRYTALES
from training.corpora.mctest import CHILDRENS_STORIES
from training.corpora.narrativeqa import STORIES, SUMMARIES, TRAIN_SUMMARIES
from training.corpora.novels import NOVELS
from training.corpora.squad import ARTICLES
from training.objectives.cross_encoder_settings import QuestionSettings

SOMEWHERE = (0, 0)
PARAGRAPH_WORDS = 160  # the longer tenth of SQuAD buys fewest questions for the time


def draw_questions(corpus: Corpus, settings: QuestionSettings) -> list[tuple[Document, LabelledQuestion]]:
    """The questions of a run, in the order in which they are seen."""
    rng = random.Random(settings.seed)
    order: list[tuple[Document, LabelledQuestion]] = []
    for kind, passes in (
        (FAIRYTALES, settings.fairytales),
        (SUMMARIES, settings.summaries),
        (TRAIN_SUMMARIES, settings.summaries),
        (CHILDRENS_STORIES, settings.mctest),
        (STORIES, settings.stories),
        (NOVELS, settings.novels),
        (EVERYDAY, settings.everyday),
    ):
        order += list(iter_questions(corpus.of(kind))) * passes
    articles = [
        (document, question)
        for document, question in iter_questions(corpus.of(ARTICLES))
        if question.gold and _paragraph_words(document, question) <= PARAGRAPH_WORDS
    ]
    rng.shuffle(articles)
    order += (articles * -(-settings.articles // max(1, len(articles))))[: settings.articles]
    rng.shuffle(order)
    clozes = list(iter_questions(corpus.of(CLOZES)))
    rng.shuffle(clozes)
    return clozes[: settings.clozes] + order


def _paragraph_words(document: Document, question: LabelledQuestion) -> int:
    first, last = question.gold[0]
    holding = (document.text[s:e] for s, e in document.passages if s <= first and last <= e)
    return next((len(text.split()) for text in holding), 0)


@dataclass(frozen=True, slots=True)
class CrossEncoderBatch:
    """Windows of several examples, each example's in a row.

    ``rows`` are the windows of each example; ``spans`` its targets as (row, first token, last token,
    weight) with rows counted within the example; ``right`` the rows of right passages; ``answers``
    the tokens of one of its references, end token included. ``labelled`` says of each example whether
    these are known, ``marked`` whether the data set marks its answer. Of the windows only where their
    passages lie is kept, not where that is in a text: what is sent from one process to another should be
    little.
    """

    windows: list[Window]
    rows: list[slice]
    spans: list[list[tuple[int, int, int, float]]]
    right: list[list[int]]
    answers: list[list[int]]
    labelled: list[bool]
    marked: list[bool]

    def part(self, examples: Sequence[int]) -> tuple[CrossEncoderBatch, list[int]]:
        """The batch of some of its examples, and where their windows stand among all."""
        chosen = [row for i in examples for row in range(self.rows[i].start, self.rows[i].stop)]
        rows, first = [], 0
        for i in examples:
            count = self.rows[i].stop - self.rows[i].start
            rows.append(slice(first, first + count))
            first += count
        part = CrossEncoderBatch(
            windows=[self.windows[row] for row in chosen],
            rows=rows,
            spans=[self.spans[i] for i in examples],
            right=[self.right[i] for i in examples],
            answers=[self.answers[i] for i in examples],
            labelled=[self.labelled[i] for i in examples],
            marked=[self.marked[i] for i in examples],
        )
        return part, chosen


def make_batch(examples: Sequence[tuple[Example, list[Window]]], rng: random.Random) -> CrossEncoderBatch:
    """The batch of some examples and their windows; the reference that is written is drawn by ``rng``."""
    batch = CrossEncoderBatch([], [], [], [], [], [], [])
    for example, windows in examples:
        batch.rows.append(slice(len(batch.windows), len(batch.windows) + len(windows)))
        batch.windows.extend(
            replace(one, offsets=[SOMEWHERE] * len(one.offsets), words=[], sentences=[]) for one in windows
        )
        batch.spans.append(target_tokens(example, windows))
        batch.right.append(_right_rows(example, windows, batch.spans[-1]))
        batch.answers.append(answer_tokens(rng.choice(example.answers or ("",))))
        batch.labelled.append(example.labelled)
        batch.marked.append(example.marked)
    return batch


def target_tokens(example: Example, windows: Sequence[Window]) -> list[tuple[int, int, int, float]]:
    """Where the targets lie whole in a window: (row, first token, last token, weight), in the window."""
    found = []
    for row, window in enumerate(windows):
        for target in example.targets:
            if target.text != window.passage:
                continue
            inside = [i for i, (s, e) in enumerate(window.offsets) if s < target.end and target.start < e]
            if inside:
                first, last = inside[0], inside[-1]
                if window.offsets[first][0] <= target.start and target.end <= window.offsets[last][1]:
                    found.append((row, window.first + first, window.first + last, target.weight))
    return found


def _right_rows(
    example: Example, windows: Sequence[Window], spans: Sequence[tuple[int, int, int, float]]
) -> list[int]:
    """The windows of right passages: those that hold a target where any does."""
    holding = sorted({row for row, _, _, _ in spans})
    return holding or [row for row, window in enumerate(windows) if window.passage in example.right]


def context_mask(windows: Sequence[Window], ids: torch.Tensor) -> torch.Tensor:
    """(windows, tokens), True at the tokens of passages."""
    context = torch.zeros(ids.shape, dtype=torch.bool)
    for row, window in enumerate(windows):
        context[row, window.first : window.first + len(window.offsets)] = True
    return sent(context, ids.device)
