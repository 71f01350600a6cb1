"""The tokens that scores are counted on: those of NarrativeQA's own tokenised columns, in lower case."""

from __future__ import annotations

import re

# Copies of the data have lost double quotes and the apostrophe of 's: both go, on both sides, so that an
# answer cited as it stands in the book is not punished for being spelled better than its reference.
_QUOTES = re.compile(r"[\"“”„«»]|``|''")
_APART = re.compile(r"\.{3}|…|--|[;@#$%&?!()\[\]{}<>]|[:,](?!\d)")
_NEGATION = re.compile(r"(?<=\w)n't\b")
_CLITIC = re.compile(r"(?<=[^\s'])'(?=(?:s|m|d|ll|re|ve)\b)")
_TRAILING_QUOTE = re.compile(r"(?<=[^\s'])'(?!\S)")
_STOP = re.compile(r"(?P<word>[^\s.]\S*?)\.(?=(?P<end>[)\]'\s]*$)|\s+[^\s,;:])")
_FUSED = re.compile(r"\b(?:(can)(not)|(gim|lem)(me)|(gon|wan)(na)|(got)(ta))\b")
_TITLES = frozenset({"mr", "mrs", "ms", "dr", "st", "jr", "sr", "messrs", "prof", "u.s", "a.d", "l.a"})


def _full_stop(match: re.Match[str]) -> str:
    word = match["word"]
    if match["end"] is None and (word in _TITLES or (len(word) == 1 and word.isalpha())):
        return match[0]
    return f"{word} ."


def tokens(text: str) -> list[str]:
    """Lower-case tokens, punctuation apart, quotation marks and the apostrophe of 's gone."""
    text = re.sub(r"[’‘´`]", "'", _QUOTES.sub(" ", text.lower()))
    text = _APART.sub(r" \g<0> ", text)
    text = _STOP.sub(_full_stop, text)
    text = _NEGATION.sub(r" \g<0>", text)
    text = _CLITIC.sub(" ", text)
    text = _TRAILING_QUOTE.sub(" '", text)
    text = _FUSED.sub(lambda m: " ".join(g for g in m.groups() if g), text)
    return text.split()


def scored(text: str) -> str:
    """The text as scorers are given it: its tokens apart by single spaces, without the final full stop."""
    found = tokens(text)
    return " ".join(found[:-1] if found[-1:] == ["."] else found)
