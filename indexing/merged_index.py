"""One index over the passages of many books: a search of a thousand books costs one look into each file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indexing.errors import IndexMismatch, naming_open_files
from indexing.index import npy_view
from indexing.manifest import FileRecord
from indexing.packing import build_files
from indexing.term_table import TermTable
from indexing.vectors import faiss_module

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pydantic import TypeAdapter

FORMAT = 1
MANIFEST = "merged.json"
VECTORS = "vectors.faiss"
# One occurrence of a term: BM25's weight but for the idf, which is of those that are searched together.
POSTING = [("passage", "<i4"), ("weight", "<f4")]
REPAIR = "build it anew: storyqa shelves index --force"
_FEWEST_A_THREAD = 50_000  # vectors, that a search takes about 10 ms to look at
_LARGEST = 2**26  # bytes; ten thousand books take a twentieth of it


@dataclass(frozen=True, slots=True)
class MergedBook:
    """A book of a merged index: the build that was merged, and what it had; in the order of the passages."""

    id: str
    build: str
    passages: int
    characters: int


@dataclass(frozen=True, slots=True)
class MergedManifest:
    """Everything about a merged index but its arrays; ``key`` tells its books' builds."""

    key: str
    books: tuple[MergedBook, ...]
    encoder: str
    encoder_hash: str
    width: int
    windows: int
    files: Mapping[str, FileRecord]

    @property
    def version(self) -> str:
        """Twelve hex digits that change exactly when one of the books does, or which they are."""
        return self.key[:12]


def merged_key(builds: Mapping[str, str]) -> str:
    """SHA-256 of the names of the builds, by book id, in their order."""
    return hashlib.sha256(json.dumps([FORMAT, list(builds.items())]).encode()).hexdigest()


def write_merged_manifest(manifest: MergedManifest, directory: Path) -> None:
    """Write it with its format version and a checksum of all else in it."""
    content = {"format": FORMAT, **asdict(manifest)}
    text = json.dumps({**content, "checksum": _digest(content)})
    (directory / MANIFEST).write_text(text + "\n", encoding="utf-8")


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@cache
def _validator() -> TypeAdapter[MergedManifest]:
    from pydantic import TypeAdapter

    return TypeAdapter(MergedManifest)


def mismatch(problem: object) -> IndexMismatch:
    """The error for a merged index that is not what its manifest says."""
    return IndexMismatch(f"the merged index of the store: {problem}; {REPAIR}")


def read_merged_manifest(directory: Path) -> MergedManifest:
    """The manifest in ``directory``; or IndexMismatch."""
    try:
        path = directory / MANIFEST
        with naming_open_files(path), path.open("rb") as file:
            content = json.loads(file.read(_LARGEST))
        checksum = content.pop("checksum")
        if content["format"] != FORMAT or checksum != _digest(content):
            raise ValueError("another format, or damaged")
        return _validator().validate_python(content)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise mismatch(f"{MANIFEST} cannot be read ({error})") from error


class MergedIndex:
    """An immutable merged index, its files mapped, and checked by their SHA-256 when it is opened.

    It ranks passages and quotes nothing: texts come from the books' own builds. Passages are numbered
    through all books; ``firsts[i]`` is the first of book i, and one more says where the last book ends.
    """

    def __init__(self, directory: Path) -> None:
        import numpy as np

        self.manifest = read_merged_manifest(directory)
        self._files = build_files(directory, self.manifest.files, held=False, mismatch=mismatch)
        self.firsts: NDArray[np.int64] = np.cumsum([0, *(book.passages for book in self.manifest.books)])
        passages = int(self.firsts[-1])
        self.ends = self._array("ends", "<u4", (passages,))
        self.begins = self._array("windows", "<i4", (passages + 1,))
        postings = self._array("postings", POSTING, None)
        self._passage, self._weight = postings["passage"], postings["weight"]
        self.terms = TermTable(
            self._array("vocabulary", "u1", None), self._array("terms", "<u8", None), len(postings), mismatch
        )
        try:
            file = self._files[VECTORS]
            faiss = faiss_module()
            self._reader = faiss.ZeroCopyIOReader(faiss.swig_ptr(file), file.size)
            self._vectors = faiss.read_index(self._reader)
        except (KeyError, RuntimeError) as error:
            raise mismatch(f"its vectors cannot be read ({error})") from error
        if (self._vectors.ntotal, self._vectors.d) != (self.manifest.windows, self.manifest.width):
            raise mismatch(f"it has {self._vectors.ntotal} vectors of {self._vectors.d}")

    @property
    def builds(self) -> dict[str, str]:
        """The build of each book that was merged, by book id."""
        return {book.id: book.build for book in self.manifest.books}

    def occurrences(self, word: str) -> tuple[NDArray[np.int32], NDArray[np.float32]] | None:
        """The passages that hold a word, ascending, and the weights there; None where none does."""
        for start, stop in self.terms.find([word]):
            return self._passage[start:stop], self._weight[start:stop]
        return None

    def nearest(
        self, vector: NDArray[np.float32], count: int, readable: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """The similarities and numbers of at most ``count`` windows nearest to ``vector`` (1, width).

        ``readable`` says of each window whether it may be looked at, all where that is None.
        """
        import numpy as np

        faiss = faiss_module()
        bits = None if readable is None else np.packbits(readable, bitorder="little")
        total = self._vectors.ntotal
        threads = max(1, min(faiss.omp_get_max_threads(), total // _FEWEST_A_THREAD))
        bounds = np.linspace(0, total, threads + 1).astype("i8").tolist()

        def search(first: int, last: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
            selector = part = faiss.IDSelectorRange(first, last)
            if bits is not None:
                whole = faiss.IDSelectorBitmap(total, faiss.swig_ptr(bits))
                selector = faiss.IDSelectorAnd(part, whole)
            parameters = faiss.SearchParameters(sel=selector)
            near, numbers = self._vectors.search(vector, min(count, total), params=parameters)
            return near[0][numbers[0] >= 0], numbers[0][numbers[0] >= 0]

        if threads == 1:
            return search(0, total)
        # FAISS itself takes one thread for one question.
        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(search, bounds, bounds[1:]))
        near, numbers = (np.concatenate(one) for one in zip(*found, strict=True))
        best = np.argsort(-near, kind="stable")[:count]
        return near[best], numbers[best]

    def similarities(self, vector: NDArray[np.float32], passages: NDArray[Any]) -> NDArray[np.float32]:
        """How near each of the ``passages`` is by its best window, (len(passages),)."""
        import numpy as np

        counts = self.begins[passages + 1] - self.begins[passages]
        begins = np.cumsum(counts) - counts
        windows = np.arange(int(counts.sum())) + np.repeat(self.begins[passages] - begins, counts)
        near = self._vectors.reconstruct_batch(windows) @ vector[0]
        best: NDArray[np.float32] = np.maximum.reduceat(near, begins)
        return best

    def _array(self, name: str, dtype: Any, shape: tuple[int, ...] | None) -> NDArray[Any]:
        import numpy as np

        try:
            array = npy_view(self._files[f"{name}.npy"])
        except (KeyError, ValueError) as error:
            raise mismatch(f"{name}.npy cannot be read ({error})") from error
        if array.dtype != np.dtype(dtype) or (shape is not None and array.shape != shape):
            raise mismatch(f"{name}.npy holds {array.dtype} of shape {array.shape}")
        return array
