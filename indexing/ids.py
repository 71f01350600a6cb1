"""Book ids: short, plain, and safe as a folder's name and as a part of an address."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from text.errors import StoryQAError

LONGEST = 128
_ID = re.compile(rf"[a-z0-9][a-z0-9._-]{{0,{LONGEST - 1}}}")


class BadId(StoryQAError):
    """A book id that is not a slug."""


def check_id(id: str, called: str = "a book id") -> str:
    """``id`` itself; raises ``BadId``, with the nearest id that will do, when it is not a slug.

    ``called`` is what it is for, in the error.
    """
    if not is_id(id):
        raise BadId(
            f"{id!r} cannot be {called}: wanted at most {LONGEST} of a-z, 0-9, '.', '_' and '-', "
            f"the first a letter or digit; {slug(id)!r} would do"
        )
    return id


def is_id(name: str) -> bool:
    """Whether ``name`` can be a book id."""
    return _ID.fullmatch(name) is not None


def following(id: str) -> str:
    """Where the ids after ``id`` begin, in the order of strings; those after no id with the first."""
    return f"{id}\0" if id else ""


def slug(text: str) -> str:
    """An id made from a title or a file's name: accents dropped, all else that is not plain a hyphen.

    Where nothing plain is left (a title in another script), the id is ``book-`` and eight digits of
    the text's SHA-256, so that different titles get different ids.
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    plain = re.sub(r"['`]+", "", plain)
    plain = re.sub(r"[^a-z0-9._-]+", "-", plain)
    plain = re.sub(r"-{2,}", "-", plain).lstrip("._-")[:LONGEST].rstrip("._-")
    return plain or f"book-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
