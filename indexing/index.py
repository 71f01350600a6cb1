"""One book's published build, opened: text, passages, sparse weights and vectors, all memory-mapped."""

from __future__ import annotations

import hashlib
import io
import threading
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from encoders.bi_encoder import Encoder, load_encoder
from indexing.book import Book, Chapter, Passage
from indexing.manifest import COVER, Manifest, read_manifest, text_sha256
from indexing.packing import build_files
from indexing.sparse import POSTING, SparseIndex
from text.codepoints import unpack

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from indexing.vectors import DenseIndex

_TEXT = "text.npy"
VECTORS = "vectors.faiss"
# NumPy reads a header by ast.literal_eval, which up to CPython 3.11.7 can raise SystemError in threads that
# run it at once (CPython issue 106905).
_HEADERS = threading.Lock()


class PassageTable(Sequence[Passage]):
    """The passages of a book in order, made from their offsets as they are asked for."""

    def __init__(self, bounds: NDArray[np.int64], manifest: Manifest) -> None:
        self._bounds = bounds
        self._manifest = manifest

    def __len__(self) -> int:
        return len(self._bounds)

    @overload
    def __getitem__(self, number: int) -> Passage: ...
    @overload
    def __getitem__(self, number: slice) -> list[Passage]: ...
    def __getitem__(self, number: int | slice) -> Passage | list[Passage]:
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        start, end = self._bounds[number].tolist()
        if not 0 <= start < end <= self._manifest.counts.characters:
            raise self._manifest.mismatch(f"passage {number} has bounds [{start}, {end})")
        return Passage(number % len(self), start, end)

    def __iter__(self) -> Iterator[Passage]:
        return (self[number] for number in range(len(self)))

    @property
    def ends(self) -> NDArray[np.int64]:
        """Where each passage ends, (passages,)."""
        return self._bounds[:, 1]

    def until(self, offset: int | None) -> int:
        """How many passages, counted from the first, end at ``offset`` or earlier; None is the book's end."""
        if offset is None:
            return len(self)
        return int(self._bounds[:, 1].searchsorted(offset, side="right"))


class BookText:
    """A build as far as its manifest and its text tell of it; its other files need not be whole.

    The size and the SHA-256 of the text are checked, and of other files by ``names``, or of all where that is
    None; ``held`` as ``BookIndex`` has it. Threads may share one. Raises IndexMismatch.
    """

    def __init__(
        self, directory: Path, id: str, held: bool = False, names: Collection[str] | None = (_TEXT,)
    ) -> None:
        self.manifest = read_manifest(directory, id)
        self._files = build_files(directory, self.manifest.files, held, self.manifest.mismatch, names)
        self._text = self._array("text", None, (self.characters,))

    @property
    def id(self) -> str:
        return self.manifest.id

    @property
    def title(self) -> str:
        return self.manifest.title

    @property
    def chapters(self) -> tuple[Chapter, ...]:
        return self.manifest.chapters

    @property
    def version(self) -> str:
        """Short content hash: the same for the same text, indexed the same way."""
        return self.manifest.version

    @property
    def characters(self) -> int:
        """Length of the text in code points."""
        return self.manifest.counts.characters

    @property
    def bytes(self) -> int:
        """What of the files of the build is checked and open comes to."""
        return sum(content.nbytes for content in self._files.values())

    def text(self, start: int, end: int) -> str:
        """``book.text[start:end]`` for offsets that are not negative, without reading the rest."""
        try:
            return unpack(self._text[start:end])
        except UnicodeDecodeError as error:
            raise self.manifest.mismatch(f"its text is damaged ({error})") from error

    def _array(self, name: str, dtype: Any, shape: tuple[int, ...] | None) -> NDArray[Any]:
        """The mapped npy file ``name`` as an array, of the dtype and shape wanted where they are given."""
        import numpy as np

        try:
            array = npy_view(self._files[f"{name}.npy"])
        except (KeyError, ValueError) as error:
            raise self.manifest.mismatch(f"{name}.npy cannot be read ({error})") from error
        right_kind = array.dtype == np.dtype(dtype) if dtype is not None else array.dtype.kind == "u"
        if not right_kind or (shape is not None and array.shape != shape):
            raise self.manifest.mismatch(f"{name}.npy holds {array.dtype} of shape {array.shape}")
        return array


class BookIndex(BookText):
    """An immutable build, bound to the files it was opened from even after the store replaced them.

    Opening checks the manifest, and the size and the SHA-256 of every file, so that what is damaged is
    never searched or quoted; for a book of 100,000 words that takes some 10 ms. Files are mapped, and one
    that is damaged while it is open would change the answers, or end the process where it was cut short:
    an index that is ``held`` is read into memory instead. Threads may share an index. Raises IndexMismatch,
    which names the command that repairs it.
    """

    def __init__(self, directory: Path, id: str, held: bool = False) -> None:
        super().__init__(directory, id, held, None)
        counts = self.manifest.counts
        bounds = self._array("passages", "<i8", (counts.passages, 2))
        self.passages = PassageTable(bounds, self.manifest)
        self.sparse = SparseIndex(
            self._array("vocabulary", "u1", None),
            self._array("terms", "<u8", (3, counts.terms + 1)),
            self._array("postings", POSTING, (counts.postings,)),
            counts.passages,
            self.manifest.mismatch,
        )
        self.window_begins = self._array("windows", "<i4", (counts.passages + 1,))
        if VECTORS not in self._files:
            raise self.manifest.mismatch(f"it has no {VECTORS}")

    @property
    def cover(self) -> bytes | None:
        """The file of the picture on the book's cover."""
        return self._files[COVER].tobytes() if COVER in self._files else None

    @cached_property
    def book(self) -> Book:
        """The whole book, its text read on first use and kept."""
        manifest = self.manifest
        text = self.text(0, self.characters)
        return Book(
            manifest.id,
            manifest.title,
            text,
            manifest.source,
            manifest.chapters,
            manifest.author,
            manifest.pages,
            manifest.language,
            manifest.left_out,
            self.cover,
        )

    @cached_property
    def dense(self) -> DenseIndex:
        """The vectors."""
        from indexing.vectors import DenseIndex

        return DenseIndex(
            self._files[VECTORS], self.window_begins, self.manifest.width, self.manifest.mismatch
        )

    def encoder(self) -> Encoder:
        """The encoder that the vectors were made with; IndexMismatch when its weights are others by now."""
        encoder = load_encoder(self.manifest.settings.encoder)
        if encoder.hash != self.manifest.encoder_hash:
            raise self.manifest.mismatch(
                f"it was built with other weights of the encoder {encoder.name!r} "
                f"({self.manifest.encoder_hash[:12]}, now {encoder.hash[:12]})"
            )
        return encoder

    def verify(self) -> list[str]:
        """What is wrong with the files, read from end to end; an empty list when nothing is."""
        problems = [
            f"{name} is damaged (its SHA-256 differs)"
            for name, record in self.manifest.files.items()
            if hashlib.sha256(self._files[name].data).hexdigest() != record.sha256
        ]
        if not problems and text_sha256(self.book.text) != self.manifest.text_sha256:
            problems.append("the text is not the one that the manifest names")
        return problems


def npy_view(file: NDArray[np.uint8]) -> NDArray[Any]:
    """The array that the bytes of an npy file hold, without a copy; ValueError where they hold none."""
    import numpy as np

    header = io.BytesIO(file[:1024].tobytes())
    try:
        if np.lib.format.read_magic(header) != (1, 0):
            raise ValueError("not version 1.0 of the npy format")
        with _HEADERS:
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(header)
        if fortran or dtype.hasobject:
            raise ValueError(f"unexpected {dtype}")
        return np.ndarray(shape, dtype, buffer=file, offset=header.tell())
    except Exception as error:  # numpy's parser raises many kinds of error when a header is damaged
        raise ValueError(f"no npy array: {error}") from error
