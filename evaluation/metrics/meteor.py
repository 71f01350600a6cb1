"""METEOR 1.5: the statistics of each answer from the Java program, the scores from their sums.

The program is the one that pycocoevalcap carries, and the scores are those it gives
(Denkowski and Lavie 2014, section 2; English parameters). It is spoken to here, and not through
pycocoevalcap's wrapper, because the wrapper keeps the statistics to itself, without which there is
no interval for a corpus score, and speaks in the platform's encoding.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from text.errors import StoryQAError

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

ALPHA, BETA, GAMMA, DELTA = 0.85, 0.20, 0.60, 0.75
MODULES = (1.0, 0.6, 0.8, 0.6)  # the weight of a match: exact, stem, synonym, paraphrase
WIDTH = 23
# Columns: lengths and function words of answer and reference; per module the content and function words
# matched in each; chunks; all words matched in each.
_LENGTHS, _FUNCTION, _CHUNKS, _MATCHED = slice(0, 2), slice(2, 4), 20, slice(21, 23)


class MeteorError(StoryQAError):
    """The METEOR program does not run."""


def java() -> str | None:
    """The Java program on this machine's path, without which there is no METEOR."""
    return shutil.which("java")


def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """What METEOR counts, shape (answers, 23), each answer against its best reference.

    Raises ``MeteorError`` where the program cannot be run. Takes some ten seconds to start.
    """
    import numpy as np

    program, spec = java(), find_spec("pycocoevalcap.meteor.meteor")
    if program is None or spec is None or spec.origin is None:
        raise MeteorError("METEOR needs java on the path and storyqa[eval] installed")
    jar = Path(spec.origin).with_name("meteor-1.5.jar")
    command = [
        program,
        "-Xmx2G",
        "-Dfile.encoding=UTF-8",
        "-jar",
        str(jar),
        "-",
        "-",
        "-stdio",
        "-l",
        "en",
        "-norm",
    ]
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            cwd=jar.parent,  # it looks for its paraphrases beside itself
            env={**os.environ, "LC_ALL": "C.UTF-8"},
            encoding="utf-8",
        )
        rows = np.zeros((len(answers), WIDTH))
        with process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                for row, answer, to in zip(rows, answers, references, strict=True):
                    process.stdin.write(
                        " ||| ".join(("SCORE", *map(_one_line, to), _one_line(answer))) + "\n"
                    )
                    process.stdin.flush()
                    row[:] = [float(number) for number in process.stdout.readline().split()]
            except (OSError, ValueError) as error:
                process.kill()
                complaints.seek(0)
                said = complaints.read().decode("utf-8", "replace").strip()[-500:]
                raise MeteorError(f"METEOR stopped ({error}): {said or 'it said nothing'}") from error
    return rows


def _one_line(text: str) -> str:
    return " ".join(text.replace("|||", " ").split())


def exempt(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rows with no chunk counted in an answer that is its reference word for word, as METEOR 1.5 does.

    Summed without this, the human row of NarrativeQA valid is 23.87, the paper's figure; with it, 25.42.
    """
    perfect = (rows[:, _MATCHED] == rows[:, _LENGTHS]).all(axis=1) & (rows[:, _CHUNKS] == 1)
    rows = rows.copy()
    rows[perfect, _CHUNKS] = 0
    return rows


def scores(sums: NDArray[np.float64]) -> NDArray[Any]:
    """METEOR of each row of statistics, or of sums of them; shape (..., 23) to (...)."""
    import numpy as np

    lengths, function = sums[..., _LENGTHS], sums[..., _FUNCTION]
    # (..., modules, content/function, answer/reference)
    matches = sums[..., 4:20].reshape(*sums.shape[:-1], len(MODULES), 2, 2)
    weights = np.multiply.outer(MODULES, (DELTA, 1 - DELTA))
    matched = np.einsum("...mwa,mw->...a", matches, weights)
    weighted = DELTA * (lengths - function) + (1 - DELTA) * function
    precision, recall = np.moveaxis(
        np.divide(matched, weighted, out=np.zeros_like(matched), where=weighted > 0), -1, 0
    )
    bottom = ALPHA * precision + (1 - ALPHA) * recall
    mean = np.divide(precision * recall, bottom, out=np.zeros_like(bottom), where=bottom > 0)
    average = sums[..., _MATCHED].mean(axis=-1)
    fragmented = np.divide(sums[..., _CHUNKS], average, out=np.zeros_like(average), where=average > 0)
    return np.asarray(mean * (1 - GAMMA * fragmented**BETA))
