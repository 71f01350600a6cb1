"""The markup of a Kindle book's text: its documents, its table of contents, and what its guide names.

The older kind is one page with page breaks, whose links are byte offsets. The later one (KF8) is an EPUB's
documents, cut into skeletons and the fragments to be set into them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import unescape
from itertools import islice

from indexing.formats.mobi_header import Header
from indexing.formats.palm_database import PalmDatabase, number
from indexing.formats.palm_index import Entry, Index, read_index

_MOST_DOCUMENTS = 20_000  # the rest is the last one's
_MOST_PLACES = 10_000  # of a table of contents, and of a guide
_LONGEST_GAP = 1000  # bytes of tags between a page break and a heading
_LONGEST_CONTENTS = 2**20  # bytes, of one that is a page of links
# Where the header names the first records of the flows and of the indexes.
_FLOWS, _CONTENTS, _FRAGMENTS, _SKELETONS, _GUIDE = 192, 244, 248, 252, 260
# Tags of the indexes' entries. A place is a fragment and an offset in it.
_OFFSET, _FRAGMENT_COUNT, _LABEL, _DEPTH, _PLACE, _EXTENT = 1, 1, 3, 4, 6, 6
_GUIDE_LABEL = 1
_PAGE_BREAK = re.compile(rb"<\s{0,9}mbp:pagebreak\b[^<>]{0,200}>", re.I)
_REFERENCE = re.compile(rb"<reference\b[^<>]{0,1000}>", re.I)
_ATTRIBUTE = re.compile(rb"\b(type|filepos)\s*=\s*[\"']?([^\s\"'<>/]+)", re.I)
_LINK = re.compile(
    rb"<a\b[^<>]{0,200}\bfilepos\s*=\s*[\"']?(\d{1,10})[^<>]{0,200}>(.{0,1000}?)</a>", re.I | re.S
)
_TAG = re.compile(rb"<[^<>]*>")


@dataclass(frozen=True, slots=True)
class Place:
    """A byte of the text that the contents list under ``label``, or that the guide says is of that kind."""

    label: str
    position: int
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Markup:
    """The documents of a book as HTML, whose bytes the places count on through all of them."""

    documents: Sequence[bytes]
    contents: Sequence[Place]
    guide: Sequence[Place]


def markup_of(database: PalmDatabase, header: Header, text: bytes) -> Markup:
    """The markup of the book with that header and text; raises ``ValueError`` for what is damaged."""
    read = _documents_of_kf8 if header.is_kf8 else _documents_of_mobipocket
    return read(database, header, text)


def _documents_of_mobipocket(database: PalmDatabase, header: Header, text: bytes) -> Markup:
    """The older kind; where it has no index of its contents, they are the links of a page of it."""
    breaks = [match.start() for match in islice(_PAGE_BREAK.finditer(text), _MOST_DOCUMENTS)]
    guide = []
    for reference in islice(_REFERENCE.finditer(text), _MOST_PLACES):
        stated = {key.lower(): value for key, value in _ATTRIBUTE.findall(reference[0])}
        if stated.get(b"filepos", b"").isdigit():
            kind = stated.get(b"type", b"").decode("ascii", "replace").lower()
            guide.append(Place(kind, int(stated[b"filepos"][:10])))
    index = _index_if_any(database, header, _CONTENTS)
    contents = [
        Place(label, entry.first(_OFFSET), 1 + entry.first(_DEPTH))
        for label, entry in _labelled(header, index, _LABEL)
    ]
    if all(place.depth == 1 for place in contents):  # as calibre writes it, whatever is in what
        begins = [_begins(text, breaks, place.position) for place in contents]
        contents = [
            replace(place, depth=1 if at or not any(begins) else 2)
            for place, at in zip(contents, begins, strict=True)
        ]
    if not contents:
        page = next((one.position for one in guide if one.label == "toc"), len(text))
        end = next((at for at in breaks if at > page), len(text))
        for link in islice(_LINK.finditer(text, page, min(end, page + _LONGEST_CONTENTS)), _MOST_PLACES):
            contents.append(Place(unescape(header.text(_TAG.sub(b"", link[2]))), int(link[1])))
    documents = [text[start:end] for start, end in zip([0, *breaks], [*breaks, len(text)], strict=True)]
    return Markup(documents, contents, guide)


def _begins(text: bytes, breaks: Sequence[int], position: int) -> bool:
    """Whether there is no text between a byte of the text and the page break before it."""
    at = bisect_right(breaks, position)
    between = text[breaks[at - 1] if at else 0 : position]
    return len(between) <= _LONGEST_GAP and not _TAG.sub(b"", between).strip()


def _documents_of_kf8(database: PalmDatabase, header: Header, text: bytes) -> Markup:
    """The later kind: of its flows the first, which is the text and not styles or drawings."""
    flows = database.record(header.record_at(_FLOWS))
    if flows.startswith(b"FDST"):
        text = text[: number(flows, 16, 4) or len(text)]
    fragments = [
        (int(one.name) if one.name.isdigit() else 0, _two(one, _EXTENT)[1])
        for one in read_index(database, header.record_at(_FRAGMENTS)).entries
    ]
    skeletons = [
        (one.first(_FRAGMENT_COUNT), _two(one, _EXTENT)[1])
        for one in read_index(database, header.record_at(_SKELETONS)).entries[:_MOST_DOCUMENTS]
    ]

    def position(entry: Entry) -> int:
        fragment, offset = _two(entry, _PLACE)
        return fragments[fragment][0] + offset if fragment < len(fragments) else len(text)

    contents = [
        Place(label, position(entry), 1 + entry.first(_DEPTH))
        for label, entry in _labelled(header, _index_if_any(database, header, _CONTENTS), _LABEL)
    ]
    guide = [
        Place(entry.name.decode("ascii", "replace").lower(), position(entry))
        for entry in _index_if_any(database, header, _GUIDE).entries[:_MOST_PLACES]
    ]
    return Markup(list(_assembled(text, skeletons, fragments)), contents, guide)


def _assembled(
    text: bytes, skeletons: Sequence[tuple[int, int]], fragments: Sequence[tuple[int, int]]
) -> Iterator[bytes]:
    """Each skeleton, of so many fragments and so long, with the fragments set in that come behind it.

    Where a fragment goes is counted from the beginning of all documents, those before it set in. Each goes
    behind the one before, as writers have it; that takes linear time whatever a file says.
    """
    at = 0
    left = iter(fragments)
    for count, length in skeletons:
        begin, skeleton = at, text[at : at + length]
        at += length
        pieces: list[bytes] = []
        used = inserted = 0
        for position, size in islice(left, count):
            place = max(position - begin - inserted, used)
            pieces += (skeleton[used:place], text[at : at + size])
            used, at, inserted = place, at + size, inserted + size
        yield b"".join((*pieces, skeleton[used:]))
    if at < len(text):
        yield text[at:]


def _two(entry: Entry, tag: int) -> tuple[int, int]:
    """The first two numbers under a tag."""
    first, second = (*entry.tags.get(tag, ()), 0, 0)[:2]
    return first, second


def _index_if_any(database: PalmDatabase, header: Header, at: int) -> Index:
    """An index that a book can be read without."""
    try:
        return read_index(database, header.record_at(at))
    except ValueError:
        return Index((), ())


def _labelled(header: Header, index: Index, tag: int) -> Iterator[tuple[str, Entry]]:
    """The entries with their labels; those without one are passed over."""
    for entry in index.entries[:_MOST_PLACES]:
        if tag in entry.tags and (label := header.text(index.label(entry.first(tag)))):
            yield label, entry
