"""A cross-encoder that another learns from: what it says of the student's windows."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from encoders.adapters import file_hash
from encoders.backbone import Backbone, load_tokenizer
from encoders.cross_encoder import WEIGHTS, load_crossencoder
from encoders.device import sent
from encoders.errors import ModelError
from encoders.vocabularies import translation
from encoders.windows import Window

if TYPE_CHECKING:
    from tokenizers import Tokenizer

STORE = "teacher.sqlite"


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """What the teacher says of one window: ``start`` and ``end`` scores of its context tokens, (context
    tokens,), and the log-odds that it answers."""

    start: NDArray[np.float32]
    end: NDArray[np.float32]
    relevance: float


@dataclass(frozen=True, slots=True, eq=False)
class Taught:
    """What the teacher says of a batch: ``start`` and ``end`` scores (windows, tokens), which mean something
    at the tokens of passages alone, and the log-odds that each window answers, (windows,)."""

    start: torch.Tensor
    end: torch.Tensor
    relevance: torch.Tensor


class Teacher:
    """Reads windows that were cut for ``student``, and can keep what it says of them in a folder.

    Its words must be the student's, as those of ``mpnet`` are of ``minilm``: a token of the window is then a
    token of its own, and the scores of both are about the same places. Raises ModelError where they differ.
    """

    def __init__(self, weights: Path, student: Backbone, kept: Path | None) -> None:
        """``weights`` is the folder of a run; ``kept`` the folder for what the teacher says, or None where to
        read again is cheaper, as on a card; it runs in torch then."""
        path = weights / WEIGHTS
        if not path.is_file():
            raise ModelError(f"{path} is missing; wanted the folder of a run of: storyqa train large")
        self.sha256 = file_hash(path)
        self._encoder = load_crossencoder(str(weights))
        self._own = _Layout.of(load_tokenizer(self._encoder.base))
        self._ids = translation(load_tokenizer(student), load_tokenizer(self._encoder.base))
        self._store = None
        if kept is not None:
            kept.mkdir(parents=True, exist_ok=True)
            self._store = kept / STORE

    def taught(self, windows: Sequence[Window], tokens: int, device: torch.device) -> Taught:
        """What the teacher says of a batch of windows that are padded to ``tokens``.

        Where nothing is kept it is read as one batch, and nothing waits for the device.
        """
        if self._store is not None:
            return _placed(windows, self.lessons(windows), tokens, device)
        own = [self._translated(window) for window in windows]
        with self._own_numbers():
            scores = self._encoder.score(own).clone()  # of inference mode; what trains reads it
        # The same passages, behind other special tokens.
        places = torch.arange(tokens, device=device) + own[0].first - windows[0].first
        start, end, _ = scores[:, places.clamp(0, scores.shape[1] - 1)].unbind(-1)
        return Taught(start, end, scores[:, 0, 2])

    def lessons(self, windows: Sequence[Window]) -> list[Lesson]:
        """What the teacher says of each window, where it is kept: what it has said is not read again."""
        assert self._store is not None
        keys = [self._key(window) for window in windows]
        with closing(sqlite3.connect(self._store)) as store, store:
            store.execute("create table if not exists lessons (window blob primary key, scores blob)")
            known = dict(_stored(store, keys))
            new = {key: window for key, window in zip(keys, windows, strict=True) if key not in known}
            with self._own_numbers():
                read = self._encoder.read_windows([self._translated(window) for window in new.values()])
            for key, one in zip(new, read, strict=True):
                scores = np.concatenate([one.start, one.end, [one.relevance]])
                known[key] = scores.astype(np.float16).tobytes()
            store.executemany("insert into lessons values (?, ?)", [(key, known[key]) for key in new])
        return [_lesson(known[key]) for key in keys]

    def _own_numbers(self) -> torch.autocast:
        """Its encoder reads in the numbers in which it answers, whatever the student learns in."""
        return torch.autocast(self._encoder.runtime.device, enabled=False)

    def _key(self, window: Window) -> bytes:
        ids = np.array(window.ids, dtype=np.int32).tobytes()
        return hashlib.blake2b(self.sha256.encode() + ids, digest_size=16).digest()

    def _translated(self, window: Window) -> Window:
        """The window in the teacher's words, its question and passage parted as the teacher parts them."""
        last = window.first + len(window.offsets)
        question = self._ids[window.ids[1 : window.first - 1]].tolist()
        passage = self._ids[window.ids[window.first : last]].tolist()
        before = [*self._own.begin, *question, *self._own.middle]
        ids = [*before, *passage, *self._own.end]
        types = [0] * len(before) + [1] * (len(ids) - len(before))
        return replace(window, ids=ids, types=types, first=len(before))


@dataclass(frozen=True, slots=True)
class _Layout:
    """The special tokens before a question, between it and a passage, and behind that."""

    begin: list[int]
    middle: list[int]
    end: list[int]

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> _Layout:
        encoding = tokenizer.encode("a", "b")
        first, second = (encoding.sequence_ids.index(sequence) for sequence in (0, 1))
        ids = encoding.ids
        return cls(ids[:first], ids[first + 1 : second], ids[second + 1 :])


def _placed(
    windows: Sequence[Window], lessons: Sequence[Lesson], tokens: int, device: torch.device
) -> Taught:
    """The lessons of a batch's windows, at the places of their tokens; 0 outside passages."""
    start, end = (torch.zeros(len(windows), tokens) for _ in range(2))
    for row, (window, lesson) in enumerate(zip(windows, lessons, strict=True)):
        context = slice(window.first, window.first + len(window.offsets))
        start[row, context] = torch.from_numpy(lesson.start.copy())
        end[row, context] = torch.from_numpy(lesson.end.copy())
    relevance = torch.tensor([lesson.relevance for lesson in lessons])
    return Taught(sent(start, device), sent(end, device), sent(relevance, device))


def _stored(store: sqlite3.Connection, keys: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    for key in dict.fromkeys(keys):
        row = store.execute("select scores from lessons where window = ?", (key,)).fetchone()
        if row is not None:
            yield key, row[0]


def _lesson(scores: bytes) -> Lesson:
    values = np.frombuffer(scores, dtype=np.float16).astype(np.float32)
    start, end = values[:-1].reshape(2, -1)
    return Lesson(start, end, float(values[-1]))
