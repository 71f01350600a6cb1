"""The one definition of a word that the sparse indexes and the overlap reader share."""

from __future__ import annotations

import re
import unicodedata

_ASCII = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u02bc": "'"})


def words(text: str) -> list[str]:
    """The lower-cased words of ``text``, in order: runs of letters and digits.

    An apostrophe inside a word belongs to it (``don't``, ``o'clock``), a possessive ``'s`` is cut
    off (``Bill's`` is ``bill``), and hyphens, dashes and underscores part words. Combining marks
    belong to the letter they stand on. Builds hold what this returned, so changing it means
    raising the version of the index format.
    """
    text = text.lower()
    if text.isascii():
        found = _ASCII.findall(text)
    else:
        text = text.translate(_APOSTROPHES)
        # The marks of some scripts are not \w, and without them their words fall to pieces.
        marks = "".join(sorted(c for c in set(text) if unicodedata.category(c)[0] == "M"))
        letter = f"(?:[^\\W_]|[{marks}])" if marks else r"[^\W_]"
        found = re.findall(f"{letter}+(?:'{letter}+)*", text)
    return [word[:-2] if word.endswith("'s") else word for word in found]
