"""No work is done twice, no failure stops the others, and a kill loses the books in hand at most."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.resources import files
from pathlib import Path

import pytest
from novels import novel

from encoders.backbone import MINILM
from encoders.bi_encoder import WEIGHTS, encoder_hash, load_encoder
from encoders.errors import ModelError
from encoders.sizes import STORY
from indexing.book import Book, Chapter
from indexing.book_tasks import source_task
from indexing.build import BookTask, BuildSettings, IdTaken, Outcome, Progress, build_book
from indexing.build_many import build_many
from indexing.errors import SourceError
from indexing.sources.locate import find
from indexing.store import IndexStore
from text.errors import StoryQAError

ROOT = Path(__file__).parent.parent
NOVEL = novel(words=500)
SHELF = [novel(f"book-{number}", words=400 + number, seed=number) for number in range(6)]


@pytest.fixture(scope="module")
def settings(tiny_bert: Path) -> BuildSettings:
    return BuildSettings(encoder=str(tiny_bert))


@pytest.fixture
def store(tmp_path: Path) -> IndexStore:
    return IndexStore(tmp_path / "store")


def jobs(books: list[Book]) -> list[BookTask]:
    return [BookTask(f"{book.id}.txt", partial(replace, book)) for book in books]


def statuses(outcomes: list[Outcome]) -> dict[str | None, str]:
    return {outcome.id: outcome.status for outcome in outcomes}


def leftovers(store: IndexStore) -> list[str]:
    """Names of files in the store that belong to no current build."""
    known = {f"{id}/{store.current(id)}" for id in store.ids()} | {f"{id}/current" for id in store.ids()}
    folder = store.root / "books"
    return [str(p) for p in folder.glob("*/*") if str(p.relative_to(folder)) not in known]


def test_a_book_that_is_indexed_already_is_passed_over_without_its_encoder(
    store: IndexStore, tmp_path: Path
) -> None:
    (tmp_path / "ferry.txt").write_text("Odo rowed the ferry over the dark lake.")
    settings = BuildSettings(encoder=STORY)

    def index() -> list[str]:
        [source] = find(str(tmp_path / "ferry.txt"))
        task = source_task(source, None, None, everything=False)
        return [one.status for one in build_many([task], settings, store, workers=1)]

    assert index() == ["built"]
    load_encoder.cache_clear()
    assert index() == ["skipped"]
    assert load_encoder.cache_info().currsize == 0


def test_the_hash_of_an_encoder_is_that_of_the_loaded_one(tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "trained").mkdir()
    shutil.copy(Path(str(files("encoders.weights"))) / WEIGHTS, tmp_path / "trained")
    for name in (STORY, MINILM.name, str(tiny_bert), str(tmp_path / "trained")):
        assert encoder_hash(name) == load_encoder(name).hash
    (tmp_path / "trained" / WEIGHTS).write_text("no weights")
    load_encoder.cache_clear()
    with pytest.raises(ModelError, match="cannot be read"):
        encoder_hash(str(tmp_path / "trained"))


def test_a_book_that_has_not_changed_is_not_built_again(settings: BuildSettings, store: IndexStore) -> None:
    first = build_book(NOVEL, settings, store)
    build = store.current(NOVEL.id)
    again = build_book(replace(NOVEL, source="moved/elsewhere.txt"), settings, store)
    assert (first.status, again.status) == ("built", "skipped")
    assert again.manifest == first.manifest
    assert store.current(NOVEL.id) == build
    forced = build_book(NOVEL, settings, store, force=True)
    assert forced.status == "built"
    assert store.current(NOVEL.id) != build
    assert forced.manifest is not None
    assert first.manifest is not None
    assert forced.manifest.version == first.manifest.version


@pytest.mark.parametrize(
    "change",
    [
        lambda book, settings: (replace(book, text=book.text + " More."), settings),
        lambda book, settings: (replace(book, title="Another"), settings),
        lambda book, settings: (replace(book, chapters=(Chapter("One", 0, 9),)), settings),
        lambda book, settings: (book, replace(settings, words=100)),
        lambda book, settings: (book, replace(settings, overlap=10)),
    ],
    ids=["text", "title", "chapters", "words", "overlap"],
)
def test_any_change_is_built_under_another_version(
    settings: BuildSettings,
    store: IndexStore,
    change: Callable[[Book, BuildSettings], tuple[Book, BuildSettings]],
) -> None:
    build_book(NOVEL, settings, store)
    before = store.open(NOVEL.id).version
    assert build_book(*change(NOVEL, settings), store).status == "built"
    assert store.open(NOVEL.id).version != before
    assert leftovers(store) == []


def test_other_weights_of_the_encoder_are_a_change(
    settings: BuildSettings, store: IndexStore, tiny_bert: Path, tmp_path: Path
) -> None:
    build_book(NOVEL, settings, store)
    other = Path(shutil.copytree(tiny_bert, tmp_path / "encoder"))
    (other / "tokenizer_config.json").write_text("{}")
    assert build_book(NOVEL, replace(settings, encoder=str(other)), store).status == "built"


def test_a_damaged_build_is_built_again(settings: BuildSettings, store: IndexStore) -> None:
    build_book(NOVEL, settings, store)
    (store.root / "books" / NOVEL.id / store.current(NOVEL.id) / "terms.npy").write_bytes(b"")
    assert build_book(NOVEL, settings, store).status == "built"
    assert store.verify(NOVEL.id) == []


def test_an_id_is_not_taken_from_another_book_unless_forced(
    settings: BuildSettings, store: IndexStore
) -> None:
    build_book(NOVEL, settings, store)
    other = replace(NOVEL, text="Quite another book.", source="other/novel.txt")
    with pytest.raises(IdTaken, match=r"other/novel\.txt already stands for shelf/novel\.txt.*--id.*--force"):
        build_book(other, settings, store)
    assert store.open(NOVEL.id).book == NOVEL
    assert build_book(other, settings, store, force=True).status == "built"


def test_a_build_that_names_its_file_as_it_was_typed_is_of_the_same_file(
    settings: BuildSettings, store: IndexStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_book(NOVEL, settings, store)
    monkeypatch.chdir(tmp_path)
    edited = replace(NOVEL, text="The book, edited.", source=str(tmp_path / NOVEL.source))
    assert build_book(edited, settings, store).status == "built"


def test_an_encoder_given_from_here_is_found_from_anywhere(
    settings: BuildSettings, store: IndexStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(settings.encoder)
    monkeypatch.chdir(folder.parent)
    build_book(NOVEL, replace(settings, encoder=folder.name), store)
    monkeypatch.chdir("/")
    assert store.open(NOVEL.id).encoder().width == 32


@pytest.mark.parametrize(("words", "overlap"), [(0, 0), (10, 10), (10, -1)])
def test_settings_that_make_no_passages_are_refused(words: int, overlap: int) -> None:
    with pytest.raises(StoryQAError, match="wanted"):
        BuildSettings(words, overlap)


def test_a_book_without_words_is_refused(settings: BuildSettings, store: IndexStore) -> None:
    with pytest.raises(SourceError, match=r"empty\.txt has no words"):
        build_book(Book("empty", "Empty", " \n ", "empty.txt"), settings, store)
    assert store.ids() == []
    assert leftovers(store) == []


def test_a_book_without_letters_can_be_indexed(settings: BuildSettings, store: IndexStore) -> None:
    build_book(Book("stars", "Stars", "* * *", "stars.txt"), settings, store)
    assert store.open("stars").sparse.bm25("star").tolist() == [0]


def test_an_unknown_encoder_fails_before_any_work(store: IndexStore) -> None:
    with pytest.raises(ModelError):
        list(build_many(jobs(SHELF), BuildSettings(encoder="no/such"), store, workers=2))


def test_no_workers_are_refused(settings: BuildSettings, store: IndexStore) -> None:
    with pytest.raises(StoryQAError, match="0 workers; wanted 1 or more"):
        list(build_many(jobs(SHELF), settings, store, workers=0))


def test_no_jobs_are_no_work(settings: BuildSettings, store: IndexStore) -> None:
    assert list(build_many([], settings, store)) == []


def test_failures_are_told_and_do_not_stop_the_others(settings: BuildSettings, store: IndexStore) -> None:
    def unreadable() -> Book:
        raise SourceError("page.txt is a picture")

    twin = replace(SHELF[0], source="other/book-0.txt")
    empty = Book("empty", "Empty", " ", "empty.txt")
    work = [BookTask("page.txt", unreadable), *jobs([SHELF[0], twin, empty, SHELF[1]])]
    outcomes = list(build_many(work, settings, store, workers=1))
    assert [outcome.status for outcome in outcomes] == ["failed", "built", "failed", "failed", "built"]
    assert [outcome.name for outcome in outcomes] == [job.name for job in work]
    assert outcomes[0].message == "page.txt is a picture"
    assert "already stands for shelf/book-0.txt" in outcomes[2].message
    assert all(bool(outcome.message) == (outcome.manifest is None) for outcome in outcomes)
    assert store.ids() == ["book-0", "book-1"]


@pytest.mark.processes
def test_processes_build_what_one_process_builds(store: IndexStore, tmp_path: Path) -> None:
    settings = BuildSettings()
    told: list[Progress] = []
    alone = IndexStore(tmp_path / "alone")
    by_one = list(build_many(jobs(SHELF), settings, alone, workers=1, on_progress=told.append))
    by_two = list(build_many(jobs(SHELF), settings, store, workers=2, on_progress=told.append))
    assert statuses(by_one) == statuses(by_two) == dict.fromkeys((book.id for book in SHELF), "built")
    assert alone.ids() == store.ids()
    for id in store.ids():
        assert store.verify(id) == []
        one, two = alone.manifest(id), store.manifest(id)
        assert one.key == two.key
        assert {n: f for n, f in one.files.items() if n != "vectors.faiss"} == {
            n: f for n, f in two.files.items() if n != "vectors.faiss"
        }
    for book in SHELF:
        windows = store.manifest(book.id).counts.windows
        assert Progress(f"{book.id}.txt", book.id, windows, windows) in told
    assert all(0 <= progress.done <= progress.total for progress in told)
    again = list(build_many(jobs(SHELF), settings, store))
    assert statuses(again) == dict.fromkeys((book.id for book in SHELF), "skipped")


@pytest.mark.processes
def test_a_worker_that_dies_costs_its_book_and_no_other(store: IndexStore) -> None:
    long = novel("long", words=6_000)
    killed: list[int] = []

    def kill(progress: Progress) -> None:
        if not killed and progress.done:
            for child in multiprocessing.active_children():
                killed.append(child.pid or 0)
                child.kill()

    work = jobs([long, *SHELF])
    outcomes = list(build_many(work, BuildSettings(), store, workers=2, on_progress=kill))
    assert killed
    assert len(outcomes) == len(work)
    failures = [outcome for outcome in outcomes if outcome.status == "failed"]
    assert "long" in {outcome.id for outcome in failures}
    assert len(failures) <= 2
    assert all("a process died while this book was in hand" in failure.message for failure in failures)
    store.sweep()
    assert leftovers(store) == []


RUN = """
import sys
sys.path.insert(0, sys.argv[2])
from novels import novel
from indexing.build import BookTask, BuildSettings
from indexing.book_tasks import source_task
from indexing.build_many import build_many
from indexing.store import IndexStore

def main():
    jobs = [BookTask(str(n), lambda n=n: novel(f"book-{n}", 300, seed=n)) for n in range(12)]
    store = IndexStore(sys.argv[1])
    for outcome in build_many(jobs, BuildSettings(), store, workers=int(sys.argv[3])):
        print(outcome.id, outcome.status, flush=True)

if __name__ == "__main__":
    main()
"""


@pytest.mark.processes
@pytest.mark.parametrize(
    ("workers", "signal_sent"), [(1, signal.SIGKILL), (2, signal.SIGKILL), (2, signal.SIGINT)]
)
def test_after_a_kill_the_same_command_goes_on_from_there(
    store: IndexStore, tmp_path: Path, workers: int, signal_sent: signal.Signals
) -> None:
    script = tmp_path / "run.py"
    script.write_text(RUN)
    tests = str(Path(__file__).parent)
    command = [sys.executable, str(script), str(store.root), tests, str(workers)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    first = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, start_new_session=True
    )
    with first:
        assert first.stdout is not None
        done = [first.stdout.readline().split()[0].decode() for _ in range(3)]
        time.sleep(0.05)
        if signal_sent == signal.SIGINT:
            os.killpg(first.pid, signal_sent)  # as a terminal does for Ctrl-C
        else:
            first.send_signal(signal_sent)
    assert first.returncode != 0
    deadline = time.monotonic() + 20
    while _group_lives(first.pid):
        assert time.monotonic() < deadline, "workers outlived the process that started them"
        time.sleep(0.05)
    published = store.ids()
    assert set(done) <= set(published)
    assert len(published) < 12
    assert all(store.verify(id) == [] for id in published)
    builds = {id: store.current(id) for id in published}
    books = [novel(f"book-{n}", 300, seed=n) for n in range(12)]
    again = list(build_many(jobs(books), BuildSettings(), store, workers=1))
    assert statuses(again) == {b.id: "skipped" if b.id in published else "built" for b in books}
    assert {id: store.current(id) for id in published} == builds
    assert all(store.verify(id) == [] for id in store.ids())
    assert leftovers(store) == []


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.processes
def test_closing_the_iterator_early_ends_the_work_and_leaves_nothing_half_done(store: IndexStore) -> None:
    work = jobs([*SHELF, novel("long", words=6_000)])
    outcomes = build_many(work, BuildSettings(), store, workers=2)
    assert next(outcomes).status == "built"
    outcomes.close()  # type: ignore[attr-defined]
    assert multiprocessing.active_children() == []
    assert leftovers(store) == []
    assert 1 <= len(store.ids()) < 7
