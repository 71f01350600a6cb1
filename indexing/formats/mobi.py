"""MOBI and AZW3, Kindle books without protection: unpacked, and read as the documents of an EPUB are.

After the MobileRead wiki's pages MOBI, PDB and KF8. A file may hold a book as both kinds: the later is read.
The packages that can read them are under the GPL, or lose where a place of the contents is.
"""

from __future__ import annotations

import codecs
from bisect import bisect_right
from itertools import accumulate

from indexing.errors import SourceError
from indexing.formats.archive import damaged, listed
from indexing.formats.markup import Document, Mark, MarkedText, in_text
from indexing.formats.media_type import WANTED
from indexing.formats.mobi_header import AUTHOR, COVER, SECOND_BOOK, Header, read_header
from indexing.formats.mobi_markup import Markup, markup_of
from indexing.formats.palm_database import PalmDatabase
from indexing.formats.palm_text import unpacked_text
from indexing.formats.plain_text import decode, normalise
from indexing.formats.spine import Spine

_KIND = "a Kindle book"
_PRINT_REPLICA = b"%MOP"  # the first bytes of a text that is a PDF in disguise
_LONGEST_TAG = 2000  # bytes


def read_mobi(data: bytes, name: str) -> Document:
    """The book that ``data`` holds; ``name`` is said in errors.

    Raises ``SourceError`` for what is damaged, protected, too large or made of pages.
    """
    try:
        database = PalmDatabase(data)
        outer = read_header(database, 0)
        header = _later_kind(database, outer) or outer
        if outer.is_protected or header.is_protected:
            raise SourceError(
                f"{name} is a Kindle book that is protected (DRM); {WANTED}, without protection: "
                "whoever sold it may have it without"
            )
        text = unpacked_text(database, header.first, header.trailing)
        if text.startswith(_PRINT_REPLICA):
            raise SourceError(
                f"{name} is a Kindle book of printed pages (Print Replica); wanted its PDF or EPUB"
            )
        if not header.has_markup:  # PalmDOC's
            return Document(MarkedText(normalise(decode(text, name)), (), {}))
        markup = markup_of(database, header, text)
    except ValueError as error:
        raise damaged(name, _KIND, str(error)) from error
    spine, content, contents = _read(markup, header.encoding, name)
    author = listed(header.texts(AUTHOR))
    return Document(
        content,
        header.title,
        author,
        contents,
        language=header.language,
        left_out=tuple(spine.left_out(content, contents, header.title, author)),
        cover=_cover(database, outer),
    )


def _later_kind(database: PalmDatabase, outer: Header) -> Header | None:
    """The header of the later kind in a file that holds both."""
    first = outer.number(SECOND_BOOK)
    inner = None if first is None else read_header(database, first)
    return inner if inner is not None and inner.is_kf8 else None


def _cover(database: PalmDatabase, header: Header) -> bytes | None:
    offset = header.number(COVER)
    return None if offset is None else database.record(header.first_picture + offset) or None


def _read(markup: Markup, encoding: str, name: str) -> tuple[Spine, MarkedText, tuple[Mark, ...]]:
    """The documents, their text, and the table of contents as marks in it."""
    starts = [0, *accumulate(map(len, markup.documents))]
    wanted: list[list[int]] = [[] for _ in markup.documents]
    for position in sorted({place.position for place in (*markup.contents, *markup.guide)}):
        if position < starts[-1]:
            wanted[bisect_right(starts, position) - 1].append(position)
    spine = Spine()
    anchors: dict[int, str] = {}
    for document, start, positions in zip(markup.documents, starts, wanted, strict=False):
        marked = _with_anchors(document, start, positions, encoding)
        spine_number = spine.add(codecs.BOM_UTF8 + marked.encode("utf-8", "replace"), name)
        anchors |= {position: f"{spine_number}#byte{position}" for position in positions}
    content = spine.content()
    ends = {mark.start: mark.end for mark in content.marks}
    contents: list[Mark] = []
    for place in markup.contents:
        found = content.anchors.get(anchors.get(place.position, ""))
        if found is not None:
            contents.append(Mark(found, ends.get(found, found), place.depth, place.label))
    beginnings = {content.anchors.get(f"{at}#"): at for at in range(len(spine.kinds))}
    for place in markup.guide:
        found = content.anchors.get(anchors.get(place.position, ""))
        if found is not None and found in beginnings:  # else it is a place within a document
            spine.kinds[beginnings[found]].append(place.label)
    return spine, content, in_text(contents, content.marks)


def _with_anchors(document: bytes, start: int, positions: list[int], encoding: str) -> str:
    """A document, which begins at byte ``start``, as text with an anchor at each of the positions."""
    pieces: list[str] = []
    begin = 0
    for position in positions:
        at = max(_outside_tag(document, position - start), begin)
        pieces += (document[begin:at].decode(encoding, "replace"), f'<a id="byte{position}"/>')
        begin = at
    return "".join((*pieces, document[begin:].decode(encoding, "replace")))


def _outside_tag(document: bytes, at: int) -> int:
    """``at``, or the beginning of the tag, or of the character, that it is in."""
    opened, closed = (document.rfind(bracket, max(0, at - _LONGEST_TAG), at) for bracket in (b"<", b">"))
    if opened > closed:
        return opened
    while at > 0 and 0x80 <= document[at] < 0xC0:
        at -= 1
    return at
