"""A source read into a book: its format found, what is not the book cut off, its chapters recognised."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path, PurePath

from indexing.book import Book, LeftOut, Page
from indexing.chapters.first_pages import title_page_end, unsearched
from indexing.chapters.outline import find_chapters
from indexing.errors import SourceError
from indexing.formats import gutenberg
from indexing.formats.apparatus import is_apparatus, left_out, sections
from indexing.formats.docx import read_docx
from indexing.formats.epub import read_epub
from indexing.formats.fb2 import read_fb2
from indexing.formats.html import read_page
from indexing.formats.markdown import read_markdown
from indexing.formats.markup import Document, Mark, MarkedText, join, marked_chapters, printed_pages
from indexing.formats.media_type import Media, media_of
from indexing.formats.metadata import stated_author, stated_language, stated_title
from indexing.formats.mobi import read_mobi
from indexing.formats.odt import read_odt
from indexing.formats.pdf import read_pdf
from indexing.formats.pictures import is_cover
from indexing.formats.plain_text import decode, normalise, with_blank_lines, with_whole_words
from indexing.formats.rtf import read_rtf
from indexing.ids import check_id
from indexing.sources.fetch import Fetched
from indexing.sources.locate import Source

_LONGEST_TITLE = 300  # characters
_LONGEST_TITLE_PAGE = 100  # words


def read_book(
    source: Source, id: str | None = None, title: str | None = None, everything: bool = False
) -> Book:
    """The book that ``source`` holds; ``everything`` is to be searched, what stands around the story, too.

    Without ``id`` it is the source's suggestion; without ``title`` it is what the file states, else
    what stands above the first ``by NAME``, which is the author of a text, else the file's name. Raises
    ``SourceError`` for what cannot be fetched or is no book, ``BadId`` for an id that is no slug.
    """
    id = check_id(source.suggested_id if id is None else id)
    given_title = title
    fetched = source.fetch()
    data = fetched.data
    media = media_of(source.name, data, fetched.content_type)
    document = _read(media, data, source.name, _charset(fetched.content_type))
    text = document.content.text
    start, end = gutenberg.body_span(text)
    body = text[start:end]
    if not title:
        title = (
            stated_title(gutenberg.stated_title(text))
            or stated_title(document.title)
            or stated_title(gutenberg.title_page(body))
            or _stem(source.name)
        )[:_LONGEST_TITLE]
    author = stated_author(gutenberg.stated_author(text)) or stated_author(document.author)
    if author is None:
        author = stated_author(gutenberg.author_on_title_page(body))
    if not re.search(r"\w", body):
        raise SourceError(
            f"{source.name} holds no text; wanted a book with words in it, not pictures of pages"
        )
    if media is Media.TEXT:
        chapters = find_chapters(body)
        spans = unsearched(body, chapters, gutenberg.signed(body))
        document = replace(document, left_out=tuple(LeftOut(start + s, start + e) for s, e in spans))
    else:
        contents, headings = (
            _without_title_page(_within(marks, start, end), (document.title, author), body)
            for marks in (document.contents, document.content.marks)
        )
        chapters = marked_chapters(body, contents, headings)
    pages = tuple(Page(page.label, max(0, page.start - start)) for page in document.pages if page.start < end)
    if media not in (Media.TEXT, Media.EPUB, Media.MOBI):  # whose documents say more than headings do
        entries = document.contents or document.content.marks
        document = replace(document, left_out=tuple(sections(entries, len(text))))
    clipped = [(max(one.start, start), min(one.end, end)) for one in document.left_out]
    clipped += gutenberg.licences(text, start, end)
    if media is not Media.TEXT:
        clipped.append((start, start + title_page_end(body, chapters, gutenberg.signed(body), None)))
    aside = [
        LeftOut(first - start, first - start + len(text[first:last].rstrip()))
        for first, last in clipped
        if not everything and text[first:last].strip()
    ]
    return Book(
        id,
        normalise(title),
        body,
        source.name,
        chapters,
        author and normalise(author),
        pages,
        stated_language(document.language or gutenberg.stated_language(text)),
        left_out(aside, len(body)),
        document.cover if is_cover(document.cover) else None,
        _source_key(source, fetched, given_title, everything),
    )


def source_key(source: Source, title: str | None = None, everything: bool = False) -> str:
    """SHA-256 of all that ``read_book`` makes a book of: equal ones mean that it would make the same.

    That is the file, its name without the folders, what else ``read_book`` is given, and our code that reads
    files. Raises ``SourceError`` for what cannot be fetched.
    """
    return _source_key(source, source.fetch(), title, everything)


def _source_key(source: Source, fetched: Fetched, title: str | None, everything: bool) -> str:
    read_from = {
        "data": hashlib.sha256(fetched.data).hexdigest(),
        "content_type": fetched.content_type,
        "name": PurePath(source.name.rstrip("/")).name,
        "title": title,
        "everything": everything,
        "code": _reading_code(),
    }
    return hashlib.sha256(json.dumps(read_from, sort_keys=True).encode()).hexdigest()


@cache
def _reading_code() -> str:
    digest = hashlib.sha256()
    indexing = Path(__file__).parents[1]
    for folder in (indexing / "formats", indexing / "chapters", indexing.parent / "text"):
        for path in sorted(folder.glob("*.py")):
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _read(media: Media, data: bytes, name: str, charset: str | None) -> Document:
    """What ``data`` holds, read as ``media``; ``charset`` is what its server stated."""
    match media:
        case Media.EPUB:
            return read_epub(data, name)
        case Media.DOCX:
            return read_docx(data, name)
        case Media.ODT:
            return read_odt(data, name)
        case Media.FB2:
            return read_fb2(data, name)
        case Media.MOBI:
            return read_mobi(data, name)
        case Media.PDF:
            return read_pdf(data, name)
        case Media.RTF:
            return read_rtf(data)
        case Media.HTML:
            page = read_page(data, name, charset)
            content = join(page.blocks)
            title, author = gutenberg.title_and_author(_title_of(page.title, content))
            author = page.author or author
            return Document(content, title, author, pages=printed_pages(content), language=page.language)
    text = normalise(decode(data, name, gutenberg.stated_encoding(data) or charset))
    if media is Media.MARKDOWN:
        return read_markdown(text, name)
    return Document(MarkedText(with_whole_words(with_blank_lines(text)), (), {}))


def _title_of(stated: str | None, content: MarkedText) -> str | None:
    """The title that a page states, or its one greatest heading where it is that and the site's name."""
    tops = [mark.label for mark in content.marks if mark.depth == 1]
    if not stated or len(tops) != 1 or not 0 < len(tops[0]) <= _LONGEST_TITLE:
        return stated
    named = re.match(
        rf"{re.escape(_on_one_line(tops[0]))}(?=\s*[|\u2013\u2014]|\s+-\s)", stated.strip(), re.I
    )
    return named[0] if named else stated


def _within(marks: Sequence[Mark], start: int, end: int) -> list[Mark]:
    """The marks that lie in ``text[start:end]``, counted from its start."""
    return [
        replace(mark, start=mark.start - start, end=min(mark.end, end) - start)
        for mark in marks
        if start <= mark.start < end
    ]


def _without_title_page(marks: list[Mark], named: Iterable[str | None], text: str) -> list[Mark]:
    """The marks without the first ones that are ``named`` or one of the names, with a few words each.

    A table of contents may stand before them.
    """
    on_title_page = {_on_one_line(one) for name in named if name for one in (name, *name.split(", "))}
    first = 0
    for at, (mark, after) in enumerate(pairwise(marks), 1):
        is_page = len(text[mark.start : after.start].split()) <= _LONGEST_TITLE_PAGE
        if is_page and _on_one_line(mark.label).removeprefix("by ") in on_title_page:
            first = at
        elif not is_apparatus((), mark.label):
            break
    return marks[first:]


def _on_one_line(name: str) -> str:
    return " ".join(name.lower().split()).strip(" .,")


def _charset(content_type: str | None) -> str | None:
    match = re.search(r"charset=[\"']?([\w.:-]+)", content_type or "", re.I)
    return match[1] if match else None


def _stem(name: str) -> str:
    return PurePath(name.rstrip("/")).stem or name
