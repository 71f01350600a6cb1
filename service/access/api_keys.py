"""API keys: made here, shown once, kept as hashes alone, and looked up by those who ask."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

from text.errors import StoryQAError

log = logging.getLogger(__name__)

Scope = Literal["read", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

_PREFIX = "sqa"
_KEY = re.compile(rf"{_PREFIX}_([0-9a-f]{{12}})_([A-Za-z0-9_-]{{43}})")
_ID = re.compile(r"[0-9a-f]{12}")
_HASH = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._@-]{0,63}")


class BadKeys(StoryQAError):
    """Keys, or a file of them, that cannot be used."""


@dataclass(frozen=True, slots=True)
class Key:
    """What is kept of a key: everything but the key.

    ``sha256`` is the hash of its secret part, ``per_minute`` how many requests it may make (None: as
    many as the service's setting says). An admin key may do all that a read key may.
    """

    id: str
    name: str
    scope: Scope
    sha256: str
    per_minute: int | None = None
    created_at: str = ""
    revoked: bool = False

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id) or not _HASH.fullmatch(self.sha256):
            raise BadKeys(f"the key {self.name!r} has an id or hash that storyqa did not make; make it anew")
        if not _NAME.fullmatch(self.name):
            raise BadKeys(
                f"{self.name!r} cannot be a key's name: wanted at most 64 letters, digits, spaces and "
                "'.', '_', '@', '-', the first a letter or digit"
            )
        if self.scope not in SCOPES:
            raise BadKeys(f"unknown scope {self.scope!r}; choose from {', '.join(SCOPES)}")
        if self.per_minute is not None and self.per_minute < 1:
            raise BadKeys(f"{self.per_minute} requests a minute; wanted 1 or more")

    def allows(self, scope: Scope) -> bool:
        """Whether the key may be used for what needs ``scope``."""
        return scope == "read" or self.scope == "admin"

    def in_environment(self) -> str:
        """The key as ``STORYQA_KEYS`` takes it."""
        rate = "" if self.per_minute is None else f":{self.per_minute}"
        return f"{self.name}:{self.scope}:{self.id}:{self.sha256}{rate}"


def make_key(name: str, scope: Scope, per_minute: int | None = None) -> tuple[str, Key]:
    """A new key: what its owner is told, and what is kept. Raises ``BadKeys``."""
    id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return f"{_PREFIX}_{id}_{secret}", Key(id, name, scope, _hash(secret), per_minute, created)


def find_key(keys: Iterable[Key], presented: str) -> Key | None:
    """The key that was ``presented``, unless there is none such or it was revoked.

    The id, which is no secret, chooses the hash; the hashes are compared in constant time.
    """
    match = _KEY.fullmatch(presented)
    if match is None:
        return None
    digest = _hash(match[2])
    for key in keys:
        if key.id == match[1] and hmac.compare_digest(digest, key.sha256) and not key.revoked:
            return key
    return None


def _hash(secret: str) -> str:
    # A fast hash is enough: the secret is 256 random bits, which nobody tries one after the other.
    return hashlib.sha256(secret.encode("ascii")).hexdigest()


def keys_in_environment(value: str) -> tuple[Key, ...]:
    """The keys in ``STORYQA_KEYS``: ``NAME:SCOPE:ID:SHA256[:PER_MINUTE]``, separated by commas."""
    keys = []
    for item in filter(None, map(str.strip, value.split(","))):
        name, scope, id, digest, rate = (*item.split(":"), "", "", "", "")[:5]
        if item.count(":") not in (3, 4) or (item.count(":") == 4 and not rate.isdecimal()):
            raise BadKeys(
                f"the key {name!r} in STORYQA_KEYS is not NAME:SCOPE:ID:SHA256 or the same with :PER_MINUTE; "
                "storyqa keys create prints it"
            )
        keys.append(Key(id, name, scope, digest, int(rate) if rate else None))  # type: ignore[arg-type]
    return tuple(keys)


class KeyFile:
    """The keys of one service in a file that only its owner may read; it need not exist."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> tuple[Key, ...]:
        """All keys, revoked ones too, the oldest first; raises ``BadKeys``."""
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
            return tuple(Key(**record) for record in content["keys"])
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadKeys(
                f"the file of keys {self.path} cannot be read ({error}); put it right, or delete it and make "
                "new keys with: storyqa keys create"
            ) from error

    def add(self, key: Key) -> None:
        """Keep one more key; raises ``BadKeys`` where its name is in use."""
        with self._changing() as keys:
            if any(other.name == key.name and not other.revoked for other in keys):
                raise BadKeys(
                    f"there is a key named {key.name!r}; choose another name, or first: "
                    f"storyqa keys revoke {key.name!r}"
                )
            keys.append(key)

    def revoke(self, name_or_id: str) -> Key:
        """Have a key refused from now on; raises ``BadKeys`` where there is none in use."""
        with self._changing() as keys:
            for i, key in enumerate(keys):
                if name_or_id in (key.name, key.id) and not key.revoked:
                    keys[i] = replace(key, revoked=True)
                    return keys[i]
            raise BadKeys(f"no key in use is called {name_or_id!r}; see: storyqa keys list")

    @contextmanager
    def _changing(self) -> Iterator[list[Key]]:
        """The keys to change, for one process at a time; they are written where nothing is raised."""
        from filelock import FileLock

        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(self.path.with_suffix(".lock")):
                keys = list(self.read())
                yield keys
                _write(self.path, keys)
        except OSError as error:
            raise BadKeys(f"{self.path} cannot be written ({error}); name another folder") from error


def _write(path: Path, keys: Iterable[Key]) -> None:
    """Replace the file in one step; it is never open to others, not even for a moment."""
    # By one name for all processes, which the lock keeps apart: one that was killed leaves no more than this.
    part = path.with_name(f".{path.name}.new")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({"keys": [asdict(key) for key in keys]}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


class Keyring:
    """Knows a key that is presented; a change of the file counts from the next request on.

    A file that turns out to be damaged while the service runs leaves the keys as they were. Raises
    ``BadKeys`` where it is damaged from the start.
    """

    def __init__(self, file: KeyFile, others: Sequence[Key] = ()) -> None:
        self._file = file
        self._others = tuple(others)
        self._stamp = self._stat()
        self._keys = (*self._others, *file.read())

    @property
    def is_required(self) -> bool:
        """Whether a key has to be shown: there are some, or were before they were revoked."""
        self._refresh()
        return bool(self._keys)

    def find(self, presented: str) -> Key | None:
        """The key, unless it is unknown or revoked."""
        self._refresh()
        return find_key(self._keys, presented)

    def _refresh(self) -> None:
        stamp = self._stat()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        if stamp is None and self._keys:
            # Deleted: nobody meant to open the service to everyone by that.
            log.error("%s is gone; the keys that were in it stay in force until a restart", self._file.path)
            return
        try:
            self._keys = (*self._others, *self._file.read())
        except BadKeys as error:
            log.error("%s; the keys stay as they were", error)

    def _stat(self) -> tuple[int, int, int] | None:
        try:
            found = self._file.path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size
