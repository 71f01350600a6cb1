"""The page where a language model runs on this machine: it is offered, chosen, asked and remembered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from chat_server import ChatServer, chatting, listing, parrot
from server import running

from indexing.store import IndexStore
from service.app import create_app

browsing = pytest.importorskip("browsing", reason="playwright is not installed: pip install '.[dev]'")
expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=browsing.PATIENCE_MS)

pytestmark = pytest.mark.browser

QUESTION = "Where had Ines hidden the good oil?"


@pytest.fixture
def ollama() -> Iterator[ChatServer]:
    with chatting(parrot, listing("qwen3")) as server:
        yield server


@pytest.fixture
def page(chromium: Any, shelf_store: IndexStore, ollama: ChatServer) -> Iterator[Any]:
    settings = browsing.settings(shelf_store, model_servers=(ollama.url,))
    with running(create_app(settings)) as url, browsing.visiting(chromium, url) as page:
        yield page


def test_a_model_on_this_machine_is_said_to_run_can_be_chosen_and_stays_so(
    page: Any, ollama: ChatServer
) -> None:
    browsing.ask(page, "lantern", QUESTION)
    expect(page.locator("#answering-about")).to_have_text("Ollama runs on this machine.")
    expect(page.get_by_label("Answered by").locator("option")).to_have_text(
        ["the built-in reader", "qwen3 (Ollama)"]
    )
    expect(page.locator("#versions")).to_contain_text("by overlap,")
    assert ollama.asked == []
    page.get_by_label("Answered by").select_option("qwen3 (Ollama)")
    expect(page.locator("#versions")).to_contain_text("@model=qwen3,")
    assert len(ollama.asked) == 1
    page.reload()
    expect(page.get_by_label("Answered by")).to_have_value(f"chat:{ollama.url}@model=qwen3")
    expect(page.locator("#versions")).to_contain_text("@model=qwen3,")


def test_without_a_language_model_no_choice_is_shown(page: Any, ollama: ChatServer) -> None:
    ollama.models = None
    page.goto("/#book=lantern")
    expect(page.locator("#question")).to_be_visible()
    expect(page.locator("#answering")).to_be_hidden()
