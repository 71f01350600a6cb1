"""Hostile inputs of any size to each parser, and what reading them takes.

A shape is a few fragments that mean something to a parser, repeated: what takes more than linear time does so
over a run of them. ``KNOWN`` are those that once did, that raised other errors than ours, or nearly.
"""

from __future__ import annotations

import gc
import io
import struct
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from indexing.formats.read import read_book
from indexing.manifest import MANIFEST, read_manifest
from indexing.passages import split
from indexing.sources.fetch import Fetched
from indexing.sources.locate import Source
from indexing.vectors import windows
from text.errors import StoryQAError
from text.sentences import sentence_spans
from text.tokens import tokens
from text.words import words

TEXT = (
    "CHAPTER I", "CHAPTER ", "Book the First", "ACT ", "SCENE ", "INT. ", "PREFACE", "NOTES",
    "Contents\n\n", "I", "IV.", "1", "12", "twenty ", "one", "THE ", "a", "word ", "Mr.", "U.S.", "a.",
    "n't", "'s", "cannot", "\n", "\n\n", "\n\n\n", " ", "   ", "\t", "\r", "\x0b", "\u2028", "\xa0",
    "\u3000", "_", "*", "=", "~", "[", "]", "(", ")", "[1]", ".", "..", "...", "!", "\u2026", "-", "--",
    "\u2014", "'", "\u2019", "''", '"', "\u201c", ",", ":", ";", "#", "&", "<", "\u0301", "\u0316",
    "\u0344", "\xe9", "\u3002", "\u300d", "\u5b57", "\u1100", "\u1161", "\x00", "\xad", "\u200b",
    "*** START OF THE PROJECT GUTENBERG", "Title: ", "by ", "<<THIS ELECTRONIC VERSION", "Produced by",
    "End of the Project Gutenberg", "***", "INTERIOR",
)  # fmt: skip
HTML = (
    "<", "</", ">", "<!DOCTYPE", "[", "]", "]>", "<!--", "-->", "<!---->", "<!", "<?", "?>", "<![CDATA[",
    "]]>", "<svg>", "</svg>", "</nav>", "<title>", "</title>", "<script>", "</script>", "<textarea>",
    "<pre>", "<p>", "</p>", "<h1>", "</h1>", "<h2>", "</h2>", "<br>", "<td>", "<a id='b'>", "<a name=c>",
    "</a>", "<option>", "<head>", "<li>", "<rp>", "<meta charset=", "<?xml encoding='", "<plaintext>",
    "<template>", "<svg/>", " ", "\n", "a", "word ", "=", "'", '"', "/", "<a ", "<a b='", "&", "&amp;",
    "&#", "&#x", "&lt", ";", "1", "0", "CHAPTER I", "I", "\u0301\u0316", "\xa0", "[1]",
)  # fmt: skip
XML = (
    "<item ", "id='a' ", "href='a.xhtml' ", "properties='nav' ", "media-type='text/html'", "/>",
    "<itemref ", "idref='a' ", "linear='no' ", "<dc:title>", "<title>", "</title>", "<nav epub:type='toc'>",
    "<ol>", "<li>", "<a href='a.xhtml'>", "</a>", "</li>", "</ol>", "<navPoint>", "<navLabel>",
    "</navPoint>", "<x:y>", "<:z>", "<!DOCTYPE a [", "<!ENTITY b 'c'>", "&b;", "]>", "<!--", "-->", "<",
    ">", "'", "&", "a", " ", "\n", "../", "%41",
)  # fmt: skip
WORD = (
    "<w:p>", "</w:p>", "<w:r>", "</w:r>", "<w:t>", "</w:t>", "<w:pPr>", "</w:pPr>", "<w:pStyle w:val='a'/>",
    "<w:outlineLvl w:val='0'/>", "<w:br/>", "<w:tab/>", "<w:del>", "</w:del>", "<mc:Fallback>",
    "CHAPTER I", "a",
    "\n", "<", ">", "&a;", "<w:tbl>", "<!--", "-->", "<![CDATA[", "]]>", " ", "word ",
)  # fmt: skip
OPEN_DOCUMENT = (
    "<text:p>", "</text:p>", "<text:h text:outline-level='1'>", "</text:h>", "<text:span>", "</text:span>",
    "<text:s text:c='9'/>", "<text:line-break/>", "<text:note>", "</text:note>", "<text:tab/>", "a", "\n",
    "&a;",
    "<text:p text:style-name='Title'>", "<text:list>", "</text:list>", "<", ">", " ", "word ", "CHAPTER I",
)  # fmt: skip
FICTION_BOOK = (
    "<section>", "</section>", "<title>", "</title>", "<p>", "</p>", "<v>", "</v>", "<stanza>", "</stanza>",
    "<a type='note'>", "</a>", "<body name='notes'>", "<body>", "</body>", "<author>", "<first-name>",
    "<title-info>",
    "<binary>", "<emphasis>", "</emphasis>", "a", "\n", " ", "word ", "&a;", "<", ">", "CHAPTER I",
)  # fmt: skip
MARKDOWN = (
    "#", "##", "# a\n", "\n", "\n\n", " ", "    ", "*", "**", "_", "`", "```", "~~~", ">", "> ", "- ",
    "1. ", "[",
    "]", "(", ")", "](", "![", "[a]: b\n", "<", "</", "<a>", "<!--", "<?", "<![CDATA[", "&", "&amp;", "&#",
    "\\", "|",
    "|-|", "---", "===", "a", "word ", "\"", "'", "https://a", "\t", "title: ",
)  # fmt: skip
RTF = (
    "{", "}", "\\", "\\par ", "\\pard", "\\u8217?", "\\u", "\\uc9", "\\'e9", "\\'", "\\*", "\\f1",
    "\\fcharset204",
    "{\\fonttbl", "{\\info{\\title ", "{\\field{\\*\\fldinst ", "{\\pict", "\\bin9 ", "\\bin",
    "\\outlinelevel0", "\\v",
    "\\v0", "\\ansicpg932", "\\ansicpg9", "\\~", "\\-", "\\\n", "\n", " ", "a", "word ", "9", "-1", "\x81",
    "CHAPTER I",
)  # fmt: skip
PDF = (
    "BT ", "ET ", "/F1 12 Tf ", "(a) Tj ", "(-) Tj ", "(CHAPTER I) Tj ", "(12) Tj ", "0 -14 Td ", "9 9 Td ",
    "1 0 0 1 50 700 Tm ", "T* ", "14 TL ", "q ", "Q ", "0 0 9 9 re ", "f ", "[(a) 9 (b)] TJ ", "(", ")",
    "<61> Tj ", "9 ",
    "-9999999 ", "/F2 0 Tf ", "BI ID EI ", "\n", " ", "(word ) Tj ", "0.001 0 0 0.001 0 0 cm ",
)  # fmt: skip
KINDLE = (
    "<mbp:pagebreak/>", "<mbp:pagebreak", "<a filepos=9>", "<a filepos=", "</a>", "<reference type='toc' ",
    "filepos=0000000050 ", "<reference ", "/>", ">", "<p>", "</p>", "<h1>", "</h1>", "<font size=7>",
    "</font>", "<img recindex=1>", "CHAPTER I", "\x80", "\xc3", "\xa9", "&#", "&a;", "word ", " ", "9", "a",
    "<",
)  # fmt: skip
PALMDOC = (
    "a", " ", "\x01\x80", "\x08", "\x03<p>", "\xe1", "\xff", "\x80\x08", "\x80\x0f", "\xbf\xff", "\x90",
    "word ", "<p>", "</p>", "<mbp:pagebreak/>", "\0", "CHAPTER I",
)  # fmt: skip
JSON = (
    "[", "]", "{", "}", '"', '"a"', ":", ",", "1", "9", "-", "e", ".", "null", "true", "\\", "\\ud800",
    "NaN", " ",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shape:
    """Fragments repeated: in turns, or with ``runs`` first all of the one, then all of the next."""

    fragments: tuple[str, ...]
    runs: bool = False
    before: str = ""
    after: str = ""

    def text(self, size: int) -> str:
        """The shape with about ``size`` characters."""
        turns = max(1, size // sum(map(len, self.fragments)))
        if self.runs:
            middle = "".join(fragment * turns for fragment in self.fragments)
        else:
            middle = "".join(self.fragments) * turns
        return f"{self.before}{middle}{self.after}"


def _book(name: str, data: bytes) -> None:
    book = read_book(Source(name, "hostile", partial(Fetched, data)))
    windows(book.text, split(book.text))
    sentence_spans(book.text)
    words(book.text)
    for _ in tokens(book.text):
        pass


def _text(text: str) -> None:
    _book("hostile.txt", text.encode("utf-8", "surrogatepass"))


def _html(text: str) -> None:
    _book("hostile.html", text.encode("utf-8", "surrogatepass"))


CONTAINER = '<container><rootfiles><rootfile full-path="a.opf"/></rootfiles></container>'
DOCUMENT = "<html><body><p>The gull sat on the weir.</p></body></html>"
PACKAGE = (
    '<package><metadata/><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="n" href="n.xhtml" properties="nav" media-type="application/xhtml+xml"/>{}</manifest>'
    '<spine><itemref idref="a"/></spine></package>'
)
NAVIGATION = '<html><body><nav type="toc"><ol><li><a href="a.xhtml">I</a></li></ol>{}</nav></body></html>'


WORD_DOCUMENT = (
    "<w:document xmlns:w='w' xmlns:mc='m'><w:body><w:p><w:r><w:t>A gull.</w:t></w:r></w:p>{}"
    "</w:body></w:document>"
)
ODT_CONTENT = (
    "<o:document xmlns:o='o' xmlns:text='t'><o:body><text:p>The gull sat.</text:p>{}</o:body></o:document>"
)
ODT_TYPE = "application/vnd.oasis.opendocument.text"


def epub(files: dict[str, str]) -> bytes:
    """A sound EPUB, but for these files of it."""
    sound = {
        "META-INF/container.xml": CONTAINER,
        "a.opf": PACKAGE.format(""),
        "a.xhtml": DOCUMENT,
        "n.xhtml": NAVIGATION.format(""),
    }
    return _archive("application/epub+zip", sound | files)


def docx(files: dict[str, str]) -> bytes:
    """A sound DOCX, but for these files of it."""
    sound = {"[Content_Types].xml": "<Types/>", "word/document.xml": WORD_DOCUMENT.format("")}
    return _archive("", sound | files)


def odt(files: dict[str, str]) -> bytes:
    """A sound ODT, but for these files of it."""
    return _archive(ODT_TYPE, {"content.xml": ODT_CONTENT.format("")} | files)


def _archive(kind: str, files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", kind, zipfile.ZIP_STORED)
        for name, content in files.items():
            archive.writestr(name, content.encode("utf-8", "surrogatepass"))
    return buffer.getvalue()


def _docx(text: str) -> None:
    _book("hostile.docx", docx({"word/document.xml": WORD_DOCUMENT.format(text)}))


def _odt(text: str) -> None:
    _book("hostile.odt", odt({"content.xml": ODT_CONTENT.format(text)}))


def _fb2(text: str) -> None:
    data = f"<FictionBook><body><p>The gull sat.</p>{text}</body></FictionBook>"
    _book("hostile.fb2", data.encode("utf-8", "surrogatepass"))


def pdf(content: str) -> bytes:
    """A PDF of one page with a line of text and what the operators of ``content`` draw."""
    stream = f"BT /F1 12 Tf 50 700 Td (The gull sat on the weir.) Tj ET {content}".encode(
        "latin-1", "replace"
    )
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 800]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Times-Roman>>",
    )
    return (
        b"%PDF-1.4\n"
        + b"".join(b"%d 0 obj%s\nendobj\n" % (number, each) for number, each in enumerate(objects, 1))
        + b"trailer<</Root 1 0 R/Size 6>>\n%%EOF"
    )


def _pdf(text: str) -> None:
    _book("hostile.pdf", pdf(text))


def _markdown(text: str) -> None:
    _book("hostile.md", text.encode("utf-8", "surrogatepass"))


def _rtf(text: str) -> None:
    _book("hostile.rtf", f"{{\\rtf1 The gull sat.\\par {text}}}".encode("latin-1", "replace"))


def mobi(content: bytes, compression: int = 1, record: int = 4096) -> bytes:
    """A book for old Kindles without an index, its text cut into records of so many bytes."""
    cut = [content[at : at + record] for at in range(0, len(content), record)]
    header = struct.pack(">HHIHHI4sIII", compression, 0, 0, len(cut), 4096, 0, b"MOBI", 232, 2, 65001)
    records = [header.ljust(248, b"\xff")[:240] + bytes(8), *cut]
    at = 78 + 8 * len(records)
    places = b""
    for one in records:
        places += struct.pack(">II", at, 0)
        at += len(one)
    head = bytes(60) + b"BOOKMOBI" + bytes(8) + struct.pack(">H", len(records))
    return head + places + b"".join(records)


MARKUP = "<html><guide><reference type='toc' filepos=0000000060 /></guide><p>The gull sat.</p>{}</html>"


def _mobi(text: str) -> None:
    _book("hostile.mobi", mobi(MARKUP.format(text).encode("latin-1", "replace")))


def _palmdoc(text: str) -> None:
    # Behind as much as a copy can reach back: else a short text is refused where a long one is unpacked.
    before = b"The gull sat. " * 150
    _book("hostile.mobi", mobi(before + text.encode("latin-1", "replace"), 2, 2**24))


def _epub_package(text: str) -> None:
    _book("hostile.epub", epub({"a.opf": PACKAGE.format(text)}))


def _epub_navigation(text: str) -> None:
    _book("hostile.epub", epub({"n.xhtml": NAVIGATION.format(text)}))


def _manifest(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, MANIFEST).write_text(text, encoding="utf-8", errors="surrogatepass")
        read_manifest(Path(folder), "hostile")


PARSERS: dict[str, Callable[[str], None]] = {
    "text": _text,
    "html": _html,
    "epub-package": _epub_package,
    "epub-navigation": _epub_navigation,
    "pdf": _pdf,
    "docx": _docx,
    "odt": _odt,
    "fb2": _fb2,
    "markdown": _markdown,
    "rtf": _rtf,
    "mobi": _mobi,
    "palmdoc": _palmdoc,
    "manifest": _manifest,
}
FRAGMENTS = {
    "text": TEXT,
    "html": HTML,
    "epub-package": XML,
    "epub-navigation": XML,
    "pdf": PDF,
    "docx": WORD,
    "odt": OPEN_DOCUMENT,
    "fb2": FICTION_BOOK,
    "markdown": MARKDOWN,
    "rtf": RTF,
    "mobi": KINDLE,
    "palmdoc": PALMDOC,
    "manifest": JSON,
}
KNOWN: dict[str, list[Shape]] = {
    "text": [
        Shape(("\u0301", "\u0316"), before="a"),
        Shape(("ACT I\n",), before="x\n\n", after="x"),
        Shape(("2\n\n",), before="CHAPTER I\n\nx\n\n", after="CHAPTER II\n\nx"),
        Shape(("b\n",), before="Contents\n\na\n", after="\n\na\n\n" + "b\n\n" * 2000),
        Shape((" ",), before="INT. HOUSE", after="x\n" * 3),
        Shape(("'s",), before="a"),
        Shape(("'.",), before="a"),
        Shape(("<<THIS ELECTRONIC VERSION", "x ")),
        Shape(("<<THIS ELECTRONIC VERSION\n",)),
        Shape(("*** START OF THE PROJECT GUTENBERG\n", "word\n" * 9)),
    ],
    "html": [
        Shape(("<!---->",), after="x"),
        Shape(("<!DOCTYPE[>",)),
        Shape(("<!DOCTYPE", "["), runs=True),
        Shape(("<svg>", "</nav>"), runs=True),
        Shape(("<svg><title>x",)),
        Shape(("1",), before="<p>x&#", after=";</p>"),
        Shape(("0",), before="<p>x&#", after="65;</p>"),
        Shape(("<h2>a</h2>",), before="<h1>I</h1>"),
        Shape(("\xa0",), before="<h1>a", after="b</h1><h1>c</h1>"),
        Shape(("<meta xmlencoding ",)),
    ],
    "epub-package": [
        Shape(("<itemref idref='n'/>",)),
        Shape(("<x:y/>",)),
        Shape(("<item id='c' href='../../a.xhtml' properties='nav'/>",)),
    ],
    "epub-navigation": [
        Shape(("<a href='a.xhtml'>",), after="word"),
        Shape(("<ol>",), after="<a href='a.xhtml'>b</a>"),
    ],
    "pdf": [Shape(("[(a) 9 (b)] TJ ",), before="BT "), Shape(("(a) Tj 0 -14 Td ",), before="BT ")],
    "docx": [Shape(("<w:p><w:r><w:t>a",)), Shape(("<w:pStyle w:val='a'/>",), before="<w:p>")],
    "odt": [Shape(("<text:p>",)), Shape(("<text:s text:c='999999999'/>",), before="<text:p>")],
    "fb2": [Shape(("<section><title>a",)), Shape(("<a type='note'>",), before="<p>")],
    "markdown": [
        Shape(("[",)),
        Shape(("*a_",)),
        Shape((">",)),
        Shape(("`", "a"), runs=True),
        Shape(("[a](",)),
    ],
    "rtf": [
        Shape(("{",)),
        Shape(("{\\field{\\*\\fldinst ",)),
        Shape(("\\u-10179?",)),
        Shape(("\\bin",), after="9" * 99),
    ],
    "mobi": [
        Shape(("<mbp:pagebreak/><p>a",)),
        Shape(("<a filepos=9>",)),
        Shape(("<a filepos=", "9"), runs=True),
        Shape(("<reference ",)),
    ],
    "palmdoc": [Shape(("\x80\x0f",), before="a"), Shape(("\xe1",)), Shape(("\x80\x08", "\xbf\xff"))],
    "manifest": [Shape(("[",)), Shape(("9",), before='{"format": '), Shape(('{"a":',))],
}


def read_bytes(name: str, data: bytes) -> StoryQAError | None:
    """Read a file called ``name``; the error of our own that refuses it, where one does."""
    try:
        _book(name, data)
    except StoryQAError as error:
        return error
    return None


def parse(kind: str, text: str) -> StoryQAError | None:
    """Read ``text``; the error of our own that refuses it, where one does. Others go on to the caller."""
    try:
        PARSERS[kind](text)
    except StoryQAError as error:
        return error
    return None


def seconds(kind: str, text: str) -> float:
    """What reading ``text`` takes of the processor, which other work on the machine changes little."""
    gc.disable()  # it takes longer the more the process holds, whatever is read
    try:
        began = time.process_time()
        parse(kind, text)
        return time.process_time() - began
    finally:
        gc.enable()
