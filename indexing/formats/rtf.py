"""RTF: the text of the document without its formatting, with the headings that its outline makes of it.

After the Rich Text Format Specification, version 1.9.1. striprtf knows no outline, adds the targets of
links to the text, and takes quadratic time over links that are not closed.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field, replace

from indexing.formats.markup import Block, Document, join, paragraph

_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?[0-9]{1,10})?[ ]?|\\'([0-9a-fA-F]{2})"
    rb"|\\([^a-zA-Z])|([{}])|[\r\n]+|([^\\{}\r\n]+)",
    re.S,
)
_LEFT_OUT = frozenset(
    (
        *(b"fonttbl", b"colortbl", b"stylesheet", b"listtable", b"listoverridetable", b"revtbl", b"rsidtbl"),
        *(b"header", b"headerl", b"headerr", b"headerf", b"footer", b"footerl", b"footerr", b"footerf"),
        *(b"annotation", b"pict", b"object", b"info", b"fldinst", b"xe", b"tc", b"nonshppict"),
        *(b"themedata", b"datastore", b"latentstyles", b"filetbl", b"pntext", b"listtext", b"generator"),
    )
)
_CHARACTERS = {
    **{
        b"tab": " ",
        b"line": "\n",
        b"cell": " ",
        b"nestcell": " ",
        b"column": "\n",
        b"emdash": "\u2014",
        b"endash": "\u2013",
    },
    **{b"lquote": "\u2018", b"rquote": "\u2019", b"ldblquote": "\u201c", b"rdblquote": "\u201d"},
    **{b"bullet": "\u2022", b"emspace": " ", b"enspace": " ", b"qmspace": " "},
}
_SYMBOLS = {b"~": "\xa0", b"_": "\u2011", b"{": "{", b"}": "}", b"\\": "\\"}
_NOTE = b"footnote"  # or an endnote
_KEPT = (b"", _NOTE, b"title", b"author")  # destinations; the empty one is the text
_PARAGRAPH_ENDS = (b"par", b"sect", b"page", b"row", b"nestrow")
_ENCODINGS = {b"mac": "mac_roman", b"pc": "cp437", b"pca": "cp850"}  # of documents that are not Windows's
# Of the fonts' charsets, those that are not Windows-1252.
_CHARSETS = {
    **{77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gb18030", 136: "cp950", 161: "cp1253"},
    **{162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251"},
    **{222: "cp874", 238: "cp1250"},
}
_MOST_GROUPS = 10_000  # open at once
_DEEPEST = 9


@dataclass(frozen=True, slots=True)
class _State:
    """What a group inherits from the one around it."""

    into: bytes = b""  # the destination
    skip: int = 1  # characters that stand beside each \\u for programs that know no Unicode
    encoding: str = ""  # of the font; the document's where it is empty
    hidden: bool = False


@dataclass(slots=True)
class _Reader:
    """The state of reading one document."""

    encoding: str = "cp1252"
    state: _State = field(default_factory=_State)
    groups: list[_State] = field(default_factory=list)
    fonts: dict[int, str] = field(default_factory=dict)
    font: int = 0
    left: int = 0  # characters still to be skipped after a \\u
    level: int = 0
    style: int = 0  # of the style sheet, which is being read
    styles: dict[int, int] = field(default_factory=dict)  # their levels
    bytes_: bytearray = field(default_factory=bytearray)  # not yet decoded: a character may be several
    pieces: dict[bytes, list[str]] = field(default_factory=dict)
    notes: list[Block] = field(default_factory=list)  # of the paragraph
    blocks: list[Block] = field(default_factory=list)

    def flush(self) -> None:
        """Decode the bytes that wait."""
        if self.bytes_:
            text = self.bytes_.decode(self.state.encoding or self.encoding, "replace")
            self.bytes_.clear()
            self.put(text)

    def put(self, text: str) -> None:
        """Add text to where the group's text goes."""
        if self.state.into in _KEPT and not self.state.hidden:
            self.pieces.setdefault(self.state.into, []).append(text)

    def end_paragraph(self) -> None:
        """Make a block of the paragraph so far, be it the text's or a note's."""
        text = "".join(self.pieces.pop(self.state.into, []))
        # Characters beyond U+FFFF are written as two surrogates.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if self.state.into == _NOTE:
            self.notes += paragraph(text)
        else:
            self.blocks += paragraph(text, self.level, self.notes)
            self.notes.clear()

    def control(self, word: bytes, number: int | None) -> None:
        """Follow a control word."""
        if word == b"u" and number is not None:
            self.put(chr(number % 0x10000))
            self.left = self.state.skip
        elif word == b"uc":
            self.state = replace(self.state, skip=max(0, min(number or 0, 100)))
        elif word in _ENCODINGS:
            self.encoding = _ENCODINGS[word]
        elif word == b"ansicpg":
            self.encoding = _codec(number)
        elif word == b"f":
            self.font = number or 0
            self.state = replace(self.state, encoding=self.fonts.get(self.font, ""))
        elif word == b"fcharset" and number in _CHARSETS:
            self.fonts[self.font] = _CHARSETS[number]
        elif word in (b"v", b"deleted"):
            self.state = replace(self.state, hidden=number != 0)
        elif word == b"plain":
            self.state = replace(self.state, hidden=False)
        elif word in _LEFT_OUT or (word == _NOTE and not self.state.into):
            self.state = replace(self.state, into=word)
        elif word in (b"title", b"author") and self.state.into == b"info":
            # LibreOffice states who changed a document as an author, too.
            self.state = replace(self.state, into=b"*" if word in self.pieces else word)
        elif self.state.into == b"stylesheet":
            self.style_sheet(word, number or 0)
        elif word in _CHARACTERS:
            self.put(_CHARACTERS[word])
        elif self.state.into not in (b"", _NOTE):
            pass
        elif word in _PARAGRAPH_ENDS:
            self.end_paragraph()
        elif self.state.into:
            pass
        elif word == b"outlinelevel" and number is not None:
            self.level = number + 1 if 0 <= number < _DEEPEST else 0
        elif word == b"s":
            self.level = self.styles.get(number or 0, 0)
        elif word == b"pard":
            self.level = 0

    def style_sheet(self, word: bytes, number: int) -> None:
        """Follow a control word of the style sheet: the number of a style, or the level it is of."""
        if word == b"s":
            self.style = number
        elif word == b"outlinelevel" and 0 <= number < _DEEPEST:
            self.styles[self.style] = number + 1


def read_rtf(data: bytes) -> Document:
    """The document that ``data`` holds, however damaged.

    Footnotes and endnotes stand behind the paragraph that leads to them. Headers, footers, comments, deleted
    and hidden text are left out.
    """
    reader = _Reader()
    at = 0
    while match := _TOKEN.search(data, at):
        at = match.end()
        word, number, hexadecimal, symbol, brace, plain = match.groups()
        if hexadecimal is None and plain is None:
            reader.flush()
            reader.left = 0 if word != b"u" else reader.left
        if brace == b"{":
            if len(reader.groups) < _MOST_GROUPS:
                reader.groups.append(reader.state)
        elif brace == b"}":
            if reader.groups:
                outer = reader.groups.pop()
                if reader.state.into == _NOTE != outer.into:
                    reader.end_paragraph()
                reader.state = outer
        elif word == b"bin":
            at += max(0, int(number or 0))
        elif word is not None:
            reader.control(word, None if number is None else int(number))
        elif hexadecimal is not None or plain is not None:
            piece = bytes.fromhex(hexadecimal.decode()) if hexadecimal is not None else plain
            reader.left -= (skipped := min(reader.left, len(piece)))
            reader.bytes_ += piece[skipped:]
        elif symbol == b"*":
            reader.state = replace(reader.state, into=b"*")
        elif symbol in (b"\r", b"\n") and reader.state.into in (b"", _NOTE):
            reader.end_paragraph()
        elif symbol in _SYMBOLS:
            reader.put(_SYMBOLS[symbol])
    reader.flush()
    for into in (_NOTE, b""):  # a note may be left open
        reader.state = _State(into)
        reader.end_paragraph()
    title, author = (
        " ".join("".join(reader.pieces.get(key, [])).split())[:1000] for key in (b"title", b"author")
    )
    return Document(join(reader.blocks), title or None, author or None)


def _codec(page: int | None) -> str:
    name = {10000: "mac_roman", 65001: "utf-8", 936: "gb18030"}.get(page or 0, f"cp{page}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "cp1252"
