"""A text with the headings that its source marks, and chapters made of them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, zip_longest

from indexing.book import Chapter, LeftOut, Page
from indexing.chapters.divisions import divisions
from indexing.chapters.front_matter import named_headings
from indexing.chapters.headings import ACT, CHAPTER, STORY, TITLE, Heading, clean
from indexing.chapters.numerals import NUMERAL, numeral
from indexing.chapters.outline import find_chapters, nested
from indexing.formats.plain_text import normalise

_GAP = "\n\n"
_SPACES = re.compile(r"[ \t]+")
_AROUND_BREAK = re.compile(r" ?[\r\n] ?")
_NOT_A_CHAPTER = re.compile(
    r"(?:table of )?contents|(?:list of )?illustrations|the (?:full )?project gutenberg.*|title ?page|cover",
    re.I,
)
_LONGEST_TITLE = 250  # characters; the titles of what holds a chapter are repeated in the chapter's own
PAGE_ANCHOR = "\0page "  # before a printed page's number, an anchor that no element's id can be
_FEWEST_PAGES = 2
NOTE_SIGN = r"[\[(]?(?:\d{1,3}|[*\u2020\u2021\xa7]{1,3})[\])]?"
NOTE_MARK = re.compile(rf"\s*{NOTE_SIGN}\s*")  # what leads to a note
# Before a first letter that is set large: a quotation mark.
BEFORE_INITIAL = r"[\"'\u2018-\u201f\xab]?\s?"
WORDS_OF_ONE_LETTER = ("A", "I")
_NO_WORD = re.compile(r"[ivxlc]+|\d+", re.I)  # years; and in small letters words and names
_BARE = re.compile(rf"(?<!\S){NUMERAL}$")
_NEAREST = 5  # headings behind a place that may be of what begins there
_SUBTITLE_GAP = 4  # characters at most between a heading and the one below it that is its title


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph or heading; ``level`` is 1 and more for headings and 0 for the rest.

    ``anchors`` are the ids of elements that begin in it or between it and the block before, ``inside``
    those of them that begin behind so many of its characters that are no space, and ``notes`` the paragraphs
    of the footnotes and endnotes that it has marks of.
    """

    text: str
    level: int
    anchors: tuple[str, ...] = ()
    inside: tuple[tuple[str, int], ...] = ()
    notes: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class Mark:
    """A heading that the source itself marks: ``text[start:end]``, of depth 1 and more."""

    start: int
    end: int
    depth: int
    label: str


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A text with what its source says about it.

    ``anchors`` are the offsets of blocks by the ids of the elements that begin in them; ``inside`` are the
    offsets of those elements themselves that begin within a block.
    """

    text: str
    marks: tuple[Mark, ...]
    anchors: dict[str, int]
    inside: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """What a file of any format holds: its text with its headings (``content.marks``), what it states of
    title, author and language, its table of contents, if it has one beside the headings, its printed pages,
    what of it is not the story, and the file that it says is the picture on its cover."""

    content: MarkedText
    title: str | None = None
    author: str | None = None
    contents: tuple[Mark, ...] = ()
    pages: tuple[Page, ...] = ()
    language: str | None = None
    left_out: tuple[LeftOut, ...] = ()
    cover: bytes | None = None


def paragraph(text: str, level: int = 0, notes: Sequence[Block] = ()) -> list[Block]:
    """``text`` as one block, its runs of spaces made one; its ``notes`` alone where it has no text."""
    text = normalise(_AROUND_BREAK.sub("\n", _SPACES.sub(" ", text)))
    return [Block(text, level, notes=tuple(notes))] if text else [*notes]


def join(blocks: Iterable[Block]) -> MarkedText:
    """Blocks joined by blank lines into a normalised text; the first of two equal anchors counts."""
    pieces: list[str] = []
    marks: list[Mark] = []
    anchors: dict[str, int] = {}
    inside: dict[str, int] = {}
    at = 0
    for block in _with_notes_behind(blocks):
        for anchor in block.anchors:
            anchors.setdefault(anchor, at)
        if block.inside:
            visible = [i for i, character in enumerate(block.text) if not character.isspace()]
            for anchor, count in block.inside:
                inside.setdefault(anchor, at + visible[min(count, len(visible) - 1)])
        if block.level:
            marks.append(Mark(at, at + len(block.text), block.level, block.text))
        pieces.append(block.text)
        at += len(block.text) + len(_GAP)
    return MarkedText(_GAP.join(pieces), tuple(marks), anchors, inside)


def _with_notes_behind(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks, each paragraph's notes behind it; those of headings behind the last heading there."""
    notes: list[Block] = []
    for block in blocks:
        if not block.level:
            yield from notes
            notes.clear()
        yield block
        notes += block.notes
        if not block.level:
            yield from notes
            notes.clear()
    yield from notes


def printed_pages(content: MarkedText) -> tuple[Page, ...]:
    """The pages that the anchors of a text say begin in it, in order; none where they do not count up."""
    named = sorted(
        (start, name.partition(PAGE_ANCHOR)[2])
        for name, start in {**content.anchors, **content.inside}.items()
        if PAGE_ANCHOR in name
    )
    numbers = [int(label) for _, label in named if label.isdecimal()]
    counted_up = all(before < after for before, after in pairwise(numbers))
    if len(numbers) < _FEWEST_PAGES or not counted_up:
        return ()
    return tuple({start: Page(label, start) for start, label in named}.values())  # the last of those at one


def in_text(entries: Iterable[Mark], headings: Sequence[Mark]) -> tuple[Mark, ...]:
    """The entries of a table of contents, in the order of the text whose ``headings`` these are.

    Several may lead to one place: of those the first is kept and what is within it, as a part's first chapter
    is, which begins at the heading of its name that follows, if there is one, else where what holds it does.
    """
    at: dict[int, list[Mark]] = {}
    for entry in entries:
        there = at.setdefault(entry.start, [])
        if not there or (entry.depth > there[-1].depth and _words(entry) != _words(there[-1])):
            there.append(entry)
    starts = [heading.start for heading in headings]
    found: list[Mark] = []
    for start, after in zip_longest(sorted(at), sorted(at)[1:]):
        place, *within = at[start]
        found.append(place)
        first = bisect_right(starts, start)
        last = len(starts) if after is None else bisect_left(starts, after)
        for entry in within:
            near = range(first, min(last, first + _NEAREST))
            own = next((i for i in near if _words(headings[i]) == _words(entry)), None)
            if own is not None:
                place, first = headings[own], own + 1
            found.append(replace(entry, start=place.start, end=place.end))
    return tuple(found)


def _words(mark: Mark) -> list[str]:
    return re.findall(r"\w+", mark.label[:_LONGEST_TITLE].lower())


def marked_chapters(text: str, contents: Sequence[Mark], headings: Sequence[Mark]) -> tuple[Chapter, ...]:
    """The chapters by the table of contents or else by the headings, whichever marks two or more first.

    Where neither does, they are told by what the text looks like.
    """
    for marks in (_completed(contents, headings), headings):
        chapters = nested(text, _headings(text, marks))
        if len(chapters) >= 2:
            return chapters
    return find_chapters(text)


def _completed(contents: Sequence[Mark], headings: Sequence[Mark]) -> Sequence[Mark]:
    """The table of contents, or the headings with what it lists beside them.

    That is where it lists fewer numbered chapters than it leaves out: of some books it has the parts, or a
    place to begin at. Numerals may be sections of what it lists, those of which there are few, or that come
    again where it lists no parts.
    """
    listed = {entry.start for entry in contents}
    others = [(mark, found) for mark in headings if mark.start not in listed and (found := _chapter(mark))]
    numerals = [found.number for _, found in others if found.kind == "numeral"]
    known = [each for entry in contents if (each := counted(entry)) and each.number]
    fewest = max(1, sum(each.level >= ACT for each in known))
    if len(others) <= (max(fewest, len(contents)) if len(numerals) == len(others) else fewest):
        return contents
    if len({*numerals}) < len(numerals) and not known:
        return contents
    depths = Counter(mark.depth for mark in headings)
    chapters_at = min(mark.depth for mark, _ in others)
    headed = {mark.start for mark in headings}
    merged = [
        replace(mark, depth=chapters_at) if mark.start in listed and depths[mark.depth] == 1 else mark
        for mark in headings
    ]
    merged += [replace(entry, depth=chapters_at) for entry in contents if entry.start not in headed]
    return sorted(merged, key=lambda mark: mark.start)


def _chapter(mark: Mark) -> Heading | None:
    """The numbered chapter, act or scene that a mark's label spells."""
    heading = counted(mark)
    return heading if heading and heading.number and heading.level >= ACT else None


def _headings(text: str, marks: Sequence[Mark]) -> list[Heading]:
    marks = [mark for mark in marks if not _NOT_A_CHAPTER.fullmatch(clean(mark.label))]
    read = [counted(mark) for mark in marks]
    depths = Counter(mark.depth for mark in marks)
    chapters = Counter(
        mark.depth for mark, heading in zip(marks, read, strict=True) if heading and heading.level >= ACT
    )
    # The depth that most chapters are at; the shallower of two that have as many.
    chapters_at = min(depths, key=lambda depth: (-chapters[depth], -depths[depth], depth), default=1)
    headings: list[Heading] = []
    for mark, heading in zip(marks, read, strict=True):
        before = headings[-1] if headings else None
        adjacent = before is not None and mark.start - before.end <= _SUBTITLE_GAP
        if heading:
            headings.append(heading)
        elif (
            before is not None
            and adjacent
            and before.number
            and (mark.depth > chapters_at or _is_bare(before))
        ):
            title = f"{before.title}: {_title(mark)}"[:_LONGEST_TITLE]
            headings[-1] = replace(before, end=mark.end, title=title)
        elif mark.depth > chapters_at:
            continue
        elif mark.depth == chapters_at or depths[mark.depth] > 1:
            level = CHAPTER if mark.depth == chapters_at else STORY
            headings.append(Heading(mark.start, mark.end, level, TITLE, None, _title(mark)))
    return headings


def _is_bare(heading: Heading) -> bool:
    """Whether a heading is the number of a chapter alone, whose title may be a heading of its own."""
    return heading.level >= ACT and _BARE.search(heading.title) is not None


def _title(mark: Mark) -> str:
    return clean(mark.label)[:_LONGEST_TITLE]


def counted(mark: Mark) -> Heading | None:
    """The heading that a mark's label spells: a numbered one, a known phrase, or a number alone."""
    label = mark.label.strip()
    found = [*divisions(label), *named_headings(label)]
    if found:
        return replace(found[0], start=mark.start, end=mark.end)
    match = re.fullmatch(r"(\d{1,3}|[IVXLC]+)(?:[.:)\s\u2014-]+(.*))?", label, re.S)
    said = match[1] if match else "" if _NO_WORD.fullmatch(label) else label.rstrip(".:")
    number = numeral(said)
    if not number:
        return None
    return Heading(mark.start, mark.end, CHAPTER, "numeral", number, _title(mark))
