"""ODT: the paragraphs and headings of an OpenDocument text (OASIS OpenDocument 1.3, part 3)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from indexing.errors import SourceError
from indexing.formats.archive import Archive, first_text, walk
from indexing.formats.markup import Block, Document, join, paragraph

_LEFT_OUT = frozenset(
    (
        *("tracked-changes", "note", "annotation", "ruby-text", "forms", "settings", "sequence-decls"),
        *("table-of-content", "alphabetical-index", "illustration-index", "bibliography"),
        *("title", "desc"),  # of pictures
    )
)
_PARAGRAPHS = ("p", "h")
_TITLE = "Title"  # a style, and what those of titles that look otherwise are made of
_MOST_SPACES = 100  # that one element stands for
_DEEPEST = 10


def read_odt(data: bytes, name: str) -> Document:
    """The document that ``data`` holds; ``name`` is said in errors.

    Notes stand behind the paragraph that leads to them. Comments, deleted text and tables of contents are
    left out. Raises ``SourceError`` for what is damaged, protected or too large.
    """
    archive = Archive(data, name, "an ODT document")
    manifest = archive.tree_if_any("META-INF/manifest.xml")
    if manifest is not None and next(manifest.iter("encryption-data"), None) is not None:
        raise SourceError(f"{name} is protected with a password; open it and save it without one")
    root = archive.tree("content.xml")
    made = (style.get("name") for style in root.iter("style") if style.get("parent-style-name") == _TITLE)
    body = root.find(".//body")
    blocks, title = _paragraphs(root if body is None else body, {_TITLE, *made})
    meta = archive.tree_if_any("meta.xml")
    if meta is None:
        return Document(join(blocks), title)
    author = first_text(meta.iter("initial-creator")) or first_text(meta.iter("creator"))
    language = first_text(meta.iter("language"))
    return Document(join(blocks), first_text(meta.iter("title")) or title, author, language=language)


def _paragraphs(root: Any, of_titles: set[str], is_note: bool = False) -> tuple[list[Block], str | None]:
    """The paragraphs as blocks, and the first of a style that titles have; notes have no notes."""
    blocks: list[Block] = []
    title: str | None = None
    pieces: list[str] = []
    notes: list[Block] = []
    elements = walk(root)
    depth = 0  # of paragraphs, which text boxes nest
    for event, element in elements:
        tag = element.tag
        # A paragraph may hold a text box, whose paragraphs are then between the pieces of its own text.
        if tag in _PARAGRAPHS:
            level = _level(element) if tag == "h" and event == "end" else 0
            found = paragraph("".join(pieces), level, notes)
            is_title = element.get("style-name") in of_titles
            if title is None and is_title and found and event == "end":
                title = " ".join(found[0].text.split())
            blocks += found
            pieces.clear()
            notes.clear()
            depth += 1 if event == "start" else -1
        if event == "start":
            if tag == "note" and not is_note:
                for body in element.iterchildren("note-body"):
                    notes += (replace(one, level=0) for one in _paragraphs(body, of_titles, True)[0])
            if tag in _LEFT_OUT:
                elements.skip_subtree()
                continue
            if depth:
                pieces.append(_space(element) + _folded(element.text))
        elif depth and tag not in _PARAGRAPHS:
            pieces.append(_folded(element.tail))
    return blocks, title


def _space(element: Any) -> str:
    """What an element stands for that is itself a character."""
    if element.tag == "line-break":
        return "\n"
    if element.tag == "s":
        count = element.get("c") or "1"
        return " " * (min(int(count[:6]), _MOST_SPACES) if count.isascii() and count.isdigit() else 1)
    return " " if element.tag == "tab" else ""


def _folded(text: str | None) -> str:
    """Text whose line ends are spaces, as they are in OpenDocument."""
    return (text or "").replace("\r", " ").replace("\n", " ")


def _level(heading: Any) -> int:
    value = heading.get("outline-level") or "1"
    return min(int(value[:3]), _DEEPEST) if value.isascii() and value.isdigit() and value != "0" else 1
