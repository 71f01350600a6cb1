"""The Model Context Protocol over standard input and output, for an assistant on this machine."""

from __future__ import annotations

import asyncio

from service.answering_service import Service
from service.assistants.mcp_server import server_of
from service.settings import Settings


def run(settings: Settings) -> None:
    """Answer until the input ends; raises ``MissingMcp``, and ours for settings that cannot be used."""
    asyncio.run(_run(settings))


async def _run(settings: Settings) -> None:
    service = Service(settings)
    server = server_of(service)
    from mcp.server.stdio import stdio_server

    service.batcher.start()
    warming = asyncio.create_task(service.warm())  # meanwhile books can be listed and read
    try:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
    finally:
        warming.cancel()
        await service.batcher.close()
        await asyncio.to_thread(service.observer.close)
