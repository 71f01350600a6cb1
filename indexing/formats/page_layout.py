"""Lines on pages made into running text: paragraphs joined over lines and pages."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from indexing.chapters.numerals import numeral
from indexing.formats.markup import NOTE_SIGN, Mark, MarkedText, in_text

_GAP = "\n\n"
_WIDE_GAP = 1.4  # lines; as a gap between paragraphs
_INDENT = 0.7  # of a line's height; the least that begins a paragraph
_OTHER_SIZE = 1.15  # as great as the text; a heading
_SHORT = 0.75  # of the width; a line that ends before need not have ended there
_LONGEST_HEADING = 200
_ENDS = re.compile(r"[.!?:\u2026\u2014][\"'\u2019\u201d)\]]*$")
_HYPHENATED = re.compile(r"(?<![^\W\d_])[^\W\d_]++(?:-[^\W\d_]++)++")
_NOTE = re.compile(rf"{NOTE_SIGN}\.?\s*[^\W\d_\s]")
_LONGEST_WORD = 100


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text and its place on ``page``, in points from the page's left and bottom edges.

    ``hyphen`` is whether a word goes on in the next line, its hyphen left out of ``text``.
    """

    text: str
    page: int
    left: float
    right: float
    top: float
    bottom: float
    hyphen: bool = False

    @property
    def height(self) -> float:
        """Of its letters, in points."""
        return self.top - self.bottom


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of a document's outline, which leads to a page, or to the height ``top`` on it."""

    depth: int
    label: str
    page: int
    top: float | None


@dataclass(frozen=True, slots=True)
class _Measures:
    """What is usual in a document: in points, the margins by whether a page's number is even."""

    left: dict[int, float]
    right: dict[int, float]
    height: float
    pitch: float
    indent: float | None

    def indented(self, line: Line) -> bool:
        """Whether a line begins as far inside as the paragraphs do."""
        inside = line.left - self.left[line.page % 2]
        if self.indent is not None and abs(inside - self.indent) <= 1.5:
            return True
        return inside > 3 * self.height  # in the middle

    def short(self, line: Line) -> bool:
        """Whether a line ends well before the right margin."""
        left, right = (each[line.page % 2] for each in (self.left, self.right))
        return line.right < left + _SHORT * (right - left)


def lay_out(
    pages: Sequence[Sequence[Line]], bookmarks: Sequence[Bookmark] = ()
) -> tuple[MarkedText, tuple[Mark, ...], list[int]]:
    """The text of the pages, the bookmarks as marks in it, and where each page begins.

    Notes at the foot of a page stand behind the paragraph that goes on over it. Running heads have to be
    left out before. The text's own marks are paragraphs in greater letters.
    """
    if not any(pages):
        return MarkedText("", (), {}), (), [0] * len(pages)
    usual = _measure(pages)
    lines = _with_notes_behind(pages, usual)
    hyphenated = {match[0].lower() for line in lines for match in _HYPHENATED.finditer(line.text)}
    pieces: list[str] = []
    places: list[int] = []  # of the lines
    paragraphs: list[tuple[int, int, float]] = []  # start, end, height
    at = start = 0
    before: Line | None = None
    for line in lines:
        if before is None:
            pass
        elif _begins_paragraph(before, line, usual):
            paragraphs.append((start, at, before.height))
            pieces.append(_GAP)
            at += len(_GAP)
            start = at
        else:
            between = _between(before, line, usual, hyphenated)
            if between is None:  # the hyphen stands in the text and goes
                pieces[-1] = pieces[-1][:-1]
                at -= 1
            else:
                pieces.append(between)
                at += len(between)
        places.append(at)
        pieces.append(line.text)
        at += len(line.text)
        before = line
    paragraphs.append((start, at, lines[-1].height))
    text = "".join(pieces)
    headings = _headings(text, paragraphs, usual.height)
    return (
        MarkedText(text, headings, {}),
        in_text(_marks(lines, places, paragraphs, bookmarks), headings),
        _page_starts(lines, places, len(pages), len(text)),
    )


def _with_notes_behind(pages: Sequence[Sequence[Line]], usual: _Measures) -> list[Line]:
    """The lines of all pages; notes at a page's foot behind the paragraph of the text that they stand in."""
    lines: list[Line] = []
    notes: list[Line] = []
    before: Line | None = None
    for page in pages:
        first = _first_note(page, usual)
        for line in page[:first]:
            if before is not None and notes and _begins_paragraph(before, line, usual):
                lines += notes
                notes.clear()
            lines.append(line)
            before = line
        notes += page[first:]
    return lines + notes


def _first_note(page: Sequence[Line], usual: _Measures) -> int:
    """Where on a page the notes at its foot begin, in smaller letters; ``len(page)`` where there are none."""
    small = len(page)
    while small and page[small - 1].height * _OTHER_SIZE < usual.height:
        small -= 1
    marked = (at for at in range(small, len(page)) if _NOTE.match(page[at].text))
    return next(marked, len(page)) if small else len(page)


def _measure(pages: Sequence[Sequence[Line]]) -> _Measures:
    lines = [line for page in pages for line in page]
    height = _most_common([line.height for line in lines], 0.5)
    text = [line for line in lines if abs(line.height - height) <= 0.1 * height] or lines
    gaps = [
        before.bottom - after.bottom
        for page in pages
        for before, after in pairwise(page)
        if 0 < before.bottom - after.bottom < 4 * height
    ]
    left, right = {}, {}
    for side in (0, 1):
        beside = [line for line in text if line.page % 2 == side] or text
        left[side] = _most_common([line.left for line in beside], 1.0)
        right[side] = sorted(line.right for line in beside)[len(beside) * 9 // 10]
    insides = [line.left - left[line.page % 2] for line in text]
    indents = [inside for inside in insides if _INDENT * height <= inside <= 5 * height]
    indent = _most_common(indents, 1.0) if len(indents) >= 0.01 * len(text) and indents else None
    return _Measures(left, right, height, _most_common(gaps, 0.5) if gaps else 1.2 * height, indent)


def _most_common(values: Sequence[float], step: float) -> float:
    """The middle of the values that fall into the fullest step; of two as full, the smaller."""
    counts = Counter(round(value / step) for value in values)
    best = min(counts, key=lambda key: (-counts[key], key))
    return median(value for value in values if round(value / step) == best)


def _begins_paragraph(before: Line, line: Line, usual: _Measures) -> bool:
    if before.hyphen:
        return False
    if max(before.height, line.height) > _OTHER_SIZE * min(before.height, line.height):
        return True
    if before.page != line.page and line.height > _OTHER_SIZE * usual.height:
        return True  # a title page and a heading
    ended = _ENDS.search(before.text[-_LONGEST_WORD:]) is not None
    gap = before.bottom - line.bottom
    pitch = usual.pitch * max(1.0, line.height / usual.height)
    if before.page == line.page and gap > _WIDE_GAP * pitch:
        return True
    if usual.indented(line):
        # Lines of a quotation are all indented.
        return ended or not usual.indented(before) or before.page != line.page
    if before.page != line.page or gap < 0:
        return ended and (usual.indent is None or usual.short(before))
    return ended and usual.short(before)


def _between(before: Line, line: Line, usual: _Measures, hyphenated: set[str]) -> str | None:
    """What stands between two lines of a paragraph; None where the hyphen before goes, and nothing comes.

    A hyphen stays in what is written with it elsewhere in the book, in numbers and before capitals.
    """
    stated = before.text.endswith(("-", "\u2010")) and before.text[-2:-1].isalpha() and line.text[0].islower()
    if before.hyphen or stated:
        first = re.search(r"[^\W\d_]+(?:-[^\W\d_]+)*$", before.text[-_LONGEST_WORD:].rstrip("-\u2010"))
        rest = re.match(r"[^\W\d_]+", line.text[:_LONGEST_WORD])
        whole = f"{first[0]}-{rest[0]}".lower() if first and rest else ""
        stays = whole in hyphenated or numeral(whole) is not None or not line.text[0].islower()
        if stated:
            return "" if stays else None
        return "-" if stays else ""
    if before.text.endswith("-"):
        return ""
    return "\n" if usual.short(before) else " "


def _headings(text: str, paragraphs: Sequence[tuple[int, int, float]], usual: float) -> tuple[Mark, ...]:
    large = [
        (start, end, round(height))
        for start, end, height in paragraphs
        if height > _OTHER_SIZE * usual and end - start <= _LONGEST_HEADING
    ]
    sizes = sorted({height for _, _, height in large}, reverse=True)
    return tuple(Mark(start, end, sizes.index(height) + 1, text[start:end]) for start, end, height in large)


def _marks(
    lines: Sequence[Line],
    places: Sequence[int],
    paragraphs: Sequence[tuple[int, int, float]],
    bookmarks: Sequence[Bookmark],
) -> Iterator[Mark]:
    """Bookmarks as marks of the paragraphs that they lead to."""
    by_page: dict[int, list[tuple[float, int]]] = defaultdict(list)  # minus the height, and the place
    for line, place in zip(lines, places, strict=True):
        by_page[line.page].append((-line.bottom - 0.5 * line.height, place))
    for on_page in by_page.values():
        on_page.sort()
    for bookmark in bookmarks:
        on_page = by_page.get(bookmark.page, [])
        first = 0 if bookmark.top is None else bisect_left(on_page, (-bookmark.top, 0))
        if first == len(on_page):
            continue
        start, end, _ = paragraphs[bisect_right(paragraphs, on_page[first][1], key=lambda each: each[0]) - 1]
        end = end if end - start <= _LONGEST_HEADING else start
        yield Mark(start, end, bookmark.depth, bookmark.label)


def _page_starts(lines: Sequence[Line], places: Sequence[int], count: int, length: int) -> list[int]:
    """Where each page begins in the text; an empty one where the next begins."""
    starts = [length] * count
    for line, place in zip(reversed(lines), reversed(places), strict=True):
        starts[line.page] = place
    for page in range(count - 2, -1, -1):
        starts[page] = min(starts[page], starts[page + 1])
    return starts
