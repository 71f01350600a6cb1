"""Books that a running service has for a while, to be asked about, and that are gone afterwards."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from service.client import Client
from service.client_requests import Patience, ServiceError
from service.schemas import AnswerResponse

log = logging.getLogger(__name__)

_NOBODY_WAITS = Patience(tries=6, longest_wait_s=90.0)  # a service that counts by the minute says up to 60


class BookLender:
    """A connection to the service at ``url``, with the API ``key`` of an administrator where it wants one.

    Raises ``ServiceError`` where there is no service, and as ``Client`` does. To be closed after use.
    """

    def __init__(self, url: str, key: str | None) -> None:
        self._client = Client(url, key=key, patience=_NOBODY_WAITS)

    def __enter__(self) -> Self:
        self._client.ready()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    @contextmanager
    def books(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """The ids of books of these texts, indexed; removed when the context ends, however it does."""
        ids: list[str] = []
        try:
            jobs = []
            for text in texts:
                # Noted before it is sent: it may have arrived where no answer does.
                ids.append(f"probe-{uuid.uuid4().hex}")
                try:
                    jobs.append(self._client.add_book(text.encode(), id=ids[-1], title=ids[-1]))
                except ServiceError as error:
                    if error.status is not None:
                        del ids[-1]
                    raise
            for job in jobs:
                self._client.wait(job)
            yield ids
        finally:
            self._remove(ids)

    def _remove(self, ids: Sequence[str]) -> None:
        for number, id in enumerate(ids):
            try:
                self._client.remove_book(id)
            except ServiceError as error:
                if error.status is None:
                    log.warning("books stay in the service, %s: %s", ", ".join(ids[number:]), error)
                    return
                if error.status != 404:
                    log.warning("the book %s stays in the service: %s", id, error)

    def answers(self, questions: Sequence[Mapping[str, Any]]) -> list[AnswerResponse]:
        """The answers to many questions; see ``Client.answers``."""
        return self._client.answers(questions)
