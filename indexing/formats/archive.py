"""A zip archive and the XML in it, read with limits: what EPUB, DOCX, ODT and zipped FB2 are made of."""

from __future__ import annotations

import io
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable
from contextlib import suppress
from html.entities import html5
from typing import Any

from indexing.errors import SourceError
from indexing.formats.pictures import MOST_BYTES

_MOST_MEMBERS = 20_000
_LARGEST_MEMBER = 64 * 2**20  # bytes unpacked; the longest novels are under 10 MB as one document
_LARGEST_BOOK = 256 * 2**20
_LONGEST_PATH = 1000  # characters; the hrefs of a document are resolved against its own path
_LONGEST_LABEL = 1000
_AMPERSAND = re.compile(rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|&(?!#)([A-Za-z][A-Za-z0-9]{1,31};)?", re.S)
# What zipfile raises for archives that are damaged, or of a version or a compression that it does not know.
_ZIP_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(OSError, EOFError, RuntimeError, ValueError, OverflowError),
)


class Archive:
    """A zip archive read with limits, so that a small file cannot unpack to fill the memory.

    ``name`` is the source and ``kind`` what it should be (``an EPUB``), both for errors.
    """

    def __init__(self, data: bytes, name: str, kind: str) -> None:
        self.name = name
        self.kind = kind
        self.left = _LARGEST_BOOK
        try:
            self.zip = zipfile.ZipFile(io.BytesIO(data))
        except _ZIP_ERRORS as error:
            raise self.broken(f"its zip archive cannot be read ({error})") from error
        self.members = {
            info.filename: info for info in self.zip.infolist() if len(info.filename) <= _LONGEST_PATH
        }
        if len(self.members) > _MOST_MEMBERS:
            raise self.broken(f"it has {len(self.members):,} files, more than the {_MOST_MEMBERS:,} allowed")

    def broken(self, why: str) -> SourceError:
        """The error for an archive that is not what it should be."""
        return damaged(self.name, self.kind, why)

    def read(self, path: str, most: int | None = None) -> bytes:
        """What the member ``path`` unpacks to, ``most`` bytes where that is given; or SourceError."""
        info = self.members.get(path)
        if info is None:
            raise self.broken(f"{path} is missing from it")
        if info.flag_bits & 1:
            raise self.broken(f"{path} is encrypted")
        limit = min(_LARGEST_MEMBER if most is None else most, self.left)
        try:
            with self.zip.open(info) as member:
                data = member.read(limit + 1)  # the stated size may lie
        except _ZIP_ERRORS as error:
            raise self.broken(f"{path} cannot be unpacked ({error})") from error
        if len(data) > limit:
            raise self.broken(f"{path} unpacks to more than {limit // 2**20} MB")
        self.left -= len(data)
        return data

    def picture(self, path: str) -> bytes | None:
        """The member ``path`` as a picture; None where there is none of a size that is kept."""
        try:
            return self.read(path, MOST_BYTES)
        except SourceError:  # a book without its cover is a book
            return None

    def tree(self, path: str) -> Any:
        """The root of an XML file, its tags and attributes without their namespaces."""
        root = xml_tree(self.read(path))
        if root is None:
            raise self.broken(f"{path} is no XML")
        return root

    def tree_if_any(self, path: str) -> Any:
        """The root of an XML file that the archive need not have, or None."""
        return self.tree(path) if path in self.members else None


def damaged(name: str, kind: str, why: str) -> SourceError:
    """The error for a file that is not the ``kind`` (``an EPUB``) that it should be."""
    return SourceError(f"{name} cannot be read as {kind}: {why}; get it again, or convert it to text")


def xml_tree(data: bytes) -> Any:
    """The root of an XML document, its tags and attributes without their namespaces; None for no XML.

    Small faults are mended, and HTML's names of characters are known. Other entities are not expanded, and
    nothing outside of it is ever loaded.
    """
    from lxml import etree  # type: ignore[import-untyped]

    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True)
    try:
        root = etree.fromstring(data if b"\0" in data[:4] else _AMPERSAND.sub(_by_number, data), parser)
    except etree.XMLSyntaxError:  # an empty document, which the parser does not mend
        return None
    if root is None:
        return None
    for element in root.iter(etree.Element):
        with suppress(ValueError):  # a prefix that nothing declares: no name that is looked for
            element.tag = etree.QName(element).localname
        for key in [key for key in element.attrib if key.startswith("{")]:
            local = key.rpartition("}")[2]
            if local not in element.attrib:
                element.attrib[local] = element.attrib[key]
    return root


def _by_number(found: re.Match[bytes]) -> bytes:
    """A character by its number for the name that HTML has for it; other names as they are, and CDATA.

    Behind the first fault of a file the parser drops what is named, even ``&amp;``.
    """
    name = found[1]
    known = "&" if found[0] == b"&" else html5.get(name.decode("ascii"), "") if name else ""
    return "".join(f"&#{ord(character)};" for character in known).encode() or found[0]


def walk(root: Any) -> Any:
    """``("start" | "end", element)`` for each element in order; ``skip_subtree()`` passes over one."""
    from lxml import etree

    return etree.iterwalk(root, events=("start", "end"))


def text_of(element: Any) -> str:
    """What stands in ``element``, up to the longest that a label is: elements may hold one another."""
    pieces: list[str] = []
    left = _LONGEST_LABEL
    for piece in element.itertext():
        pieces.append(piece[:left])
        left -= len(piece)
        if left <= 0:
            break
    return " ".join("".join(pieces).split())


def first_text(elements: Iterable[Any]) -> str | None:
    """What stands in the first of ``elements`` that holds text."""
    return next(filter(None, map(text_of, elements)), None)


def listed(names: Iterable[str]) -> str | None:
    """Names as one line, the same name once; None where there is none."""
    return ", ".join(dict.fromkeys(filter(None, names))) or None
