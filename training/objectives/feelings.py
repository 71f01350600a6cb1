"""Fits in which word somebody's feelings are said, over the states of a cross-encoder that stays as it is."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from encoders.cross_encoder import CrossEncoder, own_crossencoder
from evaluation.metrics.overlap import rouge_l
from readers.default.feelings import WEIGHTS, Feelings, felt_state, most_relevant
from readers.default.span import Believed, believed, candidate_spans
from readers.reading import Reading, encode_readings
from terminal.progress import ProgressBars
from text.question_kinds import asks_feeling
from training.corpora.corpus import Document, NoTrainingData, iter_questions
from training.corpora.fairytaleqa import FAIRYTALES
from training.export import Provenance, Trained, write_states_card
from training.invocation import Invocation

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORDS = 60  # the least frequent of them answers four of the questions
# Of L2 for each question beside the mean of their losses, of standardised states. Chosen by stories of
# FairytaleQA train against others, .01 to .06 for either size.
PENALTY = 0.03
TOGETHER = 16

Felt = tuple[Reading, tuple[str, ...]]
"""A question about a feeling beside its sections, and its answers."""


def train(
    run: Invocation,
    *,
    start: Annotated[
        Path, typer.Option(exists=True, file_okay=False, help="The folder of the cross-encoder's weights.")
    ],
) -> Trained:
    """See ``storyqa train feelings``. Raises NoTrainingData where too few answers are one word."""
    corpus = run.corpus()
    began = time.monotonic()
    asked, held_out = (list(_felt(documents)) for documents in (corpus.train, corpus.held_out))
    encoder = own_crossencoder(str(start))
    with ProgressBars() as tell:
        read = _prepared(encoder, [*asked, *held_out], lambda done, of: tell("reading", done, of))
    learnt = [
        (felt_state(window), answers)
        for one, (_, answers) in zip(read, asked, strict=False)
        if (window := most_relevant(one)) is not None
    ]
    said = Counter(word for _, answers in learnt for word in map(_word, answers) if word)
    words = tuple(word for word, _ in said.most_common(WORDS))
    if len(words) < 2:
        raise NoTrainingData(
            f"{', '.join(map(str, run.data))}: {len(words)} words answer questions about feelings; wanted "
            "FairytaleQA train"
        )
    weight, bias = fit_words(np.array([state for state, _ in learnt]), [one for _, one in learnt], words)
    path = _save(run.out / WEIGHTS, words, weight, bias, encoder)
    feelings = Feelings.load(str(run.out), encoder)
    assert feelings is not None
    scores = _scores(feelings, read[len(asked) :], [answers for _, answers in held_out])
    seconds = time.monotonic() - began
    described = {FAIRYTALES: (len(corpus.of(FAIRYTALES)), len(asked))}
    settings = json.dumps({"words": len(words), "penalty": PENALTY})
    made = Provenance(described, "none", run.command, settings, f"{seconds:.0f} seconds", scores)
    write_states_card(
        path,
        "A linear map from states of a cross-encoder (the first token's, and the mean of the passage's by "
        f"where answers start) to {len(words)} words for what somebody feels. The SHA-256 of the "
        f"cross-encoder's weights begins with `{encoder.version}`.",
        made,
    )
    return Trained((path,), seconds, scores)


def _felt(documents: Sequence[Document]) -> Iterator[Felt]:
    """The questions about feelings in fairy tales that have something to read."""
    tales = [document for document in documents if document.kind == FAIRYTALES]
    for tale, question in iter_questions(tales):
        sections = tuple(tale.text[start:end] for start, end in question.gold)
        if asks_feeling(question.text) and any(section.strip() for section in sections):
            yield Reading(question.text, sections), question.answers


def _word(answer: str) -> str | None:
    """An answer that is one word, in lower case; None for any other."""
    bare = answer.lower().strip(" .")
    return bare if bare.isalpha() else None


def _prepared(encoder: CrossEncoder, felt: Sequence[Felt], tell: Callable[[int, int], None]) -> list[Reading]:
    found: list[Reading] = []
    for first in range(0, len(felt), TOGETHER):
        found += encode_readings(encoder, [one for one, _ in felt[first : first + TOGETHER]])
        tell(len(found), len(felt))
    return found


def fit_words(
    states: NDArray[np.float32], answers: Sequence[Sequence[str]], words: Sequence[str]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Weight (words, inputs), numbers of fp16, and bias (words,) of a multinomial logistic model.

    Of the states (questions, inputs); a question with several of the words among its answers counts for each
    in equal parts, one with none for nothing.
    """
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

    rows = [
        (row, words.index(word), 1 / len(mine))
        for row, given in enumerate(answers)
        if (mine := sorted({word for one in given if (word := _word(one)) in words}, key=words.index))
        for word in mine
    ]
    mean, spread = states.mean(0), states.std(0) + 1e-6
    standard = (states - mean) / spread
    asked = len({row for row, _, _ in rows})
    model = LogisticRegression(C=1 / (2 * PENALTY * asked), max_iter=1000)
    model.fit(standard[[row for row, _, _ in rows]], [word for _, word, _ in rows], [s for _, _, s in rows])
    weight, bias = model.coef_, model.intercept_
    if len(weight) < len(words):  # of two words scikit-learn keeps the second one's odds
        weight, bias = np.concatenate([0 * weight, weight]), np.concatenate([0 * bias, bias])
    # Rounded as it is kept before the mean is taken from the bias: some states are far from 0, always.
    weight = (weight / spread).astype(np.float16).astype(np.float32)
    return weight, (bias - weight @ mean).astype(np.float32)


def _save(
    path: Path,
    words: Sequence[str],
    weight: NDArray[np.float32],
    bias: NDArray[np.float32],
    encoder: CrossEncoder,
) -> Path:
    from safetensors.numpy import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    # The file has the numbers as they lie in memory, and scikit-learn's lie in columns.
    rows = np.ascontiguousarray(weight.astype(np.float16))
    tensors: dict[str, NDArray[np.floating]] = {"weight": rows, "bias": bias}
    save_file(tensors, path, {"words": json.dumps(words), "encoder": encoder.version})
    return path


def _scores(
    feelings: Feelings, read: Sequence[Reading], answers: Sequence[Sequence[str]]
) -> dict[str, float]:
    """ROUGE-L of spans, of the words, and of both together; none where nothing is held out."""
    by_name: dict[str, list[float]] = {"spans": [], "words": [], "both": []}
    nothing = Believed([], np.zeros(0), [])
    for one, right in zip(read, answers, strict=True):
        spans = believed(one, candidate_spans(one))
        for name, said in (
            ("spans", spans),
            ("words", feelings.beside(nothing, one)),
            ("both", feelings.beside(spans, one)),
        ):
            best = said.answers(1)
            by_name[name].append(rouge_l(best[0].text, right) if best else 0.0)
    return {name: float(np.mean(values)) for name, values in by_name.items() if values}
