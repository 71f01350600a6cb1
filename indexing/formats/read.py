"""A source read into a book: its format found, what is not the book cut off, its chapters recognised."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from indexing.book import Book
from indexing.chapters.outline import find_chapters
from indexing.errors import SourceError
from indexing.formats import gutenberg
from indexing.formats.epub import read_epub
from indexing.formats.html import read_page
from indexing.formats.markup import Mark, join, marked_chapters
from indexing.formats.media_type import Media, media_of
from indexing.formats.plain_text import decode, normalise
from indexing.ids import check_id
from indexing.sources.locate import Source

_LONGEST_TITLE = 300  # characters of what a file states; a page's <title> may hold the whole book


def read_book(source: Source, id: str | None = None, title: str | None = None) -> Book:
    """The book that ``source`` holds.

    Without ``id`` it is the source's suggestion; without ``title`` it is what the file states, else
    what stands above the first ``by NAME``, else the file's name. Raises ``SourceError`` for what
    cannot be fetched or is no book, ``BadId`` for an id that is no slug.
    """
    id = check_id(source.suggested_id if id is None else id)
    fetched = source.fetch()
    data = fetched.data
    media = media_of(source.name, data, fetched.content_type)
    charset = _charset(fetched.content_type)
    stated: str | None = None
    marks: tuple[Sequence[Mark], ...] = ()
    if media is Media.EPUB:
        epub = read_epub(data, source.name)
        text, stated, marks = epub.content.text, epub.title, (epub.contents, epub.content.marks)
    elif media is Media.HTML:
        page = read_page(data, source.name, charset)
        content = join(page.blocks)
        text, stated, marks = content.text, page.title, (content.marks,)
    else:
        text = normalise(decode(data, source.name, gutenberg.stated_encoding(data) or charset))
    start, end = gutenberg.body_span(text)
    body = text[start:end]
    if not re.search(r"\w", body):
        raise SourceError(
            f"{source.name} holds no text; wanted a book with words in it, not pictures of pages"
        )
    if media is Media.TEXT:
        chapters = find_chapters(body)
    else:
        chapters = marked_chapters(body, *(_within(each, start, end) for each in marks))
    if not title:
        found = gutenberg.stated_title(text) or stated or gutenberg.title_page(body) or _stem(source.name)
        title = found[:_LONGEST_TITLE]
    return Book(id, normalise(title), body, source.name, chapters)


def _within(marks: Sequence[Mark], start: int, end: int) -> list[Mark]:
    """The marks that lie in ``text[start:end]``, counted from its start."""
    return [
        replace(mark, start=mark.start - start, end=min(mark.end, end) - start)
        for mark in marks
        if start <= mark.start < end
    ]


def _charset(content_type: str | None) -> str | None:
    match = re.search(r"charset=[\"']?([\w.:-]+)", content_type or "", re.I)
    return match[1] if match else None


def _stem(name: str) -> str:
    return PurePath(name.rstrip("/")).stem or name
