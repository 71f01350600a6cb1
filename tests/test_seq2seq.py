"""The generating reader, against computations done by hand on tiny models."""

from __future__ import annotations

import json
import logging
import math
import shutil
from itertools import pairwise
from pathlib import Path

import huggingface_hub
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, GenerationConfig, T5EncoderModel

from encoders.errors import ModelError
from readers import open_reader
from readers.choosing import answers_to
from readers.external.huggingface.pretrained import version_of
from readers.external.huggingface.seq2seq import Seq2SeqReader
from readers.reading import Reading

READING = Reading(
    "Where did Maud leave the lamp?",
    ("She hid it in a hollow oak, walked home in the dark.", "Nobody answered the goose."),
)
PROMPT = (
    "question: Where did Maud leave the lamp? context: "
    "She hid it in a hollow oak, walked home in the dark. | Nobody answered the goose."
)
CANDIDATES = ["in a hollow oak", "", "on the ferry, out of the wind", "home"]


@pytest.fixture(params=["tiny_t5", "tiny_bart"])
def folder(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


def log_probability(folder: Path, prompt: str, target: list[int]) -> list[float]:
    """log p(token | tokens before, prompt) for each token, one token and one forward pass at a time."""
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    tokens = torch.tensor([AutoTokenizer.from_pretrained(folder)(prompt)["input_ids"]])
    written = [model.config.decoder_start_token_id]
    log_probs = []
    with torch.no_grad():
        for token in target:
            logits = model(input_ids=tokens, decoder_input_ids=torch.tensor([written])).logits[0, -1].double()
            log_probs.append(float(logits[token] - logits.exp().sum().log()))
            written.append(token)
    return log_probs


def choices(folder: Path, target: list[int]) -> slice:
    """The tokens that count: all but a first one that the model is forced to write."""
    forced = GenerationConfig.from_pretrained(folder).forced_bos_token_id
    return slice(int(target[0] == forced), None)


def test_rank_is_the_log_probability_computed_by_hand(folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    scores = Seq2SeqReader.load(str(folder)).rank(READING, CANDIDATES)
    for candidate, score in zip(CANDIDATES, scores, strict=True):
        target = tokenizer(candidate)["input_ids"]
        by_hand = log_probability(folder, PROMPT, target)[choices(folder, target)]
        assert score == pytest.approx(sum(by_hand), rel=1e-4)


def test_greedy_writes_the_likeliest_token_each_time(folder: Path) -> None:
    [[answer]] = Seq2SeqReader.load(str(folder), max_new_tokens=8).read([READING])
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokens = torch.tensor([tokenizer(PROMPT)["input_ids"]])
    target = [0] if "bart" in folder.name else []  # BART is forced to begin with <s>
    while len(target) < 8 and target[-1:] != [tokenizer.eos_token_id]:
        so_far = torch.tensor([[model.config.decoder_start_token_id, *target]])
        target.append(int(model(input_ids=tokens, decoder_input_ids=so_far).logits[0, -1].argmax()))
    assert answer.text == str(tokenizer.decode(target, skip_special_tokens=True)).strip()
    by_hand = log_probability(folder, PROMPT, target)[choices(folder, target)]
    assert answer.score == pytest.approx(sum(by_hand), rel=1e-4)
    assert answer.confidence == pytest.approx(math.exp(sum(by_hand) / len(by_hand)), rel=1e-4)
    assert answer.span is None


def test_beams_find_answers_at_least_as_likely_as_the_greedy_one(folder: Path) -> None:
    [[greedy]] = Seq2SeqReader.load(str(folder), max_new_tokens=6).read([READING], 3)
    [beams] = Seq2SeqReader.load(f"{folder}@beams=8", max_new_tokens=6).read([READING], 3)
    assert len({answer.text for answer in beams}) == len(beams) >= 2
    assert beams[0].score >= greedy.score - 1e-4


def test_an_answer_is_cut_at_its_longest(tiny_bart: Path) -> None:
    texts = [
        Seq2SeqReader.load(str(tiny_bart), max_new_tokens=most).read([READING])[0][0].text
        for most in (2, 4, 8, 16)  # the first is the forced <s>
    ]
    assert all(len(one) < len(other) for one, other in pairwise(texts))


def test_a_question_that_fills_the_input_is_said_to(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    reading = Reading("and then " * 400, READING.passages)
    with caplog.at_level(logging.WARNING, "readers.external.huggingface.seq2seq"):
        assert Seq2SeqReader.load(str(folder)).read([reading]) == [[]]
    assert "question of 800 words fills the model's input of 256 tokens" in caplog.text
    assert Seq2SeqReader.load(str(folder)).rank(reading, CANDIDATES) == [-math.inf] * 4


@pytest.mark.parametrize(("blank", "candidates"), [("", ("home", "a hollow oak")), ("____", ())])
def test_a_choice_that_fills_the_input_has_no_answer(
    folder: Path, blank: str, candidates: tuple[str, ...]
) -> None:
    reading = Reading(f"{'and then ' * 400}{blank}", READING.passages, candidates=candidates)
    assert answers_to(f"seq2seq:{folder}", Seq2SeqReader.load(str(folder)), [reading], 2) == [[]]


def test_a_longer_limit_can_be_set_for_relative_positions(tiny_t5: Path) -> None:
    reading = Reading("and then " * 400, READING.passages)
    assert Seq2SeqReader.load(str(tiny_t5), longest=9_000).read([reading])[0]


@pytest.mark.parametrize("argument", [None, ""])
def test_without_a_model_the_form_is_named(argument: str | None) -> None:
    with pytest.raises(ModelError, match="seq2seq:PATH_OR_NAME"):
        Seq2SeqReader.load(argument)


@pytest.mark.parametrize("beams", ["0", "33", "many", "", "-1"])
def test_a_senseless_number_of_beams_is_refused(tiny_t5: Path, beams: str) -> None:
    with pytest.raises(ModelError, match="from 1 to 32"):
        Seq2SeqReader.load(f"{tiny_t5}@beams={beams}")


def test_a_question_answering_model_is_sent_to_the_span_reader(tiny_bert: Path) -> None:
    with pytest.raises(ModelError, match=f"write span:{tiny_bert}"):
        Seq2SeqReader.load(str(tiny_bert))


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json", "config.json", "pytorch_model.bin"])
def test_a_folder_has_another_version_where_a_file_of_its_model_is_another(
    tiny_t5: Path, tmp_path: Path, file: str
) -> None:
    copy = shutil.copytree(tiny_t5, tmp_path / "copy")
    if file.endswith(".bin"):  # of models that were saved long ago
        (copy / "model.safetensors").rename(copy / file)
    else:
        assert Seq2SeqReader.load(str(copy)).version == open_reader(f"seq2seq:{tiny_t5}").version
    before = version_of(str(copy))
    (copy / "README.md").write_text("It is about boats.")
    assert version_of(str(copy)) == before
    (copy / file).write_bytes((copy / file).read_bytes() + b" ")
    assert version_of(str(copy)) != before


def test_the_version_of_a_model_of_the_hub_is_its_commit(
    tiny_t5: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    commit = "0123456789abcdef" * 2 + "01234567"
    folder = tmp_path / "models--some-team--tiny"
    shutil.copytree(tiny_t5, folder / "snapshots" / commit)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(commit)
    assert Seq2SeqReader.load("some-team/tiny").version == commit[:12]


def broken(kind: str, good: Path, folder: Path) -> str:
    """A name or folder that no model can be loaded from."""
    if kind == "a missing folder":
        return str(folder / "nowhere")
    if kind == "a hub name offline":
        return "some-team/some-model"
    if kind == "a name that no hub has":
        return "--not a name--"
    shutil.copytree(good, folder, dirs_exist_ok=True)
    if kind == "a file":
        return str(folder / "config.json")
    if kind == "no config.json":
        (folder / "config.json").unlink()
    elif kind == "a config.json that is no JSON":
        (folder / "config.json").write_text("{")
    elif kind == "a config.json of an unknown model":
        (folder / "config.json").write_text(json.dumps({"model_type": "crystal-ball"}))
    elif kind == "a language model":
        config = json.loads((folder / "config.json").read_text())
        config |= {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "is_encoder_decoder": False}
        (folder / "config.json").write_text(json.dumps(config))
    elif kind == "no weights":
        (folder / "model.safetensors").unlink()
    elif kind == "half of the weights":
        (folder / "model.safetensors").write_bytes((good / "model.safetensors").read_bytes()[:20_000])
    elif kind == "the encoder alone":
        T5EncoderModel.from_pretrained(good).save_pretrained(folder)
    elif kind == "weights of one layer missing":
        weights = load_file(good / "model.safetensors")
        kept = {name: tensor for name, tensor in weights.items() if "decoder.block.1." not in name}
        save_file(kept, folder / "model.safetensors", {"format": "pt"})
    elif kind == "weights of another size":
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"d_ff": 96}))
    elif kind == "no tokenizer":
        for file in folder.glob("tokenizer*"):
            file.unlink()
    else:
        raise AssertionError(kind)
    return str(folder)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("a missing folder", "there is no folder"),
        ("a hub name offline", "HF_HUB_OFFLINE"),
        ("a name that no hub has", "hub"),
        ("a file", "is a file; give the folder"),
        ("no config.json", r"no config\.json"),
        ("a config.json that is no JSON", "config"),
        ("a config.json of an unknown model", "crystal-ball"),
        ("a language model", "is a GPT2LMHeadModel, not an encoder-decoder"),
        ("no weights", "model.safetensors"),
        ("half of the weights", "cannot load the model"),
        ("the encoder alone", "is a T5EncoderModel, not an encoder-decoder"),
        ("weights of one layer missing", r"no weights for decoder\.block\.1"),
        ("weights of another size", "cannot load the model"),
        ("no tokenizer", "no tokenizer that reads plain letters"),
    ],
)
def test_what_is_wrong_with_a_model_is_said(tiny_t5: Path, tmp_path: Path, kind: str, message: str) -> None:
    with pytest.raises(ModelError, match=message) as raised:
        open_reader(f"seq2seq:{broken(kind, tiny_t5, tmp_path)}")
    assert "\n" not in str(raised.value)
