"""NarrativeQA's stories as its download script left them, checked against what documents.csv says of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evaluation.benchmarks.files import read_rows
from evaluation.benchmarks.narrativeqa import read_story
from evaluation.preparation.pairing import LOWEST_SHARE, shared_names
from indexing.errors import SourceError
from indexing.formats.media_type import Media, media_of
from indexing.formats.plain_text import decode

COLUMNS = (
    "document_id",
    "set",
    "kind",
    "wiki_title",
    "story_file_size",
    "story_word_count",
    "story_start",
    "story_end",
)
LEAST_SHARE_OF_WORDS = 0.5  # of the words that documents.csv counts, which are tokens, licence included
_WORD = re.compile(r"[^\W_]+")

# What a story can be; the first two are fit to be indexed.
OK, CHANGED = "ok", "changed"
MISSING, ERROR_PAGE, INCOMPLETE, WRONG_WORK = "missing", "error page", "incomplete", "wrong work"
STATUSES = (OK, CHANGED, MISSING, ERROR_PAGE, INCOMPLETE, WRONG_WORK)
USABLE = (OK, CHANGED)


@dataclass(frozen=True, slots=True)
class Checked:
    """One document: what its story is, and what was found that made it so."""

    id: str
    split: str
    title: str
    status: str
    reasons: tuple[str, ...] = ()


def story_path(repo: Path, id: str) -> Path:
    """Where the download script leaves the story."""
    return repo / "tmp" / f"{id}.content"


def documents(repo: Path) -> list[dict[str, str]]:
    """The rows of documents.csv; raises ``DataError`` where it is missing or has other columns."""
    return read_rows(repo / "documents.csv", COLUMNS, "a clone of the NarrativeQA repository")


def summaries(repo: Path) -> dict[str, str]:
    """The summary of each document that has one; raises as ``documents`` does."""
    path = repo / "third_party" / "wikipedia" / "summaries.csv"
    rows = read_rows(path, ("document_id", "summary"), "a clone of the NarrativeQA repository")
    return {row["document_id"]: row["summary"] for row in rows}


def check(repo: Path, row: Mapping[str, str], summary: str) -> Checked:
    """What the story of one row of documents.csv is; it is read from end to end."""
    status, reasons = _check(story_path(repo, row["document_id"]), row, summary)
    return Checked(row["document_id"], row["set"], row["wiki_title"], status, tuple(reasons))


def _check(path: Path, row: Mapping[str, str], summary: str) -> tuple[str, list[str]]:
    if not path.is_file():
        return MISSING, [f"no {path.name} in {path.parent.name}"]
    data = path.read_bytes()
    if not data.strip():
        return MISSING, [f"{path.name} is empty"]
    try:
        page = media_of(path.name, data) is Media.HTML
        raw = _words(decode(data, path.name))
        book = read_story(path, row["document_id"])
    except SourceError as error:
        return INCOMPLETE, [str(error)]
    reasons = _differences(row, len(data), raw)
    if page and row["kind"] == "gutenberg":
        return ERROR_PAGE, ["an HTML page where Project Gutenberg has plain text"]
    counted, wanted = len(book.text.split()), int(row["story_word_count"] or 0)
    if counted < LEAST_SHARE_OF_WORDS * wanted:
        reasons = [f"{counted:,} words of {wanted:,}", *reasons]
        return (ERROR_PAGE if page else INCOMPLETE), reasons
    share = shared_names(summary, book.text)
    if share is not None and share < LOWEST_SHARE:
        return WRONG_WORK, [f"{share:.0%} of the summary's proper names occur in it", *reasons]
    return (CHANGED if reasons else OK), reasons


def _differences(row: Mapping[str, str], size: int, raw: str) -> list[str]:
    """In what the file differs from the one that documents.csv describes; ``raw`` is its ``_words``."""
    reasons = []
    wanted = int(row["story_file_size"] or 0)
    if size != wanted:
        reasons.append(f"{size:,} bytes, documents.csv says {wanted:,}")
    for end in ("start", "end"):
        marker = row[f"story_{end}"]
        if _words(marker) not in raw:
            reasons.append(f"its {end} marker {marker!r} does not occur")
    return reasons


def _words(text: str) -> str:
    """The words of ``text`` between single spaces: what is left of it however it is tokenised."""
    return f" {' '.join(_WORD.findall(text.lower()))} "
