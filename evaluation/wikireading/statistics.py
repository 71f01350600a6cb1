"""What a set of instances is like: its properties, categorical or relational, and how right one can be.

Hewlett et al. 2016, sections 2.4 and 4. A property is categorical where few answers make up most of its
instances, so that they can be learnt by heart: where H(p) = H(answers of p) / log(number of distinct answers)
is below .7.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from evaluation.benchmarks.benchmark import kinds_of
from evaluation.wikireading.instances import Instance
from text.dates import MONTHS

CATEGORICAL_BELOW = 0.7
CATEGORICAL, RELATIONAL, DATE = "categorical", "relational", "relational/date"
KINDS = (
    "categorical",
    "relational",
    "date",
)  # as `kinds_of` has them: dates are a part of what is relational
TOP = 20  # properties, whose share of the instances is told
# As ``evaluation.preparation.times`` writes them; a number alone is a year from 1000 on.
_DATE = re.compile(
    rf"(?:(?:\d{{1,2}} )?(?:{'|'.join(MONTHS)}) \d{{1,4}}|\d+0s|\d+(?:st|nd|rd|th) century)(?: BC)?"
    r"|[12]\d{3}|\d{1,4} BC"
)


@dataclass(frozen=True, slots=True)
class PropertyStatistics:
    """One property of the training split.

    ``answers`` is how many distinct ones there are, ``entropy`` H(p), of 0 to 1; ``dates`` says that most
    of the answers are.
    """

    instances: int
    answers: int
    entropy: float
    dates: bool

    @property
    def kind(self) -> str:
        """The kind of its questions, such as ``relational/date``."""
        if self.entropy < CATEGORICAL_BELOW:
            return CATEGORICAL
        return DATE if self.dates else RELATIONAL


@dataclass(frozen=True, slots=True)
class TrainingStatistics:
    """What was counted in the training split: its properties, and all its answers."""

    instances: int
    properties: Mapping[str, PropertyStatistics]
    answers: frozenset[str]

    def kind(self, property: str) -> str:
        """The kind of its questions; relational where training has no such property to learn by heart."""
        known = self.properties.get(property)
        return RELATIONAL if known is None else known.kind


def count_training(instances: Iterable[Instance]) -> TrainingStatistics:
    """The statistics of the training split, read as a stream."""
    asked: Counter[str] = Counter()
    answered: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one in instances:
        asked[one.property] += 1
        answered[one.property].update(one.answers)
    return TrainingStatistics(
        instances=asked.total(),
        properties={
            name: PropertyStatistics(
                number, len(answered[name]), entropy(answered[name]), _are_dates(answered[name])
            )
            for name, number in asked.most_common()
        },
        answers=frozenset(answer for counts in answered.values() for answer in counts),
    )


def entropy(counts: Mapping[str, int]) -> float:
    """H(p) of the answers so often given, from 0 (always one) to 1 (all as often).

    Each value of an instance with several is counted as one answer, for the paper's is the distribution of
    answers and not of sets of them. A single answer, of which the paper's quotient is 0 / 0, leaves
    nothing to be told: 0.
    """
    if len(counts) < 2:
        return 0.0
    total = sum(counts.values())
    return -sum(n / total * math.log(n / total) for n in counts.values()) / math.log(len(counts))


def _are_dates(counts: Mapping[str, int]) -> bool:
    """Whether more than half of the answers are days, months of a year, years, decades or centuries."""
    dates = sum(number for answer, number in counts.items() if _DATE.fullmatch(answer))
    return 2 * dates > sum(counts.values())


def bounds(asked: Iterable[tuple[Sequence[str], str]], known: Container[str] | None) -> dict[str, float]:
    """The best mean F1 with one value a question, by what this may be: of ``asked``, (answers, document).

    ``training_answers``: one of those ``known``, all of training, of which classifiers that learn only the
    frequent ones can reach less; ``one_value``: any; ``verbatim``: one that stands in the document as it is
    written, as extractors say.
    """
    allowed: dict[str, Callable[[str, str], bool]] = {
        "training_answers": lambda answer, _: known is not None and answer in known,
        "one_value": lambda *_: True,
        "verbatim": lambda answer, document: answer in document,
    }
    if known is None:
        del allowed["training_answers"]
    best: dict[str, list[float]] = {name: [] for name in allowed}
    for answers, document in asked:
        for name, may_be in allowed.items():
            right = any(may_be(answer, document) for answer in answers)
            best[name].append(2 * right / (1 + len(answers)))
    return {name: mean(of_all) for name, of_all in best.items() if of_all}


def describe(instances: Iterable[Instance], training: TrainingStatistics) -> dict[str, Any]:
    """What there is to say of a split beside its training split; shares are of its instances."""
    words: dict[str, int] = {}
    properties: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    answers = several = verbatim = unseen = 0
    asked: list[tuple[tuple[str, ...], str]] = []
    for one in instances:
        words[one.key] = len(one.document.split())
        properties[one.property] += 1
        kinds.update(kinds_of(training.kind(one.property)))
        several += len(one.answers) > 1
        found = [answer for answer in one.answers if answer in one.document]
        verbatim += bool(found)
        answers += len(one.answers)
        unseen += sum(answer not in training.answers for answer in one.answers)
        asked.append((one.answers, "\n".join(found)))  # all that the bounds want of the document
    total = properties.total()
    if not total:
        return {"instances": 0, "documents": 0, "properties": 0}
    top = sum(properties[name] for name in list(training.properties)[:TOP])
    return {
        "instances": total,
        "documents": len(words),
        "properties": len(properties),
        "words_mean": round(mean(words.values()), 1),
        "words_median": median(words.values()),
        "kinds": {kind: round(kinds[kind] / total, 4) for kind in KINDS},
        f"top_{TOP}_properties": round(top / total, 4),
        "several_answers": round(several / total, 4),
        "verbatim": round(verbatim / total, 4),
        "answers_unseen": round(unseen / answers, 4),  # of its answers
        "bounds": {name: round(value, 4) for name, value in bounds(asked, training.answers).items()},
    }
