"""Training networks to fill blanks: they learn, stop and go on, and leave what a reader opens."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import facts
import pytest
import torch
import typer

from encoders.errors import ModelError
from evaluation.heat_maps import write_heat_maps
from indexing.book import Book
from readers import open_reader
from readers.reading import Reading
from service.cli import run
from text.cloze import cloze_tokens
from text.registry import UnknownName, import_object
from training.corpora import cloze as corpora
from training.objectives.cloze import ClozeTask, export, learn_vocabulary
from training.objectives.cloze_settings import ClozeSettings, stages, system_of
from training.objectives.cloze_systems import CLOZE_SYSTEMS
from training.objectives.document import DocumentObjective
from training.objectives.embedding import EmbeddingObjective
from training.objectives.language_model import TextObjective, book_texts
from training.objectives.memn2n import MemoryObjective
from training.trainer import Trainer

MEMORY, DOCUMENT = MemoryObjective, DocumentObjective
# Per system what learns, and how it learns fifty questions fast: epochs, rate, width of
# vectors and of LSTMs, batch.
FAST: dict[str, tuple[Any, int, float, int, int | None, int]] = {
    "memn2n@self": (MEMORY, 10, 0.03, 32, None, 10),
    "memn2n@self,anonymous": (MEMORY, 20, 0.03, 32, None, 10),
    "memn2n@self,all-windows,all-targets": (MEMORY, 20, 0.03, 32, None, 10),
    "memn2n@window": (MEMORY, 60, 0.03, 32, None, 10),
    "memn2n@sentence": (MEMORY, 150, 0.01, 32, None, 10),
    "memn2n@lexical": (lambda: TextObjective(cased=False, memories=20), 500, 0.06, 32, None, 1),
    "embedding@context": (EmbeddingObjective, 200, 0.01, 32, None, 10),
    "embedding@query": (EmbeddingObjective, 60, 0.03, 32, None, 10),
    "embedding@window": (EmbeddingObjective, 60, 0.03, 32, None, 10),
    "embedding@position": (EmbeddingObjective, 60, 0.03, 32, None, 10),
    "lstm-lm@query": (TextObjective, 100, 0.2, 48, 48, 5),
    "contextual-lstm": (lambda: TextObjective(memories=40), 100, 0.2, 48, 48, 5),
    "deep-lstm": (DOCUMENT, 40, 1e-3, 32, 32, 10),
    "uniform": (DOCUMENT, 60, 3e-4, 32, 32, 10),
    "attentive": (DOCUMENT, 60, 3e-4, 32, 32, 10),
    "impatient": (DOCUMENT, 60, 5e-4, 32, 32, 10),
}
# Language models learn a sentence with what is before it.
TEXTS = {"lstm-lm@query": "sentences", "contextual-lstm": "sentences", "memn2n@lexical": "book"}
# What learns faster than the paper's: fewer hops and memories; the query last.
SIZES = {"memn2n@lexical": {"hops": 2, "n": 20}, "deep-lstm": {"depth": 2, "query_first": 0}}


def cloze_task(system: str, data_set: str = "cbt", **options: Any) -> ClozeTask:
    make, epochs, rate, width, hidden, batch = FAST[system]
    values = {
        "epochs": epochs,
        "rate": rate,
        "width": width,
        "hidden": hidden,
        "batch": batch,
        "dropout": 0.0,
        "chunk": 50,
    }
    settings = ClozeSettings(system, data_set=data_set, **{**values, **options})
    line = system_of(settings)
    if system in SIZES and line.network is not None:
        line = replace(line, network=replace(line.network, sizes=SIZES[system]))
    return ClozeTask(make(), line, settings, facts.cloze_corpus(data_set, TEXTS.get(system, "villages")))


def test_every_system_of_the_table_is_trained_by_the_function_that_its_record_names() -> None:
    for system in CLOZE_SYSTEMS.values():
        assert callable(import_object(system.where))
        if system.network is not None:
            assert any(name.partition(",")[0] in (system.name, f"{system.name}@query") for name in FAST)


def test_official_questions_are_running_text_to_a_language_model(tmp_path: Path) -> None:
    told = [f"Osk saw lamp number {n} ." for n in range(30)]
    candidates = "Dorrit|Lune|Osk|Wilm|boat|goose|hill|moon|oar|stove"
    for split in ("train", "valid_2000ex"):
        lines = []
        for first in range(len(told) - 20):
            lines += [f"{n} {one}" for n, one in enumerate(told[first : first + 20], 1)]
            lines += [f"21 {told[first + 20].replace('Osk', 'XXXXX')}\tOsk\t\t{candidates}", ""]
        (tmp_path / f"cbtest_NE_{split}.txt").write_text("\n".join(lines), "utf-8")
    corpus = corpora.load([tmp_path], "cbt", None, None, 0)
    words = learn_vocabulary(corpus, 100, cased=True)
    [text] = book_texts(corpus, words, cased=True)
    # The sentence after the last context is asked, and no context has it.
    assert "".join(f"{words.key(id)} " for id in text).split("<end>") == [
        "",
        *(f" {one} " for one in told[:-1]),
        " ",
    ]


@pytest.mark.training
@pytest.mark.parametrize("system", FAST)
def test_fifty_blanks_are_learnt_by_heart(system: str, tmp_path: Path) -> None:
    task = cloze_task(system)
    assert len(task.held_out) == 50
    trainer = Trainer(task, tmp_path)
    trainer.train(validations=4)
    assert trainer.use_best("accuracy") > 0
    assert trainer.scores["accuracy"] > 0.95
    trained = export(trainer, f"storyqa train cbt --system {system}")
    name, _, options = system.partition("@")
    reader = open_reader(f"{name}:{tmp_path}@{options}" if options else f"{name}:{tmp_path}")
    right = 0
    asked = facts.fifty_clozes(TEXTS.get(system, "villages"))
    for question in asked.questions:
        text = asked.books[question.book]().text
        passages = tuple(text[start:end] for start, end in question.given)
        [[answer]] = reader.read([Reading(question.text, passages, candidates=question.candidates)])
        if answer.text in " ".join(passages):
            assert answer.span is not None
            assert passages[answer.span.passage][answer.span.start : answer.span.end] == answer.text
        right += answer.text == question.answers[0]
    assert right / 50 == pytest.approx(trained.scores["accuracy"], abs=0.021)
    assert reader.trained_on == (f"Children's Book Test train (50 questions of {len(asked.titles)} works)")


@pytest.mark.parametrize("system", ["memn2n@self", "embedding@position", "lstm-lm@query", "attentive"])
def test_a_run_that_is_stopped_goes_on_to_the_same_weights(system: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"epochs": 2, "unknown": 0.1, "width": 8, "chunk": 20}
    if FAST[system][4] is not None:
        options |= {"hidden": 8, "dropout": 0.2}

    def make() -> ClozeTask:
        return cloze_task(system, "cnn" if system == "attentive" else "cbt", **options)

    whole = Trainer(make(), tmp_path / "whole")
    assert whole.task.chunks == 6
    whole.train(validations=2)

    class Killed(Exception):
        pass

    def kill(done: int, total: int) -> None:
        if done == 4:
            raise Killed

    stopped = Trainer(make(), tmp_path / "stopped")
    with pytest.raises(Killed):
        stopped.train(kill, save_every_s=0, validations=2)
    resumed = Trainer(make(), tmp_path / "stopped")
    assert resumed.resume()
    assert 0 < resumed.chunk < 6
    resumed.train(validations=2)
    states = whole.task.model.state_dict(), resumed.task.model.state_dict()
    for name, tensor in states[0].items():
        assert torch.equal(tensor, states[1][name]), name


def test_the_learning_rate_shrinks_when_the_valid_split_is_no_better(tmp_path: Path) -> None:
    task = cloze_task("memn2n@self", epochs=4, rate=0.0)  # a rate of 0: nothing is ever better
    task.network = replace(task.network, rate=1e-9)
    trainer = Trainer(task, tmp_path)
    trainer.train(validations=4)
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text("utf-8").splitlines()]
    assert len({line["validation"]["accuracy"] for line in lines}) == 1
    assert trainer._shrunk == 2.0**3


def test_markers_are_drawn_anew_for_every_batch() -> None:
    task = cloze_task("attentive", "cnn")
    assert task.anonymous
    examples, _ = next(iter(task.batches(0)))
    torch.manual_seed(0)
    task.model.eval()
    losses = {
        task.objective.loss(task.model, examples, task, random.Random(seed)).item() for seed in range(5)
    }
    assert len(losses) == 5


def test_a_curriculum_reads_near_contexts_first_and_asks_what_they_answer() -> None:
    task = cloze_task("attentive", "cnn", epochs=4, nearest="20,1000")
    lengths, sizes = [], []
    for chunk in range(task.chunks):
        examples = [one for batch, _ in task.batches(chunk) for one in batch]
        assert all(one.candidates[one.answer] in one.context for one in examples)
        assert all(
            (one.context[one.mentions[:, 1]] == one.candidates[one.mentions[:, 0]]).all() for one in examples
        )
        lengths.append(max(len(one.context) for one in examples))
        sizes.append(len(examples))
    assert lengths[:2] == [20, 20]
    assert lengths[2:] == [45, 45]
    assert sizes == [20, 20, 50, 50]


@pytest.mark.parametrize(
    ("system", "nearest", "said"),
    [
        ("attentive", "80,x", "wanted such as 80,320"),
        ("attentive", "0", "80,320"),
    ],
)
def test_a_curriculum_that_cannot_be_is_refused(system: str, nearest: str, said: str) -> None:
    with pytest.raises(typer.BadParameter, match=said):
        stages(ClozeSettings(system, nearest=nearest))


def test_an_unknown_system_or_option_is_refused_with_the_choices() -> None:
    with pytest.raises(UnknownName, match="attentive"):
        system_of(ClozeSettings("atentive"))
    with pytest.raises(ModelError, match="all-windows"):
        ClozeTask(
            MemoryObjective(),
            system_of(ClozeSettings("memn2n@self,loud")),
            ClozeSettings("memn2n@self,loud"),
            facts.cloze_corpus(),
        )


def test_weights_in_int8_say_nearly_the_same_and_are_half_as_large(tmp_path: Path) -> None:
    task = cloze_task("memn2n@self", epochs=1)
    for name, int8 in (("fp16", False), ("int8", True)):
        task.weights("nothing").save(tmp_path / name / "memn2n-self.safetensors", {}, int8)
    exact, small = (open_reader(f"memn2n:{tmp_path / name}@self") for name in ("fp16", "int8"))
    sizes = [(tmp_path / name / "memn2n-self.safetensors").stat().st_size for name in ("fp16", "int8")]
    assert sizes[1] < 0.6 * sizes[0]
    for question in facts.fifty_clozes().questions[:5]:
        text = facts.fifty_clozes().books[question.book]().text
        reading = Reading(question.text, (text,), candidates=question.candidates)
        ranks = [reader.rank(reading, question.candidates) for reader in (exact, small)]  # type: ignore[attr-defined]
        assert ranks[0] == pytest.approx(ranks[1], abs=0.05)


def test_a_folder_of_several_seeds_is_read_as_their_mean(tmp_path: Path) -> None:
    for seed in (1, 2):
        task = cloze_task("memn2n@self", seed=seed, epochs=1)
        task.weights("nothing").save(tmp_path / str(seed) / "memn2n-self.safetensors", {})
    one, other, both = (
        open_reader(f"memn2n:{folder}@self") for folder in (tmp_path / "1", tmp_path / "2", tmp_path)
    )
    question = facts.fifty_clozes().questions[0]
    text = facts.fifty_clozes().books[question.book]().text
    reading = Reading(question.text, (text,), candidates=question.candidates)
    shares = [
        torch.tensor(reader.rank(reading, question.candidates)).exp()  # type: ignore[attr-defined]
        for reader in (one, other, both)
    ]
    assert torch.allclose((shares[0] + shares[1]) / 2, shares[2], atol=1e-5)


@pytest.mark.parametrize("system", ["memn2n@self", "attentive", "impatient"])
def test_heat_maps_are_one_page_of_escaped_words(system: str, tmp_path: Path) -> None:
    data_set = "cbt" if "@" in system else "cnn"
    cloze_task(system, data_set, width=4, **({"hidden": 4} if data_set == "cnn" else {})).weights("").save(
        tmp_path / f"{system.replace('@', '-')}.safetensors", {}
    )
    name, _, options = system.partition("@")
    reader = open_reader(f"{name}:{tmp_path}{'@' if options else ''}{options}")
    asked = facts.fifty_clozes()
    harsh = Book("Dorrit", "Dorrit", asked.books["Dorrit"]().text.replace("yesterday", "<b>&"), "facts")
    books = {**asked.books, "Dorrit": lambda: harsh}
    given = tuple(match.span() for match in re.finditer(r"The .*? \.", harsh.text))
    questions = [replace(question, given=given) for question in asked.questions[:2]]
    benchmark = replace(asked, questions=tuple(questions), books=books)
    write_heat_maps(reader, system, benchmark, 2, tmp_path / "maps" / "attention.html")
    page = (tmp_path / "maps" / "attention.html").read_text("utf-8")
    assert page.count("<h2>") == 2
    assert "<b>" not in page
    assert re.search(r"&lt;|&amp;", page)
    assert not re.search(r"https?:|src=|url\(", page)
    rows = len(list(cloze_tokens(questions[0].text))) + len(list(cloze_tokens(questions[1].text)))
    assert page.count("<h3>") == (rows if system == "impatient" else 0)
    assert page.count("<span ") > 5


def test_a_reader_without_attention_has_no_heat_maps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["evaluate", "cbt", "--data", str(tmp_path), "--reader", "uniform:x", "--heat-maps", "1"]
    assert run(arguments) == 2
    assert "attentive, impatient" in capsys.readouterr().err
