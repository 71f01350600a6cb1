"""Requests that are refused, with the status that says so over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from text.errors import StoryQAError


class Refused(StoryQAError):
    """A request that is not done, and why; ``headers`` go with the answer that says so.

    ``kind`` ends the problem's type, ``urn:storyqa:problem:KIND``; ``most_bytes`` of a body would have done.
    """

    status: ClassVar[int]
    kind: ClassVar[str]
    most_bytes: int | None = None

    def __init__(self, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.headers = dict(headers or {})
