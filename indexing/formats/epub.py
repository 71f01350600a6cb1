"""EPUB: the documents of its spine in order, and its table of contents. ``zipfile`` and ``lxml``, no more."""

from __future__ import annotations

import io
import lzma
import posixpath
import struct
import zipfile
import zlib
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from indexing.errors import SourceError
from indexing.formats.html import Block, read_page
from indexing.formats.markup import Mark, MarkedText, join

_MOST_MEMBERS = 20_000
_LARGEST_MEMBER = 64 * 2**20  # bytes unpacked; the longest novels are under 10 MB as one document
_LARGEST_BOOK = 256 * 2**20
_LONGEST_PATH = 1000  # characters; the hrefs of a document are resolved against its own path
_MOST_ENTRIES = 10_000  # of a table of contents
_LONGEST_LABEL = 1000
_DOCUMENTS = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_NCX = "application/x-dtbncx+xml"
# What zipfile raises for archives that are damaged, or of a version or a compression that it does not know.
_ZIP_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(OSError, EOFError, RuntimeError, ValueError, OverflowError),
)


@dataclass(frozen=True, slots=True)
class Epub:
    """The text of an EPUB with its headings (``content.marks``) and its table of contents."""

    title: str | None
    content: MarkedText
    contents: tuple[Mark, ...]


class _Archive:
    """A zip archive read with limits, so that a small file cannot unpack to fill the memory."""

    def __init__(self, data: bytes, name: str) -> None:
        self.name = name
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
        return SourceError(
            f"{self.name} cannot be read as an EPUB: {why}; get it again, or convert it to text"
        )

    def read(self, path: str) -> bytes:
        info = self.members.get(path)
        if info is None:
            raise self.broken(f"{path} is missing from it")
        if info.flag_bits & 1:
            raise self.broken(f"{path} is encrypted")
        limit = min(_LARGEST_MEMBER, self.left)
        try:
            with self.zip.open(info) as member:
                data = member.read(limit + 1)  # the stated size may lie
        except _ZIP_ERRORS as error:
            raise self.broken(f"{path} cannot be unpacked ({error})") from error
        if len(data) > limit:
            raise self.broken(f"{path} unpacks to more than {limit // 2**20} MB")
        self.left -= len(data)
        return data

    def tree(self, path: str) -> Any:
        """The root of an XML file, its tags without their namespaces."""
        from lxml import etree  # type: ignore[import-untyped]

        parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True)
        try:
            root = etree.fromstring(self.read(path), parser)
        except etree.XMLSyntaxError as error:  # an empty document, which the parser does not mend
            raise self.broken(f"{path} is no XML") from error
        if root is None:
            raise self.broken(f"{path} is no XML")
        for element in root.iter(etree.Element):
            with suppress(ValueError):  # a prefix that nothing declares: no name that is looked for
                element.tag = etree.QName(element).localname
        return root


def read_epub(data: bytes, name: str) -> Epub:
    """The book that ``data`` holds; ``name`` is said in errors.

    Documents that the spine marks as not linear, and the navigation document, are left out, and so is
    a document that has come before. Raises ``SourceError`` for what is damaged, protected or too large.
    """
    archive = _Archive(data, name)
    rootfile = archive.tree("META-INF/container.xml").find(".//rootfile")
    package_path = unquote(rootfile.get("full-path") or "") if rootfile is not None else ""
    if not package_path:
        raise archive.broken("its container names no package")
    package = archive.tree(package_path)
    folder = posixpath.dirname(package_path)
    items = {item.get("id"): item for item in package.iter("item") if item.get("id") and item.get("href")}
    encrypted = _encrypted(archive)
    blocks: list[Block] = []
    numbers: dict[str, int] = {}  # of the documents, in the order of the book
    linear = (each.get("idref") for each in package.iter("itemref") if each.get("linear") != "no")
    for id in dict.fromkeys(linear):
        item = items.get(id)
        if item is None or item.get("media-type") not in _DOCUMENTS or _is_navigation(item):
            continue
        path = _resolve(folder, item.get("href"))
        if path in numbers:
            continue
        if path in encrypted:
            raise SourceError(f"{name} is protected (DRM); wanted an EPUB without protection")
        number = numbers[path] = len(numbers)
        blocks += _document(archive, path, number)
    title = next((element.text for element in package.iter("title") if element.text), None)
    content = join(blocks)
    return Epub(title, content, _contents(archive, package, folder, items, numbers, content))


def _document(archive: _Archive, path: str, number: int) -> list[Block]:
    """The blocks of one document, their anchors made ``number#id`` and the first block's also ``number#``."""
    page = read_page(archive.read(path), f"{path} in {archive.name}")
    blocks = [
        replace(block, anchors=tuple(f"{number}#{anchor}" for anchor in block.anchors))
        for block in page.blocks
    ]
    if blocks:
        blocks[0] = replace(blocks[0], anchors=(f"{number}#", *blocks[0].anchors))
    return blocks


def _is_navigation(item: Any) -> bool:
    return "nav" in (item.get("properties") or "").split()


def _contents(
    archive: _Archive,
    package: Any,
    folder: str,
    items: dict[str, Any],
    numbers: dict[str, int],
    content: MarkedText,
) -> tuple[Mark, ...]:
    """The table of contents, EPUB 3's navigation document or EPUB 2's NCX, as marks in the text."""
    spine = package.find(".//spine")
    ncx = items.get(spine.get("toc")) if spine is not None else None
    for item in items.values():
        if _is_navigation(item):
            path = _resolve(folder, item.get("href"))
            entries = _navigation(archive.tree(path)) if path in archive.members else []
            break
        if ncx is None and item.get("media-type") == _NCX:
            ncx = item
    else:
        path = _resolve(folder, ncx.get("href")) if ncx is not None else ""
        entries = _ncx(archive.tree(path)) if path in archive.members else []
    ends = {mark.start: mark.end for mark in content.marks}
    marks: dict[int, Mark] = {}
    for depth, label, href in entries[:_MOST_ENTRIES]:
        document, _, anchor = href.partition("#")
        target = _resolve(posixpath.dirname(path), document)
        number = numbers.get(target)
        start = content.anchors.get(f"{number}#{unquote(anchor)}")
        if start is None:
            start = content.anchors.get(f"{number}#")
        if start is not None and label and start not in marks:
            marks[start] = Mark(start, ends.get(start, start), depth, label)
    return tuple(sorted(marks.values(), key=lambda mark: mark.start))


def _navigation(root: Any) -> list[tuple[int, str, str]]:
    """``(depth, label, href)`` of each entry of the table of contents of a navigation document."""
    navs = list(root.iter("nav"))
    toc = next((nav for nav in navs if any(value == "toc" for value in nav.attrib.values())), None)
    if toc is None:
        return []
    return [
        (sum(1 for _ in link.iterancestors("ol")), _text(link), link.get("href"))
        for link in toc.iter("a")
        if link.get("href")
    ]


def _ncx(root: Any) -> list[tuple[int, str, str]]:
    entries = []
    for point in root.iter("navPoint"):
        label, target = point.find("navLabel"), point.find("content")
        if label is not None and target is not None and target.get("src"):
            depth = 1 + sum(1 for _ in point.iterancestors("navPoint"))
            entries.append((depth, _text(label), target.get("src")))
    return entries


def _encrypted(archive: _Archive) -> set[str]:
    """Paths of the files under protection; fonts are often among them and do not matter."""
    path = "META-INF/encryption.xml"
    if path not in archive.members:
        return set()
    return {unquote(element.get("URI") or "") for element in archive.tree(path).iter("CipherReference")}


def _resolve(folder: str, href: str) -> str:
    return posixpath.normpath(posixpath.join(folder, unquote(href)))


def _text(element: Any) -> str:
    """What stands in ``element``, up to the longest that a label is: elements may hold one another."""
    pieces: list[str] = []
    left = _LONGEST_LABEL
    for piece in element.itertext():
        pieces.append(piece[:left])
        left -= len(piece)
        if left <= 0:
            break
    return " ".join("".join(pieces).split())
