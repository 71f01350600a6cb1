"""Language models that run on this machine: found by asking where their servers usually listen."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from readers.external.endpoint import LOOPBACK

if TYPE_CHECKING:
    import httpx

# Ollama, llama.cpp's server and LM Studio, as they are installed.
USUAL_ADDRESSES = ("http://127.0.0.1:11434/v1", "http://127.0.0.1:8080/v1", "http://127.0.0.1:1234/v1")
_ASKING_S = 3.0  # a model that is writing has every core, and its server answers late
_LARGEST = 2**18  # bytes of a list of models
_MOST_MODELS = 100
_LONGEST_NAME = 200
_SERVERS = {"library": "Ollama", "llamacpp": "llama.cpp", "organization_owner": "LM Studio"}
_OURS = "storyqa"  # books as models: asking one from a book would go round in circles
_EMBEDDING = "embed"  # models that only embed stand in the same list
_OPTION = "@chars="  # which a reader's name would take for its own


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server that lists ``models`` at the OpenAI-compatible address ``url``, and what it is called."""

    name: str
    url: str
    models: tuple[str, ...]

    @property
    def readers(self) -> tuple[str, ...]:
        """The full names of the readers that ask its models."""
        return tuple(f"chat:{self.url}@model={model}" for model in self.models)


def is_local(address: str) -> bool:
    """Whether an address such as ``http://127.0.0.1:8080/v1`` is on this machine."""
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and parts.hostname in LOOPBACK and (parts.port or 80) > 0
    except ValueError:
        return False


async def find_local_servers(addresses: Sequence[str] = USUAL_ADDRESSES) -> list[LocalServer]:
    """The servers that list a language model at ``addresses``, in this order, all asked at once.

    No key is shown to them. Whatever does not answer properly within three seconds is passed over.
    """
    if not addresses:
        return []
    import httpx

    async with httpx.AsyncClient(
        headers={"User-Agent": "storyqa", "Accept-Encoding": "identity"}, timeout=None, trust_env=False
    ) as client:
        found = await asyncio.gather(*(_ask(client, address) for address in addresses))
    return [server for server in found if server is not None]


async def _ask(client: httpx.AsyncClient, url: str) -> LocalServer | None:
    import httpx

    data = bytearray()
    try:
        async with asyncio.timeout(_ASKING_S), client.stream("GET", f"{url}/models") as response:
            if not response.is_success:
                return None
            async for chunk in response.aiter_raw():
                data += chunk
                if len(data) > _LARGEST:
                    return None
        listed = json.loads(data)["data"]
        entries = [one for one in listed if _is_language_model(one)][:_MOST_MODELS]
    except (httpx.HTTPError, OSError, TimeoutError, ValueError, RecursionError, KeyError, TypeError):
        return None
    if not entries:
        return None
    return LocalServer(_name(url, entries[0]), url, tuple(dict.fromkeys(one["id"] for one in entries)))


def _is_language_model(entry: Any) -> bool:
    if not isinstance(entry, dict) or entry.get("owned_by") == _OURS:
        return False
    name = entry.get("id")
    if not isinstance(name, str) or not name.strip() or name != name.strip() or len(name) > _LONGEST_NAME:
        return False
    return name.isprintable() and _EMBEDDING not in name.lower() and _OPTION not in name


def _name(url: str, entry: dict[str, Any]) -> str:
    """What a server is called, by the owner of its models; its address where that says nothing."""
    owner = entry.get("owned_by")
    named = _SERVERS.get(owner) if isinstance(owner, str) else None
    return named or url.partition("://")[2].partition("/")[0]
