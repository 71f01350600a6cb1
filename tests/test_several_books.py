"""Several books asked at once: lists, shelves and all books; what each says, and nothing behind a limit."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import shelf
from server import new_key, places, problem, serving, wait_until_ready

from answering.ask import BadRequest, Turn
from answering.book_qa import Ask, BookQA
from evaluation.sample import sample_story
from indexing.store import IndexStore
from service import cli
from service.access.api_keys import KeyFile
from service.assistants.completions import MOST_MODELS
from service.async_client import AsyncClient
from service.client import Client
from service.settings import Settings
from text.registry import UnknownName

EVERY = tuple(shelf.STORIES)
LIMITS: list[Any] = [0, 300, "40%", {"lantern": "40%"}, {"lantern": 0, "*": "50%"}, {"well": 250, "clock": 0}]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> IndexStore:
    store = shelf.stock(tmp_path_factory.mktemp("several"))
    store.shelves().put("tales", EVERY, "Tales")
    return store


@pytest.fixture(scope="module")
def http(store: IndexStore) -> Iterator[httpx.Client]:
    with serving(Settings(store=store.root, retriever="bm25", reader="overlap")) as http:
        wait_until_ready(http)
        yield http


def limit(before: Any, id: str) -> int:
    """How far the book may be read, worked out apart."""
    length = len(shelf.STORIES[id][1])
    given = before.get(id, before.get("*")) if isinstance(before, Mapping) else before
    if given is None:
        return length
    return length * int(given[:-1]) // 100 if isinstance(given, str) else min(given, length)


@pytest.mark.parametrize("book_id", [[*EVERY], "lantern,clock,well", "shelf:tales", "*"])
def test_every_form_finds_the_book_that_a_question_is_about(http: httpx.Client, book_id: Any) -> None:
    for book, question in shelf.QUESTIONS[:9]:  # the last says nothing that one book alone does
        answer = http.post("/answer", json={"book_id": book_id, "question": question, "k": 2}).json()
        assert answer["evidence"]["book_id"] == book
        assert answer["evidence"]["title"] == shelf.STORIES[book][0]
        for place in places(answer):
            text = shelf.STORIES[place["book_id"]][1][place["start"] : place["end"]]
            assert place.get("text", text) == text


def test_the_passages_of_one_book_are_together_and_in_story_order(store: IndexStore) -> None:
    ask = Ask("*", "Who kept the key and the oil at the mill by night?", 9, "bm25", "overlap")
    [found] = BookQA(store).find([ask])
    read = [(hit.book.index.id, hit.passage.start) for hit in found.in_story_order]
    assert len({id for id, _ in read}) == 3
    best = list(dict.fromkeys(hit.book.index.id for hit in found.hits))
    assert read == sorted(read, key=lambda one: (best.index(one[0]), one[1]))


@pytest.mark.parametrize("before", LIMITS)
@pytest.mark.parametrize(
    ("book_id", "retriever"), [([*EVERY], "bm25"), ("shelf:tales", "hybrid"), ("*", "bm25")]
)
def test_nothing_behind_any_books_limit_is_told(
    http: httpx.Client, book_id: Any, before: Any, retriever: str
) -> None:
    asked = [
        {"book_id": book_id, "question": question, "before": before, "k": 9, "retriever": retriever}
        for _, question in shelf.QUESTIONS[::3]
    ]
    told = [http.post(path, json=one).json() for path in ("/search", "/answer") for one in asked]
    model = book_id if isinstance(book_id, str) else ",".join(book_id)
    for one in asked:
        body = {"model": model, "messages": [{"role": "user", "content": one["question"]}]}
        told.append(http.post("/v1/chat/completions", json=body | {"before": before}).json())
    seen = [place for content in told for place in places(content)]
    assert bool(seen) == any(limit(before, id) > 150 for id in EVERY)
    for place in seen:
        end = limit(before, place["book_id"])
        assert place["end"] <= end
        readable = " ".join(shelf.STORIES[place["book_id"]][1][:end].split())
        for name in ("sentence", "quote", "text", "chapter"):
            assert " ".join((place.get(name) or "").split()) in readable


def test_a_limit_for_a_book_that_is_not_asked_is_refused(http: httpx.Client, store: IndexStore) -> None:
    asked = {"book_id": ["lantern", "well"], "question": "Who?", "before": {"lanten": "40%"}}
    for path in ("/answer", "/search"):
        assert "lanten" in problem(http.post(path, json=asked), 422)["detail"]
    with pytest.raises(BadRequest, match="clock"):
        BookQA(store).check(Ask("well", "Who?", before={"clock": 5}))


def test_a_limit_by_id_is_the_limit_of_one_book_as_well(store: IndexStore) -> None:
    qa = BookQA(store)
    for before in (300, "40%"):
        plain, by_id = (
            qa.find([Ask("lantern", "Who?", 9, "bm25", before=given)])[0].hits
            for given in (before, {"lantern": before})
        )
        assert plain == by_id


def test_a_book_that_never_mentions_whom_it_is_about_is_doubted(store: IndexStore) -> None:
    ask = Ask("*", "Where had Ines hidden the good oil?", 9, "bm25", "overlap", n_best=9)
    cited = BookQA(store).answer(ask)
    notes = {one.evidence.book_id: one.note for one in cited.candidates if one.evidence is not None}
    assert notes.pop("lantern") is None
    assert notes
    assert all(note is not None and "never mentions Ines" in note for note in notes.values())
    confidences = [one.confidence for one in cited.candidates]
    assert confidences == sorted(confidences, reverse=True)


def test_what_cannot_search_several_books_says_what_can(http: httpx.Client, store: IndexStore) -> None:
    asked = {"book_id": "*", "question": "Who?", "retriever": "tfidf"}
    content = problem(http.post("/search", json=asked), 422)
    assert content["choices"] == ["bm25", "dense", "hybrid", "rerank", "rerank-large"]
    with pytest.raises(UnknownName, match=r"'lda'.* bm25, dense, hybrid, rerank"):
        BookQA(store).check(Ask("*", "Who?", retriever="lda"))


@pytest.mark.parametrize(
    ("book_id", "said"),
    [
        (["lantern", "lantem"], "did you mean lantern"),
        ("shelf:tale", "did you mean tales"),
        ("shelf:../x", "unknown shelf"),
        (",", "names no book"),
    ],
)
def test_books_and_shelves_that_are_not_there_are_named(http: httpx.Client, book_id: Any, said: str) -> None:
    for path in ("/answer", "/search"):
        asked = {"book_id": book_id, "question": "Who?"}
        assert said in problem(http.post(path, json=asked), 404)["detail"]


def test_a_shelf_is_made_changed_asked_and_forgotten_over_http(http: httpx.Client) -> None:
    given = {"title": "By the sea", "books": ["lantern", "well"]}
    made = http.put("/shelves/sea", json=given).json()
    assert made == http.get("/shelves/sea").json()
    assert {name: made[name] for name in given} == given
    assert [one["name"] for one in http.get("/shelves").json()] == ["sea", "tales"]
    asked = {"book_id": "shelf:sea", "question": "How many eggs were in the nest?", "k": 9}
    assert {hit["book_id"] for hit in http.post("/search", json=asked).json()["hits"]} == {"lantern", "well"}
    http.put("/shelves/sea", json={"books": ["clock"]})
    assert http.get("/shelves/sea").json()["title"] == "By the sea"
    assert {hit["book_id"] for hit in http.post("/search", json=asked).json()["hits"]} == {"clock"}
    http.put("/shelves/sea", json={"books": []})
    assert "has no book" in problem(http.post("/search", json=asked), 404)["detail"]
    assert http.delete("/shelves/sea").status_code == 204
    problem(http.get("/shelves/sea"), 404)
    problem(http.delete("/shelves/sea"), 404)
    problem(http.put("/shelves/sea", json={"books": ["lantem"]}), 404)
    problem(http.put("/shelves/S%20ea", json={"books": ["lantern"]}), 422)
    problem(http.put("/shelves/sea", json={"books": ["lantern", "lantern"]}), 422)


def test_only_an_administrators_key_changes_shelves(store: IndexStore, tmp_path: Path) -> None:
    settings = Settings(store=store.root, retriever="bm25", reader="overlap", state=tmp_path)
    keys = {scope: new_key(settings.key_file, scope, scope) for scope in ("read", "admin")}
    assert len(KeyFile(settings.key_file).read()) == 2
    with serving(settings) as http:
        problem(http.get("/shelves"), 401)
        read, admin = ({"Authorization": f"Bearer {keys[scope]}"} for scope in ("read", "admin"))
        assert http.get("/shelves", headers=read).status_code == 200
        problem(http.put("/shelves/mine", json={"books": ["well"]}, headers=read), 403)
        problem(http.delete("/shelves/tales", headers=read), 403)
        assert http.put("/shelves/mine", json={"books": ["well"]}, headers=admin).status_code == 200
        assert http.delete("/shelves/mine", headers=admin).status_code == 204


def test_shelves_are_models_and_citations_lead_to_their_books(http: httpx.Client) -> None:
    pages = [http.get("/v1/models", params=page).json() for page in ({}, {"limit": 2})]
    pages.append(http.get("/v1/models", params={"limit": 2, "after": pages[-1]["last_id"]}).json())
    first, second, third = sorted(EVERY)
    assert [[one["id"] for one in page["data"]] for page in pages] == [
        [first, second, third, "shelf:tales"],
        [first, second, "shelf:tales"],
        [third],
    ]
    assert [page["has_more"] for page in pages] == [False, True, False]
    assert http.get("/v1/models", params={"limit": MOST_MODELS + 1}).status_code == 422
    assert http.get("/v1/models/shelf:tales").json()["title"] == "Tales"
    body = {"model": "shelf:tales", "messages": [{"role": "user", "content": shelf.QUESTIONS[4][1]}]}
    completion = http.post("/v1/chat/completions", json=body).json()
    assert completion["model"] == "shelf:tales"
    citation = completion["choices"][0]["message"]["annotations"][0]["url_citation"]
    assert (citation["book_id"], citation["title"]) == ("clock", "The Clock of Vell")
    assert http.get(citation["url"]).json()["text"] == citation["quote"]


def test_the_clients_ask_lists_and_keep_shelves(http: httpx.Client) -> None:
    url = str(http.base_url)
    with Client(url) as client:
        answer = client.answer(["lantern", "well"], shelf.QUESTIONS[8][1], before={"lantern": 0})
        assert answer.evidence is not None
        assert answer.evidence.book_id == "well"
        assert client.put_shelf("one", ["well"], title="One").books == ["well"]
        assert [one.name for one in client.shelves()] == ["one", "tales"]
        client.delete_shelf("one")

    async def ask() -> str:
        async with AsyncClient(url) as client:
            assert [one.name for one in await client.shelves()] == ["tales"]
            return (await client.search("*", shelf.QUESTIONS[4][1], k=1)).hits[0].book_id

    assert asyncio.run(ask()) == "clock"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.run([*arguments]) == 0
    return capsys.readouterr().out


def test_the_command_line_keeps_shelves_and_asks_them(
    store: IndexStore, capsys: pytest.CaptureFixture[str]
) -> None:
    def do(*arguments: str) -> str:
        return run(capsys, *arguments, "--store", str(store.root))

    do("shelves", "create", "mine", "lan", "--title", "Mine")
    do("shelves", "add", "mine", "well", "clock", "well")
    do("shelves", "remove", "mine", "clock")
    assert json.loads(do("shelves", "show", "mine", "--json"))["books"] == ["lantern", "well"]
    assert "The Well" in do("shelves", "show", "mine")
    assert [one["name"] for one in json.loads(do("shelves", "list", "--json"))] == ["mine", "tales"]
    options = ("--retriever", "bm25")
    found = json.loads(do("search", "shelf:mine", shelf.QUESTIONS[2][1], *options, "--json"))
    assert {hit["book_id"] for hit in found["hits"]} == {"lantern", "well"}
    shown = do("ask", "lan,well", shelf.QUESTIONS[8][1], *options, "--reader", "overlap")
    assert "The Well ·" in shown
    limited = json.loads(
        do("search", "*", shelf.QUESTIONS[2][1], *options, "--before", "lantern=10%,*=0", "--json")
    )
    assert all(hit["book_id"] == "lantern" for hit in limited["hits"])
    do("shelves", "delete", "mine")
    assert cli.run(["shelves", "show", "mine", "--store", str(store.root)]) == 2


def test_a_damaged_shelf_is_said_to_be_one_and_can_be_put_anew(tmp_path: Path) -> None:
    shelves = IndexStore(tmp_path).shelves()
    shelves.put("x", ["a"])
    for content in ("", "[]", '{"title": 1}', '{"title": "x", "books": "ab/c", "created_at": ""}'):
        (tmp_path / "shelves" / "x.json").write_text(content)
        with pytest.raises(Exception, match="storyqa shelves delete x"):
            shelves.get("x")
    assert shelves.put("x", ["b"]).books == ("b",)
    assert shelves.names() == ["x"]


def test_a_shelf_that_is_damaged_or_gone_is_left_out_of_the_lists(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    IndexStore(tmp_path).shelves().put("whole", ["a"])
    (tmp_path / "shelves" / "bad.json").write_text("[")
    (tmp_path / "shelves" / "gone.json").symlink_to("nowhere")  # named, and not there when it is read
    with serving(Settings(store=tmp_path, retriever="bm25", reader="overlap")) as http:
        assert [one["name"] for one in http.get("/shelves").json()] == ["whole"]
        assert [one["id"] for one in http.get("/v1/models").json()["data"]] == ["shelf:whole"]
        assert "shelves delete bad" in problem(http.get("/shelves/bad"), 500)["detail"]
    assert "the shelf 'bad' cannot be read" in caplog.text


class CountedStore(IndexStore):
    """A store that counts how often the list of its books is read."""

    lists_read = 0

    def builds(self, of: Collection[str] | None = None) -> dict[str, str]:
        """See ``IndexStore.builds``."""
        self.lists_read += 1
        return super().builds(of)


@pytest.mark.parametrize("books", ["*", "shelf:tales"])
def test_what_a_question_is_to_is_told_by_its_check_which_reads_the_list_once(
    store: IndexStore, books: str
) -> None:
    counted = CountedStore(store.root)
    extent = BookQA(counted).check(Ask(books, "Who rowed?", retriever="bm25", reader="overlap"))
    assert extent.passages >= len(EVERY)
    assert counted.lists_read == 1


@pytest.fixture
def shut(tmp_path: Path) -> IndexStore:
    """A store with books in which no shelf or lock can be made, not even by root: a file is in the way."""
    shelf.stock(tmp_path)
    shutil.rmtree(tmp_path / "locks")
    for name in ("locks", "shelves"):
        (tmp_path / name).write_text("in the way")
    return IndexStore(tmp_path)


def test_a_store_that_cannot_be_written_is_a_problem_that_names_no_place(
    shut: IndexStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(Settings(store=tmp_path, retriever="bm25", reader="overlap")) as http:
        for refused in (
            http.put("/shelves/sea", json={"books": ["well"]}),
            http.delete("/shelves/sea"),
            http.delete("/books/well"),
        ):
            assert problem(refused, 503)["type"] == "urn:storyqa:problem:no-state"
            assert str(tmp_path) not in refused.text
        assert [one["id"] for one in http.get("/books").json()] == shut.ids()
    assert f"{tmp_path / 'shelves'} cannot be written" in caplog.text


@pytest.mark.parametrize(
    "command",
    [
        ["shelves", "create", "sea", "well"],
        ["shelves", "delete", "sea"],
        ["shelves", "index"],
        ["remove", "well"],
        ["index", str(sample_story())],
    ],
    ids=lambda command: str(command[0]),
)
def test_a_store_that_cannot_be_written_is_one_line_with_the_remedy(
    command: list[str], shut: IndexStore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run([*command, "--store", str(shut.root)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "cannot be written" in err
    assert "another folder with --store" in err


def test_the_command_line_lists_and_copies_the_shelves_that_are_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shelves = IndexStore(tmp_path / "from").shelves()
    for name in ("first", "last"):
        shelves.put(name, ["a"])
    (tmp_path / "from" / "shelves" / "bad.json").write_text("[")
    (tmp_path / "from" / "shelves" / "gone.json").symlink_to("nowhere")  # named, and not there when read
    for as_json in ((), ("--json",)):
        assert cli.run(["shelves", "list", "--store", str(tmp_path / "from"), *as_json]) == 1
        out, err = capsys.readouterr()
        assert "first" in out
        assert "last" in out
        assert err.startswith("storyqa: the shelf 'bad' cannot be read")
        assert "gone" not in out + err
    assert cli.run(["copy", str(tmp_path / "from"), str(tmp_path / "to")]) == 1
    out, err = capsys.readouterr()
    assert "0 books copied" in out
    assert "storyqa shelves delete bad" in err
    assert IndexStore(tmp_path / "to").shelves().names() == ["first", "last"]


@pytest.mark.parametrize(
    ("before", "is_understood"),
    [
        (None, True),
        ("100%", True),
        ({"well": "100%", "clock": 10**6}, True),
        ({"well": "75%", "clock": 0}, True),  # she has come up there
        ({"well": 20, "clock": "100%"}, False),
    ],
)
@pytest.mark.parametrize("books", ["well,clock", "clock,well"])
def test_a_question_that_follows_another_is_understood_by_what_has_been_read_of_any_book(
    store: IndexStore, books: str, before: Any, is_understood: bool
) -> None:
    asked = Ask(
        books,
        "Where did she keep the key?",
        retriever="bm25",
        reader="overlap",
        before=before,
        conversation=(Turn("Who was the wife of the miller?", "Hale"),),
    )
    assert ("Hale" in (BookQA(store).answer(asked).rewritten or "")) is is_understood
