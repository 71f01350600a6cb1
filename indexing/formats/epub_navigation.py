"""What an EPUB says of its parts, in EPUB 3's navigation document or EPUB 2's NCX."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from indexing.book import Page
from indexing.formats.archive import Archive, text_of
from indexing.formats.markup import Mark, MarkedText, in_text

_MOST_ENTRIES = 10_000  # of a table of contents
_MOST_PAGES = 20_000
_LONGEST_LABEL = 20  # characters of a page's
_NCX = "application/x-dtbncx+xml"


@dataclass(frozen=True, slots=True)
class Navigation:
    """EPUB 3's navigation document or EPUB 2's NCX, and the folder that what it names is in."""

    root: Any
    folder: str


def navigation_of(archive: Archive, package: Any, folder: str, items: dict[str, Any]) -> Navigation | None:
    """The one that the book has; the navigation document where it has both."""
    spine = package.find(".//spine")
    ncx = items.get(spine.get("toc")) if spine is not None else None
    found = None
    for item in items.values():
        if is_navigation(item):
            found = item
            break
        if ncx is None and item.get("media-type") == _NCX:
            ncx = item
    found = ncx if found is None else found
    path = "" if found is None else resolve(folder, found.get("href"))
    return Navigation(archive.tree(path), posixpath.dirname(path)) if path in archive.members else None


def contents_of(
    navigation: Navigation | None, numbers: dict[str, int], content: MarkedText
) -> tuple[Mark, ...]:
    """The table of contents as marks in the text."""
    if navigation is None:
        return ()
    entries = _links(navigation.root, "toc") or _points(navigation.root, "navPoint")
    ends = {mark.start: mark.end for mark in content.marks}
    marks: list[Mark] = []
    for depth, label, href in entries[:_MOST_ENTRIES]:
        start = _place(href, navigation, numbers, content.anchors)
        if start is not None and label:
            marks.append(Mark(start, ends.get(start, start), depth, label))
    return in_text(marks, content.marks)


def pages_of(navigation: Navigation | None, numbers: dict[str, int], content: MarkedText) -> tuple[Page, ...]:
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
    href: str, navigation: Navigation, numbers: dict[str, int], anchors: Mapping[str, int]
) -> int | None:
    """Where a link leads to in the text; the beginning of its document where that has no such anchor."""
    document, _, anchor = href.partition("#")
    number = numbers.get(resolve(navigation.folder, document))
    start = anchors.get(f"{number}#{unquote(anchor)}")
    return anchors.get(f"{number}#") if start is None else start


def _links(root: Any, kind: str) -> list[tuple[int, str, str]]:
    """``(depth, label, href)`` of each entry of the list of that kind in a navigation document.

    One that is no link, as a part may be, leads to where the first within it does.
    """
    nav = next((nav for nav in root.iter("nav") if any(value == kind for value in nav.attrib.values())), None)
    if nav is None:
        return []
    entries = []
    for element in nav.iter("a", "span"):
        href = element.get("href") if element.tag == "a" else None
        if element.tag == "span" and element.getparent().tag == "li":
            href = next(
                (link.get("href") for link in element.getparent().iter("a") if link.get("href")), None
            )
        if href:
            depth = sum(1 for _ in element.iterancestors("ol"))
            entries.append((depth, text_of(element), href))
    return entries


def landmarks_of(root: Any) -> list[tuple[str, str]]:
    """``(kind, href)`` of what a navigation document says of whole documents of the book."""
    nav = next((nav for nav in root.iter("nav") if "landmarks" in nav.attrib.values()), None)
    links = [] if nav is None else nav.iter("a")
    return [
        (kind, link.get("href"))
        for link in links
        if link.get("href") and "#" not in link.get("href")
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


def is_navigation(item: Any) -> bool:
    return "nav" in (item.get("properties") or "").split()


def resolve(folder: str, href: str) -> str:
    return posixpath.normpath(posixpath.join(folder, unquote(href)))
