"""Requests that are refused, with the status that says so over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from text.errors import StoryQAError


class Refused(StoryQAError):
    """A request that is not done, and why; ``headers`` go with the answer that says so.

    ``kind`` ends the problem's type, ``urn:storyqa:problem:KIND``.
    """

    status: ClassVar[int]
    kind: ClassVar[str]

    def __init__(self, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.headers = dict(headers or {})
