"""What ``storyqa index`` says of each book: to people, to machines, and in the report of bad ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from terminal.output import counted, size
from text.output_files import check_file

if TYPE_CHECKING:
    from indexing.build import Outcome
    from indexing.sources.locate import Ignored

_MOST_TOLD = 20  # files that were passed over


class Report:
    """A file with a line of JSON for each book that could not be indexed; without ``path`` there is none."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.number = 0

    def begin(self, read: Iterable[str | Path]) -> None:
        """Empty the file, as the first of its lines may be written from now on.

        Raises StoryQAError where it cannot be written, or is one of the files that are ``read``, which would
        be lost.
        """
        if self._path is None:
            return
        check_file(self._path, *map(Path, read), option="--report")
        self._path.write_bytes(b"")

    def add(self, outcome: Outcome) -> None:
        """Add the line of a book that failed; it is there when this returns."""
        self.number += 1
        if self._path is not None:
            line = json.dumps(record(outcome), ensure_ascii=False) + "\n"
            with self._path.open("a", encoding="utf-8", newline="\n", errors="surrogatepass") as file:
                file.write(line)


def tell_ignored(ignored: list[Ignored]) -> None:
    """Say on standard error which files were passed over, for they may be books."""
    for one in ignored[:_MOST_TOLD]:
        print(f"storyqa: {one.name}: {one.why}", file=sys.stderr, flush=True)
    if len(ignored) > _MOST_TOLD:
        more = counted(len(ignored) - _MOST_TOLD, "other file")
        print(f"storyqa: {more} passed over; --json names them all", file=sys.stderr, flush=True)


def line(outcome: Outcome) -> str:
    """What people read of a book that is in the store now."""
    manifest = outcome.manifest
    assert manifest is not None, "only a failed outcome has no manifest"
    if outcome.status == "skipped":
        return f"{outcome.id}: unchanged"
    facts = (
        counted(manifest.counts.words, "word"),
        counted(manifest.counts.passages, "passage"),
        counted(len(manifest.chapters), "chapter"),
        size(manifest.bytes),
        f"{manifest.build_seconds:.1f} s",
    )
    return f"{outcome.id}: {', '.join(facts)}"


def complaint(outcome: Outcome) -> str:
    """What people read of a book that failed; its name once, which most errors begin with."""
    named = outcome.message.startswith(outcome.name)
    return outcome.message if named else f"{outcome.name}: {outcome.message}"


def record(outcome: Outcome) -> dict[str, Any]:
    """What machines read of any outcome."""
    content: dict[str, Any] = {"name": outcome.name, "id": outcome.id, "status": outcome.status}
    if outcome.manifest is None:
        return content | {"message": outcome.message}
    manifest = outcome.manifest
    return content | {
        "title": manifest.title,
        "version": manifest.version,
        "words": manifest.counts.words,
        "passages": manifest.counts.passages,
        "chapters": len(manifest.chapters),
        "bytes": manifest.bytes,
        "seconds": manifest.build_seconds,
    }
