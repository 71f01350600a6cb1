"""PDF: its lines as PDFium finds them, made into paragraphs; its outline, title, author and page numbers."""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from indexing.book import Page
from indexing.errors import SourceError
from indexing.formats.archive import damaged
from indexing.formats.initials import with_initials
from indexing.formats.markup import BEFORE_INITIAL, WORDS_OF_ONE_LETTER, Document
from indexing.formats.page_layout import Bookmark, Line, lay_out
from indexing.formats.plain_text import normalise
from indexing.formats.running_heads import printed_labels, running_heads, without_heads

_KIND = "a PDF"
_MOST_PAGES = 20_000
_MOST_CHARACTERS = 50_000_000
_MOST_BOOKMARKS = 10_000
_FEWEST_CHARACTERS = 10  # on a page, on average; fewer are page numbers and marks on pictures of pages
_MOST_UNKNOWN = 0.3  # of the characters
_HYPHEN = 0x02  # which PDFium puts for a hyphen that it takes for a line's end
_HYPHENS = (_HYPHEN, 0xFFFE)
# A number right behind a word, which leads to a note where it stands above the line.
_NOTE_MARK = re.compile(r"(?<=[^\s\d]) ?(\d{1,3})(?!\w)")
_ABOVE = 0.15  # of the height of the letter before it
_TALLER = 1.5  # times the rest of its line; an initial that stands up from it
# What may be between it and its word, where it is no word itself.
_APART_FROM_INITIAL = re.compile(
    rf"({BEFORE_INITIAL}(?![{''.join(WORDS_OF_ONE_LETTER)}])[^\W\d_]) (?=[^\W\d_]{{2}})(?![^\W\d_a-z][a-z])"
)
_REASON = re.compile(r"\(PDFium: ([^()]+)\)")
_PDFIUM = threading.Lock()  # it is not safe for threads


def read_pdf(data: bytes, name: str) -> Document:
    """The document that ``data`` holds; ``name`` is said in errors.

    Running heads and feet and page numbers are left out, words that a line's end parts are joined. Pages are
    labelled as the file says, else as their printed numbers say, those before the first not at all; where
    neither says anything, they are counted from 1. Raises
    ``SourceError`` for what is damaged, protected by a password, too large or has no text but pictures of it.
    """
    import pypdfium2  # type: ignore[import-untyped]

    try:
        with _PDFIUM, closing(pypdfium2.PdfDocument(data)) as pdf:
            count = len(pdf)
            if count > _MOST_PAGES:
                raise damaged(name, _KIND, f"it has {count:,} pages, more than the {_MOST_PAGES:,} allowed")
            pages = list(_pages(pdf, name))
            stated = [pdf.get_page_label(number) for number in range(count)]
            bookmarks = list(_bookmarks(pdf))
            title, author = pdf.get_metadata_value("Title"), pdf.get_metadata_value("Author")
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise SourceError(
                f"{name} is protected with a password; open it, print or save it without one, and index that"
            ) from error
        reason = _REASON.search(str(error))
        raise damaged(name, _KIND, (reason[1] if reason else str(error)).lower()) from error
    _check_text(pages, name)
    pages = with_initials(pages)
    heads = running_heads(pages)
    content, contents, starts = lay_out(without_heads(pages, heads), bookmarks)
    sheets = [label or str(number) for number, label in enumerate(stated, 1)]
    labels = sheets if any(stated) else printed_labels(len(pages), heads) or sheets
    numbered = tuple(Page(label, start) for label, start in zip(labels, starts, strict=True) if label)
    return Document(content, title, author, contents, numbered)


def _check_text(pages: list[list[Line]], name: str) -> None:
    """Raise ``SourceError`` where the pages are pictures, or of letters that no program can tell."""
    text = "".join(line.text for lines in pages for line in lines)
    if len(text) < _FEWEST_CHARACTERS * len(pages):
        raise SourceError(
            f"{name} is a PDF of pictures of pages (scanned), without their text; "
            "have a program recognise it (OCR, such as ocrmypdf), and index what that makes"
        )
    unknown = sum(1 for letter in text if letter == "\ufffd" or "\ue000" <= letter <= "\uf8ff")
    if unknown > _MOST_UNKNOWN * len(text):
        raise SourceError(
            f"{name} does not say which letters its fonts show; "
            "have a program recognise them (OCR, such as ocrmypdf --force-ocr), and index what that makes"
        )


def _pages(pdf: Any, name: str) -> Iterator[list[Line]]:
    left = _MOST_CHARACTERS
    for number in range(len(pdf)):
        with closing(pdf[number]) as page, closing(page.get_textpage()) as text:
            left -= text.count_chars()
            if left < 0:
                raise damaged(name, _KIND, f"it holds more than {_MOST_CHARACTERS:,} characters")
            lines = [*_lines(text, number)]
            yield [
                line
                for before, line in zip([None, *lines], lines, strict=False)
                if not _is_note(before, line)
            ]


def _lines(page: Any, number: int) -> Iterator[Line]:
    """The lines of a page in the order in which they are drawn."""
    from pypdfium2 import raw

    codes: list[int] = []
    places: list[int] = []  # of the codes on the page
    visible: list[int] = []  # the places of those that are no space

    def box_at(place: int) -> Any:
        box = raw.FS_RECTF()
        raw.FPDFText_GetLooseCharBox(page, place, ctypes.byref(box))
        return box

    def line(hyphen: bool) -> Iterator[Line]:
        for match in reversed([*_NOTE_MARK.finditer("".join(map(chr, codes)))]):
            if _is_raised(page, places[match.start(1)], places[match.start() - 1]):
                del codes[match.start() : match.end()]
        text = "".join(map(chr, codes))
        # Characters beyond U+FFFF may come as two surrogates.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        text = " ".join(normalise(text).split())
        if not visible or not text:
            return
        first, middle, last = (box_at(visible[at]) for at in (0, len(visible) // 2, -1))
        rest = max(middle, last, key=lambda box: box.top - box.bottom)
        high = first
        if first.top - first.bottom >= _TALLER * (rest.top - rest.bottom):
            apart = _APART_FROM_INITIAL.match(text)
            high, text = rest, f"{apart[1]}{text[apart.end() :]}" if apart else text
        yield Line(text, number, first.left, max(last.right, first.left), high.top, high.bottom, hyphen)

    for at in range(page.count_chars()):
        code = raw.FPDFText_GetUnicode(page, at)
        if code == 0x0A or code in _HYPHENS:
            yield from line(code in _HYPHENS)
            codes.clear()
            places.clear()
            visible.clear()
        elif code != 0x0D:
            code = code if 0 < code < 0x110000 else 0xFFFD
            codes.append(code)
            places.append(at)
            if not chr(code).isspace():
                visible.append(at)
    yield from line(False)


def _is_raised(page: Any, at: int, before: int) -> bool:
    """Whether a character is not larger than the one before it and stands above its line."""
    from pypdfium2 import raw

    box = raw.FS_RECTF()
    x, y = ctypes.c_double(), ctypes.c_double()
    measured = []
    for place in (at, before):
        raw.FPDFText_GetLooseCharBox(page, place, ctypes.byref(box))
        raw.FPDFText_GetCharOrigin(page, place, ctypes.byref(x), ctypes.byref(y))
        measured.append((box.top - box.bottom, y.value))
    (height, foot), (full_height, line) = measured
    return bool(height <= full_height and foot > line + _ABOVE * full_height)


def _is_note(before: Line | None, line: Line) -> bool:
    """Whether a line is nothing but a raised number right behind the one before it: in another font."""
    return (
        before is not None
        and re.fullmatch(r"\d{1,3}", line.text) is not None
        and before.bottom + _ABOVE * before.height < line.bottom < before.top
        and abs(line.left - before.right) < before.height
    )


def _bookmarks(pdf: Any) -> Iterator[Bookmark]:
    """The entries of the outline that lead to a place in the document."""
    for number, entry in enumerate(pdf.get_toc()):
        if number >= _MOST_BOOKMARKS:
            break
        target = entry.get_dest()
        page = None if target is None else target.get_index()
        label = " ".join((entry.get_title() or "")[:1000].split())
        if page is None or not label:
            continue
        kind, view = target.get_view()
        top = _top(kind, view)
        yield Bookmark(entry.level + 1, label, page, top)


def _top(kind: int, view: list[float]) -> float | None:
    """How high on its page the place of a bookmark is (PDF 32000-1, table 151); None for the whole page."""
    from pypdfium2 import raw

    if kind == raw.PDFDEST_VIEW_XYZ and len(view) > 1:
        return view[1]
    if kind in (raw.PDFDEST_VIEW_FITH, raw.PDFDEST_VIEW_FITBH) and view:
        return view[0]
    return None
