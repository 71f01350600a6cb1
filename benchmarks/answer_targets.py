"""What was wanted of the answers before they were measured, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Measured = Mapping[str, Any]  # what was measured of one size, by name
SIZES = ("small", "large")


@dataclass(frozen=True, slots=True)
class Target:
    """At least, or ``at_most``, what of a measurement is ``wanted`` by size; ``why`` a size may miss it."""

    what: str
    of: Callable[[Measured], float]
    wanted: Mapping[str, float]
    why: str
    at_most: bool = False

    def is_met(self, size: str, value: float) -> bool:
        """As the table shows both, to three digits, so that it can be checked by itself."""
        shown = round(value, 3)
        return shown <= self.wanted[size] if self.at_most else shown >= self.wanted[size]


def _score(name: str, score: str) -> Callable[[Measured], float]:
    return lambda measured: float(measured[name][score])


def _recall(name: str, k: str) -> Callable[[Measured], float]:
    return lambda measured: float(measured[name]["recall_at"][k])


def _implicit(measured: Measured) -> float:
    return float(measured["sections"]["by_kind"]["implicit"]["rouge_l"])


def _drop(measured: Measured) -> float:
    return float(measured["squad"]["f1"] - measured["domains"]["f1"])


def _error(*names: str) -> Callable[[Measured], float]:
    return lambda measured: max(float(measured[name]["confidence"]["ece"]) for name in names)


def _natural(measured: Measured) -> float:
    counts = measured["figure"]["answerable"]
    return float((counts["right"] + counts["partly"]) / counts["questions"])


def _wrongly_shown(measured: Measured) -> float:
    figure = measured["figure"]
    asked = figure["answerable"]["questions"] + figure["not_answerable"]["questions"]
    return float(figure["under_answer"]["wrong"] / asked)


def _said_to_have_none(measured: Measured) -> float:
    counts = measured["figure"]["not_answerable"]
    return float(counts["right"] / counts["questions"])


def _noticed(variant: str) -> Callable[[Measured], float]:
    return lambda measured: float(measured["unanswerable"]["variants"][variant]["none"])


def _of(small: float, large: float) -> Mapping[str, float]:
    return dict(zip(SIZES, (small, large), strict=True))


def _link(words: str, heading: str) -> str:
    return f"[{words}](experiments.md#{heading})"


_CLAUSE = _link("another clause of the passage is taken, most of all", "where-it-goes-wrong")
_FOUND = _link("what else was tried finds no more", "what-each-idea-gave")
_SURE = _link("novels are believed too often, other domains too seldom", "how-sure-it-is")
_FITTED = _link("one book was asked with the large selector of before", "how-sure-it-is")
_NATURAL = _link("the small ones misread it, the large ones do not find it", "natural-questions-about-novels")
_COMMON = _link(
    "what gives a question away is words and names that are not the book's", "what-the-book-does-not-answer"
)
_TALES = ("sections", "summaries", "one-book")
_LARGE_INDEX = "one-book by large"

TARGETS = (
    Target("FairytaleQA val, sections, ROUGE-L", _score("sections", "rouge_l"), _of(0.55, 0.6), _CLAUSE),
    Target(
        "the same, implicit answers",
        _implicit,
        _of(0.23, 0.3),
        _link(
            "what has to be inferred is in no span, and but for what is felt spans are all it answers",
            "where-it-goes-wrong",
        ),
    ),
    Target("FairytaleQA val, one book, recall@1", _recall("one-book", "1"), _of(0.77, 0.8), _FOUND),
    Target("the same, recall@5", _recall("one-book", "5"), _of(0.94, 0.95), _FOUND),
    Target("recall@1, indexed by the encoder `large`", _recall(_LARGE_INDEX, "1"), {"large": 0.8}, _FOUND),
    Target("the same, recall@5", _recall(_LARGE_INDEX, "5"), {"large": 0.95}, _FOUND),
    Target(
        "NarrativeQA half B, summaries, ROUGE-L", _score("summaries", "rouge_l"), _of(0.56, 0.61), _CLAUSE
    ),
    Target(
        "NarrativeQA half B, full stories, ROUGE-L",
        _score("stories", "rouge_l"),
        _of(0.18, 0.24),
        _link("most questions name nothing that the passages say in the same words", "where-it-goes-wrong"),
    ),
    Target(
        "SQuAD v1.1 dev, F1",
        _score("squad", "f1"),
        _of(0.82, 0.9),
        _link(
            "the small ones had .827 before they learnt of novels; of the large ones no cause is known",
            "what-each-idea-gave",
        ),
    ),
    Target(
        "F1 of other domains below it, at most",
        _drop,
        _of(0.12, 0.1),
        _link("the small ones had .137 before they learnt of novels", "what-each-idea-gave"),
        at_most=True,
    ),
    Target(
        "ECE, sections, summaries and one book, at most",
        _error(*_TALES),
        _of(0.05, 0.05),
        _FITTED,
        at_most=True,
    ),
    Target("ECE, full stories, at most", _error("stories"), _of(0.05, 0.05), _SURE, at_most=True),
    Target(
        "ECE, SQuAD dev and other domains, at most",
        _error("squad", "domains"),
        _of(0.05, 0.05),
        _SURE,
        at_most=True,
    ),
    Target("natural questions, right or partly", _natural, _of(0.45, 0.55), _NATURAL),
    Target(
        "natural questions, wrong shown as `answer`, at most",
        _wrongly_shown,
        _of(0.1, 0.1),
        _NATURAL,
        at_most=True,
    ),
    Target("natural questions without an answer, noticed", _said_to_have_none, _of(0.9, 0.95), _COMMON),
    Target("questions of another book, noticed", _noticed("other_book"), _of(0.9, 0.95), _COMMON),
    Target("questions with a name replaced, noticed", _noticed("renamed"), _of(0.9, 0.95), _COMMON),
)


def rows(found: Mapping[str, Measured], share: Callable[[float | None], str]) -> list[list[str]]:
    """A row a target: what is wanted and found by size, as ``share`` writes it, and whether that meets it."""
    table = [["what", "target", "small", "target", "large", "met", "why not"]]
    for target in TARGETS:
        values = {size: target.of(found[size]) for size in target.wanted}
        met = {size: target.is_met(size, value) for size, value in values.items()}
        numbers = [share(one.get(size)) for size in SIZES for one in (target.wanted, values)]
        said = ", ".join("–" if size not in met else "yes" if met[size] else "no" for size in SIZES)
        table.append([target.what, *numbers, said, "" if all(met.values()) else target.why])
    return table
