"""Server-sent events as a chat endpoint sends a completion in: put together to what it would send whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

MEDIA_TYPE = "text/event-stream"
_END = b"[DONE]"


class BadStream(ValueError):
    """An event that is no part of a completion; its text says what came."""


class CompletionStream:
    """A completion that comes in pieces; ``on_piece`` hears the text of each as it comes."""

    def __init__(self, on_piece: Callable[[str], None]) -> None:
        self._on_piece = on_piece
        self._line = b""
        self._content: list[str] = []
        self._tokens: list[Any] = []
        self._finish: str | None = None
        self.has_begun = False
        self.has_ended = False

    def add(self, data: bytes) -> None:
        """The next bytes; raises ``BadStream``."""
        *lines, self._line = (self._line + data).split(b"\n")
        for line in lines:
            field, _, value = line.rstrip(b"\r").partition(b":")
            if field == b"data" and not self.has_ended:
                self._add_event(value.strip())

    def _add_event(self, value: bytes) -> None:
        if value == _END:
            self.has_ended = True
            return
        try:
            event = json.loads(value)
        except (ValueError, RecursionError):
            raise BadStream(value[:200].decode("utf-8", "replace")) from None
        if not isinstance(event, dict) or "error" in event or not isinstance(event.get("choices"), list):
            raise BadStream(value[:2000].decode("utf-8", "replace"))
        for choice in event["choices"][:1]:  # none beside the count of tokens
            self._add_choice(choice)

    def _add_choice(self, choice: Any) -> None:
        try:
            piece = (choice.get("delta") or {}).get("content")
            tokens = (choice.get("logprobs") or {}).get("content") or []
            self._finish = choice.get("finish_reason") or self._finish
        except AttributeError:
            raise BadStream(str(choice)[:200]) from None
        if not isinstance(piece, str | None) or not isinstance(tokens, list):
            raise BadStream(str(choice)[:200])
        self._tokens += tokens
        if piece:
            self.has_begun = True
            self._content.append(piece)
            self._on_piece(piece)

    def completion(self) -> dict[str, Any] | None:
        """The whole completion; None where the stream ended before it was said to."""
        if not self.has_ended and self._finish is None:
            return None
        logprobs = {"content": self._tokens} if self._tokens else None
        message = {"role": "assistant", "content": "".join(self._content)}
        return {"choices": [{"message": message, "finish_reason": self._finish, "logprobs": logprobs}]}
