"""Headings that are one fixed phrase (``PREFACE``, ``INTERLUDE``), and the scene headings of screenplays."""

from __future__ import annotations

import re
from collections import Counter

from indexing.chapters.headings import (
    BACK,
    BACK_MATTER,
    CHAPTER,
    EDGE,
    FRONT,
    NOTES,
    SCENE,
    SHOT,
    Heading,
    clean,
    in_order,
    is_title,
    lines_alone,
    without_footnote,
)
from indexing.chapters.numerals import NUMERAL

_FRONT_NAMES = (
    "preface|introduction|introductory|foreword|proem|prologue|induction|dramatis person(?:ae|\u00e6)"
)
_WRITERS = "(?:author|translator|editor)['\u2019]s"
_BETWEEN_NAMES = "interlude|intermezzo|entr['\u2019]acte"
_BACK_NAMES = "epilogue|afterword|conclusion|postscript|appendix|l['\u2019]envoi|envoi"
_NOTES_NAMES = "glossary|footnotes|notes|bibliography|transcriber['\u2019]s notes?"
NAMED = re.compile(
    rf"^{EDGE}(?P<label>(?:(?P<front>(?:{_WRITERS} )?(?:{_FRONT_NAMES})|{_WRITERS} notes?)"
    rf"|(?P<between>{_BETWEEN_NAMES})"
    rf"|(?P<back>{_BACK_NAMES})|(?P<notes>{_NOTES_NAMES}))\b(?P<rest>[^\n]*))$",
    re.M | re.I,
)
SLUG_LINE = re.compile(
    r"^[^\S\n]*+(?:\d{1,3}[A-Za-z]?[.)]?\s+)?(?P<label>(?:INT|EXT|INTERIOR|EXTERIOR|I/E|E/I)\b[^\n]*)$", re.M
)
# A title behind the name, which may be counted: "Prologue: The Fair", "Interlude 2".
_TITLED = re.compile(rf"(?:\s+(?:{NUMERAL}|[A-H]))?(?:(?:\s*[:\u2013\u2014]|\s+-)\s*(?P<title>\S[^\n]*))?")
_MOST_TIMES = 3
_LONGEST_NAME = 70


def named_headings(text: str) -> list[Heading]:
    """Front matter, interludes, back matter and notes, where their name is a paragraph of its own."""
    headings: list[Heading] = []
    interludes: list[Heading] = []
    for match in lines_alone(text, NAMED):
        line = clean(match[0]).strip(" _*.:-\u2013\u2014")
        alone = text[match.end() : match.end() + 2] in ("\n\n", "")
        exact = line[:1].isupper() and (not re.search(r"\w", match["rest"]) or _is_titled(match))
        if not alone or not (exact or line.isupper()) or len(line) > _LONGEST_NAME:
            continue
        kind = BACK if match["back"] else NOTES if match["notes"] else FRONT
        level = CHAPTER if kind == FRONT else BACK_MATTER
        heading = Heading(match.start("label"), match.end(), level, kind, None, clean(line))
        (interludes if match["between"] else headings).append(heading)
    times = Counter(heading.title for heading in headings)
    few = [heading for heading in headings if times[heading.title] <= _MOST_TIMES]  # more is a play's speaker
    return in_order(few + interludes)


def _is_titled(match: re.Match[str]) -> bool:
    """Whether what stands behind the name is its number, its title or both; not of notes."""
    rest = without_footnote(match["rest"]).rstrip(" _*=~]#+>.:,;-\u2013\u2014")
    found = None if match["notes"] else _TITLED.fullmatch(rest)
    return found is not None and (not found["title"] or is_title(found["title"]))


def scene_headings(text: str) -> list[Heading]:
    """The scene headings of a screenplay, such as ``INT. KITCHEN - NIGHT``, with or without numbers."""
    headings = []
    for match in SLUG_LINE.finditer(text):
        line = re.sub(r"(?<!\s)\s++\d{1,3}[A-Za-z]?[.)]?$", "", match["label"]).strip()
        place = re.split(r"\s[-\u2014\u2013]+\s|\(", line)[0]  # what follows a dash may be in small letters
        if len(line) > 4 and place.isupper():
            title = re.sub(r"\s+", " ", line)
            headings.append(Heading(match.start("label"), match.end(), SCENE, SHOT, None, title))
    return headings if len(headings) >= 3 else []
