"""The large models that are shipped, beside their backbone: they answer, and `auto` is one of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from encoders.bi_encoder import load_encoder
from encoders.cross_encoder import load_crossencoder
from evaluation.metrics.overlap import rouge_l
from evaluation.sample import sample_questions, sample_story
from indexing.build import BuildSettings, build_book
from indexing.formats.read import read_book
from indexing.sources.locate import find
from indexing.store import IndexStore
from readers import open_reader
from readers.reading import Reading
from retrieval import open_retriever

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.large

SHOWN = [question for question in sample_questions() if question.demo][:2]


def test_the_sample_story_is_answered_and_cited_by_default_where_the_backbone_is(tmp_path: Path) -> None:
    around = {name: value for name, value in os.environ.items() if name != "STORYQA_SIZE"}
    around |= {"STORYQA_STORE": str(tmp_path)}

    def storyqa(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", "from service.cli import main; main()", *words],
            cwd=ROOT,
            env=around,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    storyqa("index", str(sample_story()))
    text = sample_story().read_text(encoding="utf-8")
    for question in SHOWN:
        answer = json.loads(storyqa("ask", sample_story().stem, question.question, "--json"))
        assert answer["versions"]["reader"].startswith("auto:large@")
        assert answer["versions"]["retriever"] == "rerank-large"
        evidence = answer["evidence"]
        assert evidence is None or text[evidence["start"] : evidence["end"]] == evidence["text"]
        assert rouge_l(answer["answer"], question.answers) >= 0.5


def test_the_readers_say_which_weights_they_have() -> None:
    encoder = load_crossencoder("large")
    for name in ("span:large", "generate:large", "auto:large"):
        reader = open_reader(name)
        assert reader.version is not None
        assert reader.version.split("+")[0] == encoder.version
        [[answer, *_]] = reader.read([Reading("Who hid the lamp?", ("Maud hid the lamp in a hollow oak.",))])
        assert "maud" in answer.text.lower()


def test_an_index_can_have_the_vectors_of_the_large_encoder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STORYQA_ENCODER", "large")
    store = IndexStore(tmp_path)
    [source] = find(str(sample_story()))
    book = read_book(source)
    manifest = build_book(book, BuildSettings(), store).manifest
    assert manifest is not None
    assert manifest.settings.encoder == "large"
    assert manifest.encoder_hash == load_encoder("large").hash
    assert manifest.width == load_crossencoder("large").base.width
    monkeypatch.delenv("STORYQA_ENCODER")
    assert manifest.repair().endswith("--encoder large --force")
    index = store.open(book.id)
    for question in SHOWN:
        [hits] = open_retriever("hybrid", index).search([question.question], 3)
        found = [" ".join(index.text(hit.passage.start, hit.passage.end).split()) for hit in hits]
        assert question.evidence is not None
        assert any(question.evidence in text for text in found)


def test_the_encoder_finds_what_fits() -> None:
    passages = ["The ferry crossed the lake at dawn.", "Her brother baked bread for the village."]
    question, *texts = load_encoder("large").encode(["Who made the bread?", *passages])
    assert question @ texts[1] > question @ texts[0]
