"""Which answers say the same: those that SQuAD's scorer takes for one another."""

from __future__ import annotations

import re
import string

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = frozenset(string.punctuation)


def normalised(text: str) -> list[str]:
    """SQuAD's ``normalize_answer`` (Rajpurkar et al. 2016): lower case, no punctuation, no articles."""
    bare = "".join(c for c in text.lower() if c not in _PUNCTUATION)
    return _ARTICLES.sub(" ", bare).split()


def answer_key(text: str) -> str:
    """What equal answers have in common; an answer of articles and marks alone equals itself."""
    return " ".join(normalised(text)) or text.lower()
