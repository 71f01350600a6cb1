"""The page where a language model runs on this machine: it is offered, chosen, asked and remembered."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from chat_server import (
    Asked,
    ChatServer,
    Handler,
    chatting,
    listing,
    parrot,
    reply,
    stream,
    streamed,
)
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


def test_a_model_that_is_started_while_the_page_is_open_is_offered_when_one_comes_back_to_it(
    page: Any, ollama: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.local_models._AGAIN_S", 0.0)
    ollama.models = None
    with page.expect_response("**/readers"):
        page.goto("/#book=lantern")
    browsing.ask(page, "lantern", QUESTION)
    expect(page.locator("#answering")).to_be_hidden()
    ollama.models = listing("qwen3")
    page.evaluate("dispatchEvent(new Event('focus'))")
    page.get_by_label("Answered by").select_option("qwen3 (Ollama)")
    expect(page.locator("#versions")).to_contain_text("@model=qwen3,")
    ollama.models = None
    page.evaluate("dispatchEvent(new Event('focus'))")
    expect(page.locator("#answering")).to_be_hidden()
    ollama.models = listing("qwen3")
    page.evaluate("dispatchEvent(new Event('focus'))")
    expect(page.get_by_label("Answered by")).to_have_value(f"chat:{ollama.url}@model=qwen3")


def test_words_are_shown_as_they_are_written_and_the_answer_takes_their_place(
    page: Any, ollama: ChatServer
) -> None:
    gate = threading.Event()

    def writes(handler: Handler, asked: Asked) -> None:
        def pieces() -> Iterator[bytes]:
            events = streamed(f"ANSWER: Ines hid it well.\nPASSAGE: 1\nQUOTE: {first_words(asked)}")
            yield from events[:7]
            gate.wait(60)
            yield from events[7:]

        stream(handler, pieces())

    ollama.script = writes
    try:
        page.goto("/#book=lantern")
        page.get_by_label("Answered by").select_option("qwen3 (Ollama)")
        page.locator("#question").fill(QUESTION)
        page.locator("#submit").click()
        expect(page.locator("#answer .draft")).to_contain_text("Ines hid")
        expect(page.locator("#status")).to_have_text("Writing …")
        gate.set()
        browsing.answered(page)
        expect(page.locator("#answer .draft")).to_have_count(0)
        expect(page.locator("#answer .said")).to_have_text("Ines hid it well.")
    finally:
        gate.set()


def first_words(asked: Asked) -> str:
    return " ".join(asked.passages[1].split()[:3])


def test_a_follow_up_is_asked_with_what_was_said_and_shown_as_it_was_understood(
    page: Any, ollama: ChatServer
) -> None:
    def converses(handler: Handler, asked: Asked) -> None:
        if "rewrite" in asked.body["messages"][0]["content"]:
            reply(handler, asked, "QUESTION: What did Ines light the lamp with?")
        else:
            parrot(handler, asked)

    ollama.script = converses
    page.goto("/#book=lantern")
    page.get_by_label("Answered by").select_option("qwen3 (Ollama)")
    for question in (QUESTION, "And what did she light it with?"):
        page.locator("#question").fill(question)
        page.locator("#submit").click()
        expect(page.locator("#versions")).to_contain_text("@model=qwen3,")
        browsing.answered(page)
        expect(page.locator("#asked")).to_contain_text(question)
    expect(page.locator("#answer .rewritten")).to_have_text("Asked as: What did Ines light the lamp with?")
    assert QUESTION in ollama.asked[1].body["messages"][1]["content"]
    assert ollama.asked[2].question == "What did Ines light the lamp with?"


def test_without_a_language_model_no_choice_is_shown(chromium: Any, shelf_store: IndexStore) -> None:
    with chatting(parrot) as server:  # which lists no models
        settings = browsing.settings(shelf_store, model_servers=(server.url,))
        with running(create_app(settings)) as url, browsing.visiting(chromium, url) as page:
            page.goto("/#book=lantern")
            expect(page.locator("#question")).to_be_visible()
            expect(page.locator("#answering")).to_be_hidden()


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_the_choice_has_no_fault_that_axe_finds_and_fits_a_phone(
    chromium: Any, shelf_store: IndexStore, ollama: ChatServer, colours: str
) -> None:
    ollama.models = listing(f"hf.co/somebody/{'a-long-name-' * 6}Q4_K_M.gguf")
    app = create_app(browsing.settings(shelf_store, model_servers=(ollama.url,)))
    options = browsing.looks(colours, "phone")
    with running(app) as url, browsing.visiting(chromium, url, **options) as page:
        browsing.ask(page, "lantern", QUESTION)
        page.get_by_label("Answered by").select_option(index=1)
        expect(page.locator("#versions")).to_contain_text("a-long-name")
        browsing.answered(page)
        browsing.check(page, "choice")
