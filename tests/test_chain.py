"""What an answer follows from reaches everybody who asks: the facts in the order of finding, with places."""

from __future__ import annotations

import json
from pathlib import Path

import last_place
import pytest
import shelf
from server import running, serving

from answering.book_qa import Ask, BookQA
from indexing.store import IndexStore
from service.app import create_app
from service.cli import run
from service.client import Client
from service.settings import Settings

ASK = Ask(last_place.BOOK, last_place.QUESTION, k=5, retriever="bm25", reader=last_place.NAME)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IndexStore:
    last_place.install(monkeypatch)
    return last_place.stock(tmp_path)


def settings(store: IndexStore) -> Settings:
    return Settings(store=store.root, retriever="bm25", reader=last_place.NAME)


def test_each_fact_is_cited_in_the_book_in_the_order_of_finding(store: IndexStore) -> None:
    [best] = BookQA(store).answer(ASK).candidates
    assert best.text == last_place.ANSWER
    assert tuple(fact.text for fact in best.chain) == last_place.CHAIN
    assert best.chain[0].start > best.chain[1].start  # found later in the book, and first
    for fact in best.chain:
        assert last_place.TEXT[fact.start : fact.end] == fact.text == fact.sentence
        assert BookQA(store).open(last_place.BOOK).passages[fact.passage].start <= fact.start
    assert best.evidence is not None
    assert best.chain[1].start <= best.evidence.start < best.evidence.end <= best.chain[1].end


def test_a_fact_from_before_on_is_not_followed_from(store: IndexStore) -> None:
    taken = last_place.TEXT.index(last_place.FACTS[2])
    cited = BookQA(store).answer(Ask(ASK.book_id, ASK.question, 5, "bm25", ASK.reader, before=taken))
    assert cited.candidates == ()


def test_a_reader_that_finds_no_facts_has_an_empty_chain(shelf_store: IndexStore) -> None:
    cited = BookQA(shelf_store).answer(Ask(*shelf.QUESTIONS[0], retriever="bm25", reader="overlap"))
    assert [candidate.chain for candidate in cited.candidates] == [()] * len(cited.candidates)


def test_http_and_the_client_are_told_the_facts(store: IndexStore) -> None:
    asked = {"book_id": ASK.book_id, "question": ASK.question}
    with serving(settings(store)) as http:
        [best] = http.post("/answer", json=asked).json()["candidates"]
        [[kept]] = [one["candidates"] for one in http.post("/answers", json=[asked]).json()]
    with running(create_app(settings(store))) as url, Client(url) as client:
        [told] = client.answer(ASK.book_id, ASK.question).candidates
    assert [fact["text"] for fact in best["chain"]] == list(last_place.CHAIN)
    assert kept == best == told.model_dump()  # kept: the second time it comes from the cache of answers


def test_the_command_line_tells_the_facts_to_machines_and_to_people(
    store: IndexStore, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORYQA_STORE", str(store.root))
    asked = ["ask", ASK.book_id, ASK.question, "--retriever", "bm25", "--reader", ASK.reader]
    assert run([*asked, "--json"]) == 0
    [best] = json.loads(capsys.readouterr().out)["candidates"]
    assert [fact["text"] for fact in best["chain"]] == list(last_place.CHAIN)
    assert run(asked) == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for fact in best["chain"]:
        place = f"{fact['percent']:g} % into the book · characters {fact['start']:,} to {fact['end']:,}"
        assert f"follows from: {fact['text']} (" in shown
        assert place in shown
    first, other = (shown.index(f"follows from: {fact}") for fact in last_place.CHAIN)
    assert first < other
