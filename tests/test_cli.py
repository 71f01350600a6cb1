"""The command line as people and programs use it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import shelf
from chat_server import chatting, listing, parrot, refuses, says

from answering.book_qa import Ask, BookQA
from encoders.runtime import pick_runtime
from indexing.store import IndexStore
from service.cli import COMMANDS, run
from service.schemas import AnswerResponse
from text.registry import import_object

ROOT = Path(__file__).parents[1]
# A shell that starts tests in the background has them ignore Ctrl-C, which children inherit.
STORYQA = [
    sys.executable,
    "-c",
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from service.cli import main; main()",
]
PATIENCE_S = 300
QUICK = ("--retriever", "bm25", "--reader", "overlap")

Run = Callable[..., str]


@pytest.fixture
def storyqa(
    shelf_store: IndexStore, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Run:
    """Runs a command line on the store of tiny books and returns its output; it must end as ``code`` says."""
    monkeypatch.setenv("STORYQA_STORE", str(shelf_store.root))
    monkeypatch.delenv("STORYQA_DEBUG", raising=False)

    def call(*arguments: str, code: int = 0) -> str:
        returned = run(arguments)
        captured = capsys.readouterr()
        assert returned == code, captured.err
        if code == 0:
            assert captured.err == ""
            return captured.out
        assert captured.err.startswith("storyqa: ")
        assert captured.err.count("\n") == 1, captured.err
        assert "Traceback" not in captured.err
        return captured.err

    return call


def test_ask_prints_for_machines_what_the_service_answers(storyqa: Run, shelf_store: IndexStore) -> None:
    book, question = shelf.QUESTIONS[2]
    printed = json.loads(storyqa("ask", book, question, *QUICK, "-k", "2", "--n-best", "2", "--json"))
    ask = Ask(book, question, k=2, n_best=2, retriever="bm25", reader="overlap")
    wanted = AnswerResponse.of(BookQA(shelf_store).answer(ask)).model_dump()
    assert printed | {"timings_ms": None} == wanted | {"timings_ms": None}


def test_ask_shows_people_the_answer_in_its_sentence_and_where_it_stands(storyqa: Run) -> None:
    book, question = shelf.QUESTIONS[2]
    shown = storyqa("ask", book, question, *QUICK)
    evidence = json.loads(storyqa("ask", book, question, *QUICK, "--json"))["evidence"]
    line = " ".join(shown.replace("│", " ").split())
    sentence, answer = (" ".join(evidence[part].split()) for part in ("sentence", "text"))
    assert sentence.replace(answer, f"**{answer}**") in line
    assert f"II. The Storm · {evidence['percent']:g} % into the book" in line
    assert f"characters {evidence['start']:,} to {evidence['end']:,} · passage {evidence['passage']}" in line
    assert question in line
    assert "confidence 0." in line


def test_ask_says_what_was_asked_where_that_is_otherwise_than_it_was_put(storyqa: Run) -> None:
    book, question = shelf.QUESTIONS[2]
    assert "asked as:" not in storyqa("ask", book, question, *QUICK)
    shown = storyqa("ask", book, f"Can you tell me {question[0].lower()}{question[1:]}", *QUICK)
    assert f"asked as: {question}" in shown


def test_ask_says_in_words_that_the_book_may_not_say(storyqa: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    guess = "The book may not say; the best guess is:"
    asked = ("ask", *shelf.QUESTIONS[2], *QUICK)
    monkeypatch.setenv("STORYQA_ANSWERABLE", "0")
    monkeypatch.setenv("STORYQA_SURE", "0")
    sure, told = storyqa(*asked), json.loads(storyqa(*asked, "--json"))
    monkeypatch.setenv("STORYQA_ANSWERABLE", "1")
    unsure, warned = storyqa(*asked), json.loads(storyqa(*asked, "--json"))
    assert guess not in sure
    above, nearest = unsure.split("what fits the question best")
    assert [line for line in above.splitlines() if guess not in line][:-2] == sure.splitlines()[:-1]
    assert warned["passages"]
    for one, line in zip(warned["passages"], nearest.splitlines()[1:], strict=False):
        place = f"characters {one['start']:,} to {one['end']:,}"
        assert f"passage {one['number']} · {one['chapter']} · {place}" in line
    assert (told["answerable"], warned["answerable"]) == (True, False)
    assert (told["verdict"], warned["verdict"]) == ("answer", "none")
    assert warned["answer"] == told["answer"]
    monkeypatch.setenv("STORYQA_ANSWERABLE", "0")
    monkeypatch.setenv("STORYQA_SURE", "1")
    assert "Maybe:" in storyqa(*asked)
    assert json.loads(storyqa(*asked, "--json"))["verdict"] == "maybe"
    for wrong in ("1.1", "-0.1", "nan", "often"):
        monkeypatch.setenv("STORYQA_ANSWERABLE", wrong)
        assert f"STORYQA_ANSWERABLE is '{wrong}'" in storyqa(*asked, code=2)


def test_ask_lists_the_nearest_passages_of_a_question_that_it_refuses(storyqa: Run) -> None:
    asked = ("ask", "lantern", "Is Ines glad of the oil?", *QUICK)
    shown, passages = storyqa(*asked), json.loads(storyqa(*asked, "--json"))["passages"]
    assert "note: yes or no is asked for" in shown
    assert passages
    assert all(f"passage {one['number']} · {one['chapter']} · " in shown for one in passages)


def test_ask_says_so_where_nothing_may_be_read_yet(storyqa: Run) -> None:
    assert "no answer" in storyqa("ask", *shelf.QUESTIONS[0], *QUICK, "--before", "1%")
    answer = json.loads(storyqa("ask", *shelf.QUESTIONS[0], *QUICK, "--before", "3", "--json"))
    assert (answer["answer"], answer["confidence"], answer["evidence"]) == ("", 0.0, None)
    assert answer["answerable"] is False


def test_ask_takes_a_chat_model_and_the_key_and_patience_of_the_environment(
    storyqa: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORYQA_CHAT_KEY", "sesame")
    with chatting(parrot) as server:
        chat = ("--retriever", "bm25", "--reader", f"chat:{server.url}@model=parrot")
        answer = json.loads(storyqa("ask", *shelf.QUESTIONS[2], *chat, "--json"))
        assert answer["evidence"]["text"] == answer["answer"]
        assert answer["note"] is None
        assert server.asked[0].headers["authorization"] == "Bearer sesame"
        server.script = says("ANSWER: a whale\nPASSAGE: 99\nQUOTE: It was a whale.")
        shown = " ".join(storyqa("ask", *shelf.QUESTIONS[2], *chat).replace("│", " ").split())
        assert "note: the model cited passage 99, of 5; the citation was dropped" in shown
        server.script = says("ANSWER: unanswerable\nPASSAGE: 0\nQUOTE:")
        assert "The book may not say" in storyqa("ask", *shelf.QUESTIONS[2], *chat)
        server.script = refuses(401, b'{"error": "sesame is no key of ours"}')
        error = storyqa("ask", *shelf.QUESTIONS[2], *chat, code=2)
        assert f"{server.url} answered 401 (*** is no key of ours); check the key" in error
        monkeypatch.setenv("STORYQA_CHAT_TIMEOUT_S", "0.3")
        server.script = lambda handler, asked: handler.server.left.wait(20)  # type: ignore[attr-defined]
        assert "did not answer within 0.3 s" in storyqa("ask", *shelf.QUESTIONS[2], *chat, code=2)
    monkeypatch.setenv("STORYQA_CHAT_TIMEOUT_S", "0")
    assert "STORYQA_CHAT_TIMEOUT_S is '0'" in storyqa("ask", *shelf.QUESTIONS[2], *chat, code=2)


def test_search_prints_passages_best_first(storyqa: Run) -> None:
    found = json.loads(storyqa("search", *shelf.QUESTIONS[6], "--retriever", "tfidf", "-k", "3", "--json"))
    assert len(found["hits"]) == 3
    assert all(hit["text"] == shelf.CLOCK[hit["start"] : hit["end"]] for hit in found["hits"])
    shown = storyqa("search", *shelf.QUESTIONS[6], "--retriever", "tfidf", "-k", "3")
    assert all(f"{hit['start']:,} to {hit['end']:,}" in shown for hit in found["hits"])
    assert "nothing found" in storyqa("search", *shelf.QUESTIONS[6], "--retriever", "bm25", "--before", "0")


def test_books_and_show_tell_what_is_in_the_store(storyqa: Run) -> None:
    assert [book["id"] for book in json.loads(storyqa("books", "--json"))] == sorted(shelf.STORIES)
    listed = storyqa("books")
    assert all(id in listed and title in listed for id, (title, _) in shelf.STORIES.items())
    book = json.loads(storyqa("show", "lantern", "--json"))
    assert book["characters"] == len(shelf.LANTERN)
    shown = storyqa("show", "lantern")
    size = f"{book['passages']} of 30 words"
    for fact in (book["title"], book["source"], book["version"], "II. The Storm", size):
        assert fact in shown


def test_a_book_is_indexed_skipped_verified_found_damaged_and_removed(storyqa: Run, tmp_path: Path) -> None:
    at = ("--store", str(tmp_path / "store"))
    folder = tmp_path / "books"
    folder.mkdir()
    (folder / "well.txt").write_text(shelf.WELL, encoding="utf-8")
    assert json.loads(storyqa("books", *at, "--json")) == []
    assert "storyqa index" in storyqa("books", *at)

    [outcome] = json.loads(storyqa("index", str(folder), *at, "--words", "40", "--overlap", "5", "--json"))
    assert (outcome["id"], outcome["status"]) == ("well", "built")
    twice = (str(folder), str(folder / "well.txt"))
    assert "unchanged" in storyqa("index", *twice, *at, "--words", "40", "--overlap", "5")
    [outcome] = json.loads(
        storyqa("index", str(folder / "well.txt"), *at, "--id", "odo", "--title", "Odo's Well", "--json")
    )
    assert (outcome["id"], outcome["title"], outcome["passages"]) == ("odo", "Odo's Well", 1)
    shown = json.loads(storyqa("show", "well", *at, "--json"))
    assert (shown["words_per_passage"], shown["source"]) == (40, "well.txt")

    assert json.loads(storyqa("verify", *at, "--json")) == {"books": 2, "damaged": 0, "problems": {}}
    [text] = (tmp_path / "store" / "books" / "odo").glob("*/text.npy")
    content = bytearray(text.read_bytes())
    content[-1] ^= 1
    text.write_bytes(content)
    assert run(["verify", *at]) == 1
    assert run(["verify", "well", *at]) == 0
    [manifest] = (tmp_path / "store" / "books" / "odo").glob("*/manifest.json")
    manifest.write_text("{}")
    assert "storyqa index" in storyqa("books", *at, code=1)
    assert "odo" in storyqa("remove", "odo", *at) + storyqa("remove", "well", *at)
    assert json.loads(storyqa("books", *at, "--json")) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["frobnicate"], "No such command"),
        (["ask"], "Missing argument"),
        (["ask", "lantern"], "Missing argument"),
        (["ask", "lantern", "Who?", "--frob"], "No such option"),
        (["ask", "lantern", "Who?", "-k", "five"], "-k"),
        (["ask", "lantern", "Who?", "-k", "0"], "wanted 1 to 100"),
        (["ask", "lantern", "Who?", "-k", "101"], "wanted 1 to 100"),
        (["ask", "lantern", "Who?", "--n-best", "0"], "wanted 1 to 20"),
        (["ask", "lantern", "Who?", "--before", "140%"], "'0%' to '100%'"),
        (["ask", "lantern", "Who?", "--before", "-1"], "wanted a character offset"),
        (["ask", "lantern", " "], "question is empty"),
        (["ask", "lantern", "x" * 2001], "at most 2,000"),
        (["ask", "lantern", "Who?\udcff", *QUICK], "Unicode"),
        (["ask", "lantem", "Who?", *QUICK], "did you mean lantern"),
        (["ask", "lantern", "Who?", "--reader", "overlab"], "choose from"),
        (["ask", "lantern", "Who?", "--reader", "seq2seq"], "seq2seq:"),
        (["ask", "lantern", "Who?", "--reader", "chat"], "chat:BASE_URL@model=NAME"),
        (["ask", "lantern", "Who?", "--reader", "chat:http://127.0.0.1:1/v1"], "chat:BASE_URL@model=NAME"),
        (["ask", "lantern", "Who?", "--reader", "chat:ftp://x/v1@model=y"], "http or https"),
        (["ask", "lantern", "Who?", "--retriever", "bm52"], "did you mean 'bm25'"),
        (["search", "lantem", "Who?"], "did you mean lantern"),
        (["search", "lantern", "Who?", "-k", "0"], "wanted 1 to 100"),
        (["show", "lantem"], "did you mean lantern"),
        (["show", "../lantern"], "unknown book"),
        (["remove", "lantem"], "did you mean lantern"),
        (["verify", "lantem"], "did you mean lantern"),
        (["index"], "Missing argument"),
        (["index", "no/such/file.txt"], "does not exist"),
        (["index", "gutenberg:moby"], "gutenberg:1342"),
        (["index", "ftp://example.org/book.txt"], "cannot be fetched"),
        (["index", str(ROOT / "pyproject.toml"), __file__, "--id", "one"], "--id names one book"),
        (["index", str(ROOT / "pyproject.toml"), "--words", "0"], "wanted 1 or more"),
        (["index", str(ROOT / "pyproject.toml"), "--overlap", "200"], "wanted 0 <= overlap < words"),
        (["index", str(ROOT / "pyproject.toml"), "--id", "No Slug"], "cannot be a book id"),
        (["index", __file__, "--report", str(ROOT / "pyproject.toml" / "bad.jsonl")], "another --report"),
        (["serve", "--port", "65536"], "--port"),
        (["serve", "--port", "0", "--workers", "2", "--store", __file__], "is a file; wanted the folder"),
        (["serve", "--host", "no.such.host.invalid", "--port", "0"], "--host"),
        (["serve", "--host", "127.0.0..1", "--port", "0"], "is not an address of this machine"),
        (["evaluate", "frobnicate"], "No such command"),
        (["evaluate", "narrativeqa"], "--data"),
        (["book"], "storyqa: No such command 'book'. Did you mean 'books'? See storyqa --help"),
        (["keys", "create", "me", "--scope", "all"], "'--scope': 'all' is not one of"),
        (["--json", "books"], "--json stands behind what it is for: storyqa books --json"),
        (["--json"], "storyqa COMMAND --json"),
        (["shelves", "create", "My Shelf"], "'My Shelf' cannot be the name of a shelf: "),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(storyqa: Run, arguments: list[str], said: str) -> None:
    assert said in storyqa(*arguments, code=2)


@pytest.mark.parametrize("option", [["book.txt"], ["--manifest", "list.csv"]], ids=["book", "list"])
def test_a_report_does_not_take_the_place_of_what_is_read(
    storyqa: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {"book.txt": "Odo dug a well beside the mill.", "list.csv": "path\nbook.txt\n"}
    for name, text in texts.items():
        Path(name).write_text(text, "utf-8")
    Path("link").hardlink_to(option[-1])
    said = storyqa("index", *option, "--report", "link", code=2)
    assert said == "storyqa: link is read, and would be overwritten; give another --report\n"
    assert {name: Path(name).read_text("utf-8") for name in texts} == texts


def test_a_report_of_before_is_kept_where_nothing_is_read(storyqa: Run, tmp_path: Path) -> None:
    report = tmp_path / "bad.jsonl"
    report.write_text("of before", "utf-8")
    storyqa("index", str(tmp_path / "missing.txt"), "--report", str(report), code=2)
    assert report.read_text("utf-8") == "of before"


def test_one_bad_book_does_not_keep_the_others_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], shelf_store: IndexStore
) -> None:
    folder = tmp_path / "books"
    folder.mkdir()
    (folder / "a.txt").write_text(" \n")
    (folder / "b.txt").write_text(shelf.WELL, encoding="utf-8")
    assert run(["index", str(folder), "--workers", "1", "--store", str(tmp_path / "store")]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("storyqa: ")
    assert captured.err.count("\n") == 1
    assert "a.txt" in captured.err
    assert IndexStore(tmp_path / "store").ids() == ["b"]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("OPEN_MB", "many", "valid integer"),
        ("READERS", "auto, overlab", "unknown reader 'overlab' (did you mean 'overlap'?); choose from"),
        ("READER", "spam:folder", "unknown reader 'spam'"),
        ("EXTRACTOR", "rnn", "unknown reader 'rnn'"),
        ("RETRIEVERS", "bm25,bm52", "unknown retriever 'bm52' (did you mean 'bm25'?); choose from"),
        ("RETRIEVER", "dence", "did you mean 'dense'?"),
        ("CORS_ORIGINS", "https://a.example, reader", "'reader' is no origin"),
        ("CORS_ORIGINS", "https://a.example/page", "wanted such as https://reader.example.org"),
        ("CORS_ORIGINS", "https://me@a.example", "is no origin"),
        ("CORS_ORIGINS", "https://a.example:port", "is no origin"),
        ("CORS_ORIGINS", "null", "is no origin"),
        ("TRACES", "localhost:4318", "wanted such as http://127.0.0.1:4318/v1/traces"),
    ],
)
def test_a_bad_setting_is_named(
    storyqa: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(f"STORYQA_{name}", value)
    line = storyqa("books", code=2)
    assert f"STORYQA_{name} is {value!r}: " in line
    assert "Value error" not in line
    assert said in line


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("RATE", "often", "'often' is no rate; wanted STORYQA_RATE such as '600/minute'"),
        ("RATE_STORAGE", "nowhere://1.2.3.4", "wanted redis://HOST:PORT in STORYQA_RATE_STORAGE"),
        ("JOBS", "sqlite://file", "'sqlite' is no database for jobs"),
        ("STATE", __file__, f"{__file__} cannot be written (File exists); give another STORYQA_STATE"),
        ("STATE", f"{__file__}/state", "cannot be written (Not a directory); give another STORYQA_STATE"),
        ("STATE", "/proc", "/proc cannot be written ("),
    ],
)
def test_what_no_worker_can_use_is_told_before_the_address_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(f"STORYQA_{name}", value)
    assert run(["serve", "--port", "0"]) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.out == ""


def test_a_bad_book_is_named_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STORYQA_STORE", str(tmp_path / "store"))
    empty, good = tmp_path / "empty.txt", tmp_path / "good.txt"
    empty.touch()
    good.write_text(shelf.WELL, "utf-8")
    assert run(["index", str(empty)]) == 2
    assert capsys.readouterr().err.count(str(empty)) == 1
    assert run(["index", str(good), "--id", "No Slug"]) == 2
    assert capsys.readouterr().err.startswith(f"storyqa: {good}: 'No Slug' cannot be")


def test_an_empty_store_that_an_option_names_is_named_where_books_are_to_be_added(
    storyqa: Run, tmp_path: Path
) -> None:
    place = str(tmp_path / "my books")
    assert storyqa("books").startswith("┏")
    assert f"add one: storyqa index PATH --store '{place}'" in storyqa("books", "--store", place)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["keys", "list"], 0, "make one: storyqa keys create NAME{}\n"),
        (["shelves", "list"], 0, "make one: storyqa shelves create NAME ID..{}\n"),
        (["shelves", "create", "sea"], 0, "ask them: storyqa ask shelf:sea QUESTION{}\n"),
        (["serve", "--host", "0.0.0.0", "--port", "0"], 2, "storyqa keys create NAME{}, or serve"),
    ],
)
def test_a_command_that_is_told_is_about_the_store_that_was_named(
    storyqa: Run, tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    place = str(tmp_path / "my books")
    assert said.format(f" --store '{place}'") in storyqa(*arguments, "--store", place, code=code)


def test_a_book_that_is_damaged_hides_no_other_of_its_shelf(
    shelf_store: IndexStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(shelf_store.root, tmp_path, dirs_exist_ok=True)
    store = IndexStore(tmp_path)
    store.shelves().put("sea", ["clock", "lantern"])
    (tmp_path / "books" / "clock" / store.current("clock") / "manifest.json").write_text("{")
    assert run(["shelves", "show", "sea", "--store", str(tmp_path)]) == 1
    shown = capsys.readouterr()
    assert "storyqa index SOURCE --id clock --force" in shown.err
    assert "clock  damaged: " in shown.out
    assert "lantern  The Lamp at Quill Point\n" in shown.out


def test_an_unexpected_error_is_one_line_that_tells_how_to_see_the_rest(
    storyqa: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "book.txt").write_text(shelf.WELL, encoding="utf-8")
    monkeypatch.setenv("STORYQA_STORE", str(tmp_path / "store"))
    arguments = ("index", str(tmp_path / "book.txt"), "--workers", "0")
    assert "wanted 1 or more" in storyqa(*arguments, code=2)
    monkeypatch.setitem(COMMANDS, "evaluate", "evaluation.no_such_module:app")
    assert "STORYQA_DEBUG=1" in storyqa("evaluate", code=1)
    monkeypatch.setenv("STORYQA_DEBUG", "1")
    assert run(["evaluate"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_the_places_of_stores_and_models_are_told_as_they_are_spelled(
    storyqa: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "a[" / "b]"  # which rich would take for the end of what never began
    monkeypatch.setenv("STORYQA_MODELS", str(place))
    (place / "mpnet").mkdir(parents=True)
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        (place / "mpnet" / name).touch()
    assert f"No books in {place} yet" in storyqa("books", "--store", str(place))
    assert "a[/b]/mpnet" in "".join(storyqa("models", "list").replace("│", "").split())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_commands_of_other_packages_are_there(name: str) -> None:
    assert callable(import_object(COMMANDS[name]))


def test_arguments_reach_the_commands_of_other_packages_as_they_are(storyqa: Run) -> None:
    shown = storyqa("evaluate", "narrativeqa", "--help")
    assert "storyqa evaluate narrativeqa" in shown
    assert "--data" in shown


def test_help_lists_every_command_and_loads_nothing_that_takes_time() -> None:
    code = "import sys; from service.cli import run; run(['--help']); print(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = done.stderr.split()
    # Seconds depend on what else runs; what is loaded does not. `benchmarks.start` times it.
    packages = {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    ours = {"service", "terminal", "text", "encoders", "indexing", "readers", "retrieval"}
    typer = {"typer", "shellingham", "annotated_doc", "rich", "markdown_it", "mdurl", "pygments", "attr"}
    of_the_installation = {name for name in packages if name.startswith(("__", "_distutils"))}
    assert packages - of_the_installation <= ours | typer
    assert len(loaded) < 450
    commands = ["index", "books", "show", "remove", "verify", "search", "ask", "serve", "demo"]
    commands += ["keys", *COMMANDS]
    assert all(command in done.stdout for command in commands)


@pytest.mark.shipped
def test_demo_answers_five_questions_about_the_bundled_story(
    storyqa: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORYQA_READER", "overlap")
    at = ("--store", str(tmp_path))
    answers = json.loads(storyqa("demo", *at, "--json"))
    assert len(answers) == 5
    text = IndexStore(tmp_path).open("weigher-of-sandry-quay").book.text
    for answer in answers:
        evidence = answer["evidence"]
        assert text[evidence["start"] : evidence["end"]] == answer["answer"]
    shown = storyqa("demo", *at)
    assert all(answer["question"] in " ".join(shown.split()) for answer in answers)
    assert shown.count("   confidence ") == 5


def test_version_and_a_bare_call_say_what_this_is(storyqa: Run) -> None:
    assert storyqa("--version").startswith("storyqa ")
    told = json.loads(storyqa("--version", "--json"))
    assert told == {
        "version": storyqa("--version").split()[1],
        "retriever": "rerank",
        "reader": "auto",
        "size": "small",
        "runtime": str(pick_runtime()),
    }
    assert "Answers questions" in storyqa()


@pytest.mark.parametrize(
    ("size", "reader", "retriever"), [("small", "auto", "rerank"), ("large", "auto:large", "rerank-large")]
)
def test_what_the_defaults_stand_for_is_listed(
    storyqa: Run, monkeypatch: pytest.MonkeyPatch, size: str, reader: str, retriever: str
) -> None:
    monkeypatch.setenv("STORYQA_SIZE", size)
    assert json.loads(storyqa("--version", "--json"))["size"] == size
    for command, name in (("readers", reader), ("retrievers", retriever)):
        [default] = (row for row in json.loads(storyqa(command, "--json")) if row["default"])
        assert default["resolved"] == name
        assert name in storyqa(command)
    monkeypatch.setenv("STORYQA_SIZE", "huge")
    assert "STORYQA_SIZE is 'huge'" in storyqa("--version", "--json", code=2)


def start(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    """A storyqa process of its own."""
    return subprocess.Popen(
        [*STORYQA, *arguments],
        cwd=ROOT,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.processes
def test_ctrl_c_while_indexing_keeps_what_is_done_and_the_same_command_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "books"
    folder.mkdir()
    for number in range(20):
        text = f"This is tale {number} of many.\n\n{shelf.LANTERN}"
        (folder / f"tale-{number:02}.txt").write_text(text, encoding="utf-8")
    arguments = ("index", str(folder), "--workers", "1", "--store", str(tmp_path / "store"))
    process = start(*arguments, OMP_NUM_THREADS="1")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("tale-00: ")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert err.count("\n") == 1
    assert "the same command goes on" in err
    store = IndexStore(tmp_path / "store")
    kept = store.ids()
    assert 1 <= len(kept) < 20
    assert all(store.verify(id) == [] for id in kept)
    assert run(list(arguments)) == 0
    assert len(store.ids()) == 20


@pytest.mark.processes
def test_serve_answers_until_it_is_told_to_stop(shelf_store: IndexStore) -> None:
    process = start(
        "serve",
        "--port",
        "0",
        "--json",
        "--store",
        str(shelf_store.root),
        STORYQA_RETRIEVER="bm25",
        STORYQA_READER="overlap",
    )
    assert process.stdout is not None
    lines: list[str] = []
    while not lines or lines[-1] != "}\n":
        lines.append(process.stdout.readline())
        assert lines[-1], process.communicate()[1]
    served: dict[str, Any] = json.loads("".join(lines))
    book, question = shelf.QUESTIONS[0]
    again = start("serve", "--port", str(served["port"]))  # at once: the first has loaded nothing yet
    with httpx.Client(base_url=served["url"], timeout=PATIENCE_S) as client:
        answer = client.post("/answer", json={"book_id": book, "question": question})
    assert answer.json()["evidence"]["chapter"] == "I. The Lamp"
    _, said = again.communicate(timeout=PATIENCE_S)
    assert again.returncode == 2
    assert said.startswith(f"storyqa: cannot listen at 127.0.0.1 port {served['port']} (")
    assert said.count("\n") == 1
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    assert "Traceback" not in err


@pytest.mark.processes
def test_serve_says_which_language_models_run_on_this_machine(shelf_store: IndexStore) -> None:
    with chatting(parrot, listing("qwen3", "gemma")) as server:
        process = start(
            *("serve", "--port", "0", "--store", str(shelf_store.root)),
            STORYQA_READER="overlap",
            STORYQA_MODEL_SERVERS=server.url,
        )
        assert process.stdout is not None
        assert process.stdout.readline().startswith("storyqa at http://127.0.0.1:")
        said = f"Ollama at {server.url} has qwen3, gemma: choose it on the page\n"
        assert process.stdout.readline() == said
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)


@pytest.mark.processes
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_were_never_open_are_no_errors(shelf_store: IndexStore, closed: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = (
        os.environ
        | {"STORYQA_STORE": str(shelf_store.root)}
        | {"STORYQA_RETRIEVER": "bm25", "STORYQA_READER": "overlap"}
    )

    def start_without(*arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["sh", "-c", f'exec "$0" "$@" {closed}', *STORYQA, *arguments],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    process = start_without("books", "--json")
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    assert bool(out) == (closed == "2>&-")
    process = start_without("serve", "--port", str(port))
    try:
        with httpx.Client(transport=httpx.HTTPTransport(retries=20), timeout=PATIENCE_S) as client:
            assert client.get(f"http://127.0.0.1:{port}/healthz").status_code == 200
    finally:
        process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    assert "Traceback" not in err


@pytest.mark.processes
def test_closed_pipes_and_terminals_without_unicode_are_no_errors(
    shelf_store: IndexStore,
) -> None:
    store = {"STORYQA_STORE": str(shelf_store.root)}
    process = start("show", "lantern", "--json", **store)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(timeout=PATIENCE_S) in (0, 1)

    process = start("ask", *shelf.QUESTIONS[1], *QUICK, **store, PYTHONIOENCODING="ascii")
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    assert "blue oil" in out
    process = start("ask", *shelf.QUESTIONS[1], *QUICK, "--json", **store, PYTHONIOENCODING="ascii")
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    assert json.loads(out)["evidence"]
