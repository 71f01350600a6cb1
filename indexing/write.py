"""One book's build, written to a directory: a pure function of the book, the settings and the encoder."""

from __future__ import annotations

import hashlib
import io
import os
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from encoders.bi_encoder import Encoder
from indexing.book import Book, Passage
from indexing.errors import SourceError
from indexing.manifest import (
    COVER,
    OWN_TIMES,
    WINDOW_STEP,
    WINDOW_WORDS,
    BuildSettings,
    Counts,
    FileRecord,
    Manifest,
    content_key,
    text_sha256,
    write_manifest,
)
from indexing.passages import LONGEST_WORD, last_words, split
from indexing.sparse import sparse_arrays
from indexing.vectors import faiss_module, flat_index, windows
from text.codepoints import pack

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def write_build(
    book: Book,
    settings: BuildSettings,
    encoder: Encoder,
    directory: Path,
    on_progress: Callable[[int, int], None] | None = None,
) -> Manifest:
    """Index ``book`` into the empty ``directory``, flushed to disk; ``on_progress(windows done, of)``.

    Raises SourceError for a book without words.
    """
    import numpy as np

    started = time.perf_counter()
    passages = _searched_passages(book, settings)
    if not passages:
        raise SourceError(f"{book.source} has no words to index")
    texts, begins = windows(book.text, passages)
    arrays: dict[str, NDArray[np.generic]] = {
        "text": pack(book.text),
        "passages": np.array([(p.start, p.end) for p in passages], dtype="<i8"),
        "windows": begins,
        **sparse_arrays(in_context(book, passages, settings.context_words)),
    }
    for name, array in arrays.items():
        content = io.BytesIO()
        np.save(content, array, allow_pickle=False)
        # Written by Python, for the OSError of a full disk: numpy's and FAISS's own do not say what is wrong.
        (directory / f"{name}.npy").write_bytes(content.getbuffer())
    vectors = flat_index(_encode(encoder, texts, on_progress))
    (directory / "vectors.faiss").write_bytes(faiss_module().serialize_index(vectors).data)
    if book.cover is not None:
        (directory / COVER).write_bytes(book.cover)
    manifest = Manifest(
        id=book.id,
        title=book.title,
        source=book.source,
        chapters=book.chapters,
        key=content_key(book, settings, encoder.hash),
        settings=settings,
        encoder_hash=encoder.hash,
        width=encoder.width,
        window_words=WINDOW_WORDS,
        window_step=WINDOW_STEP,
        text_sha256=text_sha256(book.text),
        counts=Counts(
            characters=len(book.text),
            words=len(book.text.split()),
            passages=len(passages),
            terms=arrays["terms"].shape[1] - 1,
            postings=len(arrays["postings"]),
            windows=len(texts),
        ),
        files={path.name: file_record(path) for path in sorted(directory.iterdir())},
        built_at=datetime.now(UTC).isoformat(timespec="seconds"),
        build_seconds=round(time.perf_counter() - started, 3),
        author=book.author,
        pages=book.pages,
        language=book.language,
        left_out=book.left_out,
        source_key=book.source_key,
        context_words=settings.context_words,
    )
    write_manifest(manifest, directory)
    for path in (*directory.iterdir(), directory):
        flush(path)
    return manifest


def _searched_passages(book: Book, settings: BuildSettings) -> list[Passage]:
    """The passages of all of the book but what is left out; none reaches over that."""
    starts = [0, *(one.end for one in book.left_out)]
    ends = [*(one.start for one in book.left_out), len(book.text)]
    passages: list[Passage] = []
    for start, end in zip(starts, ends, strict=True):
        for one in split(book.text[start:end], settings.words, settings.overlap):
            passages.append(Passage(len(passages), start + one.start, start + one.end))
    return passages


def in_context(book: Book, passages: Sequence[Passage], words: int) -> list[str]:
    """The text in which the words of each passage are searched: its own, behind what leads to it.

    These are the title of the chapter in which it begins and the ``words`` words before it, as far as
    they are in the same chapter: whom "she" means there, a question names. Nothing of what follows it, which
    a reader who has come so far has not read. The passage's own words count ``OWN_TIMES``, so that what it
    says itself is found in it and not in the next one.
    """
    starts = sorted({0, *(one.end for one in book.left_out), *(one.start for one in book.chapters)})
    chapters = [one.start for one in book.chapters]
    texts = []
    for passage in passages:
        begin = starts[bisect_right(starts, passage.start) - 1]
        at = bisect_right(chapters, passage.start) - 1
        title = book.chapters[at].title if words and at >= 0 else ""
        # No further back than so many words can reach: a text may be one long chapter.
        first = max(begin, passage.start - words * (LONGEST_WORD + 1))
        lead = last_words(book.text[first : passage.start], words)
        own = book.text[passage.start : passage.end]
        texts.append("\n".join((title, lead, *[own] * OWN_TIMES)))
    return texts


def _encode(
    encoder: Encoder, texts: list[str], on_progress: Callable[[int, int], None] | None
) -> NDArray[np.float32]:
    import numpy as np

    if on_progress is None:
        vectors = encoder.encode(texts)
    else:
        on_progress(0, len(texts))
        vectors = encoder.encode(texts, lambda done: on_progress(done, len(texts)))
    if not np.isfinite(vectors).all():
        raise ValueError(f"the encoder {encoder.name} gave vectors that are not numbers")
    return vectors


def file_record(path: Path) -> FileRecord:
    """What a manifest says of the file."""
    with path.open("rb") as file:
        return FileRecord(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def flush(path: Path) -> None:
    """Have the disk hold what was written to a file, or the names in a folder, before going on."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
