"""Training the NarrativeQA paper's models: what they learn from, that they learn it, and what is kept."""

from __future__ import annotations

import csv
import json
import math
import random
from pathlib import Path
from typing import Any

import facts
import folktales
import pytest
import torch
from hypothesis import given
from hypothesis import settings as how
from hypothesis import strategies as st

from encoders.errors import ModelError
from readers import open_reader
from readers.neural.example import encode_example
from readers.neural.vocabulary import SEPARATOR_KEY, UNKNOWN, Vocabulary
from readers.reading import Reading
from text.closest_spans import best_spans
from text.similarity import rouge_l
from text.spans import TokenText
from training.context_sampling import NeuralExample, excerpt, sample_neural_example
from training.corpora.corpus import Corpus, NoTrainingData, iter_questions
from training.corpora.fairytaleqa import FAIRYTALES
from training.corpora.loading import load_official_corpus
from training.objectives.attention_sum import AttentionSumObjective, AttentionSumSettings
from training.objectives.bidaf import BidafObjective, BidafSettings
from training.objectives.from_scratch import NeuralTask, export, learn_vocabulary
from training.objectives.seq2seq_lstm import Seq2SeqLstmObjective, Seq2SeqLstmSettings
from training.span_targets import Target
from training.trainer import Trainer
from training.validation import neural_scores

LETTERS = st.lists(st.sampled_from("abcdef"), max_size=9)
MODELS: dict[str, tuple[Any, Any, dict[str, int]]] = {
    "seq2seq-lstm": (Seq2SeqLstmObjective, Seq2SeqLstmSettings, {"width": 24, "hidden": 24}),
    "attention-sum": (AttentionSumObjective, AttentionSumSettings, {"width": 48, "hidden": 48}),
    "bidaf": (BidafObjective, BidafSettings, {"width": 32}),
}


def neural_task(model: str, corpus: Corpus, **options: Any) -> NeuralTask:
    objective, settings, sizes = MODELS[model]
    return NeuralTask(objective(), settings(**{**sizes, **options}), corpus)


@how(deadline=None)
@given(st.lists(LETTERS, min_size=1, max_size=3), LETTERS)
def test_no_span_of_a_text_is_better_than_the_oracles(passages: list[list[str]], answer: list[str]) -> None:
    text = TokenText([" ".join(passage) for passage in passages])
    found = best_spans(text, answer)
    every: dict[tuple[int, int], float] = {}
    for length in range(1, 10):
        spans = text.windows(length)
        scores = rouge_l(text, spans, answer).tolist()
        every |= dict(zip(zip(spans.begin.tolist(), spans.end.tolist(), strict=True), scores, strict=True))
    assert found.rouge_l == pytest.approx(max(every.values(), default=0.0))
    best = {span for span, score in every.items() if score and score == pytest.approx(found.rouge_l)}
    assert set(zip(found.begin.tolist(), found.end.tolist(), strict=True)) == best


def test_spans_near_the_best_are_as_long_and_hold_what_is_asked() -> None:
    text = TokenText(["the red kite flew over the red and very old kite", "the the"])
    near = best_spans(text, ["the", "red", "kite"], near=0.6, longest=4, holding={"kite", "moon"})
    spans = [(int(begin), int(end)) for begin, end in zip(near.begin, near.end, strict=True)]
    assert spans == [(0, 3), (1, 3)]
    assert near.scores.tolist() == pytest.approx([1.0, 2.44 * 2 / (2 + 1.44 * 3)])
    assert len(best_spans(text, ["kite", "moon"], least=0.9).begin) == 0


def test_the_oracle_looks_where_it_is_told_to() -> None:
    text = TokenText(["a red kite", "the red kite flew"])
    assert best_spans(text, ["red", "kite"]).begin.tolist() == [1, 4]
    assert best_spans(text, ["red", "kite"], [1]).begin.tolist() == [4]
    assert len(best_spans(text, ["blue"]).begin) == 0
    assert len(best_spans(text, []).begin) == 0


def _span(passages: tuple[str, ...], right: tuple[int, ...], *answers: str, marked: Any = None) -> str | None:
    """What the span objective learns, as text."""
    example = NeuralExample("Who?", passages, right, answers, marked)
    sample = BidafObjective().sample(example, Vocabulary(()), random.Random(0))
    if sample is None:
        return None
    text, (first, last) = sample.example.text, (sample.example.token_of[n] for n in sample.target)
    passage, start, end = text.place(int(first), int(last) + 1)
    return str(passages[passage][start:end])


def test_a_span_is_learnt_where_it_is_marked_or_else_where_the_reference_is_nearest() -> None:
    passages = ("The kite flew.", "A tinker sold the red kite, and the red kite flew.")
    assert _span(passages, (0, 1), "a red kite") == "red kite"
    assert _span(passages, (0,), "a red kite") == "kite"
    assert _span(passages, (1,), "blue") is None
    start = passages[1].rindex("red")
    assert _span(passages, (1,), "the red", marked=Target(1, start, start + 8, 1.0)) == "red kite"


def test_the_pointing_reader_learns_the_words_that_stand_in_the_context_and_the_end() -> None:
    example = NeuralExample(
        "Who?", ("Then the tinker sold a red kite .", "It flew ."), (0,), ("the kite that Osk sold",)
    )
    sample = AttentionSumObjective().sample(example, Vocabulary(("kite",)), random.Random(0))
    assert sample is not None
    keys = {number: key for key, number in sample.example.type_of.items()}
    assert [keys[number] for number in sample.target] == ["the", "kite", "sold", "<end>"]
    assert sample.example.types[-1] == sample.target[-1]
    assert (
        AttentionSumObjective().sample(
            NeuralExample("Who?", ("It flew .",), (0,), ("Osk",)), Vocabulary(()), random.Random(0)
        )
        is None
    )


def test_the_context_is_its_passages_with_separators_and_every_position_leads_back() -> None:
    text = TokenText(["Osk slept .", "", "He slept on ."])
    example = encode_example("Who slept?", text, random.Random(0))
    assert [n for n, key in enumerate(example.context) if key == SEPARATOR_KEY] == [3, 4]
    assert len(example.context) == len(text.ids) + 2
    assert [example.token_of[position] for position in example.position_of] == list(range(len(text.ids)))
    assert example.question == ["who", "slept", "?", "<end>"]


def test_the_vocabulary_has_the_most_frequent_words_and_no_names() -> None:
    vocabulary = learn_vocabulary(facts.fifty().train, 12)
    assert vocabulary.words[:3] == ("the", "behind", "a")
    assert not {"lune", "osk"} & set(learn_vocabulary(facts.fifty().train, 500).words)
    assert len(vocabulary.words) == 12
    assert vocabulary.ids(["behind", "nowhere"]) == [vocabulary.ids(["behind"])[0], UNKNOWN]
    assert vocabulary.key(vocabulary.ids(["@entity7"])[0]) == "@entity7"


@pytest.mark.parametrize("model", MODELS)
def test_a_model_from_nothing_learns_in_fp32_on_any_cpu(model: str) -> None:
    task = neural_task(model, facts.fifty(), epochs=1, words=200)
    batch = next(iter(task.batches(0)))
    task.model.eval()  # without dropout, which would differ
    with torch.autocast("cpu", torch.bfloat16):
        [mixed] = task.losses(batch).values()
    [exact] = task.losses(batch).values()
    assert mixed.dtype == torch.float32
    assert mixed.item() == exact.item()


@pytest.mark.training
@pytest.mark.parametrize(
    ("model", "epochs", "batch"), [("bidaf", 100, 500), ("attention-sum", 80, 500), ("seq2seq-lstm", 80, 100)]
)
def test_fifty_examples_are_learnt_by_heart(model: str, epochs: int, batch: int, tmp_path: Path) -> None:
    corpus = facts.fifty()
    assert len(list(iter_questions(corpus.train))) == 50
    task = neural_task(model, corpus, epochs=epochs, words=200, rate=1e-2, batch=batch, chunk=50)
    trainer = Trainer(task, tmp_path)
    trainer.train(validations=2)
    # From the questions alone the ten villages cannot be told apart.
    assert trainer.scores["rouge_l"] > (0.6 if model == "seq2seq-lstm" else 0.95)
    assert trainer.scores["mrr"] > 0.6
    trained = export(trainer, f"storyqa train {model}")
    reader = open_reader(f"{model}:{tmp_path}")
    document = corpus.train[0]
    readings = [Reading(one.text, (document.text,)) for one in document.questions]
    for reading, (answer, *_) in zip(readings, reader.read(readings), strict=True):
        if model == "bidaf":
            assert answer.span is not None
        if model == "attention-sum":
            assert answer.support is not None
            assert answer.text in document.text[answer.support.start : answer.support.end]
        if model == "seq2seq-lstm":  # as likely a candidate as it was an answer
            (rank,) = reader.rank(reading, [answer.text])  # type: ignore[attr-defined]
            assert math.exp(rank) == pytest.approx(answer.confidence, rel=1e-3)
    assert neural_scores(reader, corpus.train, 0)["rouge_l"] == pytest.approx(  # type: ignore[arg-type]
        trained.scores["rouge_l"], abs=0.02
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folktales.write_fairytaleqa(tmp_path_factory.mktemp("data"), "train")


def write_train(folder: Path) -> Path:
    """NarrativeQA of which one document is in the training split."""
    folktales.write_narrativeqa(folder)
    paths = (folder / "documents.csv", folder / "qaps.csv", folder / "third_party/wikipedia/summaries.csv")
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            if row["document_id"] == folktales.PAIRED:
                row["set"] = "train"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return folder


def test_of_narrativeqa_the_training_split_alone_is_learnt(tmp_path: Path, data: Path) -> None:
    official = write_train(tmp_path / "official")
    for stories in (False, True):
        corpus = load_official_corpus([official], stories)
        assert [document.name for document in (*corpus.train, *corpus.held_out)] == [folktales.PAIRED]
    valid = folktales.write_narrativeqa(tmp_path / "valid")
    with pytest.raises(NoTrainingData, match="training split"):
        load_official_corpus([valid])
    assert {document.kind for document in load_official_corpus([valid, data]).train} == {FAIRYTALES}


def test_a_full_story_is_learnt_by_the_passages_nearest_to_the_answer(tmp_path: Path) -> None:
    document = load_official_corpus([write_train(tmp_path)], stories=True).train[0]
    one = document.questions[0]
    context = sample_neural_example(document, one, 1, 0, random.Random(0))
    assert context is not None
    assert len(context.passages) == 1
    assert one.answers[0].split()[0] in context.passages[0]


def test_so_many_words_of_a_fairy_tale_hold_the_sections_that_answer(data: Path) -> None:
    document = load_official_corpus([data]).train[0]
    for seed in range(40):
        one = document.questions[seed % len(document.questions)]
        rng = random.Random(seed)
        text = excerpt(document, one, 60, rng)
        assert text in document.text
        assert document.text[slice(*one.gold[0])] in text
        assert len(text.split()) <= max(60, len(document.text[slice(*one.gold[0])].split()))
    contexts = [
        sample_neural_example(document, document.questions[0], 0, 60, random.Random(seed))
        for seed in range(20)
    ]
    assert len({context.passages for context in contexts if context}) > 2


def test_the_best_weights_are_kept_by_each_score(data: Path, tmp_path: Path) -> None:
    documents = load_official_corpus([data]).train
    sizes = {"width": 8, "hidden": 8}
    task = neural_task(
        "attention-sum", Corpus(documents, documents), epochs=4, words=100, rate=2e-2, chunk=7, **sizes
    )
    trainer = Trainer(task, tmp_path)
    found: list[dict[str, float]] = []
    trainer.train(lambda done, total: found.append(dict(trainer.scores)), validations=4)
    for name in task.chosen_by:
        best = max(scores[name] for scores in found)
        done = trainer.use_best(name)
        assert trainer.scores[name] == best
        assert task.validate() == pytest.approx(trainer.scores)
        assert found[round(done * len(found)) - 1] == trainer.scores


@pytest.mark.parametrize("model", MODELS)
def test_the_command_leaves_a_reader_a_card_and_a_curve(
    model: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from service.cli import run

    out = tmp_path / "run"
    small = [
        "--epochs",
        "1",
        "--words",
        "50",
        "--width",
        "8",
        *([] if model == "bidaf" else ["--hidden", "8"]),
    ]
    arguments = ["train", model, "--data", str(data), "--out", str(out), *small, "--json"]
    assert run(arguments) == 0
    (path,) = map(Path, json.loads(capsys.readouterr().out)["weights"])
    card = path.with_suffix(".md").read_text("utf-8")
    assert "FairytaleQA train (7 questions)" in card
    assert "Nothing named val" in card
    assert str(tmp_path) not in card
    assert (out / "curve.png").read_bytes().startswith(b"\x89PNG")
    reader: Any = open_reader(f"{model}:{out}")
    assert reader.trained_on == "FairytaleQA train (7 questions)"
    assert reader.version
    assert reader.read([Reading("Who was asleep on the moon?", folktales.GOOSE)])[0]
    assert run([*arguments, "--resume"]) == 0


def test_a_folder_without_weights_or_with_others_says_how_they_are_made(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="storyqa train bidaf --data"):
        open_reader(f"bidaf:{tmp_path}")
    (tmp_path / "bidaf.safetensors").write_bytes(b"\x00" * 64)
    with pytest.raises(ModelError, match="train it again"):
        open_reader(f"bidaf:{tmp_path}")


def test_weights_that_rank_better_are_ranked_with(data: Path, tmp_path: Path) -> None:
    for seed, name in ((1, "attention-sum"), (2, "attention-sum-mrr")):
        task = neural_task(
            "attention-sum", load_official_corpus([data]), seed=seed, words=100, width=8, hidden=8
        )
        for folder in (tmp_path / "both", tmp_path / str(seed)):
            file = name if folder.name == "both" else "attention-sum"
            task.weights("").save(folder / f"{file}.safetensors", {})
    reading = Reading("Who was asleep on the moon?", folktales.GOOSE)
    both, first, second = (open_reader(f"attention-sum:{tmp_path / name}") for name in ("both", "1", "2"))
    ranks = [one.rank(reading, ["Osk", "a baker"]) for one in (both, first, second)]  # type: ignore[attr-defined]
    assert both.read([reading]) == first.read([reading])
    assert ranks[0] == ranks[2] != ranks[1]


def test_the_loss_of_every_batch_is_a_finite_number(data: Path) -> None:
    corpus = load_official_corpus([data])
    for model in MODELS:
        task = neural_task(model, corpus, words=100, batch=120)
        losses = [task.losses(batch)[model] for batch in task.batches(0)]
        assert len(losses) > 1
        assert all(loss.ndim == 0 and torch.isfinite(loss) for loss in losses)
