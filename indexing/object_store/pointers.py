"""What names the build of a book that serves: one small object a book, replaced only as it is known."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import asdict, dataclass

from indexing.errors import IndexMismatch, StoreUnreachable
from indexing.merged_index import mismatch
from indexing.object_store.bucket import Bucket, Kept
from indexing.store_protocol import unreadable

FORMAT = 1
BOOKS = "books/"
BUILDS = "builds/"
MANIFESTS = "manifests/"
_MOST_KNOWN = 10_000  # of half a kilobyte each; those that were read last
_FRESH_S = 1.0  # how long a pointer that was read is taken for the current one


@dataclass(frozen=True, slots=True)
class Pointer:
    """A build that serves: its name, when it was published, and the two objects it is made of.

    ``number`` is that of the pointer before and one more, or the time in microseconds if that is greater.
    """

    build: str
    number: int
    manifest_sha256: str
    pack_sha256: str

    @property
    def manifest_key(self) -> str:
        """The object that holds its manifest."""
        return f"{MANIFESTS}{self.manifest_sha256}-{self._token}"

    @property
    def pack_key(self) -> str:
        """The object that holds all its other files."""
        return f"{BUILDS}{self.pack_sha256}-{self._token}"

    @property
    def _token(self) -> str:
        return self.build.rpartition("-")[2]


class Pointers:
    """The pointers of a bucket, each kept in memory for a second, and longer while no answer comes."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._known: dict[str, tuple[float, Kept | None]] = {}
        self._lock = threading.Lock()

    def get(self, key: str) -> Pointer | None:
        """What ``key`` points to, not more than a second ago; None where it points to nothing."""
        with self._lock:
            at, kept = self._known.get(key, (float("-inf"), None))
        if time.monotonic() - at > _FRESH_S:
            try:
                kept = self.read(key)
            except StoreUnreachable:
                if kept is None:
                    raise
                self._keep(key, kept)  # the build that served last still can
        return None if kept is None else parsed(key, kept)

    def read(self, key: str) -> Kept | None:
        """The pointer as it is now, to be replaced."""
        kept = self._bucket.get(key)
        self._keep(key, kept)
        return kept

    def replace(self, key: str, before: Kept | None, pointer: Pointer) -> bool:
        """Point to another build, unless another process has done so since ``before`` was read."""
        content = json.dumps({"format": FORMAT, **asdict(pointer)}).encode()
        kept = self._bucket.replace(key, before, content)
        with self._lock:
            self._known.pop(key, None)
        if kept is not None:
            self._keep(key, kept)
        return kept is not None

    def delete(self, key: str) -> None:
        """Point to nothing."""
        self._bucket.delete([key])
        self._keep(key, None)

    def _keep(self, key: str, kept: Kept | None) -> None:
        with self._lock:
            self._known.pop(key, None)
            self._known[key] = (time.monotonic(), kept)
            if len(self._known) > _MOST_KNOWN:
                del self._known[next(iter(self._known))]


def parsed(key: str, kept: Kept) -> Pointer:
    """The pointer that an object holds; raises IndexMismatch."""
    try:
        content = json.loads(kept.content)
        if content.pop("format") != FORMAT:
            raise ValueError("of another format")
        pointer = Pointer(**content)
        for digest in (pointer.manifest_sha256, pointer.pack_sha256):
            if len(bytes.fromhex(digest)) != 32:
                raise ValueError("of another length than a SHA-256")
        int(pointer.number)
        return pointer
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise broken(key, f"{key} names no build ({error})") from error


def broken(key: str, problem: str) -> IndexMismatch:
    """The error for what the pointer ``key`` points to: a book, or the merged index."""
    id = key.removeprefix(BOOKS)
    return mismatch(problem) if id == key else unreadable(id, problem)


def book_key(id: str) -> str:
    """The object that says which build of the book serves."""
    return BOOKS + id
