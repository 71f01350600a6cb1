"""Is this text the work that its summary, and so its questions, are about?"""

from __future__ import annotations

import re

LOWEST_SHARE = 0.3
FEWEST_NAMES = 5

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_POSSESSIVE = re.compile(r"['’]s$")
_SENTENCE_END = (".", "?", "!", ":")


def _names(text: str) -> set[str]:
    """Words written with a capital inside a sentence, and nowhere in the text without one."""
    lower = {word for word in _WORD.findall(text) if word.islower()}
    names = set()
    for match in _WORD.finditer(text):
        name = _POSSESSIVE.sub("", match[0])
        before = text[: match.start()].rstrip(" \n\"'“‘(")
        if (
            name[0].isupper()
            and len(name) > 2
            and name.lower() not in lower
            and before
            and not before.endswith(_SENTENCE_END)
        ):
            names.add(name.lower())
    return names


def shared_names(summary: str, story: str) -> float | None:
    """The share of the summary's proper names that occur in the story; None where it has too few to tell.

    On the 58 books of NarrativeQA valid, the three that are another work than their summary have
    at most .12, the others at least .54.
    """
    names = _names(summary)
    if len(names) < FEWEST_NAMES:
        return None
    words = {_POSSESSIVE.sub("", word).lower() for word in _WORD.findall(story)}
    return len(names & words) / len(names)


def mispaired(summary: str, story: str) -> bool:
    """Whether fewer than ``LOWEST_SHARE`` of the summary's names occur in the story."""
    share = shared_names(summary, story)
    return share is not None and share < LOWEST_SHARE
