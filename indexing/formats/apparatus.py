"""What stands around a story: licence, reviews, contents, a preview of another book; by kind or by title."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from indexing.book import LeftOut
from indexing.chapters.headings import ACT, BACK, FRONT, NOTES
from indexing.formats.markup import Mark, counted

# Of EPUB 3's structural semantics and EPUB 2's guide. Prologues, prefaces and epilogues are as the story.
KINDS = frozenset(
    re.findall(
        r"\S+",
        """cover titlepage title-page halftitlepage half-title-page copyright-page toc landmarks page-list loi
        lot lov index colophon imprint imprimatur acknowledgements acknowledgments other-credits contributors
        bibliography seriespage dedication ads other.ads other.praise other.copyright other.reviews""",
    )
)
_TITLE = re.compile(
    r"""(?:title|half[- ]?title|copyright|series)(?:\ page)?|cover|colophon|imprint|index|bibliography|credits
    |(?:table\ of\ )?contents|(?:list\ of\ )?illustrations|permissions|dedication|acknowledge?ments?
    |(?:advance\ )?praise\ (?:for|from)\b.*|(?:more\ )?reviews\ (?:for|of)\b.*|(?:critical\ )?acclaim\ for\b.*
    |(?:also|other\ (?:books|titles|works)|more\ (?:books|titles)|books|novels)\ (?:by|in\ this\ series)\b.*
    |about\ the\ (?:authors?|publisher|translator|illustrator)|transcriber(?:['\u2019]?s)?\ notes?
    |advertisements?|terms\ of\ use
    |(?:sign\ up|subscribe)\b.*|newsletter\b.*
    |(?:the\ )?(?:full\ )?project\ gutenberg(?:™|\(tm\)|-tm)?\ license|licen[cs]e
    |(?:reading\ group|book\ club|discussion)\ (?:guide|questions).*|questions\ for\ discussion""",
    re.I | re.X,
)
_PREVIEW = re.compile(
    r"""(?:an?\ )?(?:(?:exclusive|sneak|special|bonus)\ )?(?:preview|excerpt|extract|peek)
    (?:\ (?:from|of|at)\b.*)?
    |(?:an?\ )?(?:teaser|(?:bonus|sample)\ chapter)\b.*|coming\ soon.*
    |(?:keep\ reading|read\ on|turn\ the\ page)\ for\b.*""",
    re.I | re.X,
)
# What stands on the page behind the title; one of the first group at least.
_IMPRINT = (
    *("all rights reserved", r"\bisbn\b", "no part of this (?:book|publication)", "library of congress"),
    *("\xa9|\\bcopyright", r"\bfirst (?:published|edition)", r"\b(?:published|printed) (?:by|in)\b"),
)
_FEWEST_CERTAIN, _FEWEST_SIGNS = 1, 2
_BACK_MATTER = (FRONT, BACK, NOTES)  # an author's note, an afterword, a glossary
_MOST_OTHERS = 25  # words of a title page: what kind of book it is, and its publisher
_LONGEST_LINE = 80  # characters of a title page's
_MOST_PREVIEWS = 5  # that are looked at
_LONGEST_TITLE = 1000  # characters
# Of a book's text. Where more of it is called so, it is called so by mistake.
_MOST = 0.5
_LONGEST_PREVIEW = 0.25  # of a few chapters
_LONGEST_SECTION = 0.1  # between two headings: behind one that is the last, the story may stand
_SHORT_SECTION = 5000  # characters, which are not too many in a short book, either


def is_apparatus(kinds: Iterable[str], title: str | None) -> bool:
    """Whether a part of that kind, or under that heading, belongs to the book but not to its story."""
    named = _on_one_line(title)
    known = named and (_TITLE.fullmatch(named) or _PREVIEW.fullmatch(named))
    return bool(known) or any(kind in KINDS for kind in kinds)


def is_imprint(text: str) -> bool:
    """Whether a document is the page that says who published the book, and who may copy it."""
    if len(text) > _SHORT_SECTION:
        return False
    found = [re.search(sign, text, re.I) is not None for sign in _IMPRINT]
    return sum(found[:4]) >= _FEWEST_CERTAIN and sum(found) >= _FEWEST_SIGNS


def is_title_page(text: str, title: str | None, author: str | None) -> bool:
    """Whether a document names the book and its author and has few words beside these."""
    if len(text) > _LONGEST_TITLE or max(map(len, text.split("\n")), default=0) > _LONGEST_LINE:
        return False
    named, written = (re.findall(r"\w+", (each or "").lower()) for each in (title, text))
    others = Counter(written) - Counter(named) - Counter(re.findall(r"\w+", (author or "").lower()))
    there = any(written[at : at + len(named)] == named for at in range(len(written)))
    return bool(named) and there and others.total() <= _MOST_OTHERS


def sections(headings: Sequence[Mark], characters: int) -> Iterator[LeftOut]:
    """What stands under headings that name no part of the story, each up to the next, and a preview.

    ``headings`` are in order and of one text of so many ``characters``.
    """
    longest = max(_SHORT_SECTION, _LONGEST_SECTION * characters)
    ends = [heading.start for heading in headings[1:]] + [characters]
    for heading, end in zip(headings, ends, strict=False):
        if is_apparatus((), heading.label) and heading.start < end <= heading.start + longest:
            yield LeftOut(heading.start, end)
    yield from preview(headings, characters)


def preview(entries: Sequence[Mark], characters: int) -> Iterator[LeftOut]:
    """The chapters of another book at the end of this one, from the entry that names them so.

    ``entries`` are headings, or the table of contents. Those behind must be its own (deeper ones, its title,
    a prologue, chapters that do not go on counting the story's) or, from one on, back matter.
    """
    named = (
        at
        for at, entry in enumerate(entries)
        if characters - entry.start <= _LONGEST_PREVIEW * characters
        and _PREVIEW.fullmatch(_on_one_line(entry.label))
    )
    for at in islice(named, _MOST_PREVIEWS):
        behind = entries[at + 1 :]
        own = next((i for i, one in enumerate(behind) if not _belongs(one, entries[at])), len(behind))
        last, first = _first_number(reversed(entries[:at])), _first_number(behind[:own])
        goes_on = last is not None and first == last + 1
        if not goes_on and all(_is_back_matter(one) for one in behind[own:]):
            yield LeftOut(entries[at].start, behind[own].start if own < len(behind) else characters)
            return


def _belongs(entry: Mark, preview: Mark) -> bool:
    label, named = (f" {_on_one_line(one.label).lower()} " for one in (entry, preview))
    if entry.depth > preview.depth or label in named or is_apparatus((), entry.label):
        return True
    heading = counted(entry)
    if heading is None:
        return False
    is_chapter = heading.number is not None and heading.level >= ACT
    return is_chapter or (heading.kind == FRONT and label.startswith(" prologue"))


def _is_back_matter(entry: Mark) -> bool:
    heading = counted(entry)
    return is_apparatus((), entry.label) or (heading is not None and heading.kind in _BACK_MATTER)


def _first_number(entries: Iterable[Mark]) -> int | None:
    found = (counted(entry) for entry in entries)
    return next((one.number for one in found if one is not None and one.number and one.level >= ACT), None)


def _on_one_line(title: str | None) -> str:
    return " ".join((title or "")[:_LONGEST_TITLE].split()).strip(" .:*_")


def left_out(parts: Iterable[LeftOut], characters: int) -> tuple[LeftOut, ...]:
    """The parts, neighbours as one; none where they would leave less than half of the book."""
    joined: list[LeftOut] = []
    for part in sorted(parts, key=lambda one: one.start):
        if joined and part.start <= joined[-1].end + 2:  # a blank line between them
            joined[-1] = LeftOut(joined[-1].start, max(part.end, joined[-1].end))
        else:
            joined.append(part)
    return tuple(joined) if sum(one.end - one.start for one in joined) <= _MOST * characters else ()
