"""What was measured of one row of a published table, in one setting or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from evaluation.published.figures import Ours, Row


@dataclass(frozen=True, slots=True)
class Measured:
    """A row with our figures beside the paper's, as fractions; ``command`` makes them.

    ``missing`` says what the row wants before it, or all of it, can be measured, None where it was.
    ``trained_on`` says on what the reader was trained, where it is one of the paper's models. ``scores`` are
    those of the row's columns, each as the table has it counted, and of the metrics that the table wants
    besides; there are none where nothing was measured. ``asked`` is how many questions each column has, where
    these are parts of the questions. ``parameters`` is how many our model has, where the paper says it of its
    own. ``notes`` are those of the questions.
    """

    row: Row
    ours: Ours
    command: str
    missing: str | None = None
    trained_on: str | None = None
    questions: int = 0
    stories: int = 0
    scores: dict[str, float | None] = field(default_factory=dict)
    intervals: dict[str, tuple[float, float] | None] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    parameters: int | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured of a row on the questions of one setting."""

    questions: int
    stories: int
    trained_on: str | None
    notes: tuple[str, ...]
    scores: dict[str, float | None]
    intervals: dict[str, tuple[float, float] | None]
    asked: dict[str, int]


def together(base: Measured, found: Sequence[Figures]) -> Measured:
    """The row with the figures of all its settings."""
    for one in found:
        base = replace(
            base,
            questions=base.questions + one.questions,
            stories=base.stories + one.stories,
            trained_on=one.trained_on,
            scores={**base.scores, **one.scores},
            intervals={**base.intervals, **one.intervals},
            asked={**base.asked, **one.asked},
            notes=tuple(dict.fromkeys((*base.notes, *one.notes))),
        )
    return base
