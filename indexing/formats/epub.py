"""EPUB: the documents of its spine in order, and its table of contents. ``zipfile`` and ``lxml``, no more."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from indexing.errors import SourceError
from indexing.formats.archive import Archive, first_text, listed, text_of
from indexing.formats.epub_navigation import (
    contents_of,
    is_navigation,
    landmarks_of,
    navigation_of,
    pages_of,
    resolve,
)
from indexing.formats.markup import Document, printed_pages
from indexing.formats.spine import Spine

_DOCUMENTS = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document")
_DOCUMENT_SUFFIXES = (".xhtml", ".html", ".htm")  # of documents that are called XML only


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
    spine = Spine()
    numbers: dict[str, int] = {}  # of the documents, in the order of the book
    linear = (each.get("idref") for each in package.iter("itemref") if each.get("linear") != "no")
    for id in dict.fromkeys(linear):
        item = items.get(id)
        if item is None or not _is_document(item) or is_navigation(item):
            continue
        path = resolve(folder, item.get("href"))
        if path in numbers:
            continue
        if path in encrypted:
            raise SourceError(f"{name} is protected (DRM); wanted an EPUB without protection")
        numbers[path] = spine.add(archive.read(path), f"{path} in {name}", kinds.get(path, ()))
    content = spine.content()
    navigation = navigation_of(archive, package, folder, items)
    contents = contents_of(navigation, numbers, content)
    title, author = first_text(package.iter("title")), _authors(package)
    if navigation is not None:
        for landmark, href in landmarks_of(navigation.root):
            path = resolve(navigation.folder, href)
            if path in numbers:
                spine.kinds[numbers[path]].append(landmark)
    return Document(
        content,
        title,
        author,
        contents,
        pages_of(navigation, numbers, content) or printed_pages(content),
        first_text(package.iter("language")),
        tuple(spine.left_out(content, contents, title, author)),
        _cover(archive, package, folder, items),
    )


def _is_document(item: Any) -> bool:
    stated = (item.get("media-type") or "").partition(";")[0].strip().lower()
    named = item.get("href").partition("#")[0].lower()
    return stated in _DOCUMENTS or named.endswith(_DOCUMENT_SUFFIXES)


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


def _encrypted(archive: Archive) -> set[str]:
    """Paths of the files under protection; fonts are often among them and do not matter."""
    path = "META-INF/encryption.xml"
    if path not in archive.members:
        return set()
    return {unquote(element.get("URI") or "") for element in archive.tree(path).iter("CipherReference")}
