"""``storyqa evaluate`` from end to end, on tiny data sets of our own writing."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import folktales
import pytest
from chat_server import chatting, says
from object_servers import BUCKET, environment

from encoders.cross_encoder import load_crossencoder
from evaluation.benchmarks import BENCHMARKS, fairytaleqa
from evaluation.benchmarks.benchmark import Question
from evaluation.predictions import Prediction, PredictionFile
from evaluation.run import _prediction
from evaluation.systems import Answered
from evaluation.versions import retriever_version
from service.cli import run

SCORES = ("rouge_l", "bleu_1", "bleu_4", "meteor", "f1", "exact_match", "mrr", "retrieval_mrr")
CONTRACT = {"questions", "stories", *SCORES, "recall_at", "intervals"}


@pytest.fixture(scope="module", autouse=True)
def _no_java() -> Iterator[None]:
    """METEOR takes half a minute to start; it has its own tests."""
    path = os.environ["PATH"]
    os.environ["PATH"] = ""
    yield
    os.environ["PATH"] = path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``fairytaleqa``, ``narrativeqa`` and ``squad.json``; indexes go to ``store``."""
    folder = tmp_path_factory.mktemp("data")
    folktales.write_fairytaleqa(folder / "fairytaleqa")
    (folder / "narrativeqa").mkdir()
    folktales.write_narrativeqa(folder / "narrativeqa")
    folktales.write_squad(folder / "squad.json")
    return folder


class Evaluation:
    """Runs the command and reads what it leaves."""

    def __init__(self, folder: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.out, self._capsys = folder, out, capsys

    def __call__(self, data_set: str, *options: str) -> int:
        data = self.folder / ("squad.json" if data_set == "squad" else data_set)
        where = ["--data", str(data), "--out", str(self.out)]
        if BENCHMARKS[data_set].searched:
            where += ["--store", str(self.folder / "store")]
        return run(["evaluate", data_set, *where, "--reader", "overlap", *options])

    def scores(self, data_set: str, *options: str) -> dict[str, Any]:
        assert self(data_set, *options, "--json") == 0
        [scores] = [json.loads(self.printed()[0])]
        assert isinstance(scores, dict)
        return scores

    def printed(self) -> tuple[str, str]:
        captured = self._capsys.readouterr()
        return captured.out, captured.err

    def predictions(self) -> list[dict[str, Any]]:
        lines = (self.out / "predictions.jsonl").read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines]


@pytest.fixture
def evaluate(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Evaluation:
    return Evaluation(folder, tmp_path / "out", capsys)


@pytest.mark.parametrize(
    ("data_set", "options", "questions", "stories"),
    [
        ("fairytaleqa", ["--setting", "sections"], 7, 2),
        ("fairytaleqa", ["--setting", "stories", "--retriever", "bm25"], 7, 2),
        ("fairytaleqa", ["--setting", "collection", "--retriever", "bm25"], 7, 2),
        ("narrativeqa", ["--setting", "summaries"], 9, 3),
        ("narrativeqa", ["--setting", "stories", "--retriever", "bm25"], 3, 1),
        ("squad", [], 2, 2),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else None,
)
def test_one_object_holds_the_contracts_keys_and_every_score_is_a_fraction_or_null(
    evaluate: Evaluation, data_set: str, options: list[str], questions: int, stories: int
) -> None:
    scores = evaluate.scores(data_set, *options)
    assert scores.keys() >= CONTRACT
    assert (scores["questions"], scores["stories"]) == (questions, stories)
    assert scores["recall_at"].keys() == {"1", "2", "5", "10"}
    numbers = [*(scores[name] for name in SCORES), *scores["recall_at"].values()]
    assert all(value is None or 0 <= value <= 1 for value in numbers)
    assert scores["rouge_l"] > 0
    assert (scores["mrr"] is None) == (data_set == "squad")
    searched = data_set == "fairytaleqa" and "sections" not in options
    assert (scores["retrieval_mrr"] is None) == (not searched)
    assert (scores["recall_at"]["10"] is None) == (not searched)
    assert json.loads((evaluate.out / "scores.json").read_text("utf-8")) == scores
    assert (evaluate.out / "scores.png").read_bytes().startswith(b"\x89PNG")


def test_recall_looks_at_every_passage_of_the_book_however_few_are_read(
    evaluate: Evaluation, tmp_path: Path
) -> None:
    evaluate.folder = tmp_path
    folktales.write_herons(tmp_path / "fairytaleqa")
    scores = evaluate.scores("fairytaleqa", "--setting", "stories", "--retriever", "bm25", "-k", "1")
    # Found are, by how often they name a heron, the sections 1, 3, 2; an otter is in section 3 alone.
    assert {row["id"]: (row["first_gold"], row["gold_read"]) for row in evaluate.predictions()} == {
        "heron:1": (1, [True]),
        "heron:2": (3, [False]),
        "heron:3": (1, [True]),
        "heron:4": (2, [False]),
    }
    assert scores["recall_at"] == {"1": 0.5, "2": 0.75, "5": 1.0, "10": 1.0}
    assert scores["retrieval_mrr"] == pytest.approx((1 + 1 / 3 + 1 + 1 / 2) / 4, abs=1e-6)


def test_intervals_stand_beside_the_scores_and_hold_them(evaluate: Evaluation) -> None:
    scores = evaluate.scores("fairytaleqa", "--setting", "stories", "--retriever", "bm25")
    intervals = scores["intervals"]
    for name in ("rouge_l", "bleu_1", "f1", "mrr", "retrieval_mrr"):
        low, high = intervals[name]
        assert low <= scores[name] <= high
    assert intervals["recall_at"].keys() == scores["recall_at"].keys()
    assert intervals["meteor"] is None


def test_without_java_meteor_alone_is_missing_and_that_is_said(evaluate: Evaluation) -> None:
    scores = evaluate.scores("squad")
    assert scores["meteor"] is None
    assert "no METEOR: it needs java, which is not on the path" in scores["notes"]
    assert scores["bleu_4"] is not None


@pytest.mark.parametrize("setting", fairytaleqa.SETTINGS)
def test_every_answer_stands_in_the_book_where_it_is_cited(
    evaluate: Evaluation, folder: Path, setting: str
) -> None:
    scores = evaluate.scores("fairytaleqa", "--setting", setting, "--retriever", "bm25", "-k", "1")
    assert (scores["evidence_checked"], scores["evidence_wrong"]) == (7, 0)
    books = fairytaleqa.load(folder / "fairytaleqa", "val", setting).books
    for row in evaluate.predictions():
        text = books[row["book"]]().text
        assert text[row["start"] : row["end"]] == row["prediction"]
        assert any(start <= row["start"] and row["end"] <= end for start, end in row["passages"])


@pytest.mark.parametrize(
    ("place", "quoted", "right"),
    [((11, 14), "Osk", True), ((10, 14), "Osk", False), ((11, 14), "Osc", False), (None, "", None)],
)
def test_evidence_is_right_where_the_book_says_what_is_quoted(
    place: tuple[int, int] | None, quoted: str, right: bool | None
) -> None:
    question = Question("1", "tale", "Who slept?", ("Osk",), "tale")
    answered = Answered("Osk", 0.5, place, quoted, (), None, None)
    found = _prediction(question, answered, "One tinker Osk slept.", ("exact_match",))
    assert found.evidence_right is right


def test_sections_are_read_as_they_are_given(evaluate: Evaluation, folder: Path) -> None:
    evaluate.scores("fairytaleqa", "--setting", "sections")
    given = {q.id: q.given for q in fairytaleqa.load(folder / "fairytaleqa").questions}
    for row in evaluate.predictions():
        assert [tuple(place) for place in row["passages"]] == list(given[row["id"]])
        assert all(row["gold_read"])


def test_explicit_and_implicit_questions_are_told_apart(evaluate: Evaluation) -> None:
    kinds = evaluate.scores("fairytaleqa")["by_kind"]
    rows = evaluate.predictions()
    assert {kind: scores["questions"] for kind, scores in kinds.items()} == {"explicit": 5, "implicit": 2}
    for kind, scores in kinds.items():
        values = [row["rouge_l"] for row in rows if row["kind"] == kind]
        assert scores["rouge_l"] == pytest.approx(sum(values) / len(values), abs=1e-6)


def test_a_run_that_was_killed_goes_on_and_ends_as_if_it_had_not_been(evaluate: Evaluation) -> None:
    whole = evaluate.scores("fairytaleqa")
    path = evaluate.out / "predictions.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    kept = json.dumps({**json.loads(lines[0]), "confidence": 0.123456}).encode() + b"\n"
    path.write_bytes(kept + lines[1] + lines[2][:40])
    again = evaluate.scores("fairytaleqa")
    assert path.read_bytes().splitlines(keepends=True) == [kept, *lines[1:]]
    for scores in (again, whole):
        del scores["confidence"]  # which was changed in the line that was kept
    assert again == whole


def test_another_run_in_the_folder_is_refused_and_thrown_away_by_force(evaluate: Evaluation) -> None:
    assert evaluate("fairytaleqa", "--limit", "3") == 0
    evaluate.printed()
    assert evaluate("fairytaleqa", "--limit", "4") == 2
    out, error = evaluate.printed()
    assert not out
    assert "limit was 3, now 4" in error
    assert "--force" in error
    assert evaluate("fairytaleqa", "--limit", "4", "--force") == 0
    assert len(evaluate.predictions()) == 4


@pytest.mark.parametrize(
    ("data_set", "options", "file"),
    [
        ("fairytaleqa", ["--setting", "sections"], "section-stories/val/The-counting-goose-story.csv"),
        ("narrativeqa", ["--setting", "summaries"], "third_party/wikipedia/summaries.csv"),
        ("narrativeqa", ["--setting", "stories", "--retriever", "bm25"], f"tmp/{folktales.PAIRED}.content"),
        ("narrativeqa", ["--setting", "whole-stories"], f"tmp/{folktales.PAIRED}.content"),
    ],
)
def test_a_run_on_other_texts_is_not_gone_on_with_though_they_are_as_long(
    evaluate: Evaluation, tmp_path: Path, data_set: str, options: list[str], file: str
) -> None:
    evaluate.folder = tmp_path
    (tmp_path / "narrativeqa").mkdir()
    folktales.write_narrativeqa(tmp_path / "narrativeqa")
    folktales.write_fairytaleqa(tmp_path / "fairytaleqa")
    assert evaluate(data_set, *options, "--limit", "2") == 0
    assert evaluate(data_set, *options, "--limit", "2") == 0
    evaluate.printed()
    path = tmp_path / data_set / file
    path.write_bytes(path.read_bytes().replace(b"Dorrit", b"Ermina"))
    assert evaluate(data_set, *options, "--limit", "2") == 2
    assert "data was '" in evaluate.printed()[1]
    assert evaluate(data_set, *options, "--limit", "2", "--force") == 0


@pytest.mark.parametrize(
    "version", ["reader_version", "retriever_version", "encoder_version", "code_version", "runtime"]
)
def test_a_run_of_other_versions_is_not_gone_on_with(evaluate: Evaluation, version: str) -> None:
    options = ("--setting", "stories", "--retriever", "bm25", "--limit", "3")
    assert evaluate("fairytaleqa", *options) == 0
    evaluate.printed()
    path = evaluate.out / "run.json"
    recorded = json.loads(path.read_bytes())
    path.write_text(json.dumps({**recorded, version: "older"}), "utf-8")
    assert evaluate("fairytaleqa", *options) == 2
    assert f"{version} was 'older', now {recorded[version]!r}" in evaluate.printed()[1]
    path.write_text(json.dumps(recorded), "utf-8")
    assert evaluate("fairytaleqa", *options) == 0


def test_the_versions_are_those_of_what_plays_a_part(evaluate: Evaluation) -> None:
    assert evaluate("fairytaleqa", "--limit", "1") == 0
    recorded = json.loads((evaluate.out / "run.json").read_bytes())
    assert len(recorded["code_version"]) == 12
    assert recorded["retriever_version"] is None is recorded["encoder_version"]
    assert retriever_version("rerank") == load_crossencoder().version
    assert retriever_version("bm25") is None


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x1c", "\r"])
def test_a_run_is_gone_on_with_whatever_parts_lines_in_its_questions(tmp_path: Path, separator: str) -> None:
    predictions = [
        Prediction(
            id=f"{number}",
            story="story",
            kind=None,
            question=f"Who{separator}was it?",
            references=(f"Osk{separator}",),
            prediction=f"{separator}Osk",
            confidence=0.5,
            book="book",
            start=None,
            end=None,
            evidence_right=None,
            passages=((0, 9),),
            gold_read=None,
            first_gold=None,
            reciprocal_rank=None,
            scores={"rouge_l": 0.5},
        )
        for number in range(3)
    ]
    PredictionFile(tmp_path, {"seed": 1}).append(predictions)
    assert PredictionFile(tmp_path, {"seed": 1}).predictions == predictions


def test_predictions_of_an_unknown_run_are_not_taken_up(evaluate: Evaluation) -> None:
    evaluate.out.mkdir()
    (evaluate.out / "predictions.jsonl").write_text("{}\n")
    assert evaluate("fairytaleqa") == 2
    assert "--force" in evaluate.printed()[1]


def test_limit_and_seed_draw_the_same_questions_as_ever(evaluate: Evaluation) -> None:
    scores = evaluate.scores("fairytaleqa", "--limit", "3", "--seed", "11")
    assert scores["questions"] == 3
    drawn = ["The-counting-goose:4", "ferryman-of-lune:1", "ferryman-of-lune:3"]  # figures were published so
    assert [row["id"] for row in evaluate.predictions()] == drawn
    assert any(note.startswith("these are 3 of the split's 1,025 questions") for note in scores["notes"])


def test_answers_are_not_ranked_where_that_is_not_wanted(evaluate: Evaluation) -> None:
    scores = evaluate.scores("fairytaleqa", "--no-mrr")
    assert scores["mrr"] is None
    assert scores["intervals"]["mrr"] is None


def test_a_reader_that_cannot_rank_has_no_mrr_and_says_so_when_asked(evaluate: Evaluation) -> None:
    asked = ("fairytaleqa", "--reader", "rnn-labeler", "--limit", "2")
    assert evaluate.scores(*asked)["mrr"] is None
    assert evaluate(*asked, "--mrr") == 2
    assert "which reader 'rnn-labeler' cannot do; leave it out" in evaluate.printed()[1]


def test_generated_answers_cite_the_text_nearest_to_them(evaluate: Evaluation, tiny_t5: Path) -> None:
    options = ("--reader", f"seq2seq:{tiny_t5}", "--retriever", "bm25", "--setting", "stories", "--no-mrr")
    scores = evaluate.scores("fairytaleqa", *options)
    assert scores["evidence_wrong"] == 0
    assert scores["questions"] == 7


def test_the_documents_left_out_are_told_with_their_reasons(evaluate: Evaluation) -> None:
    scores = evaluate.scores("narrativeqa", "--setting", "stories", "--retriever", "bm25")
    assert [one["story"] for one in scores["documents"]] == [folktales.PAIRED]
    reasons = {one["story"]: one["reason"] for one in scores["left_out"]}
    assert reasons.keys() == {folktales.MISPAIRED, folktales.SCRIPT}
    assert evaluate("narrativeqa", "--setting", "stories", "--retriever", "bm25") == 0
    text = " ".join(evaluate.printed()[0].split())
    assert "left out, the story is another work: 1 documents with 3 questions (Tale b)" in text
    assert "left out, no full story: 1 documents with 3 questions (Tale 3)" in text


@pytest.mark.processes
def test_indexes_lie_in_a_bucket_where_store_names_one(
    evaluate: Evaluation, s3_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(s3_url).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("STORYQA_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    options = ["--setting", "stories", "--retriever", "bm25"]
    in_folder = evaluate.scores("fairytaleqa", *options)
    in_bucket = evaluate.scores("fairytaleqa", *options, "--force", "--store", f"s3://{BUCKET}/tales")
    assert in_bucket | {"command": ""} == in_folder | {"command": ""}
    assert run(["books", "--store", f"s3://{BUCKET}/tales", "--json"]) == 0
    assert len(json.loads(evaluate.printed()[0])) == 2
    assert not (tmp_path / "s3:").exists()


def test_the_papers_rows_stand_above_ours(evaluate: Evaluation) -> None:
    assert evaluate("narrativeqa") == 0
    out, _ = evaluate.printed()
    assert out.index("Span Prediction") < out.index("36.74") < out.index("storyqa: overlap")


def test_the_default_folder_is_named_after_the_options(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["evaluate", "squad", "--data", str(folder / "squad.json"), "--reader", "overlap"]) == 0
    assert (tmp_path / "runs" / "squad-squad-paragraphs-overlap" / "scores.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["fairytaleqa", "--data", "nowhere"],
            "questions is missing; expected there: the FairytaleQA",
        ),
        (["narrativeqa", "--data", "nowhere"], "documents.csv is missing; expected there: the NarrativeQA"),
        (["squad", "--data", "nowhere.json"], "nowhere.json is missing; expected there: a SQuAD v1.1 file"),
        (["squad", "--data", "x", "--reader", "spam"], "unknown reader 'spam' (did you mean 'span'?)"),
        (["fairytaleqa", "--data", "x", "--retriever", "bm52"], "unknown retriever 'bm52'"),
        (["fairytaleqa", "--data", "x", "-k", "0"], "k is 0"),
        (["fairytaleqa", "--data", "x", "--limit", "0"], "Invalid value for '--limit'"),
        (["unanswerable", "--benchmark", "x", "--data", "x", "--limit", "-1"], "Invalid value for '--limit'"),
        (["cbt", "--data", "x", "--heat-maps", "0"], "Invalid value for '--heat-maps'"),
        (["fairytaleqa"], "--data"),
        (["squad", "--data", "x", "--retriever", "bm25"], "No such option: --retriever"),
        (["squad", "--data", "x", "--mrr"], "No such option: --mrr"),
        (["fables"], "fables"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["evaluate", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert not captured.out


def test_without_the_extra_the_error_names_it(evaluate: Evaluation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycocoevalcap", None)
    assert evaluate("squad") == 2
    assert "evaluation needs pycocoevalcap; install: pip install 'storyqa[eval]'" in evaluate.printed()[1]


def test_the_halves_of_narrativeqa_valid_are_scored_apart(evaluate: Evaluation) -> None:
    whole = evaluate.scores("narrativeqa")
    halves = whole["by_half"]
    assert {half: (scores["questions"], scores["stories"]) for half, scores in halves.items()} == {
        "A": (3, 1),
        "B": (6, 2),
    }
    assert [halves[half]["trained_on"] for half in "AB"] == [True, False]
    for name in ("rouge_l", "f1", "exact_match", "mrr"):
        means = [halves[half][name] for half in "AB"]
        assert whole[name] == pytest.approx((3 * means[0] + 6 * means[1]) / 9, abs=1e-6)
    low, high = halves["B"]["intervals"]["rouge_l"]
    assert low <= halves["B"]["rouge_l"] <= high
    assert halves["A"]["intervals"]["rouge_l"] is None  # one story alone
    [note] = [note for note in whole["notes"] if "trained on half A" in note]
    assert "the row of the whole split is no clean figure" in note
    assert "quote half B's" in note


@pytest.mark.parametrize(("half", "questions"), [("A", 3), ("b", 6)])
def test_a_half_alone_has_the_scores_it_has_beside_the_other(
    evaluate: Evaluation, half: str, questions: int
) -> None:
    beside = evaluate.scores("narrativeqa")["by_half"][half.upper()]
    alone = evaluate.scores("narrativeqa", "--half", half, "--force")
    assert (alone["questions"], alone["part"], alone["by_half"]) == (questions, f"half {half.upper()}", {})
    for name in (*SCORES, "intervals"):
        assert alone[name] == beside[name]
    assert alone["confidence"].items() >= beside["confidence"].items()
    assert any("trained on half A" in note for note in alone["notes"]) == (half == "A")


def test_the_halves_have_rows_of_their_own_and_half_bs_is_the_one_to_quote(evaluate: Evaluation) -> None:
    assert evaluate("narrativeqa") == 0
    out, _ = evaluate.printed()
    assert out.index("storyqa: overlap") < out.index("half A (trained on)") < out.index("half B (not trained")
    [row] = [line for line in out.splitlines() if "half B (" in line]
    assert "quote it" in row


def test_a_run_on_one_half_is_another_run_and_has_a_folder_of_its_own(
    evaluate: Evaluation, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert evaluate("narrativeqa", "--half", "A") == 0
    evaluate.printed()
    assert evaluate("narrativeqa", "--half", "B") == 2
    assert "part was 'half A', now 'half B'" in evaluate.printed()[1]
    monkeypatch.chdir(tmp_path)
    arguments = ["--data", str(folder / "narrativeqa"), "--reader", "overlap", "--half", "B"]
    assert run(["evaluate", "narrativeqa", *arguments]) == 0
    assert (tmp_path / "runs" / "narrativeqa-valid-summaries-half-B-overlap" / "scores.json").is_file()


def test_a_limit_is_drawn_from_the_half(evaluate: Evaluation) -> None:
    scores = evaluate.scores("narrativeqa", "--half", "A", "--limit", "2")
    assert scores["questions"] == 2
    assert {row["story"] for row in evaluate.predictions()} == {folktales.SCRIPT}


@pytest.mark.parametrize(
    ("data_set", "options", "message"),
    [
        ("narrativeqa", ["--half", "c"], "unknown half 'C'; NarrativeQA valid has A, B"),
        ("narrativeqa", ["--half", "b", "--held-out"], "half A alone"),
        ("fairytaleqa", ["--held-out"], "train alone"),
    ],
)
def test_a_part_that_the_split_does_not_have_is_refused(
    evaluate: Evaluation, data_set: str, options: list[str], message: str
) -> None:
    assert evaluate(data_set, *options) == 2
    out, error = evaluate.printed()
    assert message in error
    assert error.count("\n") == 1
    assert not out


@pytest.mark.parametrize("setting", fairytaleqa.SETTINGS)
def test_what_is_held_out_of_training_is_scored_alone_and_not_for_reporting(
    evaluate: Evaluation, tmp_path: Path, setting: str
) -> None:
    evaluate.folder = tmp_path
    folktales.write_many_tales(tmp_path / "fairytaleqa", "train", 10)
    options = ("--split", "train", "--setting", setting, "--retriever", "bm25")
    scores = evaluate.scores("fairytaleqa", *options, "--held-out")
    assert (scores["part"], scores["stories"], scores["evidence_wrong"]) == ("held out", 1, 0)
    assert "held-out stories of the training data: for choosing, not for reporting" in scores["notes"]
    whole = evaluate.scores("fairytaleqa", *options, "--force")
    assert (whole["part"], whole["stories"]) == (None, 10)
    assert any("trained on this split" in note for note in whole["notes"])


def test_confidence_is_reported_and_drawn(evaluate: Evaluation) -> None:
    confidence = evaluate.scores("fairytaleqa")["confidence"]
    rows = evaluate.predictions()
    given = [row["confidence"] for row in rows]
    assert confidence["mean"] == pytest.approx(sum(given) / len(given), abs=1e-6)
    assert confidence["right"] == pytest.approx(sum(row["rouge_l"] >= 0.5 for row in rows) / 7, abs=1e-6)
    assert sum(one["answers"] for one in confidence["bins"]) == len(given)
    assert confidence["curve"][-1] == [1.0, pytest.approx(1 - confidence["right"], abs=1e-5)]
    low, high = confidence["intervals"]["brier"]
    assert low <= confidence["brier"] <= high
    assert (evaluate.out / "confidence.png").read_bytes().startswith(b"\x89PNG")


def test_the_confidence_to_answer_from_is_reported_and_changes_no_score(
    evaluate: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for threshold in ("0", "1"):
        monkeypatch.setenv("STORYQA_ANSWERABLE", threshold)
        found.append(evaluate.scores("fairytaleqa"))
    told = [scores["confidence"].pop("answerable") for scores in found]
    assert found[0] == found[1]
    assert told[0] == {"threshold": 0.0, "share": 1.0, "right": found[0]["confidence"]["right"]}
    assert told[1] == {"threshold": 1.0, "share": 0.0, "right": None}
    evaluate("fairytaleqa")
    assert "from confidence 1 on: 0.0% of the answers;" in " ".join(evaluate.printed()[0].split())


@pytest.mark.parametrize("setting", fairytaleqa.SETTINGS)
def test_the_sentence_that_a_generated_answer_rests_on_is_checked_as_evidence(
    evaluate: Evaluation, folder: Path, setting: str
) -> None:
    reply = "ANSWER: Somebody else altogether\nPASSAGE: 1\nQUOTE: "  # no quotation: the nearest sentence
    with chatting(says(reply)) as server:
        options = ("--reader", f"chat:{server.url}@model=parrot", "--setting", setting, "--retriever", "bm25")
        scores = evaluate.scores("fairytaleqa", *options, "--limit", "4")
    rows = evaluate.predictions()
    cited = [row for row in rows if row["start"] is not None]
    assert (scores["evidence_checked"], scores["evidence_wrong"]) == (len(cited), 0)
    assert cited
    books = fairytaleqa.load(folder / "fairytaleqa", "val", setting).books
    for row in cited:
        assert row["prediction"] == "Somebody else altogether"
        assert row["prediction"] not in books[row["book"]]().text
        assert any(start <= row["start"] and row["end"] <= end for start, end in row["passages"])
