"""Clients that ask one server many questions at once, over and over, and know the answers."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx

from answering.book_qa import Ask, BookQA
from indexing.store import IndexStore

Asked = Sequence[dict[str, Any]]
AnswerPlace = tuple[str, int, int]
ASKING = 4  # at once


def place(answer: dict[str, Any]) -> AnswerPlace:
    """What was answered, and where it stands."""
    return answer["answer"], answer["evidence"]["start"], answer["evidence"]["end"]


def answered_offline(store: IndexStore, asked: Asked) -> list[AnswerPlace]:
    """What is answered without a service."""
    offline = BookQA(store)
    found = []
    for one in asked:
        cited = offline.answer(Ask(**one, retriever="bm25", reader="overlap"))
        assert cited.evidence is not None
        found.append((cited.text, cited.evidence.start, cited.evidence.end))
    return found


class Callers:
    """``ASKING`` threads, and what came of their questions, which are ``asked`` in turn.

    ``given`` are the numbers of the questions that were answered, ``wrong`` the status and text of each
    response that was not the ``right`` answer, and ``cut_off`` what broke a connection.
    """

    def __init__(self, asked: Asked, right: Sequence[AnswerPlace]) -> None:
        self.given: list[int] = []
        self.wrong: list[tuple[int, str]] = []
        self.cut_off: list[httpx.TransportError] = []
        self._asked, self._right = asked, right
        self._reading: set[int] = set()
        self._enough = threading.Event()

    @property
    def are_reading(self) -> bool:
        """Whether somebody has the head of an answer, and not yet its body."""
        return bool(self._reading)

    @contextmanager
    def asking(self, url: str, keep_alive: bool = True) -> Iterator[None]:
        """They ask the server at that address meanwhile, and have all ended behind it.

        Without ``keep_alive`` each question has a connection of its own, so that a server's processes take
        them as they come.
        """
        threads = [
            threading.Thread(target=self._ask_on, args=(url, keep_alive, 11 * first))
            for first in range(ASKING)
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._enough.set()
            for thread in threads:
                thread.join()

    def _ask_on(self, url: str, keep_alive: bool, number: int) -> None:
        limits = httpx.Limits(max_keepalive_connections=None if keep_alive else 0)
        own = threading.get_ident()
        hooks = {"response": [lambda _: self._reading.add(own)]}
        with httpx.Client(base_url=url, limits=limits, timeout=60, event_hooks=hooks) as client:
            while not self._enough.is_set():
                number = (number + 1) % len(self._asked)
                try:
                    response = client.post("/answer", json=self._asked[number])
                except httpx.TransportError as error:
                    self.cut_off.append(error)
                    continue
                finally:
                    self._reading.discard(own)
                self.given.append(number)
                if response.status_code != 200 or place(response.json()) != self._right[number]:
                    self.wrong.append((response.status_code, response.text))
