"""DOCX: the paragraphs of the main part, with the headings that their styles make of them (ECMA-376-1)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from indexing.formats.archive import Archive, first_text, walk
from indexing.formats.markup import NOTE_MARK, Block, Document, join, paragraph

# What was deleted or moved away, and the copy of a text box for programs that know no text boxes.
_LEFT_OUT = frozenset(("del", "moveFrom", "Fallback", "instrText", "delText"))
_OFF = ("0", "false", "off")  # values of a property that is not set
_CHARACTERS = {"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011"}
_HEADING = re.compile(r"heading ?([1-9])", re.I)
_CONTENTS = re.compile(r"toc ?\d.*|toc heading|table of figures", re.I)
_NOTES = ("footnote", "endnote")
_BODY_LEVEL = 9  # of an outline, whose others are 0 to 8


@dataclass(frozen=True, slots=True)
class _Style:
    """What a paragraph's style says of it."""

    name: str = ""
    level: int = 0
    parent: str | None = None
    is_raised: bool = False


def read_docx(data: bytes, name: str) -> Document:
    """The document that ``data`` holds; ``name`` is said in errors.

    Footnotes and endnotes stand behind the paragraph that leads to them. Headers, footers, comments, deleted
    and hidden text and the table of contents are left out. Raises ``SourceError`` for what is damaged or too
    large.
    """
    archive = Archive(data, name, "a DOCX document")
    main = _part(archive, "", "officeDocument", "word/document.xml")
    styles = _styles(archive, _part(archive, main, "styles", "styles.xml"))
    notes = {
        (f"{kind}Reference", note.get("id")): note
        for kind in _NOTES
        for note in _elements(archive, _part(archive, main, f"{kind}s", f"{kind}s.xml"), kind)
    }
    blocks, title = _paragraphs(archive.tree(main), styles, notes)
    core = archive.tree_if_any("docProps/core.xml")
    if core is None:
        return Document(join(blocks), title)
    return Document(
        join(blocks),
        first_text(core.iter("title")) or title,
        first_text(core.iter("creator")),
        language=first_text(core.iter("language")),
    )


def _part(archive: Archive, of: str, kind: str, usual: str) -> str:
    """The path of the part of a kind that belongs to the part ``of``, or to the whole where that is empty.

    Where no relation tells it, it is the ``usual`` one.
    """
    folder, name = posixpath.split(of)
    relations = _elements(archive, posixpath.join(folder, "_rels", f"{name}.rels"), "Relationship")
    targets = (each.get("Target") for each in relations if (each.get("Type") or "").endswith(f"/{kind}"))
    return posixpath.normpath(posixpath.join("/", folder, next(targets, None) or usual)).lstrip("/")


def _elements(archive: Archive, path: str, tag: str) -> Iterable[Any]:
    """The elements of that name in a file that the archive need not have."""
    root = archive.tree_if_any(path)
    return () if root is None else root.iter(tag)


def _styles(archive: Archive, path: str) -> dict[str, _Style]:
    styles: dict[str, _Style] = {}
    for element in _elements(archive, path, "style"):
        named, outline, parent, raised = (
            element.find(f".//{tag}") for tag in ("name", "outlineLvl", "basedOn", "vertAlign")
        )
        name = "" if named is None else named.get("val") or ""
        found = _HEADING.fullmatch(name)
        level = int(found[1]) if found else _level(outline)
        styles[element.get("styleId") or ""] = _Style(
            name, level, None if parent is None else parent.get("val"), _is_raised(raised)
        )
    return styles


def _is_raised(align: Any) -> bool:
    return align is not None and align.get("val") == "superscript"


def _level(outline: Any) -> int:
    value = "" if outline is None else outline.get("val") or ""
    return int(value) + 1 if value.isascii() and value.isdigit() and int(value[:3]) < _BODY_LEVEL else 0


def _inherited_level(style: _Style, styles: dict[str, _Style]) -> int:
    """The level of a style, or of the nearest one that it is based on; styles may be based on one another."""
    for _ in range(10):
        if style.level or style.parent not in styles:
            break
        style = styles[style.parent]
    return style.level


def _paragraphs(
    root: Any, styles: dict[str, _Style], notes: dict[tuple[str, str | None], Any]
) -> tuple[list[Block], str | None]:
    """The paragraphs as blocks, and the first of the style that titles have.

    ``notes`` are those by their kinds of references and ids; each is taken out by what first leads to it.
    """
    blocks: list[Block] = []
    title: str | None = None
    pieces: list[str] = []
    below: list[Block] = []  # the notes of the paragraph
    style, level = _Style(), 0
    link, is_raised = 0, False  # where in the pieces a link began, and whether it is above the line
    hidden = False  # the run
    elements = walk(root)
    for event, element in elements:
        tag = element.tag
        if event == "start":
            if tag in _LEFT_OUT:
                elements.skip_subtree()
            elif tag == "pStyle":
                style = styles.get(element.get("val") or "", style)
                level = level or _inherited_level(style, styles)
            elif tag == "outlineLvl":
                level = _level(element)
            elif tag == "hyperlink":
                link, is_raised = len(pieces), False
            elif tag in ("rStyle", "vertAlign"):
                run = styles.get(element.get("val") or "", _Style())
                is_raised = is_raised or run.is_raised or _is_raised(element)
            elif tag == "r":
                hidden = False
            elif tag == "vanish":
                hidden = element.get("val") not in _OFF
            elif hidden:
                continue
            elif (note := notes.pop((tag, element.get("id")), None)) is not None:
                below += (replace(one, level=0) for one in _paragraphs(note, styles, {})[0])
                hidden = element.get("customMarkFollows") not in (None, *_OFF)  # the rest of the run
            elif tag == "t":
                pieces.append(element.text or "")
            elif tag == "br" and element.get("type") == "page":
                pieces.append("\n\n")
            else:
                pieces.append(_CHARACTERS.get(tag, ""))
        elif tag == "hyperlink" and is_raised and NOTE_MARK.fullmatch("".join(pieces[link:])):
            del pieces[link:]
        # A paragraph may hold a text box, whose paragraphs are then between the pieces of its own text.
        if tag == "p":
            if not _CONTENTS.fullmatch(style.name):
                blocks += paragraph("".join(pieces), level, below)
            if style.name.lower() == "title" and title is None:
                title = "".join(pieces).strip() or None
            pieces.clear()
            below.clear()
            style, level = _Style(), 0
    return blocks, title and " ".join(title.split())
