"""What a build says about itself: the manifest beside its files, and the settings it was made with."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from encoders.sizes import default_encoder
from indexing.book import Book, Chapter, LeftOut, Page
from indexing.errors import IndexMismatch, naming_open_files
from text.errors import StoryQAError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FORMAT = 1
MANIFEST = "manifest.json"
COVER = "cover"  # the file of a build that holds the picture, where the book has one
_LARGEST = 2**26  # bytes; a thousand chapters take a hundredth of it
# What files raise that are no JSON, JSON that is too deep, or other JSON than a manifest.
_UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
WINDOW_WORDS = 80
WINDOW_STEP = 60
OWN_TIMES = 2  # that a passage's own words count, beside those that lead to it


@dataclass(frozen=True, slots=True)
class BuildSettings:
    """How a book is indexed: words per passage, words two neighbours share, name or folder of the encoder."""

    words: int = 200
    overlap: int = 0
    encoder: str = field(default_factory=default_encoder)

    def __post_init__(self) -> None:
        if self.words < 1:
            raise StoryQAError(f"passages of {self.words} words; wanted 1 or more")
        if not 0 <= self.overlap < self.words:
            raise StoryQAError(
                f"passages of {self.words} words cannot overlap by {self.overlap}; "
                "wanted 0 <= overlap < words"
            )

    @property
    def context_words(self) -> int:
        """How many words before a passage are searched with it: 80 for passages of 200."""
        return 2 * self.words // 5


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One file of a build: its size in bytes and its SHA-256."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Counts:
    """How much of everything a build holds."""

    characters: int
    words: int
    passages: int
    terms: int
    postings: int
    windows: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything about a build but its arrays; ``key`` is the content hash that ``content_key`` gives.

    ``source_key`` is the book's, None in builds of before there was one. ``context_words`` is how many words
    before a passage, and with them its chapter's title, count as its own where words are searched.
    """

    id: str
    title: str
    source: str
    chapters: tuple[Chapter, ...]
    key: str
    settings: BuildSettings
    encoder_hash: str
    width: int
    window_words: int
    window_step: int
    text_sha256: str
    counts: Counts
    files: Mapping[str, FileRecord]
    built_at: str
    build_seconds: float
    author: str | None = None
    pages: tuple[Page, ...] = ()
    language: str | None = None
    left_out: tuple[LeftOut, ...] = ()
    source_key: str | None = None
    context_words: int = 0

    @property
    def version(self) -> str:
        """Twelve hex digits that change exactly when the content or the way it is indexed does."""
        return self.key[:12]

    @property
    def bytes(self) -> int:
        """What the build's files take on disk, this manifest apart."""
        return sum(record.bytes for record in self.files.values())

    @property
    def has_cover(self) -> bool:
        """Whether the build holds the picture on the book's cover."""
        return COVER in self.files

    def repair(self) -> str:
        """The command that builds this index anew."""
        options = ["--id", self.id]
        usual = BuildSettings()
        if self.settings.words != usual.words:
            options += ["--words", str(self.settings.words)]
        if self.settings.overlap != usual.overlap:
            options += ["--overlap", str(self.settings.overlap)]
        if self.settings.encoder != usual.encoder:
            options += ["--encoder", self.settings.encoder]
        return shlex.join(["storyqa", "index", self.source, *options, "--force"])

    def mismatch(self, problem: str) -> IndexMismatch:
        """The error for a build that is not what this manifest says."""
        return IndexMismatch(f"the index of {self.id!r}: {problem}; rebuild it: {self.repair()}")


def text_sha256(text: str) -> str:
    """SHA-256 of the text's UTF-8 bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def content_key(book: Book, settings: BuildSettings, encoder_hash: str) -> str:
    """SHA-256 of all that a build depends on, so that equal keys mean nothing is to be done.

    ``book.source`` is not part of it: a library that was moved need not be indexed again.
    """
    content = {
        "format": FORMAT,
        "title": book.title,
        "text": text_sha256(book.text),
        "chapters": [asdict(chapter) for chapter in book.chapters],
        "settings": asdict(settings),
        "encoder": encoder_hash,
        "windows": [WINDOW_WORDS, WINDOW_STEP],
        "context": [settings.context_words, OWN_TIMES],
    }
    # What older builds did not know is left out where there is none: their keys are as they were.
    if book.author is not None:
        content["author"] = book.author
    if book.pages:
        content["pages"] = [asdict(page) for page in book.pages]
    if book.language is not None:
        content["language"] = book.language
    if book.left_out:
        content["left_out"] = [asdict(one) for one in book.left_out]
    if book.cover is not None:
        content["cover"] = hashlib.sha256(book.cover).hexdigest()
    return _digest(content)


def write_manifest(manifest: Manifest, directory: Path) -> None:
    """Write ``manifest.json`` with its format version and a checksum of all else in it."""
    content = {"format": FORMAT, **asdict(manifest)}
    text = json.dumps({**content, "checksum": _digest(content)}, indent=1)
    (directory / MANIFEST).write_text(text + "\n", encoding="utf-8")


def read_manifest(directory: Path, id: str) -> Manifest:
    """The manifest of the build of ``id`` in ``directory``; or IndexMismatch."""
    path = directory / MANIFEST
    try:
        with naming_open_files(path), path.open("rb") as file:
            content = file.read(_LARGEST)
    except OSError as error:
        repair = f"rebuild it: storyqa index SOURCE --id {id} --force"
        raise IndexMismatch(f"the index of {id!r}: {path} cannot be read ({error}); {repair}") from error
    return parsed_manifest(content, str(path), id)


def parsed_manifest(written: bytes, path: str, id: str) -> Manifest:
    """The manifest of the build of ``id`` that was ``written`` to ``path``; or IndexMismatch."""
    repair = f"rebuild it: storyqa index SOURCE --id {id} --force"
    try:
        content = json.loads(written)
        given = content["format"]
        checksum = content.pop("checksum")
        digest = _digest(content)
    except _UNREADABLE as error:
        raise IndexMismatch(f"the index of {id!r}: {path} cannot be read ({error}); {repair}") from error
    if given != FORMAT:
        raise IndexMismatch(
            f"the index of {id!r} is in format {given!r:.50} and this storyqa reads format {FORMAT}; {repair}"
        )
    if checksum != digest:
        raise IndexMismatch(f"the index of {id!r}: {path} is damaged (its checksum differs); {repair}")
    try:
        manifest = _validator().validate_python(content)
    except (ValueError, StoryQAError) as error:  # not damaged, but written by something else
        raise IndexMismatch(f"the index of {id!r}: {path} holds no manifest's values; {repair}") from error
    if manifest.id != id:
        raise IndexMismatch(f"the index of {id!r}: {path} is of {manifest.id!r}; {repair}")
    return manifest


def _digest(content: Mapping[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


@cache
def _validator() -> TypeAdapter[Manifest]:
    from pydantic import TypeAdapter

    return TypeAdapter(Manifest)
