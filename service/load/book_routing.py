"""Which book a request is about: by it a replica is chosen, as ``deploy/haproxy/books.cfg`` does."""

from __future__ import annotations

import hashlib
import json
from typing import Any

# What changes the store has this place of its own; no id of a book has a slash.
SHELF = "/jobs"
_ANY = ""
_EVERY_BOOK = "*"


def changes(method: str, path: str) -> bool:
    """Whether a request may change the store: such a one is never sent twice."""
    if path == "/jobs" or path.startswith("/jobs/"):
        return True
    match method:
        case "POST":
            return path == "/books"
        case "DELETE":
            return path.startswith(("/books/", "/shelves/"))
        case "PUT":
            return path.startswith("/shelves/")
        case _:
            return False


def routing_key(method: str, path: str, body: bytes) -> str:
    """What all requests about a book have in common: its id, or empty where a request names none.

    A list counts as its first book, ``shelf:NAME`` as one of that name. Of a question to every book it is
    a hash: no replica keeps them all, so questions are spread, and the same one has the same key.
    """
    if changes(method, path):
        return SHELF
    if path.startswith("/books/"):
        return path.split("/")[2]
    if method != "POST":
        return _ANY
    try:
        named = _named(path, json.loads(body))
    except (ValueError, RecursionError, KeyError, IndexError, TypeError):
        return _ANY  # the replica says what is wrong with it
    if not isinstance(named, str):
        return _ANY
    key = named.split(",")[0]
    return hashlib.sha256(body).hexdigest() if key == _EVERY_BOOK else key


def _named(path: str, content: Any) -> Any:
    """What a body says of its book; raises what looking for it in strange content may."""
    match path:
        case "/answer" | "/search":
            return _first(content["book_id"])
        case "/answers":
            return _first(content[0]["book_id"])
        case "/v1/chat/completions":
            return content["model"].split("@")[0] if isinstance(content["model"], str) else _ANY
        case "/mcp":
            return _first(content["params"]["arguments"]["book_id"])
        case _:
            return _ANY


def _first(books: Any) -> Any:
    return books[0] if isinstance(books, list) else books
