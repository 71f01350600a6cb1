"""EPUB: the documents of its spine in order, and its table of contents. ``zipfile`` and ``lxml``, no more."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from indexing.book import LeftOut, Page
from indexing.errors import SourceError
from indexing.formats.apparatus import is_apparatus
from indexing.formats.archive import Archive, first_text, listed, text_of
from indexing.formats.html import read_page
from indexing.formats.markup import Block, Document, Mark, MarkedText, join

_MOST_ENTRIES = 10_000  # of a table of contents
_MOST_PAGES = 20_000
_HEAD = 8192  # bytes of a document in which it says what it is
_KIND = re.compile(rb"<(?:body|section)\b[^<>]*\bepub:type\s*=\s*[\"']([^\"'<>]{0,200})")
_LONGEST_LABEL = 20  # characters of a page's
_DOCUMENTS = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_NCX = "application/x-dtbncx+xml"


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
        if item is None or item.get("media-type") not in _DOCUMENTS or _is_navigation(item):
            continue
        path = _resolve(folder, item.get("href"))
        if path in numbers:
            continue
        if path in encrypted:
            raise SourceError(f"{name} is protected (DRM); wanted an EPUB without protection")
        number = numbers[path] = len(numbers)
        of_document, kind = _document(archive, path, number)
        blocks += of_document
        kinds.setdefault(path, []).extend(kind)
    content = join(blocks)
    navigation = _navigation_file(archive, package, folder, items)
    contents = _contents(navigation, numbers, content)
    title = first_text(package.iter("title"))
    if navigation is not None:
        for name, href in _landmarks(navigation.root):
            kinds.setdefault(_resolve(navigation.folder, href.partition("#")[0]), []).append(name)
    return Document(
        content,
        title,
        _authors(package),
        contents,
        _page_list(navigation, numbers, content),
        first_text(package.iter("language")),
        tuple(_apparatus(kinds, numbers, content, contents)),
    )


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
    """By the paths of documents what EPUB 2's guide says of them; it speaks of documents, not of places."""
    kinds: dict[str, list[str]] = {}
    for one in package.iter("reference"):
        if one.get("href") and one.get("type"):
            path = _resolve(folder, one.get("href").partition("#")[0])
            kinds.setdefault(path, []).append(one.get("type").lower())
    return kinds


def _apparatus(
    kinds: Mapping[str, Sequence[str]], numbers: dict[str, int], content: MarkedText, contents: Sequence[Mark]
) -> Iterator[LeftOut]:
    """The documents that are not the story, by their kinds, entries in the contents or headings."""
    places = ((number, content.anchors.get(f"{number}#")) for number in numbers.values())
    begins = {number: start for number, start in places if start is not None}
    after = [*begins.values(), len(content.text) + 2][1:]
    ends = dict(zip(begins, after, strict=False))  # none begins in a book without text
    listed_at = {mark.start: mark.label for mark in contents}
    headed_at = {mark.start: mark.label for mark in content.marks}
    for path, number in numbers.items():
        if number in begins:
            start = begins[number]
            title = listed_at.get(start) or headed_at.get(start)
            if is_apparatus(kinds.get(path, ()), title):
                yield LeftOut(start, ends[number] - 2)


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


def _is_navigation(item: Any) -> bool:
    return "nav" in (item.get("properties") or "").split()


@dataclass(frozen=True, slots=True)
class _Navigation:
    """EPUB 3's navigation document or EPUB 2's NCX, and the folder that what it names is in."""

    root: Any
    folder: str


def _navigation_file(
    archive: Archive, package: Any, folder: str, items: dict[str, Any]
) -> _Navigation | None:
    spine = package.find(".//spine")
    ncx = items.get(spine.get("toc")) if spine is not None else None
    found = None
    for item in items.values():
        if _is_navigation(item):
            found = item
            break
        if ncx is None and item.get("media-type") == _NCX:
            ncx = item
    found = ncx if found is None else found
    path = "" if found is None else _resolve(folder, found.get("href"))
    return _Navigation(archive.tree(path), posixpath.dirname(path)) if path in archive.members else None


def _contents(
    navigation: _Navigation | None, numbers: dict[str, int], content: MarkedText
) -> tuple[Mark, ...]:
    """The table of contents as marks in the text."""
    if navigation is None:
        return ()
    entries = _links(navigation.root, "toc") or _points(navigation.root, "navPoint")
    ends = {mark.start: mark.end for mark in content.marks}
    marks: dict[int, Mark] = {}
    for depth, label, href in entries[:_MOST_ENTRIES]:
        start = _place(href, navigation, numbers, content.anchors)
        if start is not None and label and start not in marks:
            marks[start] = Mark(start, ends.get(start, start), depth, label)
    return tuple(sorted(marks.values(), key=lambda mark: mark.start))


def _page_list(
    navigation: _Navigation | None, numbers: dict[str, int], content: MarkedText
) -> tuple[Page, ...]:
    """The printed pages, of those that the book has a list of, from the first that is named."""
    if navigation is None:
        return ()
    entries = _links(navigation.root, "page-list") or _points(navigation.root, "pageTarget")
    anchors = {**content.anchors, **content.inside}
    pages: dict[int, Page] = {}
    for _, label, href in entries[:_MOST_PAGES]:
        start = _place(href, navigation, numbers, anchors)
        if start is not None and label:
            pages[start] = Page(label[:_LONGEST_LABEL], start)  # the last of those that begin at one place
    return tuple(pages[start] for start in sorted(pages))


def _place(
    href: str, navigation: _Navigation, numbers: dict[str, int], anchors: Mapping[str, int]
) -> int | None:
    """Where a link leads to in the text; the beginning of its document where that has no such anchor."""
    document, _, anchor = href.partition("#")
    number = numbers.get(_resolve(navigation.folder, document))
    start = anchors.get(f"{number}#{unquote(anchor)}")
    return anchors.get(f"{number}#") if start is None else start


def _links(root: Any, kind: str) -> list[tuple[int, str, str]]:
    """``(depth, label, href)`` of each entry of the list of that kind in a navigation document."""
    nav = next((nav for nav in root.iter("nav") if any(value == kind for value in nav.attrib.values())), None)
    if nav is None:
        return []
    return [
        (sum(1 for _ in link.iterancestors("ol")), text_of(link), link.get("href"))
        for link in nav.iter("a")
        if link.get("href")
    ]


def _landmarks(root: Any) -> list[tuple[str, str]]:
    """``(kind, href)`` of what a navigation document says of the parts of the book."""
    nav = next((nav for nav in root.iter("nav") if "landmarks" in nav.attrib.values()), None)
    links = [] if nav is None else nav.iter("a")
    return [
        (kind, link.get("href"))
        for link in links
        if link.get("href")
        for kind in (link.get("type") or link.get("epub:type") or "").lower().split()
    ]


def _points(root: Any, name: str) -> list[tuple[int, str, str]]:
    """The same of an NCX, whose entries are elements of that name."""
    entries = []
    for point in root.iter(name):
        label, target = point.find("navLabel"), point.find("content")
        if label is not None and target is not None and target.get("src"):
            depth = 1 + sum(1 for _ in point.iterancestors(name))
            entries.append((depth, text_of(label), target.get("src")))
    return entries


def _encrypted(archive: Archive) -> set[str]:
    """Paths of the files under protection; fonts are often among them and do not matter."""
    path = "META-INF/encryption.xml"
    if path not in archive.members:
        return set()
    return {unquote(element.get("URI") or "") for element in archive.tree(path).iter("CipherReference")}


def _resolve(folder: str, href: str) -> str:
    return posixpath.normpath(posixpath.join(folder, unquote(href)))
