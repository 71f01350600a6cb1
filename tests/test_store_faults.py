"""Faults between a store in a bucket and its server: nothing is torn, nothing is done twice, all is said."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from novels import novel
from object_servers import FaultyProxy, bucket_store, environment
from server import problem, serving

from indexing.build import BuildSettings, build_book
from indexing.errors import StoreUnreachable, UnknownBook
from indexing.manifest import Manifest
from indexing.object_store.bucket_store import BucketStore
from indexing.store import IndexStore
from service import cli
from service.settings import Settings

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parent.parent
NOVEL = novel(words=300)
POINTER = f"/books/{NOVEL.id}"


@pytest.fixture
def proxy(s3_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    """What stands between the stores of a test and the server."""
    with FaultyProxy(s3_url) as proxy:
        for name, value in environment(proxy.url).items():
            monkeypatch.setenv(name, value)
        yield proxy


@pytest.fixture(scope="module")
def built(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stores in folders, each with an edition of the book."""
    root = tmp_path_factory.mktemp("built")
    for text in ("one", "two"):
        book = replace(NOVEL, text=f"Edition {text}.")
        build_book(book, BuildSettings(encoder=str(tiny_bert)), IndexStore(root / text))
    return root


def publish(store: BucketStore, folder: Path) -> None:
    """Publish the edition that the store in ``folder`` has."""
    source = IndexStore(folder)

    def write(workspace: Path) -> Manifest:
        return source.copy_out(NOVEL.id, workspace)

    with store.claim(NOVEL.id) as claim:
        claim.publish(write)


def once(fault: str, method: str, part: str) -> Callable[[str, str], str | None]:
    """``fault`` for the first request of ``method`` whose path has ``part`` in it."""
    left = [fault]

    def choose(asked: str, path: str) -> str | None:
        return left.pop() if left and asked == method and part in path else None

    return choose


def read(prefix: str, cache: Path) -> str:
    """The text of the book as a machine sees it that has never seen it before."""
    return bucket_store(prefix, cache).open(NOVEL.id).book.text


@pytest.mark.parametrize(
    ("fault", "part"),
    [
        *(("503", part) for part in ("/builds/", "/manifests/", "/catalogue/changes/", POINTER)),
        *(("lost", part) for part in ("/builds/", "/catalogue/changes/", POINTER)),
        *(("half", part) for part in ("/builds/", POINTER)),
    ],
)
def test_a_put_that_fails_once_is_made_again_and_counts_once(
    proxy: FaultyProxy, built: Path, tmp_path: Path, fault: str, part: str
) -> None:
    prefix = f"put-{fault}-{part.replace('/', '')}"
    store = bucket_store(prefix, tmp_path / "cache")
    publish(store, built / "one")
    proxy.fault = once(fault, "PUT", part)
    publish(store, built / "two")
    assert read(prefix, tmp_path / "other") == "Edition two."
    assert bucket_store(prefix, tmp_path / "other").ids() == [NOVEL.id]


@pytest.mark.parametrize(
    ("fault", "part"),
    [
        ("503", "/manifests/"),
        ("503", "/catalogue/current"),
        ("503", POINTER),
        ("silent", "/builds/"),
        ("silent", "list-type"),
    ],
)
def test_a_get_that_fails_once_is_made_again(
    proxy: FaultyProxy, built: Path, tmp_path: Path, fault: str, part: str
) -> None:
    prefix = f"get-{fault}-{part.replace('/', '')}"
    publish(bucket_store(prefix, tmp_path / "cache"), built / "one")
    proxy.fault = once(fault, "GET", part)
    store = bucket_store(prefix, tmp_path / "other")
    assert (store.ids(), store.open(NOVEL.id).book.text) == ([NOVEL.id], "Edition one.")


def test_a_server_that_stays_away_is_named_and_what_was_open_goes_on(
    proxy: FaultyProxy, built: Path, tmp_path: Path
) -> None:
    store = bucket_store("away", tmp_path / "cache")
    publish(store, built / "one")
    assert (store.open(NOVEL.id).book.text, store.ids()) == ("Edition one.", [NOVEL.id])
    proxy.fault = lambda method, path: "503"
    time.sleep(1.1)  # pointers and lists are good for a second
    assert (store.open(NOVEL.id).book.text, store.ids()) == ("Edition one.", [NOVEL.id])
    with pytest.raises(StoreUnreachable, match="AWS_ENDPOINT_URL"):
        bucket_store("away", tmp_path / "cache").open(NOVEL.id)
    with pytest.raises(StoreUnreachable):
        publish(store, built / "two")
    proxy.fault = lambda method, path: None
    assert read("away", tmp_path / "other") == "Edition one."


def test_a_bucket_that_does_not_exist_is_one_line_and_exit_code_2(
    proxy: FaultyProxy, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["books", "--store", "s3://nowhere/at-all"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "the store s3://nowhere/at-all cannot be used" in said
    assert "NoSuchBucket" in said


def test_a_service_answers_503_while_its_store_does_not_answer_and_goes_on_then(
    proxy: FaultyProxy, built: Path, tmp_path: Path
) -> None:
    publish(bucket_store("served", tmp_path / "first"), built / "one")
    settings = Settings(store="s3://books/served", cache=tmp_path / "cache", state=tmp_path / "state")
    with serving(settings) as client:
        proxy.fault = lambda method, path: "503"
        # The novel may have been opened to warm the models, and would go on being answered from.
        for response in (client.get("/books/other"), client.put("/shelves/tales", json={"books": ["novel"]})):
            assert problem(response, 503)["type"] == "urn:storyqa:problem:store-unreachable"
            assert "Retry-After" in response.headers
            assert "127.0.0.1" not in response.text
        proxy.fault = lambda method, path: None
        assert client.get("/books/novel/text").json()["text"] == "Edition one."
        assert client.put("/shelves/tales", json={"books": ["novel"]}).json()["books"] == ["novel"]
        assert [book["id"] for book in client.get("/books").json()] == ["novel"]


def killed_before(proxy: FaultyProxy, request: int, script: str, *arguments: object) -> bool:
    """Run ``script`` and kill it when it makes the request of that number; whether it came to that."""
    came = len(proxy.requests)
    process = subprocess.Popen([sys.executable, "-c", script, *map(str, arguments)], cwd=ROOT)

    def fault(method: str, path: str) -> str | None:
        if len(proxy.requests) - came > request:
            process.send_signal(signal.SIGKILL)
            process.wait()
            return "silent"
        return None

    proxy.fault = fault
    code = process.wait(60)
    proxy.fault = lambda method, path: None
    assert code in (0, -signal.SIGKILL)
    return code != 0


PUBLISH = """
import sys; from pathlib import Path
from object_servers import bucket_store
from indexing.store import IndexStore
store, source = bucket_store(sys.argv[1], Path(sys.argv[2])), IndexStore(sys.argv[3])
with store.claim("novel") as claim: claim.publish(lambda into: source.copy_out("novel", into))
"""
COPY = """
import sys; from pathlib import Path
from object_servers import bucket_store
from indexing.copying import copy_books
from indexing.store import IndexStore
store, source = bucket_store(sys.argv[1], Path(sys.argv[2])), IndexStore(sys.argv[3])
assert [one.status for one in copy_books(source, store, source.ids())] != ["failed"]
"""


# A copy publishes as a build does: of it those requests that come then.
@pytest.mark.parametrize(("script", "first"), [(PUBLISH, 0), (COPY, 4)], ids=["build", "copy"])
def test_a_process_killed_between_any_two_requests_leaves_the_old_build_or_the_new_one(
    proxy: FaultyProxy,
    built: Path,
    tmp_path: Path,
    script: str,
    first: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{ROOT / 'tests'}")
    prefix = "killed-build" if script is PUBLISH else "killed-copy"
    publish(bucket_store(prefix, tmp_path / "first"), built / "one")
    texts, request = [], first
    while killed_before(proxy, request, script, prefix, tmp_path / "cache", built / "two"):
        store = bucket_store(prefix, tmp_path / f"other-{request}")
        texts.append(store.open(NOVEL.id).book.text)
        assert store.verify(NOVEL.id) == []
        assert store.ids() == [NOVEL.id]
        if texts[-1] == "Edition two.":
            publish(store, built / "one")
        request += 1
    if script is PUBLISH:
        # The pointer read, a pack, a manifest and the list's change put there; only then the pointer.
        assert texts[:5] == ["Edition one."] * 5
    assert set(texts) <= {"Edition one.", "Edition two."}
    assert len(texts) > 2
    assert read(prefix, tmp_path / "last") == "Edition two."
    assert not any((tmp_path / "cache" / "new").iterdir())
    store = bucket_store(prefix, tmp_path / "last")
    assert store.collect(-1).number > len(texts)  # what the killed ones left, and the editions replaced
    assert (store.list_anew(from_builds=True), store.verify(NOVEL.id)) == (1, [])


def test_a_first_build_that_was_killed_is_unknown_until_it_is_made_again(
    proxy: FaultyProxy, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{ROOT / 'tests'}")
    assert killed_before(proxy, 4, PUBLISH, "unborn", tmp_path / "cache", built / "one")
    store = bucket_store("unborn", tmp_path / "other")
    with pytest.raises(UnknownBook):
        store.open(NOVEL.id)
    publish(store, built / "one")
    assert store.open(NOVEL.id).book.text == "Edition one."
    assert store.list_anew(from_builds=False) == 1


def test_a_workspace_that_a_killed_process_left_is_deleted_and_one_in_hand_is_not(
    proxy: FaultyProxy, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{ROOT / 'tests'}")
    assert killed_before(proxy, 1, PUBLISH, "left", tmp_path / "cache", built / "one")
    [left] = (tmp_path / "cache" / "new").iterdir()
    store = bucket_store("left", tmp_path / "cache")
    with store.claim(NOVEL.id):
        bucket_store("left", tmp_path / "cache").sweep()
        assert left.exists()
    store.sweep()
    assert not left.exists()
