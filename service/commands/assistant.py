"""``storyqa mcp``: the books for an assistant that starts this command."""

from __future__ import annotations

from service.commands.options import Store


def mcp(store: Store = None) -> None:
    """Give an assistant the books: the Model Context Protocol over standard input and output.

    Assistants start this command themselves; put it into their settings. A service that runs already has the
    same at /mcp.
    """
    from service.assistants.mcp_stdio import run
    from service.settings import load_settings

    run(load_settings(store))
