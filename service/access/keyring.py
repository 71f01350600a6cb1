"""The keys in force: those of the environment and those of the file, as it is now."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from service.access.keys import BadKeys, Key, KeyFile, find_key

log = logging.getLogger(__name__)

_Stamp = tuple[int, int, int]


class KeyRing:
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
    def wanted(self) -> bool:
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

    def _stat(self) -> _Stamp | None:
        try:
            found = self._file.path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size
