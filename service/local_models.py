"""The language models that run on this machine, and which of them clients may have answer."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Collection, Sequence

from readers import kind_of
from readers.external.chat import CHARS, MODEL
from readers.external.discovery import LocalServer, find_local_servers
from service.access.api_keys import Keyring
from service.access.middleware import keyring_of
from service.settings import Settings

_AGAIN_S = 3.0  # how long what was found is believed; who starts a server wants to see it soon


class LocalModels:
    """What was found where ``settings.model_servers`` says, looked for again when somebody wants to know.

    Lives in one event loop.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._ring = keyring_of(settings)
        self._looking = asyncio.Lock()
        self._looked = -math.inf
        self._found: list[LocalServer] = []
        self._last: dict[str, LocalServer] = {}  # what each address had last, though it be down by now

    async def servers(self) -> list[LocalServer]:
        """The servers that run now, as of the last few seconds."""
        async with self._looking:
            if time.monotonic() - self._looked >= _AGAIN_S:
                self._found = await find_local_servers(self._settings.model_servers)
                self._last |= {server.url: server for server in self._found}
                self._looked = time.monotonic()
        return self._found

    async def look_for(self, readers: Sequence[str | None]) -> None:
        """Look again where one of ``readers`` may be a model that was started a moment ago."""
        known = self.allowed
        wanted = {name for name in readers if name is not None and name not in known}
        if any(address_of(name) in self._settings.model_servers for name in wanted):
            await self.servers()

    @property
    def allowed(self) -> tuple[str, ...]:
        """See ``allowed_readers``; a server that was found stays, so that asking it says that it is down."""
        return allowed_readers(self._settings, self._ring, [*self._last.values()])


def allowed_readers(settings: Settings, ring: Keyring, found: Sequence[LocalServer]) -> tuple[str, ...]:
    """The full names of the readers that clients may name: those listed, then those of the servers ``found``.

    The latter only where nobody but people on this machine can ask, and nobody has listed readers in
    ``STORYQA_READERS``: that list, once there, is the whole of it.
    """
    listed = settings.allowed_readers()
    if not found or settings.insecure or "readers" in settings.model_fields_set or ring.is_required:
        return listed
    return tuple(dict.fromkeys((*listed, *(name for server in found for name in server.readers))))


def address_of(reader: str) -> str | None:
    """The address that a ``chat`` reader of that full name asks; None for other readers."""
    return reader.partition(":")[2].partition(MODEL)[0] if kind_of(reader) == "chat" else None


def model_of(reader: str) -> str | None:
    """The model that a ``chat`` reader of that full name asks; None for other readers."""
    return CHARS.sub("", reader.partition(MODEL)[2]) if kind_of(reader) == "chat" else None


def unlisted_addresses(settings: Settings) -> Collection[str]:
    """Where servers are looked for that no reader in the settings names.

    The key for chat endpoints was not meant for them: whoever listens there may be anybody's program.
    """
    listed = {address_of(name) for name in settings.allowed_readers()}
    return frozenset(address for address in settings.model_servers if address not in listed)
