"""Trains the three neural models of the NarrativeQA paper, each from nothing."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from encoders.batches import batches
from encoders.device import pick_device
from evaluation.metrics.overlap import reciprocal_rank, rouge_l
from readers.neural.checkpoint import Checkpoint
from readers.neural.entities import find_entities
from readers.neural.reader import NeuralReader
from readers.neural.vocabulary import Vocabulary
from readers.reading import Reading
from training.context_sampling import Showing, everything, show
from training.corpora.corpus import ARTICLES, FAIRYTALES, TRAIN_STORIES, TRAIN_SUMMARIES, Asked, Library, Work
from training.objectives.lessons import LESSONS, Sample, Shown

ANSWERED, RANKED = 400, 120  # held-out questions that are asked, and those whose candidates are ranked
SMALLEST = 6  # samples of a batch, however long their contexts


@dataclass(frozen=True, slots=True)
class PaperTraining:
    """What a run depends on, beside its data.

    ``words`` are those of the vocabulary, ``sizes`` the dimensions that the model is made with, and
    ``epochs`` the passes over the data, of SQuAD ``articles`` questions in each, drawn anew. ``chunks``
    is how many passages of a full story are read, ``around`` how many words of a fairy tale. ``batch``
    bounds the padded tokens of a batch; ``chunk`` questions lie between two points at which the run can
    stop.
    """

    model: str
    sizes: Mapping[str, int]
    seed: int = 13
    epochs: int = 10
    words: int = 6_000
    articles: int = 0
    chunks: int = 0
    around: int = 0
    rate: float = 4e-3
    batch: int = 2_048
    chunk: int = 512


def shown(work: Work, one: Asked, chunks: int, around: int, rng: random.Random) -> Shown | None:
    """The context that a question is learnt with; None where nothing in it answers.

    A summary is read whole; of a story the ``chunks`` passages nearest to the answer by TF-IDF, in
    story order (section 5.3); of a fairy tale its sections or passages, and of an article a paragraph, each
    now and then with others beside it (``training.context_sampling``). With ``around``, half of the
    time so many words of the fairy tale as one text, the sections somewhere among them: as long as a
    summary is.
    """
    if work.kind == TRAIN_SUMMARIES:
        return Shown(one.question, (work.text,), (0,), one.answers)
    if work.kind == TRAIN_STORIES:
        passages = nearest(work, " ".join(one.answers[:1]), chunks)
        return Shown(one.question, passages, tuple(range(len(passages))), one.answers)
    if around and work.kind == FAIRYTALES and rng.random() < 0.5:
        return Shown(one.question, (stretch(work, one, around, rng),), (0,), one.answers)
    example = show(work, one, Showing(marginal=False), rng)
    if example is None or not example.right:
        return None
    marked = next(iter(example.targets), None) if one.exact else None
    return Shown(one.question, example.passages, example.right, one.answers, marked)


def stretch(work: Work, one: Asked, words: int, rng: random.Random) -> str:
    """About ``words`` words of the work that hold the first gold place whole, wherever among them."""
    first, last = one.gold[0]
    before = rng.randint(0, max(0, words - len(work.text[first:last].split())))
    start = _words_back(work.text, first, before)
    rest = work.text[start:]
    reach = max(last - start, sum(map(len, re.findall(r"\S+\s*", rest)[:words])))
    return rest[:reach].rstrip()


def _words_back(text: str, end: int, words: int) -> int:
    """Where the last ``words`` words before ``end`` begin."""
    starts = [match.start() for match in re.finditer(r"\S+", text[:end])]
    return starts[-words] if 0 < words <= len(starts) else 0 if words else end


def nearest(work: Work, query: str, chunks: int) -> tuple[str, ...]:
    """The passages nearest to the query by TF-IDF, in story order."""
    best = np.argsort(-work.sparse.tfidf(query), kind="stable")[:chunks]
    return tuple(work.texts[n] for n in sorted(best.tolist()))


def learn_vocabulary(works: Sequence[Work], words: int) -> Vocabulary:
    """The most frequent words of the works, their questions and answers; names are markers, not words."""

    def keys() -> Iterator[str]:
        for work in works:
            entities = find_entities([work.text], random.Random(0))
            for text in (work.text, *(text for one in work.asked for text in (one.question, *one.answers))):
                yield from (key for key in entities.mark(text) if not key.startswith("@entity"))

    return Vocabulary.learn(keys(), words)


class PaperTask:
    """One of the models on the paper's kind of examples (a ``training.trainer.Task``).

    Weights are chosen twice, by ROUGE-L and by MRR (section 5.2), on stories that are held out.
    """

    chosen_by: Sequence[str] = ("rouge_l", "mrr")

    def __init__(self, settings: PaperTraining, library: Library) -> None:
        self._settings = settings
        self.settings: Mapping[str, Any] = asdict(settings)
        self.data = library.describe()
        self.device = pick_device()
        self.lesson = LESSONS[settings.model]
        self.vocabulary = learn_vocabulary(library.train, settings.words)
        torch.manual_seed(settings.seed)
        self.model = self.lesson.reader.model(len(self.vocabulary), **settings.sizes).to(self.device)
        self.model.train()
        self._works = library.train
        self._held_out = library.held_out
        self.order = self._order()
        self.chunks = -(-len(self.order) // settings.chunk)

    def groups(self) -> list[tuple[list[torch.nn.Parameter], float]]:
        """See ``Task.groups``."""
        return [(list(self.model.parameters()), self._settings.rate)]

    def _order(self) -> list[tuple[Work, Asked]]:
        rng = random.Random(self._settings.seed)
        told = list(everything([work for work in self._works if work.kind != ARTICLES]))
        marked = list(everything([work for work in self._works if work.kind == ARTICLES]))
        order: list[tuple[Work, Asked]] = []
        for _ in range(self._settings.epochs):
            epoch = told + rng.sample(marked, min(self._settings.articles, len(marked)))
            rng.shuffle(epoch)
            order += epoch
        return order

    def batches(self, chunk: int) -> Iterator[list[Sample]]:
        """See ``Task.batches``."""
        rng = random.Random(f"{self._settings.seed}/{chunk}")
        first = chunk * self._settings.chunk
        samples = []
        for work, one in self.order[first : first + self._settings.chunk]:
            context = shown(work, one, self._settings.chunks, self._settings.around, rng)
            sample = context and self.lesson.sample(context, self.vocabulary, rng)
            if sample:
                samples.append(sample)
        longest = max((sample.size for sample in samples), default=0)
        groups = batches([s.size for s in samples], max(self._settings.batch, SMALLEST * longest))
        rng.shuffle(groups)
        for group in groups:
            yield [samples[i] for i in group]

    def losses(self, batch: list[Sample]) -> Mapping[str, torch.Tensor]:
        """See ``Task.losses``."""
        return {self._settings.model: self.lesson.loss(self.model, self.vocabulary, batch, self.device)}

    def validate(self) -> dict[str, float]:
        """See ``Task.validate``."""
        return paper_scores(self.lesson.reader(self.weights("")), self._held_out, self._settings.chunks)

    def weights(self, trained_on: str) -> Checkpoint:
        """The model as it is now, for a reader."""
        return Checkpoint(self._settings.sizes, self.vocabulary, self.model.state_dict(), trained_on)


def paper_scores(reader: NeuralReader, held_out: Sequence[Work], chunks: int) -> dict[str, float]:
    """ROUGE-L of the answers, and MRR among those of the same story, on a fixed sample of questions."""
    every = list(everything([work for work in held_out if work.kind != ARTICLES]))
    sample = random.Random(0).sample(every, min(ANSWERED, len(every)))
    readings = [Reading(one.question, _to_read(work, one, chunks)) for work, one in sample]
    if not readings:
        return {}
    answers = reader.read(readings)
    rouge = [
        rouge_l(best[0].text if best else "", one.answers)
        for best, (_, one) in zip(answers, sample, strict=True)
    ]
    ranks = []
    for reading, (work, one) in zip(readings[:RANKED], sample, strict=False):
        candidates = [other.answers[0] for other in work.asked]
        ranks.append(reciprocal_rank(reader.rank(reading, candidates), candidates.index(one.answers[0])))
    return {"rouge_l": sum(rouge) / len(rouge), "mrr": sum(ranks) / len(ranks)}


def _to_read(work: Work, one: Asked, chunks: int) -> tuple[str, ...]:
    """As in evaluation: a story's passages are found by the question."""
    if work.kind == FAIRYTALES:
        return tuple(work.text[start:end] for start, end in one.gold)
    return nearest(work, one.question, chunks) if work.kind == TRAIN_STORIES else (work.text,)
