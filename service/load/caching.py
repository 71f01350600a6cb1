"""Answers that were given lately, kept so that the same question need not be read again."""

from __future__ import annotations

import pickle
import threading
from collections import OrderedDict

from answering.ask import Ask
from answering.book_qa import CitedAnswer
from readers import spec_of

# What an entry takes beside the answer: its question, its place in the table.
_OVERHEAD = 1000


class AnswerCache:
    """Answers by question and the way it was asked, each of one index; those used last, in ``most_bytes``.

    A reader's weights are loaded once per process, so its name tells them; answers of models behind
    an address are not kept, for those may change. Answers lie here pickled: small, of a known size, and
    nobody can change them. Safe to call from several threads.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[Ask, tuple[str, bytes]] = OrderedDict()  # by question: index version, answer
        self._bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def bytes(self) -> int:
        """About how much memory is taken."""
        return self._bytes

    def __contains__(self, ask: Ask) -> bool:
        """Whether there is an answer to ``ask``, be it from an older index."""
        return ask in self._kept

    def get(self, ask: Ask, version: str) -> CitedAnswer | None:
        """The answer to ``ask`` from the index ``version``, if it is kept; its timings are of back then."""
        with self._lock:
            kept, packed = self._kept.get(ask, ("", b""))
            if kept != version:
                return None
            self._kept.move_to_end(ask)
        answer = pickle.loads(packed)
        assert isinstance(answer, CitedAnswer)
        return answer

    def put(self, ask: Ask, answer: CitedAnswer) -> None:
        """Keep ``answer``, unless it is larger than the cache or came from a remote model."""
        if spec_of(ask.reader).model == "remote":
            return
        packed = pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
        if len(packed) + _OVERHEAD > self._most_bytes:
            return
        with self._lock:
            self._drop(ask)
            self._kept[ask] = answer.versions["index"], packed
            self._bytes += len(packed) + _OVERHEAD
            while self._bytes > self._most_bytes:
                self._drop(next(iter(self._kept)))

    def _drop(self, ask: Ask) -> None:
        _, packed = self._kept.pop(ask, ("", None))
        if packed is not None:
            self._bytes -= len(packed) + _OVERHEAD
