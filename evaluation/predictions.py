"""The file of predictions: a line per question, written as it is answered, taken up again after a kill."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from evaluation.benchmarks.benchmark import Place
from text.errors import StoryQAError
from text.output_files import make_folder, writing

log = logging.getLogger(__name__)

PREDICTIONS = "predictions.jsonl"
SETTINGS = "run.json"


class RunMismatch(StoryQAError):
    """A folder that holds the run of another question set or another system."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One question, what was answered, and what that is worth by itself.

    ``start`` and ``end`` are the place of the evidence in ``book``; ``evidence_right`` says whether
    the text there is what was quoted (None where no place was cited). ``gold_read`` says of
    each of the ``passages`` read whether it overlaps a gold place. ``scores`` are what the answer is
    worth by each metric that can say so of one answer, columns of their own in the file. The rest is as
    in ``Answered``.
    """

    id: str
    story: str
    kind: str | None
    question: str
    references: tuple[str, ...]
    prediction: str
    confidence: float
    book: str
    start: int | None
    end: int | None
    evidence_right: bool | None
    passages: tuple[Place, ...]
    gold_read: tuple[bool, ...] | None
    first_gold: int | None
    reciprocal_rank: float | None
    scores: Mapping[str, float]

    def as_row(self) -> dict[str, Any]:
        """The line of the file."""
        row = asdict(self)
        scores: dict[str, float] = row.pop("scores")
        return {**row, **scores}


class PredictionFile:
    """The predictions of one run in the folder ``out``.

    The folder remembers the settings of the run. With the same ones, what was predicted before is
    kept (the half line of a killed process apart) and the rest follows; with others, ``RunMismatch``
    is raised, unless ``force`` throws the old run away.
    """

    def __init__(self, out: Path, settings: Mapping[str, Any], force: bool = False) -> None:
        self._path = out / PREDICTIONS
        make_folder(out)
        described = json.loads(json.dumps(settings))
        if force or not (self._path.exists() or (out / SETTINGS).exists()):
            with writing(out):
                self._path.unlink(missing_ok=True)
                (out / SETTINGS).write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")
        else:
            _check(out / SETTINGS, described)
        self.predictions = self._read()

    def append(self, predictions: Sequence[Prediction]) -> None:
        """Add the predictions to the file; they are there when this returns."""
        lines = "".join(json.dumps(one.as_row(), ensure_ascii=False) + "\n" for one in predictions)
        with self._path.open("a", encoding="utf-8", newline="\n", errors="surrogatepass") as file:
            file.write(lines)
        self.predictions += predictions

    def _read(self) -> list[Prediction]:
        if not self._path.exists():
            return []
        data = self._path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if whole != data:
            log.warning(
                "%s ends in the middle of a line, as a killed process leaves it; answering that one again",
                self._path,
            )
            self._path.write_bytes(whole)
        try:
            # By newlines alone: str.splitlines parts at what may stand in a question, U+2028 or U+0085.
            lines = whole.decode("utf-8", "surrogatepass").split("\n")[:-1]
            return [_parse(json.loads(line)) for line in lines]
        except (ValueError, TypeError, KeyError) as error:
            raise RunMismatch(
                f"{self._path} is damaged ({error}); begin anew with --force, or choose another --out"
            ) from error


def _parse(row: dict[str, Any]) -> Prediction:
    names = {one.name for one in fields(Prediction)}
    return Prediction(
        **{
            **{name: value for name, value in row.items() if name in names},
            "scores": {name: value for name, value in row.items() if name not in names},
            "references": tuple(row["references"]),
            "passages": tuple((start, end) for start, end in row["passages"]),
            "gold_read": None if row["gold_read"] is None else tuple(row["gold_read"]),
        }
    )


def _check(path: Path, settings: Mapping[str, Any]) -> None:
    """Raise ``RunMismatch`` unless the file says ``settings``."""
    advice = "go on with the same options, choose another --out, or begin anew with --force"
    try:
        before = json.loads(path.read_bytes())
        different = [name for name in sorted({*before, *settings}) if before.get(name) != settings.get(name)]
    except (OSError, ValueError, TypeError, AttributeError):
        raise RunMismatch(
            f"{path.parent} holds predictions of an unknown run ({path} is not readable); {advice}"
        ) from None
    if different:
        said = "; ".join(f"{name} was {before.get(name)!r}, now {settings.get(name)!r}" for name in different)
        raise RunMismatch(f"{path.parent} holds another run: {said}; {advice}")
