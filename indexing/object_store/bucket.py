"""The objects under one prefix of a bucket: read, listed, and changed only as their reader knows them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from indexing.errors import StoreUnreachable
from text.errors import StoryQAError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_ATTEMPTS = 4
_TOGETHER = 16  # requests in flight, where many objects are read
_PART = 2**23  # bytes that are fetched in one request
_T = TypeVar("_T")
_U = TypeVar("_U")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long an answer to one request may take, and how often and long a request is made again."""

    timeout_s: float = 20.0
    retries: int = 5
    retry_s: float = 40.0


@dataclass(frozen=True, slots=True)
class Kept:
    """An object's content, and what tells that version of it from another."""

    content: bytes
    version: dict[str, str]


@dataclass(frozen=True, slots=True)
class Listed:
    """An object as a list has it."""

    key: str
    bytes: int
    changed_at: datetime


class Bucket:
    """What lies under the prefix that ``address`` names; keys are those behind the prefix.

    Credentials and the server's address are what the provider's own environment variables say
    (``AWS_ACCESS_KEY_ID``, ``AWS_ENDPOINT_URL`` and so on). Everything raises StoreUnreachable. Threads may
    share it.
    """

    def __init__(self, address: str, patience: Patience) -> None:
        try:
            import obstore
            from obstore.store import from_url
        except ImportError as error:
            raise StoryQAError(
                f"the store {address} needs the extra s3: pip install 'storyqa[s3]'"
            ) from error
        self.address = address
        self._obstore = obstore
        try:
            self._objects: ObjectStore = from_url(
                address,
                client_options={
                    "timeout": timedelta(seconds=patience.timeout_s),
                    "connect_timeout": timedelta(seconds=min(5.0, patience.timeout_s)),
                    "allow_http": _is_plain_http(),
                },
                retry_config={
                    "max_retries": patience.retries,
                    "retry_timeout": timedelta(seconds=patience.retry_s),
                    "backoff": {"max_backoff": timedelta(seconds=2)},
                },
            )
        except self._errors() as error:
            raise self._failed(error) from error

    def get(self, key: str) -> Kept | None:
        """The object; None where there is none."""

        def get() -> Kept:
            result = self._obstore.get(self._objects, key)
            return Kept(bytes(result.bytes()), _version(result.meta))

        try:
            return self._do(get)
        except FileNotFoundError:
            return None

    def download(self, key: str, path: Path) -> str:
        """Write the object to ``path``; its SHA-256. Raises FileNotFoundError."""

        def part(first: int) -> memoryview:
            # Each within the time that one request has, however large the object is.
            got = self._obstore.get_range(self._objects, key, start=first, end=min(first + _PART, size))
            return memoryview(got)

        result = self._do(lambda: self._obstore.get(self._objects, key))
        size = result.meta["size"]
        digest = hashlib.sha256()
        with path.open("wb") as file:
            for first in range(0, size, _PART):
                if size <= _PART:
                    content = self._do(lambda: memoryview(result.bytes()))
                else:
                    content = self._do(partial(part, first))
                digest.update(content)
                file.write(content)
        return digest.hexdigest()

    def put(self, key: str, content: bytes | Path) -> None:
        """Make the object, or replace it whatever it was: for keys that only one process ever writes."""
        self._do(lambda: self._obstore.put(self._objects, key, content))

    def replace(self, key: str, before: Kept | None, content: bytes) -> Kept | None:
        """Put ``content`` in the place of the version ``before``, or where there is no object.

        None where there is another version by now: another process's, which stays. ``content`` must be
        unlike any other that is ever put there: so it is known again where the answer to the put was lost.
        """
        mode: Any = "create" if before is None else before.version
        problem: Exception | None = None
        for _ in range(_ATTEMPTS):
            try:
                put = self._obstore.put(self._objects, key, content, mode=mode, use_multipart=False)
                return Kept(content, _version(put))
            except (FileExistsError, self._obstore.exceptions.PreconditionError):
                problem = None
            except FileNotFoundError as error:  # no bucket, or to some servers no version to replace
                problem = error if before is None else None
            except self._errors() as error:
                problem = error
            # Refused or failed: either may be the end of a put of ours that arrived while its answer did not.
            there = self.get(key)
            if there is not None and there.content == content:
                return there
            if problem is None or (there and there.version) != (before and before.version):
                return None
        assert problem is not None, "else it has returned"
        raise self._failed(problem) from problem

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; those that are not there are passed over."""
        for key in keys:
            try:
                self._do(lambda key=key: self._obstore.delete(self._objects, key))  # type: ignore[misc]
            except FileNotFoundError:
                continue

    def listed(self, prefix: str) -> Iterator[Listed]:
        """The objects whose keys begin with ``prefix``, a folder's with its slash, in no order."""
        pages = iter(self._obstore.list(self._objects, prefix.rstrip("/"), chunk_size=1000))
        while (page := self._do(lambda: next(pages, None))) is not None:
            for one in page:
                yield Listed(one["path"], one["size"], one["last_modified"])

    def changed_at(self, key: str) -> datetime | None:
        """When the object was put there, by the server's clock; None where there is none."""
        try:
            listed: datetime = self._do(lambda: self._obstore.head(self._objects, key)["last_modified"])
        except FileNotFoundError:
            return None
        return listed

    def together(self, do: Callable[[_T], _U], items: Sequence[_T]) -> list[_U]:
        """``do`` each of the items, several at a time; results in their order."""
        if len(items) < 2:
            return [do(item) for item in items]
        with ThreadPoolExecutor(min(_TOGETHER, len(items))) as pool:
            return list(pool.map(do, items))

    def _do(self, do: Callable[[], _T]) -> _T:
        """What ``do`` returns; raises FileNotFoundError where there is no such object."""
        try:
            return do()
        except FileNotFoundError:
            raise
        except self._errors() as error:
            raise self._failed(error) from error

    def _errors(self) -> tuple[type[Exception], ...]:
        # What obstore raises: its own, and where Python has a fitting error, that one.
        return (
            self._obstore.exceptions.BaseError,
            FileExistsError,
            PermissionError,
            TimeoutError,
            ValueError,
        )

    def _failed(self, error: BaseException) -> StoreUnreachable:
        said = " ".join(str(error).split("\n\nDebug")[0].split())
        return StoreUnreachable(
            f"the store {self.address} cannot be used ({said[:300]}); check its address, the server and the "
            "credentials, such as AWS_ENDPOINT_URL and AWS_ACCESS_KEY_ID"
        )


def _version(meta: Any) -> dict[str, str]:
    """What a server tells of an object's version; those that it does not know are left out."""
    return {name: meta[name] for name in ("e_tag", "version") if meta.get(name) is not None}


def _is_plain_http() -> bool:
    """Whether the server that the environment names is to be spoken to without TLS."""
    return any(
        os.environ.get(name, "").startswith("http://")
        for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT", "AZURE_STORAGE_ENDPOINT")
    )
