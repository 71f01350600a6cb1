"""The documents that an e-book is made of: read into one text, and those told that are not its story."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from indexing.book import LeftOut
from indexing.formats.apparatus import is_apparatus, is_imprint, is_title_page, preview
from indexing.formats.html import read_page
from indexing.formats.markup import Block, Mark, MarkedText, join

_HEAD = 8192  # bytes of a document in which it says what it is
_KIND = re.compile(rb"<(body|section)\b[^<>]*\bepub:type\s*=\s*[\"']([^\"'<>]{0,200})")


@dataclass(slots=True)
class Spine:
    """The documents so far, and of each the kinds that the book says it is of."""

    blocks: list[Block] = field(default_factory=list)
    kinds: list[list[str]] = field(default_factory=list)

    def add(self, data: bytes, name: str, kinds: Iterable[str] = ()) -> int:
        """Read the next document, HTML called ``name`` in errors; its number.

        Its anchors are made ``number#id``, and the first block's is also ``number#``.
        """
        number = len(self.kinds)
        self.kinds.append([*kinds, *_stated_kinds(data[:_HEAD])])
        blocks = [
            replace(
                block,
                anchors=tuple(f"{number}#{anchor}" for anchor in block.anchors),
                inside=tuple((f"{number}#{anchor}", count) for anchor, count in block.inside),
            )
            for block in read_page(data, name).blocks
        ]
        if blocks:
            blocks[0] = replace(blocks[0], anchors=(f"{number}#", *blocks[0].anchors))
        self.blocks += blocks
        return number

    def content(self) -> MarkedText:
        """All documents as one text."""
        return join(self.blocks)

    def left_out(
        self, content: MarkedText, contents: Sequence[Mark], title: str | None, author: str | None
    ) -> Iterator[LeftOut]:
        """The documents that are not the story, by kinds, entries in the contents or headings, and a preview.

        So are the page that says who published it, and what stands first and is the book's ``title`` and
        ``author`` alone. Not those in which something else begins, too: a list of contents and the first
        chapter may share one.
        """
        places = ((number, content.anchors.get(f"{number}#")) for number in range(len(self.kinds)))
        begins = {number: start for number, start in places if start is not None}
        ends = [*begins.values(), len(content.text)][1:]
        listed_at = {mark.start: mark.label for mark in contents}
        headed_at = {mark.start: mark.label for mark in content.marks}
        labels = sorted((listed_at or headed_at).items())
        is_first = True  # but for others that are left out
        for (number, start), end in zip(begins.items(), ends, strict=False):  # none in a book without text
            label = listed_at.get(start) or headed_at.get(start)
            within = labels[bisect_right(labels, start, key=_place) : bisect_left(labels, end, key=_place)]
            text = content.text[start:end]
            apart = is_apparatus(self.kinds[number], label) or is_imprint(text)
            apart = apart and all(is_apparatus((), each) for _, each in within)
            is_first = is_first and (apart or is_title_page(text, title, author))
            if apart or is_first:
                yield LeftOut(start, end)
        deepest = max((mark.depth for mark in contents), default=0)
        others = (
            replace(mark, depth=deepest + mark.depth)
            for mark in content.marks
            if mark.start not in listed_at and (not contents or mark.start in begins.values())
        )
        yield from preview(sorted((*contents, *others), key=lambda mark: mark.start), len(content.text))


def _stated_kinds(head: bytes) -> Iterator[str]:
    """What a document says it is: of its body, such as back matter, and of the first section in it."""
    for stated in islice(_KIND.finditer(head), 2):
        yield from stated[2].decode("ascii", "replace").lower().split()
        if stated[1] == b"section":
            return


def _place(labelled: tuple[int, str]) -> int:
    return labelled[0]
