"""What kind of file something is: decided here, from its name, its content type and its first bytes."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import PurePosixPath

from indexing.errors import SourceError


class Media(Enum):
    """A kind of file that a book can be read from."""

    TEXT = "text"
    MARKDOWN = "Markdown"
    HTML = "HTML"
    EPUB = "EPUB"
    PDF = "PDF"
    DOCX = "DOCX"
    ODT = "ODT"
    RTF = "RTF"
    FB2 = "FB2"
    MOBI = "MOBI/AZW3"


WANTED = f"wanted {', '.join(media.value for media in [*Media][:-1])} or {[*Media][-1].value}"

_SUFFIXES = {
    ".txt": Media.TEXT,
    ".text": Media.TEXT,
    ".md": Media.MARKDOWN,
    ".markdown": Media.MARKDOWN,
    ".html": Media.HTML,
    ".htm": Media.HTML,
    ".xhtml": Media.HTML,
    ".epub": Media.EPUB,
    ".pdf": Media.PDF,
    ".docx": Media.DOCX,
    ".odt": Media.ODT,
    ".rtf": Media.RTF,
    ".fb2": Media.FB2,
    ".fb2.zip": Media.FB2,
    ".mobi": Media.MOBI,
    ".azw": Media.MOBI,
    ".azw3": Media.MOBI,
    ".prc": Media.MOBI,
    ".content": None,  # NarrativeQA's stories: text or a page, as the site that had them served them
}
# Of the files in a folder; notes in Markdown lie beside books more often than they are books.
FOLDER_SUFFIXES = tuple(suffix for suffix, media in _SUFFIXES.items() if media is not Media.MARKDOWN)
_CONTENT_TYPES = {
    "text/plain": Media.TEXT,
    "text/markdown": Media.MARKDOWN,
    "text/html": Media.HTML,
    "application/xhtml+xml": Media.HTML,
}
_MAGIC = ((b"%PDF-", Media.PDF), (b"{\\rtf", Media.RTF))
_FOREIGN = (
    (b"\xd0\xcf\x11\xe0", "an old Word document, or one with a password"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"TPZ", "a Kindle book (Topaz)"),
    (b"\xeaDRMION\xee", "a Kindle book (KFX) that is protected (DRM)"),
    (b"CONT\x02\0", "a Kindle book (KFX)"),
)
_PALM_TYPES = (b"BOOKMOBI", b"TEXtREAd")  # type and creator of a Palm database: Mobipocket's, PalmDOC's
# In zip archives: the names of their parts, and the kinds that are not books.
_EPUB_PARTS = (b"application/epub+zip", b"META-INF/container.xml")
_DOCX_PARTS = (b"word/document", b"[Content_Types].xml")
_ODT_TYPE = b"application/vnd.oasis.opendocument.text"
_OFFICE = (
    (b"[Content_Types].xml", "a document of Microsoft Office that holds no text, such as XLSX"),
    (b"application/vnd.oasis.opendocument", "an OpenDocument file that holds no text, such as ODS"),
)
_SAVE_AS = "open it in the program it is from and save it as DOCX or as text (.txt)"
_CONVERT = "convert it to EPUB, with Calibre for instance"
_CONVERT_XML = "convert it to one of these, with pandoc for instance, so that its marks are not read as text"
_ZIP = b"PK\x03\x04"
_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?[^>]*>\s*)*+(?:(?><!--.*?-->)\s*+)*+<(?:!doctype\s+html|html|head|body|title|meta)\b",
    re.I | re.S,
)
_FB2 = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?[^>]*>\s*)*+(?:(?><!--.*?-->)\s*+)*+<(?:\w+:)?FictionBook\b", re.S
)
_XML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<\?xml\s")
_HEAD = 4096
_PDF_HEAD = 1024  # bytes in which a PDF may begin (PDF 32000-1, annex H.3)


def media_of(name: str, data: bytes, content_type: str | None = None) -> Media:
    """The kind of the file ``name`` (a path or an address) that holds ``data``.

    An archive that is a book is one whatever its name, and so is all that its first bytes tell. Else what
    the name's suffix and the content type promise is held against the first bytes: text that turns out to
    be a page (as when a site answers with an error page), and anything that is no book, raise
    ``SourceError``.
    """
    if not data.strip(b"\0 \t\r\n"):
        raise SourceError(f"{name} is empty; {WANTED}")
    if data.startswith(_ZIP):
        return _media_of_archive(name, data)
    for magic, media in _MAGIC:
        if data.startswith(magic):
            return media
    for magic, kind in _FOREIGN:
        if data.startswith(magic):
            advice = (
                _SAVE_AS if "Word" in kind else _CONVERT if "Kindle" in kind else "convert it to one of these"
            )
            raise SourceError(f"{name} is {kind}; {WANTED}: {advice}")
    if data[60:68] in _PALM_TYPES:
        return Media.MOBI
    promised = _promised(name, content_type)
    if promised is Media.FB2 or _FB2.match(data[:_HEAD]):
        return Media.FB2
    if promised is Media.PDF and b"%PDF-" in data[:_PDF_HEAD]:
        return Media.PDF
    found = Media.HTML if _HTML.match(data[:_HEAD]) else Media.TEXT
    if promised in (Media.EPUB, Media.PDF, Media.DOCX, Media.ODT, Media.RTF, Media.MOBI):
        raise SourceError(
            f"{name} is named {promised.value} but holds {found.value}; get it again or rename it"
        )
    if promised is Media.TEXT and found is Media.HTML:
        raise SourceError(
            f"{name} holds an HTML page where text was expected (an error page?); "
            "look at it in a browser, and if it is the book, save it as .html"
        )
    if promised is not Media.HTML and found is not Media.HTML and _XML.match(data[:_HEAD]):
        raise SourceError(f"{name} is XML of a kind that is not read; {WANTED}: {_CONVERT_XML}")
    return promised or found


def _media_of_archive(name: str, data: bytes) -> Media:
    head = data[:200]
    if _ODT_TYPE in head and _ODT_TYPE + b"-template" not in head:
        return Media.ODT
    if any(part in data for part in _EPUB_PARTS):
        return Media.EPUB
    if all(part in data for part in _DOCX_PARTS):
        return Media.DOCX
    if re.search(rb"\.fb2", data, re.I):
        return Media.FB2
    for part, kind in _OFFICE:
        if part in data:
            raise SourceError(f"{name} is {kind}; {WANTED}: {_SAVE_AS}")
    raise SourceError(f"{name} is a zip archive and no book; {WANTED}: unpack it and index the books in it")


def _promised(name: str, content_type: str | None) -> Media | None:
    suffix = PurePosixPath(name.replace("\\", "/").partition("?")[0]).suffix.lower()
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    return _CONTENT_TYPES.get((content_type or "").partition(";")[0].strip().lower())
