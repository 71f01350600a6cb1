"""The systems of ``storyqa train cbt`` that only count: an n-gram model, and the words of the books."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from evaluation.benchmarks import cbt
from readers.baselines.array_file import SUFFIX, ArrayFile
from readers.baselines.frequency import CORPUS, WordCounts
from readers.baselines.ngram import NAME, language_words
from text.cloze import cloze_tokens
from training.arpa import write_arpa
from training.corpora.cloze import check_apart, clozes
from training.corpora.corpus import NoTrainingData
from training.export import Provenance, Trained
from training.invocation import Invocation
from training.objectives.cloze_settings import ClozeSettings
from training.objectives.kneser_ney import estimate, tune_cache


def train_kneser_ney(run: Invocation, settings: ClozeSettings) -> Trained:
    """Estimate the n-grams of the train split's text, and choose the weight of the cache on valid questions.

    Raises NoTrainingData for another data set than cbt or splits of the same texts, and the loader's
    ``DataError``.
    """
    started = time.perf_counter()
    sentences, trained_on = _read(run, settings, language_words)
    valid = cbt.load(run.data[0], "valid", settings.setting or "all", cache=run.cache)
    if not valid.files:
        check_apart(cbt.book_texts(run.data[0]), valid, run.data[0])
    model = estimate(sentences, trained_on=trained_on)
    asked, parsed = zip(*clozes(valid), strict=True)
    model, right = tune_cache(model, parsed, [question.answers[0] for question in asked])
    counts = ", ".join(f"{len(log10):,}" for log10 in model.log10)
    what = (
        f"Modified Kneser-Ney, Chen and Goodman 1998; {counts} n-grams of 1 to {model.order} words, none "
        f"pruned. The weight of the context's own words is {model.cache}, the best of those tried on "
        f"the {len(asked):,} questions of the valid split."
    )
    scores = {"accuracy": right}
    trained = _write(run, settings, NAME, model.as_file(), what, scores, time.perf_counter() - started)
    if settings.arpa:
        arpa = write_arpa(model, run.out / f"{NAME}.arpa")
        trained = replace(trained, weights=(*trained.weights, arpa))
    return trained


def train_frequency(run: Invocation, settings: ClozeSettings) -> Trained:
    """Count the words of the train split's text; raises as ``train_kneser_ney``, but for what it chooses."""
    started = time.perf_counter()
    sentences, trained_on = _read(run, settings, lambda text: [token.key for token in cloze_tokens(text)])
    counts = WordCounts.count((key for keys in sentences for key in keys), trained_on)
    what = f"How often the train split has each of {len(counts.counts):,} words, in lower case."
    return _write(run, settings, CORPUS, counts.as_file(), what, {}, time.perf_counter() - started)


def _read(
    run: Invocation, settings: ClozeSettings, words_of: Callable[[str], list[str]]
) -> tuple[Sequence[Sequence[str]], str]:
    """The sentences as words, and what they are from."""
    if settings.data_set != "cbt" or len(run.data) != 1:
        raise NoTrainingData(
            f"{settings.system} is counted in running text: wanted storyqa train cbt with one folder"
        )
    works: set[str] = set()
    sentences = []
    for work, sentence in cbt.running_text(run.data[0]):
        works.add(work)
        sentences.append(words_of(sentence))
    words = sum(map(len, sentences))
    return sentences, f"Children's Book Test train ({words:,} words of {len(works):,} works)"


def _write(
    run: Invocation,
    settings: ClozeSettings,
    system: str,
    file: ArrayFile,
    what: str,
    scores: dict[str, float],
    seconds: float,
) -> Trained:
    """The file of the system, and its card."""
    path: Path = file.save(run.out / f"{system.replace('@', '-')}{SUFFIX}")
    made = Provenance(
        data={},
        seed=settings.seed,
        command=run.command,
        settings=json.dumps({"system": system, "data_set": settings.data_set, "setting": settings.setting}),
        time=f"{seconds / 60:.1f} minutes",
        scores=scores,
    )
    data = f"- **Data**: {file.trained_on}\n- **Licence**: Apache-2.0"
    card = f"# {path.name}\n\n{what}\n\n{data}\n{made.closing_lines(path)}\n"
    path.with_suffix(".md").write_text(card, encoding="utf-8")
    return Trained((path,), seconds, scores)
