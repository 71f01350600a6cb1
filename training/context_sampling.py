"""What models are trained to read: a question with passages that answer it, seem to, or do not."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.benchmarks.benchmark import Place
from training.corpora.cloze_documents import CLOZES
from training.corpora.corpus import Document, LabelledQuestion
from training.corpora.everyday import EVERYDAY
from training.corpora.fairytaleqa import FAIRYTALES
from training.corpora.mctest import CHILDRENS_STORIES
from training.corpora.narrativeqa import SUMMARIES, TRAIN_STORIES, TRAIN_SUMMARIES
from training.corpora.novels import NOVELS
from training.corpora.squad import ARTICLES
from training.distant_supervision import distant_gold
from training.span_targets import Target, target_spans

CANDIDATES = 8  # passages that BM25 finds best, among which are the hard negatives
UNANSWERABLE_SHARE = 0.08  # of the questions about fairy tales
# Of the questions about articles and everyday texts: those that have another paragraph beside the right one.
DISTRACTED_SHARE = 0.35
READ_WHOLE = (SUMMARIES, TRAIN_SUMMARIES, CHILDRENS_STORIES)
UNLABELLED_PASSAGES = 3
GIVEN_SHARE = 0.6  # of the questions about fairy tales are shown with their sections alone


@dataclass(frozen=True, slots=True)
class Example:
    """A question, passages in story order, which of them answer it, and the spans that do.

    ``right`` are positions in ``passages``, none where no passage answers; ``targets`` lie in right
    passages and may be none, where the answer is inferred; ``answers`` are the references. Where it is not
    ``labelled``, nobody knows whether a passage answers: only a teacher can say. It is ``marked`` where the
    data set says which characters answer.
    """

    question: str
    passages: tuple[str, ...]
    right: tuple[int, ...]
    targets: tuple[Target, ...]
    answers: tuple[str, ...]
    labelled: bool = True
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Sampling:
    """How many passages an example has: with ``distractors`` False, those that answer alone.

    With ``marginal`` False one span is right, the first of the best; else all that come close.
    """

    distractors: bool = True
    marginal: bool = True


def sample_example(
    document: Document, question: LabelledQuestion, sampling: Sampling, rng: random.Random
) -> Example | None:
    """An example of a question, or None where nothing could be learnt from it."""
    if document.kind == FAIRYTALES:
        return _of_fairy_tale(document, question, sampling, rng)
    if document.kind in READ_WHOLE:
        return example_of(question, [document.text], [0], sampling)
    if document.kind in (ARTICLES, EVERYDAY):
        right = document.answering(question)[:1]
        others = []
        if sampling.distractors and rng.random() < DISTRACTED_SHARE:
            others = _hard_negatives(document, question, right, rng)
        return _of_passages(document, question, right, others[:1], sampling)
    if document.kind == CLOZES:
        right = document.answering(question)
        others = [n for n in range(len(document.passages)) if n not in right] if sampling.distractors else []
        return _of_passages(document, question, right, others, sampling)
    if document.kind == NOVELS:
        right = document.answering(question)
        others = _hard_negatives(document, question, right, rng)[:2] if sampling.distractors else []
        return _of_passages(document, question, right[:1], others, sampling) if right or others else None
    right = distant_gold(document, question)
    others = _hard_negatives(document, question, right, rng)[:2] if sampling.distractors else []
    return _of_passages(document, question, right, others, sampling) if right else None


def _of_fairy_tale(
    document: Document, question: LabelledQuestion, sampling: Sampling, rng: random.Random
) -> Example | None:
    chance = rng.random()
    if not sampling.distractors or chance < GIVEN_SHARE:
        texts = [document.text[start:end] for start, end in question.gold]
        return example_of(question, texts, list(range(len(texts))), sampling)
    right = document.answering(question)
    others = _hard_negatives(document, question, right, rng)
    if chance > 1 - UNANSWERABLE_SHARE and len(others) > 1:
        texts = [document.texts[n] for n in sorted(others[:2])]
        return Example(question.text, tuple(texts), (), (), question.answers)
    return _of_passages(document, question, right[:3], others[: max(1, 3 - len(right))], sampling)


def _of_passages(
    document: Document,
    question: LabelledQuestion,
    right: Sequence[int],
    others: Sequence[int],
    sampling: Sampling,
) -> Example | None:
    chosen = sorted({*right, *others})
    places = [n for n, number in enumerate(chosen) if number in right]
    exact = exact_targets(question, [document.passages[number] for number in chosen], places)
    return example_of(question, [document.texts[number] for number in chosen], places, sampling, exact)


def exact_targets(question: LabelledQuestion, shown: Sequence[Place], right: Sequence[int]) -> list[Target]:
    """The answers that the data set marks in what is ``shown``, at the positions ``right``."""
    found: list[Target] = []
    for n in right if question.exact else ():
        start, end = shown[n]
        inside = [(s, e) for s, e in question.gold if start <= s and e <= end]
        found += [Target(n, s - start, e - start, 1.0) for s, e in inside]
    return found


def example_of(
    question: LabelledQuestion,
    texts: Sequence[str],
    right: Sequence[int],
    sampling: Sampling,
    exact: Sequence[Target] = (),
) -> Example:
    """The question beside these texts, of which those at ``right`` answer it, and its targets in those.

    The targets are ``exact`` where there are some, else what comes close to a reference.
    """
    targets = list(exact)
    if not targets:
        found = target_spans([texts[n] for n in right], question.answers)
        targets = [Target(right[t.text], t.start, t.end, t.weight) for t in found]
    if not sampling.marginal and targets:
        targets = [max(targets, key=lambda target: target.weight)]
    return Example(
        question.text, tuple(texts), tuple(right), tuple(targets), question.answers, marked=bool(exact)
    )


def sample_unlabelled(document: Document, question: LabelledQuestion, rng: random.Random) -> Example:
    """The question beside one to three of the passages that BM25 finds for it in its document."""
    found = document.best(question.text, CANDIDATES)
    chosen = sorted(rng.sample(found, min(len(found), rng.randint(1, UNLABELLED_PASSAGES))))
    texts = tuple(document.texts[number] for number in chosen)
    return Example(question.text, texts, (), (), question.answers, labelled=False)


def _hard_negatives(
    document: Document, question: LabelledQuestion, right: Sequence[int], rng: random.Random
) -> list[int]:
    """Passages that BM25 finds for the question and that do not answer it, in random order."""
    best = document.best(question.text, CANDIDATES + len(right))
    others = [number for number in best if number not in right]
    rng.shuffle(others)
    return others


@dataclass(frozen=True, slots=True)
class NeuralExample:
    """A question and the passages that a model trained from nothing reads.

    ``right`` are the positions of those that answer it; ``marked`` is the answer's span, None where the
    data set does not mark it.
    """

    question: str
    passages: tuple[str, ...]
    right: tuple[int, ...]
    answers: tuple[str, ...]
    marked: Target | None = None


def sample_neural_example(
    document: Document, question: LabelledQuestion, chunks: int, around: int, rng: random.Random
) -> NeuralExample | None:
    """An example of a question, or None where nothing in its context answers.

    A summary is read whole; of a story the ``chunks`` passages nearest to the answer by TF-IDF, in
    story order (Kočiský et al. 2018, section 5.3); of a fairy tale its sections or passages, and of an
    article a paragraph, each now and then with others beside it (``sample_example``). With ``around``,
    half of the time so many words of the fairy tale as one text, the sections somewhere among them:
    as long as a summary is.
    """
    if document.kind == TRAIN_SUMMARIES:
        return NeuralExample(question.text, (document.text,), (0,), question.answers)
    if document.kind == TRAIN_STORIES:
        passages = nearest_passages(document, " ".join(question.answers[:1]), chunks)
        return NeuralExample(question.text, passages, tuple(range(len(passages))), question.answers)
    if around and document.kind == FAIRYTALES and rng.random() < 0.5:
        return NeuralExample(
            question.text, (excerpt(document, question, around, rng),), (0,), question.answers
        )
    example = sample_example(document, question, Sampling(marginal=False), rng)
    if example is None or not example.right:
        return None
    marked = next(iter(example.targets), None) if question.exact else None
    return NeuralExample(question.text, example.passages, example.right, question.answers, marked)


def excerpt(document: Document, question: LabelledQuestion, words: int, rng: random.Random) -> str:
    """About ``words`` words of the document that hold the first gold place whole, wherever among them."""
    first, last = question.gold[0]
    before = rng.randint(0, max(0, words - len(document.text[first:last].split())))
    start = _words_back(document.text, first, before)
    rest = document.text[start:]
    length = max(last - start, sum(map(len, re.findall(r"\S+\s*", rest)[:words])))
    return rest[:length].rstrip()


def _words_back(text: str, end: int, words: int) -> int:
    """Where the last ``words`` words before ``end`` begin."""
    starts = [match.start() for match in re.finditer(r"\S+", text[:end])]
    return starts[-words] if 0 < words <= len(starts) else 0 if words else end


def nearest_passages(document: Document, query: str, count: int) -> tuple[str, ...]:
    """The ``count`` passages nearest to the query by TF-IDF, in story order."""
    best = np.argsort(-document.sparse.tfidf(query), kind="stable")[:count]
    return tuple(document.texts[n] for n in sorted(best.tolist()))
