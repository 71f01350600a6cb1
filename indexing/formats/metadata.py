"""Titles and authors as files state them, made fit to be shown."""

from __future__ import annotations

import re

from indexing.chapters.numerals import numeral

_LONGEST = 300  # characters of what a file states; a page's <title> may hold the whole book
# What programs write where nobody states a title or an author.
_NO_TITLE = re.compile(
    r"(?:microsoft word - .*|untitled.*|unknown|no title|title|document ?\d*"
    r"|\S+\.(?:docx?|odt|rtf|pdf|txt|html?|indd|qxd|pages|tex|md))",
    re.I,
)
_NO_AUTHOR = re.compile(
    r"(?:user|admin|administrator|owner|author|unknown|anonymous|python-docx|microsoft office user)"
    r"|.*\?.*",  # which stands for letters that a program could not write
    re.I,
)
_BETWEEN_AUTHORS = re.compile(r";| & ")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_NUMERAL = re.compile(r"[IVXLC]+")
_PREFIX = re.compile("[DLO]['\u2019]")  # of names, which are written with two capitals
_SMALL = frozenset(
    (
        "a",
        "an",
        "and",
        "as",
        "at",
        "but",
        "by",
        "for",
        "from",
        "in",
        "into",
        "nor",
        "of",
        "on",
        "or",
        "the",
        "to",
        "with",
    )
)


def stated_title(title: str | None) -> str | None:
    """A title on one line and in normal case; None for none, and for what programs fill in."""
    found = _stated(title, _NO_TITLE)
    return found and in_normal_case(found)


def stated_author(author: str | None) -> str | None:
    """Authors' names on one line and in normal case; None for none, and for what programs fill in."""
    found = _stated(author, _NO_AUTHOR)
    if found and "," not in found:  # else each may be a surname, a comma and a first name
        found = ", ".join(filter(None, map(str.strip, _BETWEEN_AUTHORS.split(found))))
    return found and ", ".join(map(in_normal_case, found.split(", ")))


def stated_language(language: str | None) -> str | None:
    """A language tag (BCP 47) such as ``en-GB``; None for none, and for what is no tag."""
    found = (language or "").strip().replace("_", "-")
    return found if _LANGUAGE.fullmatch(found) and found.lower() != "und" else None


def _stated(text: str | None, nothing: re.Pattern[str]) -> str | None:
    text = " ".join((text or "")[: 2 * _LONGEST].split())[:_LONGEST]
    return None if not text or nothing.fullmatch(text) else text


def in_normal_case(text: str) -> str:
    """Text of capitals alone as titles and names are written: ``The Weigher of Sandry Quay``.

    Roman numerals and single letters are kept; text that is not all capitals is as it was.
    """
    if not text.isupper() or not re.search(r"[^\W\d_]{3}", text):
        return text

    def lowered(match: re.Match[str]) -> str:
        word = match[0]
        if len(word) == 1 and text[match.end() :].startswith("."):
            return word
        if word.lower() in _SMALL and match.start() and text[: match.start()].rstrip()[-1:] not in (":", "."):
            return word.lower()
        if _NUMERAL.fullmatch(word) and numeral(word):
            return word
        prefix = _PREFIX.match(word)
        return f"{prefix[0]}{word[2:].capitalize()}" if prefix else word.capitalize()

    return _WORD.sub(lowered, text)
