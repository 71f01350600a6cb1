"""An HTML page as blocks of text: paragraphs and headings in reading order, whatever is not text left out."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from html.parser import HTMLParser

from indexing.formats.archive import listed
from indexing.formats.markup import (
    BEFORE_INITIAL,
    NOTE_MARK,
    PAGE_ANCHOR,
    WORDS_OF_ONE_LETTER,
    Block,
    Mark,
    counted,
)
from indexing.formats.plain_text import decode, normalise

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(_HEADINGS) | frozenset(
    re.findall(
        r"\w+",
        """address article aside blockquote body caption center dd details div dl dt fieldset figcaption
        figure footer form header hr html li main ol p pre section summary table tbody tfoot thead tr ul""",
    )
)
_LEFT_OUT = frozenset(
    re.findall(
        r"\w+",
        """applet audio button canvas head iframe map math nav noframes noscript object option rp rt script
        select style svg template textarea title video""",
    )
)
_OFTEN_UNCLOSED = ("a", "option", "rp", "rt", "title", "head", "span")
# Links to notes and back, which would be read as a part of the word before them: by their roles (DPUB-ARIA),
# EPUB's semantics, and the classes that pandoc, Python-Markdown, LibreOffice and Project Gutenberg give them.
_NOTE_LINKS = frozenset(
    re.findall(
        r"\S+",
        """doc-noteref doc-backlink noteref backlink footnote-ref footnote-back footnote-backref footnoteref
        fnanchor sdfootnoteanc sdfootnotesym sdendnoteanc sdendnotesym""",
    )
)
# Numbers of printed pages amid a sentence, as Project Gutenberg, the TEI and EPUB mark them.
_PAGE_NUMBERS = frozenset(["pagenum", "pageno", "pagenumber", "page-number", "pagebreak", "doc-pagebreak"])
_PAGE_ID = re.compile(r"page_?(\d{1,4}|[ivxlc]{1,8})", re.I)
_PAGE_LABEL = re.compile(r"(?:page )?(\d{1,4}|[ivxlc]{1,8})\.?", re.I)
_PAGE_HEADS = ("header", "footer")  # titles that LibreOffice gives them
# The first letter of a chapter is often a picture, whose ``alt`` says which.
_INITIAL = re.compile(rf"{BEFORE_INITIAL}[^\W\d_]")
_GOES_ON = re.compile(r"['\u2019]?[^\W\d_]")  # as the rest of its word does
_OPENING = re.compile(r"(?:^|\s)[\"'\u2018-\u201f\xab]$")
_SPACE = re.compile(r"[ \t\r\n\f]+")
_AROUND_BREAK = re.compile(r" *\n *")
_DECLARED = re.compile(
    rb"<\?xml[^<>]*encoding\s*=\s*[\"']([\w.:-]+)|<meta[^<>]*charset\s*=\s*[\"']?([\w.:-]+)", re.I
)

# Taken out beforehand: html.parser takes quadratic time over many that are not closed, as over open tags.
# No character is looked at more than twice: each alternative that may fail stops where the next may begin.
_NO_ELEMENTS = re.compile(
    r"<(script|style)\b[^>]*+(?<!/)>.*?(?:</\1\s*+>|\Z)"  # before comments, which may be begun in them
    r"|<!--.*?(?:-->|\Z)"
    r"|<!DOCTYPE[^\[>]*+\[(?:[^\]<]++|<(?!!DOCTYPE)|\](?!\s*+>))*+\]\s*+>"
    r"|<[!?][^>]*+(?:>|\Z)",
    re.I | re.S,
)
# html.parser gives more than 4,300 digits to int(), which raises; the greatest code point has seven.
_NUMBER = re.compile(r"&#(0*+)([0-9]*+)")


_AUTHOR = ("author", "dc.creator", "dcterms.creator")
_MOST_AUTHORS = 20
_LONGEST_ALT = 200  # characters, of a heading that is a picture


@dataclass(frozen=True, slots=True)
class Page:
    """A page that was read: its ``<title>``, the authors and the language that it states, and its blocks."""

    title: str | None
    blocks: tuple[Block, ...]
    author: str | None = None
    language: str | None = None


def read_page(data: bytes, name: str, charset: str | None = None) -> Page:
    """The page, HTML or XHTML, that ``data`` holds.

    ``name`` is said in errors, ``charset`` is what its server stated. Elements may be left open and
    nested to any depth. Nothing outside the page is ever loaded.
    """
    declared = _DECLARED.search(data[:4096])
    stated = (declared[1] or declared[2]).decode("ascii") if declared else charset
    reader = _PageReader()
    text = _NUMBER.sub(lambda match: f"&#{match[2][:8] or match[1][:1]}", decode(data, name, stated))
    elements, bracket, rest = _NO_ELEMENTS.sub("", text).rpartition(">")
    reader.feed(f"{elements}{bracket}{rest.replace('<', '&lt;')}")
    reader.close()
    reader.end_block()
    title = normalise(_SPACE.sub(" ", "".join(reader.title)))
    author = listed(map(normalise, reader.authors)) or listed(map(normalise, reader.signatures))
    return Page(title or None, tuple(reader.blocks), author, reader.language)


class _PageReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title: list[str] = []
        self.authors: list[str] = []
        self.signatures: list[str] = []  # links that are said to lead to who wrote the page
        self.language: str | None = None
        self.blocks: list[Block] = []
        self._pieces: list[str] = []
        self._anchors: list[str] = []
        self._inside: list[tuple[str, int]] = []
        self._visible = 0  # characters of the block that are no space
        self._left_out: list[str] = []  # open elements whose text is left out, the innermost last
        self._open: Counter[str] = Counter()  # how many of each of them
        self._level = 0
        self._preformatted = False
        self._quotations = 0  # open ones, whose marks a browser writes
        self._raised = 0  # open elements whose text is above the line
        self._link: int | None = None  # where in the pieces an open link began
        self._is_signature = False  # that link
        self._is_raised = False  # that link
        self._initial = (0, "")  # how many pieces there were behind the last picture of a letter, and which
        self._alt = ""  # of a picture in the block that is a heading

    def end_block(self) -> None:
        """Close the block that is being read, if there is any text in it."""
        text = "".join(self._pieces)
        self._pieces.clear()
        self._link, self._initial, self._quotations = None, (0, ""), 0
        inside, self._inside, self._visible = tuple(self._inside), [], 0
        alt, self._alt = self._alt, ""
        text = alt if not text.strip() else text
        if text.isspace():
            return
        if not self._preformatted:
            text = _AROUND_BREAK.sub("\n", re.sub(" {2,}", " ", text))
        text = normalise(text)
        if text:
            self.blocks.append(Block(text, self._level, tuple(self._anchors), inside))
            self._anchors.clear()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._begin(tag, attributes)
        if (
            tag in _LEFT_OUT
            or (tag == "a" and _is_any_of(_NOTE_LINKS, attributes))
            or (tag in ("a", "span") and _is_any_of(_PAGE_NUMBERS, attributes))
            or (tag == "span" and self._open["span"])  # so that its end is not taken for the outer one's
            or (tag == "div" and dict(attributes).get("title") in _PAGE_HEADS)
        ):
            self._left_out.append(tag)
            self._open[tag] += 1

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._begin(tag, attributes)
        if tag in _BLOCKS:
            self._end(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._open[tag]:
            while self._leave() != tag:
                pass  # what stands open inside it ends with it
        elif tag in _BLOCKS:
            self._end(tag)
        elif tag == "q" and self._quotations:
            self._quotations -= 1
            self._write("\u2019" if self._quotations % 2 else "\u201d")
        elif tag == "sup":
            self._raised = max(0, self._raised - 1)
        elif tag == "a":
            self._end_link()

    def handle_data(self, data: str) -> None:
        if not self._left_out:
            if self._initial[0] == len(self._pieces):
                self._write_initial(data)
            self._initial = (0, "")
            self._pieces.append(data if self._preformatted else _SPACE.sub(" ", data))
            self._visible += len("".join(normalise(data).split()))
        elif self._left_out[-1] == "title" and not self._open["svg"]:
            self.title.append(data)

    def _begin(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS:
            while self._left_out and self._left_out[-1] in _OFTEN_UNCLOSED:
                self._leave()
            self.end_block()
            self._level = _HEADINGS.get(tag, 0)
            self._preformatted = self._preformatted or tag == "pre"
        elif tag == "br":
            self._pieces.append("\n")
        elif tag == "q":
            self._write("\u2018" if self._quotations % 2 else "\u201c")
            self._quotations += 1
        elif tag == "sup":
            self._raised += 1
            self._is_raised = True
        elif tag == "a" and any(key in ("href", "filepos") for key, _ in attributes):
            self._link, self._is_raised = len(self._pieces), self._raised > 0
            self._is_signature = "author" in (dict(attributes).get("rel") or "").lower().split()
        elif tag in ("td", "th", "img"):
            self._pieces.append(" ")
            alt = normalise(dict(attributes).get("alt") or "") if tag == "img" and not self._left_out else ""
            self._initial = (len(self._pieces), alt) if _INITIAL.fullmatch(alt) else (0, "")
            if alt and self._level and counted(Mark(0, 0, 1, alt[:_LONGEST_ALT])):
                self._alt = alt
        if tag == "html":
            self.language = self.language or dict(attributes).get("lang") or dict(attributes).get("xml:lang")
        if tag == "meta":
            stated = dict(attributes)
            if (stated.get("name") or "").lower() in _AUTHOR and len(self.authors) < _MOST_AUTHORS:
                self.authors.append(stated.get("content") or "")
        else:
            ids = [value for key, value in attributes if key in ("id", "name") and value]
            if (label := _page_label(ids, attributes)) is not None:
                ids.append(f"{PAGE_ANCHOR}{label}")
            self._anchors += ids
            if self._visible:
                self._inside += [(id, self._visible) for id in ids]

    def _write(self, mark: str) -> None:
        """Put a mark that the page does not spell."""
        if not self._left_out:
            self._pieces.append(mark)
            self._visible += 1

    def _write_initial(self, rest: str) -> None:
        """Put the letter where its picture is, the last of the pieces, where it begins a word with ``rest``.

        A text that begins with the same letter has it beside the picture, hidden from those who see it.
        """
        letter = self._initial[1]
        if not letter or rest[0] in (letter[-1], letter[-1].upper()):
            return
        is_word = letter[-1] in WORDS_OF_ONE_LETTER and len(self._pieces) == 1 and rest[0].isspace()
        if not _GOES_ON.match(rest.lstrip() if is_word else rest):
            return
        before = self._pieces[-2][-2:] if len(self._pieces) > 1 else ""
        self._pieces[-1] = letter if not before or _OPENING.search(before) else f" {letter}"
        self._visible += len("".join(letter.split()))

    def _end_link(self) -> None:
        """Close a link; one that is a number above the line leads to a note, and is left out."""
        text = "" if self._link is None else "".join(self._pieces[self._link :])
        if self._is_raised and NOTE_MARK.fullmatch(text):
            del self._pieces[self._link :]
            self._visible -= len("".join(text.split()))
        if self._is_signature and len(self.signatures) < _MOST_AUTHORS:
            self.signatures.append(_SPACE.sub(" ", text))
        self._link, self._is_signature = None, False

    def _leave(self) -> str:
        """Close the innermost element whose text is left out; its tag."""
        tag = self._left_out.pop()
        self._open[tag] -= 1
        return tag

    def _end(self, tag: str) -> None:
        self.end_block()
        self._level = 0
        self._preformatted = self._preformatted and tag != "pre"


def _page_label(ids: list[str], attributes: list[tuple[str, str | None]]) -> str | None:
    """The number of the printed page that an element says begins there, by its title or by its id."""
    if _is_any_of(_PAGE_NUMBERS, attributes):
        stated = dict(attributes)
        if named := _PAGE_LABEL.fullmatch((stated.get("title") or stated.get("aria-label") or "").strip()):
            return named[1]
    return next((found[1] for id in ids if (found := _PAGE_ID.fullmatch(id))), None)


def _is_any_of(kinds: frozenset[str], attributes: list[tuple[str, str | None]]) -> bool:
    stated = (value for key, value in attributes if key in ("role", "epub:type", "class") and value)
    return any(kind in kinds for value in stated for kind in value.lower().split())
