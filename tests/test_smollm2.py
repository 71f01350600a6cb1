"""A real language model, SmolLM2-135M-Instruct, in this process and behind ``transformers serve``.

So small a model answers many questions wrongly; what is claimed is what must hold of any model.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import shelf
import torch
from model_server import serving_model
from server import serving, wait_until_ready
from test_answer_events import EVENTS, events

from encoders.backbone import SMOLLM2
from encoders.causal_lm import load_causal_lm, plain_folder
from indexing.store import IndexStore
from readers.default.writer import WriteReader
from readers.default.writer_prompt import WritePrompts
from readers.external.chat_prompts import load_prompt
from readers.reading import Reading
from service.settings import Settings

pytestmark = pytest.mark.processes

pytest.importorskip("openai", reason="transformers serve needs the extra dev")
pytest.importorskip("gguf", reason="transformers reads the model by it: the extra dev")

PATIENCE_S = 600


@pytest.fixture(scope="module")
def model() -> Iterator[Path]:
    """The model in a folder as ``transformers serve`` loads it."""
    if not SMOLLM2.is_installed:
        pytest.skip(SMOLLM2.remedy)
    with plain_folder(SMOLLM2) as folder:
        yield folder


@pytest.fixture(scope="module")
def reader(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The full name of the reader that asks it."""
    log = tmp_path_factory.mktemp("serve") / "log"
    with serving_model(model, log, PATIENCE_S) as url:
        yield f"chat:{url}@model={model}@chars=1500"


@pytest.fixture(scope="module")
def client(reader: str, shelf_store: IndexStore) -> Iterator[httpx.Client]:
    settings = Settings(
        store=shelf_store.root,
        retriever="bm25",
        reader="overlap",
        readers=(reader,),
        chat_timeout_s=PATIENCE_S,
        deadline_s=PATIENCE_S,
    )
    with serving(settings) as client:
        client.timeout = PATIENCE_S
        wait_until_ready(client)
        yield client


def asked(client: httpx.Client, reader: str, question: str, **more: Any) -> list[tuple[str, dict[str, Any]]]:
    """The events of one answer."""
    body = {"book_id": "clock", "question": question, "reader": reader, "k": 3} | more
    with client.stream("POST", "/answer", json=body, headers=EVENTS) as response:
        return list(events(response))


@pytest.mark.parametrize(
    ("question", "prompt"),
    [
        ("Where had the clockmaker gone?", "answer"),
        ("Did the clock stop?", "yes-no"),
        ("Summarise the story.", "summary"),
    ],
)
def test_its_words_come_as_they_are_written_and_every_place_that_it_cites_stands_in_the_book(
    client: httpx.Client, reader: str, question: str, prompt: str
) -> None:
    (first, found), *words, (last, answer) = asked(client, reader, question)
    assert (first, last) == ("found", "answer"), (last, answer)
    assert len(found["hits"]) >= 3
    assert {name for name, _ in words} <= {"words"}
    assert answer["versions"]["prompt"] == load_prompt(prompt).version
    best = answer["candidates"][0]
    assert best["text"].strip()
    for place in [*filter(None, [best["evidence"]]), *best["also"]]:
        assert shelf.CLOCK[place["start"] : place["end"]] == place["text"]


def test_nothing_from_behind_the_limit_is_told(client: httpx.Client, reader: str) -> None:
    limit = len(shelf.CLOCK) // 2
    told = asked(client, reader, "How many eggs were in the nest?", before=limit)
    for secret in ("jackdaw", "nineteen", "speckled"):
        assert secret not in json.dumps(told)
    assert all(passage["end"] <= limit for passage in told[-1][1]["passages"])


def test_a_follow_up_is_rewritten_with_names_of_the_conversation_alone(
    client: httpx.Client, reader: str
) -> None:
    turns = [{"question": "Who was always reading?", "answer": "Pim"}]
    *_, (_, answer) = asked(client, reader, "What did he notice?", conversation=turns)
    assert answer["answer"].strip()
    assert {"Ruta", "Vell"}.isdisjoint((answer["rewritten"] or "").replace("?", " ").split())


@pytest.fixture
def unpacked_anew(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of models in which the model has not been unpacked."""
    folder = tmp_path / SMOLLM2.name
    folder.mkdir()
    (folder / SMOLLM2.weights).symlink_to(SMOLLM2.folder() / SMOLLM2.weights)
    monkeypatch.setenv("STORYQA_MODELS", str(tmp_path))
    monkeypatch.setattr("encoders.backbone._checked", {})
    return folder


def test_it_is_unpacked_once_and_says_what_transformers_reads_in_the_packed_file(unpacked_anew: Path) -> None:
    with plain_folder(SMOLLM2) as first:
        assert first.parent == unpacked_anew
        written = (first / "model.safetensors").stat()
    with plain_folder(SMOLLM2) as second:
        assert (second / "model.safetensors").stat() == written
    assert {path.name for path in unpacked_anew.iterdir()} == {SMOLLM2.weights, first.name}
    from transformers import AutoTokenizer, LlamaForCausalLM

    model, tokenizer = load_causal_lm(SMOLLM2)
    tokens = AutoTokenizer.from_pretrained(unpacked_anew, gguf_file=SMOLLM2.weights)
    packed = LlamaForCausalLM.from_pretrained(unpacked_anew, gguf_file=SMOLLM2.weights)
    text = "Who hid the lamp? \u201cMaud\u201d, said Pim\u2019s aunt.<|im_end|>"
    assert tokenizer.chat_template == tokens.chat_template
    ids = tokenizer(text)["input_ids"]
    assert ids == tokens(text)["input_ids"]
    asked = torch.tensor([ids])
    with torch.inference_mode():
        ours, theirs = model(input_ids=asked).logits, packed(input_ids=asked).logits
    assert (ours - theirs).abs().max() < 0.01 * theirs.std()


def test_where_nothing_can_be_written_beside_it_it_is_unpacked_for_this_once(unpacked_anew: Path) -> None:
    (unpacked_anew / "plain").symlink_to("nowhere")
    with plain_folder(SMOLLM2) as folder:
        assert folder.parent != unpacked_anew
        assert (folder / "model.safetensors").is_file()
    assert not folder.exists()


def test_in_this_process_it_writes_and_prefers_what_the_passages_say() -> None:
    if not SMOLLM2.is_installed:
        pytest.skip(SMOLLM2.remedy)
    model, tokenizer = load_causal_lm(SMOLLM2)
    reading = Reading(
        "Where did Maud hide the lamp?", ("The river rose. Maud hid the lamp in a hollow oak.",)
    )
    prompt = WritePrompts(tokenizer)(reading.question, reading.passages)
    assert str(tokenizer.decode(prompt or [])).endswith("<|im_end|>\n<|im_start|>assistant\n")
    reader = WriteReader(model, tokenizer)
    [[answer]] = reader.read([reading])
    assert answer.text
    right, wrong = reader.rank(reading, ["in a hollow oak", "in a purple kettle"])
    assert right > wrong
