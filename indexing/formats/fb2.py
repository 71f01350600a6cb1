"""FB2 (FictionBook 2), by itself or in a zip archive: its sections in order, their titles as headings."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

from indexing.formats.archive import Archive, damaged, first_text, listed, text_of, walk, xml_tree
from indexing.formats.markup import NOTE_MARK, Block, Document, join, paragraph

_KIND = "an FB2 book"
_LEFT_OUT = frozenset(("binary", "description", "stylesheet", "image"))
_PARAGRAPHS = frozenset(("p", "v", "subtitle", "text-author", "date", "td", "th"))
_JOINED = frozenset(("title", "stanza"))  # whose paragraphs are lines of one block
_APART = ("notes", "comments", "footnotes")  # names of bodies that hold notes, a section each
_LONGEST_HEADING = 100  # characters
_ZIP = b"PK\x03\x04"


def read_fb2(data: bytes, name: str) -> Document:
    """The book that ``data`` holds, zipped or not; ``name`` is said in errors.

    Notes stand behind the paragraph whose mark leads to them, those that none leads to at the end. The marks
    and pictures are left out. Raises ``SourceError`` for what is damaged or too large.
    """
    if data.startswith(_ZIP):
        archive = Archive(data, name, _KIND)
        path = next((path for path in archive.members if path.lower().endswith(".fb2")), "the .fb2 file")
        data = archive.read(path)
    root = xml_tree(data)
    if root is None or root.tag != "FictionBook":
        raise damaged(name, _KIND, "it is no XML of that kind")
    stated = root.find(".//title-info")
    apart = [body for body in root.iter("body") if (body.get("name") or "").lower() in _APART]
    sections = [each for body in apart for each in body.iter("section") if each.find("section") is None]
    notes = {f"#{each.get('id')}": each for each in sections if each.get("id")}
    blocks = _blocks(root, notes)
    apart_still = [each for each in sections if notes.get(f"#{each.get('id')}", each) is not None]
    if apart_still:
        title = first_text(title for body in apart for title in body.iterchildren("title"))
        blocks.append(Block(title or "Notes", 1))
        blocks += (one for each in apart_still for one in _numbered_note(each))
    if stated is None:
        return Document(join(blocks))
    title = first_text(stated.iter("book-title"))
    language = first_text(stated.iter("lang"))
    return Document(join(blocks), title, _authors(stated), language=language, cover=_cover(root, stated))


def _cover(root: Any, stated: Any) -> bytes | None:
    """The picture that the coverpage names, one of those at the end of the file."""
    image = stated.find(".//coverpage//image")
    id = "" if image is None else (image.get("href") or "")[1:]
    found = next((one for one in root.iter("binary") if id and one.get("id") == id), None)
    try:
        return None if found is None else base64.b64decode(found.text or "")
    except ValueError:  # a book without its cover is a book
        return None


def _authors(stated: Any) -> str | None:
    parts = ("first-name", "middle-name", "last-name")
    names = []
    for author in stated.iter("author"):
        found = [first_text(author.iter(part)) for part in parts]
        names.append(" ".join(filter(None, found)) or first_text(author.iter("nickname")) or text_of(author))
    return listed(names)


def _blocks(root: Any, notes: dict[str, Any]) -> list[Block]:
    """The paragraphs and titles; ``notes`` are those by their addresses, None once a link has led there."""
    blocks: list[Block] = []
    below: list[Block] = []  # the notes of the paragraph
    pieces: list[str] = []
    joined = depth = inside = 0  # open titles and stanzas, sections, and paragraphs
    is_first = False  # of the paragraphs of a section
    elements = walk(root)

    def end_block(level: int = 0) -> None:
        blocks.extend(paragraph("".join(pieces), level, below))
        pieces.clear()
        below.clear()

    for event, element in elements:
        tag = element.tag
        if event == "start":
            to_note = tag == "a" and element.get("href") in notes
            if to_note and (note := notes[element.get("href")]) is not None:
                below += _note(note)
                notes[element.get("href")] = None
            if (
                tag in _LEFT_OUT
                or (tag == "a" and element.get("type") == "note")
                or (to_note and NOTE_MARK.fullmatch(text_of(element)))
                or (tag == "body" and (element.get("name") or "").lower() in _APART)
            ):
                elements.skip_subtree()
                continue
            depth += tag == "section"
            is_first = is_first or tag == "section"
            if tag in _JOINED and not joined:
                end_block()
            joined += tag in _JOINED
            if tag in _PARAGRAPHS:
                inside += 1
                if not joined:
                    end_block()
            if inside:
                pieces.append(_folded(element.text))
            continue
        depth -= tag == "section"
        if tag in _PARAGRAPHS:
            inside -= 1
            pieces.append("\n")
            if not joined:
                end_block(depth if is_first and _is_strong(element) else 0)
            is_first = False
        if tag in _JOINED:
            joined -= 1
            if not joined:
                # The title of a body is the book's, that of a poem its own; they are no chapter's.
                end_block(depth if tag == "title" and _is_of_section(element) else 0)
        if inside:
            pieces.append(_folded(element.tail))
    end_block()
    return blocks


def _is_of_section(title: Any) -> bool:
    parent = title.getparent()
    return parent is None or parent.tag in ("section", "body")


def _note(section: Any) -> list[Block]:
    """The paragraphs of a note, without the title that is its number."""
    blocks = _blocks(section, {})
    numbered = blocks and blocks[0].level and NOTE_MARK.fullmatch(blocks[0].text.rstrip("."))
    return [replace(one, level=0) for one in blocks[1 if numbered else 0 :]]


def _numbered_note(section: Any) -> list[Block]:
    """The paragraphs of a note, behind the title that is its number."""
    blocks = [replace(one, level=0) for one in _blocks(section, {})]
    numbered = len(blocks) > 1 and NOTE_MARK.fullmatch(blocks[0].text.rstrip("."))
    if numbered:
        blocks[:2] = [replace(blocks[1], text=f"{blocks[0].text} {blocks[1].text}")]
    return blocks


def _is_strong(element: Any) -> bool:
    """Whether all of a short paragraph is in strong letters: calibre's headings, which have no titles."""
    strong = element.find("strong")
    alone = strong is not None and len(element) == 1 and not (element.text or strong.tail or "").strip()
    return alone and 0 < len(text_of(strong)) <= _LONGEST_HEADING


def _folded(text: str | None) -> str:
    """Text whose line ends are spaces, as they are in XML."""
    return (text or "").replace("\r", " ").replace("\n", " ")
