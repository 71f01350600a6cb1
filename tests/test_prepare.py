"""``storyqa prepare narrativeqa`` on a tiny repository of our own writing."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from indexing.store import IndexStore
from service.cli import run

SUMMARY = (
    "In the village of Brammel the goose Dorrit counts stars for the baker Hob. She finds the tinker Osk "
    "asleep, and with the help of old Marn of Lune she wins the star back."
)
STORY = (
    "The village of Brammel slept. A goose called Dorrit sat on the roof of Hob, the baker, and counted "
    "stars. One star was gone. Osk, a tinker, had it in his kettle. Marn of Lune lent the ladder. "
) * 3
HEADER = "*** START OF THIS PROJECT GUTENBERG EBOOK DORRIT ***\n\nProduced by Sue Hand\n\n"
LICENCE = "\n\n*** END OF THIS PROJECT GUTENBERG EBOOK DORRIT ***\n\nSubscribe to hear about new eBooks.\n"
WHOLE = HEADER + STORY + LICENCE
FERRY = "Wilm rowed the ferry to Tarn and back, year after year, and never once looked down. " * 6
SCRIPT = f"<html><head><title>Dorrit</title></head><body><pre>{STORY}</pre></body></html>"
NOT_FOUND = "<!DOCTYPE html><html><head><title>404</title></head><body>Not found</body></html>"

# id: kind, the file as it lies there (None where it does not), the file as documents.csv knows it
DOCUMENTS: dict[str, tuple[str, str | None, str]] = {
    "a0": ("gutenberg", WHOLE, WHOLE),
    "a1": ("gutenberg", HEADER + STORY, WHOLE),
    "a2": ("gutenberg", None, WHOLE),
    "a3": ("gutenberg", NOT_FOUND, WHOLE),
    "a4": ("gutenberg", WHOLE[:150], WHOLE),
    "a5": ("gutenberg", HEADER + FERRY + LICENCE, WHOLE),
    "a6": ("movie", SCRIPT, SCRIPT),
    "a7": ("movie", NOT_FOUND, SCRIPT),
    "a8": ("gutenberg", " \n", WHOLE),
}
STATUSES = {
    "a0": "ok",
    "a1": "changed",
    "a2": "missing",
    "a3": "error page",
    "a4": "incomplete",
    "a5": "wrong work",
    "a6": "ok",
    "a7": "error page",
    "a8": "missing",
}


def write(path: Path, rows: list[dict[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    repo = tmp_path / "narrativeqa"
    documents = []
    for id, (kind, there, known) in DOCUMENTS.items():
        of_page = known is SCRIPT
        documents.append(
            {
                "document_id": id,
                "set": "valid" if id < "a6" else "test",
                "kind": kind,
                "wiki_title": f"Dorrit {id}",
                "story_file_size": str(len(known)),
                "story_word_count": str(len(STORY.split())),
                "story_start": "The village of" if of_page else "Produced by Sue",
                "story_end": "the ladder ." if of_page else "new eBooks .",
            }
        )
        (repo / "tmp").mkdir(parents=True, exist_ok=True)
        if there is not None:
            (repo / "tmp" / f"{id}.content").write_text(there, "utf-8")
    write(repo / "documents.csv", documents)
    rows = [{"document_id": id, "summary": SUMMARY} for id in DOCUMENTS]
    write(repo / "third_party" / "wikipedia" / "summaries.csv", rows)
    return repo


def report(repo: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    store = repo.parent / "store"
    assert (
        run(["prepare", "narrativeqa", "--repo", str(repo), "--store", str(store), "--json", *options]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_every_story_is_told_for_what_it_is_with_the_reason(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = report(repo, capsys, "--check")
    assert {one["id"]: one["status"] for one in found["documents"]} == STATUSES
    reasons = {one["id"]: " ".join(one["reasons"]) for one in found["documents"]}
    assert reasons["a0"] == reasons["a6"] == ""
    assert f"{len(HEADER + STORY):,} bytes, documents.csv says {len(WHOLE):,}" in reasons["a1"]
    assert "its end marker 'new eBooks .' does not occur" in reasons["a1"]
    assert "start marker" not in reasons["a1"]
    assert "HTML page where Project Gutenberg has plain text" in reasons["a3"]
    assert f"words of {len(STORY.split())}" in reasons["a4"]
    assert "0% of the summary's proper names occur in it" in reasons["a5"]
    assert "words of" in reasons["a7"]
    assert "empty" in reasons["a8"]
    assert found["store"] is None
    assert found["indexed"] == []
    assert not (repo.parent / "store").exists()


def test_what_is_fit_is_indexed_without_its_licence_and_kept_by_a_second_run(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = report(repo, capsys, "--workers", "1")
    assert {one["id"]: one["status"] for one in found["indexed"]} == {
        "a0": "built",
        "a1": "built",
        "a6": "built",
    }
    store = IndexStore(repo.parent / "store")
    assert store.ids() == ["a0", "a1", "a6"]
    for id in store.ids():
        assert store.open(id).book.text == STORY.strip()
    again = report(repo, capsys, "--workers", "1")
    assert {one["status"] for one in again["indexed"]} == {"skipped"}


def test_one_split_is_prepared_alone(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = report(repo, capsys, "--check", "--split", "test")
    assert found["counts"] == {
        "ok": 1,
        "changed": 0,
        "missing": 1,
        "error page": 1,
        "incomplete": 0,
        "wrong work": 0,
    }


def test_people_read_what_is_wrong_and_how_many_are_right(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["prepare", "narrativeqa", "--repo", str(repo), "--check"]) == 0
    printed = capsys.readouterr().out
    assert "a5 Dorrit a5: wrong work, 0% of the summary's proper names" in printed
    assert "9 documents: 2 ok, 1 changed, 2 missing, 2 error page, 1 incomplete, 1 wrong work" in printed


def test_a_repository_without_stories_says_what_to_run(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (repo / "tmp").iterdir():
        path.unlink()
    assert run(["prepare", "narrativeqa", "--repo", str(repo)]) == 2
    assert "run download_stories.sh" in capsys.readouterr().err
    (repo / "documents.csv").unlink()
    assert run(["prepare", "narrativeqa", "--repo", str(repo)]) == 2
    assert "documents.csv is missing; expected there: a clone of the NarrativeQA repository" in (
        capsys.readouterr().err
    )
