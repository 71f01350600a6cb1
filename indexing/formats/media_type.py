"""What kind of file something is: decided here, from its name, its content type and its first bytes."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import PurePosixPath

from indexing.errors import SourceError


class Media(Enum):
    """A kind of file that a book can be read from."""

    TEXT = "text"
    HTML = "HTML"
    EPUB = "EPUB"


_SUFFIXES = {
    ".txt": Media.TEXT,
    ".text": Media.TEXT,
    ".md": Media.TEXT,
    ".html": Media.HTML,
    ".htm": Media.HTML,
    ".xhtml": Media.HTML,
    ".epub": Media.EPUB,
    ".content": None,  # NarrativeQA's stories: text or a page, as the site that had them served them
}
# Of the files in a folder; notes in Markdown lie beside books more often than they are books.
FOLDER_SUFFIXES = tuple(suffix for suffix in _SUFFIXES if suffix != ".md")
_CONTENT_TYPES = {
    "text/plain": Media.TEXT,
    "text/markdown": Media.TEXT,
    "text/html": Media.HTML,
    "application/xhtml+xml": Media.HTML,
    "application/epub+zip": Media.EPUB,
}
_FOREIGN = (
    (b"%PDF", "a PDF"),
    (b"{\\rtf", "an RTF document"),
    (b"\xd0\xcf\x11\xe0", "an old Word document"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
)
_WRITTEN = ("an RTF document", "an old Word document")
_OFFICE = (
    (b"[Content_Types].xml", "a document of Microsoft Office, such as DOCX"),
    (b"application/vnd.oasis.opendocument", "an OpenDocument file, such as ODT"),
)
_SAVE_AS = "open it in the program it is from and save it as text (.txt) or as a web page (.html)"
_ZIP = b"PK\x03\x04"
_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:(?><!--.*?-->)\s*+)*+<(?:!doctype\s+html|html|head|body|title|meta)\b",
    re.I | re.S,
)
_HEAD = 4096
_EXPECTED = "wanted a text file, an HTML page or an EPUB"


def media_of(name: str, data: bytes, content_type: str | None = None) -> Media:
    """The kind of the file ``name`` (a path or an address) that holds ``data``.

    An archive that is an EPUB is one whatever its name. Else what the name's suffix and the content
    type promise is held against the first bytes: text that turns out to be a page (as when a site
    answers with an error page), and anything that is no book, raise ``SourceError``.
    """
    if not data.strip(b"\0 \t\r\n"):
        raise SourceError(f"{name} is empty; {_EXPECTED}")
    if data.startswith(_ZIP):
        if b"application/epub+zip" in data[:200] or b"META-INF/container.xml" in data:
            return Media.EPUB
        for part, kind in _OFFICE:
            if part in data:
                raise SourceError(f"{name} is {kind}; {_EXPECTED}: {_SAVE_AS}")
        raise SourceError(
            f"{name} is a zip archive and no EPUB; {_EXPECTED}: unpack it and index the books in it"
        )
    for magic, kind in _FOREIGN:
        if data.startswith(magic):
            advice = _SAVE_AS if kind in _WRITTEN else "convert it to one of these"
            raise SourceError(f"{name} is {kind}; {_EXPECTED}: {advice}")
    if data[60:68] in (b"BOOKMOBI", b"TEXtREAd"):
        raise SourceError(f"{name} is a Kindle book; {_EXPECTED}: convert it to EPUB")
    promised = _promised(name, content_type)
    found = Media.HTML if _HTML.match(data[:_HEAD]) else Media.TEXT
    if promised is Media.EPUB:
        raise SourceError(f"{name} is named an EPUB but holds {found.value}; get it again or rename it")
    if promised is Media.TEXT and found is Media.HTML:
        raise SourceError(
            f"{name} holds an HTML page where text was expected (an error page?); "
            "look at it in a browser, and if it is the book, save it as .html"
        )
    return promised or found


def _promised(name: str, content_type: str | None) -> Media | None:
    suffix = PurePosixPath(name.replace("\\", "/").partition("?")[0]).suffix.lower()
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    return _CONTENT_TYPES.get((content_type or "").partition(";")[0].strip().lower())
