"""EPUB: the documents of its spine in order, and its table of contents. ``zipfile`` and ``lxml``, no more."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from indexing.book import LeftOut
from indexing.errors import SourceError
from indexing.formats.apparatus import is_apparatus, preview
from indexing.formats.archive import Archive, first_text, listed, text_of
from indexing.formats.epub_navigation import (
    contents_of,
    is_navigation,
    landmarks_of,
    navigation_of,
    pages_of,
    resolve,
)
from indexing.formats.html import read_page
from indexing.formats.markup import Block, Document, Mark, MarkedText, join

_HEAD = 8192  # bytes of a document in which it says what it is
_KIND = re.compile(rb"<(?:body|section)\b[^<>]*\bepub:type\s*=\s*[\"']([^\"'<>]{0,200})")
_DOCUMENTS = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")


def read_epub(data: bytes, name: str) -> Document:
    """The book that ``data`` holds; ``name`` is said in errors.

    Documents that the spine marks as not linear, and the navigation document, are left out, and so is
    a document that has come before. Raises ``SourceError`` for what is damaged, protected or too large.
    """
    archive = Archive(data, name, "an EPUB")
    rootfile = archive.tree("META-INF/container.xml").find(".//rootfile")
    package_path = unquote(rootfile.get("full-path") or "") if rootfile is not None else ""
    if not package_path:
        raise archive.broken("its container names no package")
    package = archive.tree(package_path)
    folder = posixpath.dirname(package_path)
    items = {item.get("id"): item for item in package.iter("item") if item.get("id") and item.get("href")}
    encrypted = _encrypted(archive)
    kinds = _guide(package, folder)
    blocks: list[Block] = []
    numbers: dict[str, int] = {}  # of the documents, in the order of the book
    linear = (each.get("idref") for each in package.iter("itemref") if each.get("linear") != "no")
    for id in dict.fromkeys(linear):
        item = items.get(id)
        if item is None or item.get("media-type") not in _DOCUMENTS or is_navigation(item):
            continue
        path = resolve(folder, item.get("href"))
        if path in numbers:
            continue
        if path in encrypted:
            raise SourceError(f"{name} is protected (DRM); wanted an EPUB without protection")
        number = numbers[path] = len(numbers)
        of_document, kind = _document(archive, path, number)
        blocks += of_document
        kinds.setdefault(path, []).extend(kind)
    content = join(blocks)
    navigation = navigation_of(archive, package, folder, items)
    contents = contents_of(navigation, numbers, content)
    title = first_text(package.iter("title"))
    if navigation is not None:
        for landmark, href in landmarks_of(navigation.root):
            kinds.setdefault(resolve(navigation.folder, href), []).append(landmark)
    return Document(
        content,
        title,
        _authors(package),
        contents,
        pages_of(navigation, numbers, content),
        first_text(package.iter("language")),
        tuple(_apparatus(kinds, numbers, content, contents)),
        _cover(archive, package, folder, items),
    )


def _cover(archive: Archive, package: Any, folder: str, items: Mapping[str, Any]) -> bytes | None:
    """What EPUB 3's ``cover-image`` or EPUB 2's ``cover`` names."""
    named = [item for item in items.values() if "cover-image" in (item.get("properties") or "").split()]
    if not named:
        ids = (meta.get("content") for meta in package.iter("meta") if meta.get("name") == "cover")
        named = [items[id] for id in ids if id in items]
    return archive.picture(resolve(folder, named[0].get("href"))) if named else None


def _authors(package: Any) -> str | None:
    """Its creators, those left out that are said to be illustrators, translators and so on."""
    roles = {
        (element.get("refines") or "")[1:]: text_of(element)
        for element in package.iter("meta")
        if element.get("property") == "role"
    }
    return listed(
        text_of(element)
        for element in package.iter("creator")
        if (element.get("role") or roles.get(element.get("id") or "") or "aut") == "aut"
    )


def _guide(package: Any, folder: str) -> dict[str, list[str]]:
    """By the paths of documents what EPUB 2's guide says of them; not what it says of places in one."""
    kinds: dict[str, list[str]] = {}
    for one in package.iter("reference"):
        href = one.get("href") or "#"
        if one.get("type") and "#" not in href:
            kinds.setdefault(resolve(folder, href), []).append(one.get("type").lower())
    return kinds


def _apparatus(
    kinds: Mapping[str, Sequence[str]], numbers: dict[str, int], content: MarkedText, contents: Sequence[Mark]
) -> Iterator[LeftOut]:
    """The documents that are not the story, by kinds, entries in the contents or headings, and a preview.

    Not those in which something else begins, too: a list of contents and the first chapter may share one.
    """
    places = ((number, content.anchors.get(f"{number}#")) for number in numbers.values())
    begins = {number: start for number, start in places if start is not None}
    after = [*begins.values(), len(content.text)][1:]
    ends = dict(zip(begins, after, strict=False))  # none begins in a book without text
    listed_at = {mark.start: mark.label for mark in contents}
    headed_at = {mark.start: mark.label for mark in content.marks}
    for path, number in numbers.items():
        if number not in begins:
            continue
        start, end = begins[number], ends[number]
        title = listed_at.get(start) or headed_at.get(start)
        within = [label for at, label in (listed_at or headed_at).items() if start < at < end]
        if is_apparatus(kinds.get(path, ()), title) and all(is_apparatus((), label) for label in within):
            yield LeftOut(start, end)
    deepest = max((mark.depth for mark in contents), default=0)
    others = (
        replace(mark, depth=deepest + mark.depth)
        for mark in content.marks
        if mark.start not in listed_at and (not contents or mark.start in begins.values())
    )
    yield from preview(sorted((*contents, *others), key=lambda mark: mark.start), len(content.text))


def _document(archive: Archive, path: str, number: int) -> tuple[list[Block], list[str]]:
    """The blocks of one document, and what kind it says it is.

    Anchors are made ``number#id``, and the first block's is also ``number#``.
    """
    data = archive.read(path)
    page = read_page(data, f"{path} in {archive.name}")
    kind = _KIND.search(data[:_HEAD])
    blocks = [
        replace(
            block,
            anchors=tuple(f"{number}#{anchor}" for anchor in block.anchors),
            inside=tuple((f"{number}#{anchor}", count) for anchor, count in block.inside),
        )
        for block in page.blocks
    ]
    if blocks:
        blocks[0] = replace(blocks[0], anchors=(f"{number}#", *blocks[0].anchors))
    return blocks, [] if kind is None else kind[1].decode("ascii", "replace").lower().split()


def _encrypted(archive: Archive) -> set[str]:
    """Paths of the files under protection; fonts are often among them and do not matter."""
    path = "META-INF/encryption.xml"
    if path not in archive.members:
        return set()
    return {unquote(element.get("URI") or "") for element in archive.tree(path).iter("CipherReference")}
