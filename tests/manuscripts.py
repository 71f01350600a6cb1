"""The sample story as manuscripts of many shapes, and files of every format made of them."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from html import escape

from test_epub import pack, package, page

from indexing.formats.read import read_book
from indexing.sources.fetch import Fetched
from indexing.sources.locate import Source
from service.sample_story import story

TITLE, AUTHOR = "The Weigher of Sandry Quay", "Robin Marchbanks"


@dataclass(frozen=True)
class Manuscript:
    """A story before it is a file: chapters of a heading, of one line or more, and paragraphs."""

    chapters: tuple[tuple[str, tuple[str, ...]], ...]
    title: str = TITLE
    author: str = AUTHOR

    @property
    def words(self) -> list[str]:
        """All words of the text, headings included, in order."""
        return " ".join(" ".join((heading, *paragraphs)) for heading, paragraphs in self.chapters).split()


@cache
def sample() -> Manuscript:
    """The sample story, from its editor's note to its end."""
    book = read_book(Source("sample.txt", "sample", partial(Fetched, story().read_bytes())))
    chapters = []
    for chapter in book.chapters:
        heading, *paragraphs = re.split(r"\n\n+", book.text[chapter.start : chapter.end].strip())
        chapters.append((heading, tuple(" ".join(each.split()) for each in paragraphs)))
    return Manuscript(tuple(chapters))


def twelve() -> list[Manuscript]:
    """Three parts of the story, each with its headings as four kinds of books have them."""
    whole = sample().chapters[1:]
    forms: tuple[Callable[[int, str, str], str], ...] = (
        lambda number, label, title: f"{label}\n{title}",
        lambda number, label, title: title,
        lambda number, label, title: f"{number}. {title}",
        lambda number, label, title: f"Chapter {number}: {title}",
    )
    found = []
    for first, last in ((0, 3), (3, 8), (8, 12)):
        for form in forms:
            part = [
                (form(number, *heading.split("\n")), paragraphs)
                for number, (heading, paragraphs) in enumerate(whole[first:last], 1)
            ]
            found.append(Manuscript(tuple(part)))
    return found


def zipped(files: Mapping[str, str], first: tuple[str, str] | None = None) -> bytes:
    """A zip archive of these files, ``first`` stored before them."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        if first:
            archive.writestr(*first, zipfile.ZIP_STORED)
        for path, content in files.items():
            archive.writestr(path, content)
    return buffer.getvalue()


def docx_by_word(manuscript: Manuscript) -> bytes:
    """As Word writes it, through python-docx: styles for headings, a title and page heads."""
    import docx

    document = docx.Document()
    document.core_properties.title = manuscript.title.upper()
    document.core_properties.author = manuscript.author
    document.sections[0].header.paragraphs[0].text = "The running head"
    for heading, paragraphs in manuscript.chapters:
        document.add_heading(heading, 1)
        for paragraph in paragraphs:
            first, space, rest = paragraph.partition(" ")
            added = document.add_paragraph()
            added.add_run(first).italic = True
            added.add_run(space + rest)
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_MAIN = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"


def docx_of_the_web(manuscript: Manuscript) -> bytes:
    """As Word on the web writes it: the main part has another name; levels stand in the paragraphs."""
    body = ""
    for heading, paragraphs in manuscript.chapters:
        lines = "<w:r><w:br/></w:r>".join(
            f"<w:r><w:t>{escape(one)}</w:t></w:r>" for one in heading.split("\n")
        )
        body += f'<w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr>{lines}</w:p>'
        for paragraph in paragraphs:
            body += (
                f'<w:p><w:r><w:t xml:space="preserve">{escape(paragraph)}</w:t></w:r>'
                "<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del></w:p>"
            )
    core = (
        f"<cp:c xmlns:cp='c' xmlns:dc='d'><dc:title>{manuscript.title}</dc:title>"
        f"<dc:creator>{manuscript.author}</dc:creator></cp:c>"
    )
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": f'<r><Relationship Type="{_MAIN}" Target="/word/document2.xml"/></r>',
            "word/document2.xml": f"<w:document {_WORD}><w:body>{body}</w:body></w:document>",
            "docProps/core.xml": core,
        }
    )


def odt(manuscript: Manuscript) -> bytes:
    """As LibreOffice writes it: spaces and line breaks as elements, a list of contents, comments."""
    body = "<text:table-of-content><text:p>Contents</text:p></text:table-of-content>"
    for heading, paragraphs in manuscript.chapters:
        lines = "<text:line-break/>".join(map(escape, heading.split("\n")))
        body += f'<text:h text:style-name="Heading_20_1" text:outline-level="1">{lines}</text:h>'
        for paragraph in paragraphs:
            first, _, rest = escape(paragraph).partition(" ")
            body += (
                f'<text:p text:style-name="P1"><text:span>{first}</text:span><text:s text:c="2"/>{rest}'
                "<office:annotation><text:p>A comment.</text:p></office:annotation></text:p>"
            )
    names = 'xmlns:office="o" xmlns:text="t" xmlns:dc="d" xmlns:meta="m"'
    return zipped(
        {
            "content.xml": f"<office:document-content {names}><office:body><office:text>{body}"
            "</office:text></office:body></office:document-content>",
            "meta.xml": f"<office:document-meta {names}><office:meta><dc:title>{manuscript.title}</dc:title>"
            f"<meta:initial-creator>{manuscript.author}</meta:initial-creator></office:meta></office:document-meta>",
        },
        ("mimetype", "application/vnd.oasis.opendocument.text"),
    )


def fb2(manuscript: Manuscript, encoding: str = "utf-8") -> bytes:
    """As e-book programs write it, with links to notes that are not there, and a cover."""
    first, _, last = manuscript.author.partition(" ")
    sections = ""
    for heading, paragraphs in manuscript.chapters:
        title = "".join(f"<p>{escape(line)}</p>" for line in heading.split("\n"))
        text = "".join(f'<p>{escape(one)}<a l:href="#n2" type="note">[1]</a></p>\n' for one in paragraphs)
        sections += f"<section>\n<title>{title}</title>\n{text}</section>\n"
    return (
        f'<?xml version="1.0" encoding="{encoding}"?>\n'
        '<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0" xmlns:l="http://www.w3.org/1999/xlink">'
        f"<description><title-info><author><first-name>{first}</first-name><last-name>{last}</last-name></author>"
        f"<book-title>{manuscript.title.upper()}</book-title></title-info></description><body>{sections}</body>"
        '<body name="notes"></body><binary id="c">AAAA</binary>'
        "</FictionBook>"
    ).encode(encoding, "xmlcharrefreplace")


def fb2_in_an_archive(manuscript: Manuscript) -> bytes:
    """In a code page of old, zipped, as libraries give it out."""
    text = fb2(manuscript, "windows-1251").decode("cp1251")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("weigher.fb2", text.encode("cp1251"))
    return buffer.getvalue()


def markdown(manuscript: Manuscript) -> bytes:
    """As pandoc writes it: front matter, emphasis, wrapped lines."""
    text = f'---\ntitle: "{manuscript.title}"\nauthor: {manuscript.author}\n---\n\n'
    for heading, paragraphs in manuscript.chapters:
        text += f"## {_marked(heading).replace(chr(10), '<br>')}\n\n"
        for paragraph in paragraphs:
            first, _, rest = paragraph.partition(" ")
            text += f"*{_marked(first)}* {_wrapped(_marked(rest))}\n\n"
    return text.encode()


def markdown_with_underlines(manuscript: Manuscript) -> bytes:
    """As people write it: the title a heading of its own, headings underlined."""
    text = f"{manuscript.title}\n=====\n\n"
    for heading, paragraphs in manuscript.chapters:
        text += f"{_marked(heading)}\n-----\n\n" + "".join(
            f"{_wrapped(_marked(p))}\r\n\r\n" for p in paragraphs
        )
    return text.encode()


def rtf(manuscript: Manuscript) -> bytes:
    """As Word writes it: characters escaped, headings of the outline, links, a header and a font table."""
    text = (
        r"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\froman\fcharset0 Times;}}{\colortbl;\red0;}"
        r"{\stylesheet{\s1\outlinelevel0 heading 1;}}"
        rf"{{\info{{\title {manuscript.title}}}{{\author {manuscript.author}}}}}"
        r"{\header The running head\par}" + "\n"
    )
    for heading, paragraphs in manuscript.chapters:
        lines = r"\line ".join(map(_escaped, heading.split("\n")))
        text += rf"\pard\plain \s1\outlinelevel0\b {lines}\par" + "\n"
        for paragraph in paragraphs:
            first, space, rest = paragraph.partition(" ")
            text += (
                rf"\pard\plain {{\field{{\*\fldinst HYPERLINK http://x}}{{\fldrslt {_escaped(first)}}}}}"
                rf"{space}{_escaped(rest)}{{\annotation A comment.}}\par" + "\r\n"
            )
    return f"{text}}}".encode("ascii")


def html(manuscript: Manuscript) -> bytes:
    body = "".join(
        f"<h2>{escape(heading).replace(chr(10), '<br>')}</h2>"
        + "".join(f"<p>{escape(p)}</p>" for p in paragraphs)
        for heading, paragraphs in manuscript.chapters
    )
    return (
        f"<!DOCTYPE html><html><head><title>{manuscript.title}</title>"
        f'<meta name="author" content="{manuscript.author}"></head><body>{body}</body></html>'
    ).encode()


def epub(manuscript: Manuscript) -> bytes:
    """A document a chapter."""
    files = {
        f"OPS/text/c{number}.xhtml": page(html(Manuscript((chapter,))).decode().partition("<body>")[2][:-14])
        for number, chapter in enumerate(manuscript.chapters)
    }
    metadata = package([f"c{number}" for number in range(len(files))]).replace(
        "The Miller's Gull</dc:title>",
        f"{manuscript.title}</dc:title><dc:creator>{manuscript.author}</dc:creator>",
    )
    return pack({"OPS/package.opf": metadata, **files})


FILES: dict[str, tuple[str, Callable[[Manuscript], bytes]]] = {
    "docx by word": ("weigher.docx", docx_by_word),
    "docx of the web": ("weigher.docx", docx_of_the_web),
    "odt": ("weigher.odt", odt),
    "fb2": ("weigher.fb2", fb2),
    "fb2 in an archive": ("weigher.fb2.zip", fb2_in_an_archive),
    "markdown": ("weigher.md", markdown),
    "markdown with underlines": ("weigher.markdown", markdown_with_underlines),
    "rtf": ("weigher.rtf", rtf),
    "html": ("weigher.html", html),
    "epub": ("weigher.epub", epub),
}


def _wrapped(text: str) -> str:
    return "\n".join(re.findall(r"\S.{0,70}(?!\S)", text))


def _marked(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]()#+.!<>&|-])", r"\\\1", text)


def _escaped(text: str) -> str:
    text = re.sub(r"([\\{}])", r"\\\1", text)
    return re.sub(r"[^\x00-\x7f]", lambda match: rf"\u{ord(match[0])}?", text)
