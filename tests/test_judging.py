"""The answer selector of the default reader: its arithmetic, its fit, and what it chooses."""

from __future__ import annotations

import json
import math
import random
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import folktales
import pytest
from hypothesis import given
from hypothesis import strategies as st

from answering.ask import Ask
from answering.book_qa import BookQA
from encoders.adapters import file_hash
from encoders.errors import ModelError
from encoders.sizes import LARGE, weights_folder
from indexing.build import build_book
from indexing.manifest import BuildSettings
from indexing.store import IndexStore
from readers.default.answer_selector import (
    MARGIN,
    AnswerSelector,
    Logistic,
    Signals,
    choose,
    load_selector,
    logit,
)
from readers.default.auto import AutoReader
from readers.reading import Reading
from retrieval.rerank import RerankRetriever
from service.cli import run
from training.corpora.corpus import Corpus, LabelledQuestion
from training.corpora.loading import load_corpus
from training.corpora.narrativeqa import STORIES
from training.corpora.novels import NOVELS
from training.corpora.squad import ARTICLES
from training.fitted_selector import write_selector
from training.invocation import Invocation
from training.kept_candidates import KeptCandidates
from training.objectives.answer_selector import found_reading, questions_to_read, score_candidates, train
from training.searched_books import books_to_search
from training.selection import (
    ScoredCandidates,
    SelectionScores,
    cheapest,
    fit_logistic,
    fit_selector,
    judge_apart,
    score_selection,
)
from training.trainer import Paused, RunExists

SHIPPED = weights_folder("readers.weights", None)
PLAIN = Signals(
    written=False,
    words=2,
    f1_spans=0.5,
    f1_written=0.5,
    log_probability=-1.0,
    relevance=1.0,
    own_relevance=1.0,
    certainty=0.5,
    passages=3,
    words_read=600,
    personal=0.1,
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return load_corpus([folktales.write_fairytaleqa(tmp_path_factory.mktemp("data"), "train")])


@pytest.fixture(scope="module")
def reader() -> AutoReader:
    return AutoReader.without_selector(None)


def test_a_logistic_model_is_the_one_counted_by_hand() -> None:
    model = Logistic(-1.0, {"a": 2.0, "b": 0.5})
    assert model({"a": 1.0, "b": -2.0, "unknown": 9.0}) == pytest.approx(0.5)
    assert model({}) == pytest.approx(1 / (1 + math.e))
    assert 0 < model({"a": -1e9}) < model({"a": 1e9}) < 1


def test_chances_near_0_and_1_stay_finite() -> None:
    assert logit(0.0) == logit(0.005) == pytest.approx(-logit(1.0))
    assert logit(0.25) == pytest.approx(-math.log(3))


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.5, 0.54, 0.6]), st.booleans()), min_size=1))
def test_a_written_answer_is_given_where_it_is_worth_clearly_more(rows: list[tuple[float, bool]]) -> None:
    worth, written = [row[0] for row in rows], [row[1] for row in rows]
    best = choose(worth, written)
    assert written.index(written[best]) == best  # nobody's second answer is given
    if written[best] and not all(written):
        assert worth[best] > worth[written.index(False)] + MARGIN
    if not written[best] and any(written):
        assert worth[written.index(True)] <= worth[best] + MARGIN


def test_the_fit_expects_what_was_seen() -> None:
    rng = random.Random(3)
    rows = [{"x": rng.gauss(0, 1), "rare": 1.0} if rng.random() < 0.3 else {"x": 0.1} for _ in range(400)]
    chances = [1 / (1 + math.exp(-2 * row["x"])) for row in rows]
    model = fit_logistic(rows, chances)
    assert sum(map(model, rows)) == pytest.approx(sum(chances), rel=1e-3)
    assert model({"x": 1.0}) == pytest.approx(1 / (1 + math.exp(-2)), abs=0.03)


def test_what_is_felt_and_what_will_be_are_asked_of_the_selector_apart() -> None:
    asked, plain = "How will he feel?", "How was he?"
    for written in (False, True):
        of_each = [replace(PLAIN, written=written).features(question) for question in (asked, plain)]
        more = {name: value for name, value in of_each[0].items() if name not in of_each[1]}
        names = ["about_feel", "about_will", *["written_about_feel", "written_about_will"] * written]
        assert more == dict.fromkeys(names, 1.0)


def _scored(kind: str, spans_are_right: bool, story: str) -> ScoredCandidates:
    spoken, written = PLAIN, replace(PLAIN, written=True)
    worth = (1.0, 0.0) if spans_are_right else (0.0, 1.0)
    return ScoredCandidates(story, "sections", f"{kind} was it?", (spoken, written), worth)


def _validated(scored: list[ScoredCandidates]) -> dict[str, SelectionScores]:
    judged = judge_apart(scored)
    return score_selection(judged, cheapest(judged))


def test_a_selector_learns_whose_answers_to_which_questions_are_right() -> None:
    scored = [_scored(kind, kind == "who", f"{n % 10}") for n in range(60) for kind in ("who", "why")]
    selector = fit_selector(scored)
    for one in scored:
        worth = [selector.worth(signals.features(one.question)) for signals in one.signals]
        best = choose(worth, [signals.written for signals in one.signals])
        assert one.worth[best] == 1.0
        assert selector.right(one.signals[best].features(one.question)) > 0.9
    (scores,) = _validated(scored).values()
    assert (scores.questions, scores.judged, scores.best_possible) == (120, 1.0, 1.0)
    assert scores.spans == scores.written == 0.5


def test_a_selector_learns_how_many_passages_right_answers_are_from() -> None:
    """A tale's answer is right where a novel's, of more passages, is not: nothing else tells them apart."""
    of_each = {passages: replace(PLAIN, passages=passages, words_read=200 * passages) for passages in (2, 9)}
    scored = [
        ScoredCandidates(f"{n}", "stories", "Who was it?", (signals,), (float(passages == 2),))
        for n in range(60)
        for passages, signals in of_each.items()
    ]
    selector = fit_selector(scored)
    few, many = (selector.right(signals.features("Who was it?")) for signals in of_each.values())
    assert few > 0.9 > 0.1 > many


def test_a_selector_learns_that_articles_answer_more_often_than_prose_about_people() -> None:
    of_each = {personal: replace(PLAIN, passages=1, personal=personal) for personal in (0.01, 0.1)}
    scored = [
        ScoredCandidates(f"{n}", "sections", "When was it?", (signals,), (float(personal < 0.05),))
        for n in range(60)
        for personal, signals in of_each.items()
    ]
    selector = fit_selector(scored)
    article, prose = (selector.right(signals.features("When was it?")) for signals in of_each.values())
    assert article > 0.9 > 0.1 > prose


def test_the_share_of_personal_pronouns_is_that_of_all_that_is_read(reader: AutoReader) -> None:
    texts = ("She gave me her goose.", "The moon is round; nobody was on it.")  # 3 of 13 words
    ((_, signals),) = reader.candidates([Reading("Who gave the goose?", texts)])
    assert [one.personal for one in signals] == pytest.approx([3 / 13] * len(signals))


def test_no_question_is_judged_by_a_judge_that_was_shown_its_story() -> None:
    # In each story the other kind of answer is right: nothing that holds elsewhere helps.
    scored = [_scored("who", story % 2 == 0, str(story)) for story in range(10) for _ in range(20)]
    (scores,) = _validated(scored).values()
    assert scores.judged <= 0.5


def test_no_other_candidate_has_more_confidence_than_the_answer(reader: AutoReader) -> None:
    reading = Reading("Who was asleep on the moon?", folktales.GOOSE)
    ((best, *others),) = AutoReader.load(None).read([reading], 8)
    assert others
    assert all(one.confidence <= best.confidence and one.score <= best.score for one in others)
    assert [one.score for one in others] == sorted((one.score for one in others), reverse=True)
    ((alone,),) = AutoReader.load(None).read([reading], 1)
    assert (alone.text, alone.span) == (best.text, best.span)
    assert (alone.score, alone.confidence) == pytest.approx((best.score, best.confidence), rel=1e-5)


def test_the_candidates_are_the_spans_and_what_else_was_written(reader: AutoReader) -> None:
    reading = Reading("Who was asleep on the moon?", folktales.GOOSE)
    ((answers, signals),) = reader.candidates([reading])
    assert len(answers) == len(signals)
    written = [answer.text.lower() for answer in answers if answer.span is None]
    assert not {*written} & {answer.text.lower() for answer in answers if answer.span}
    assert len({*written}) == len(written)
    assert any(one.written for one in signals)
    assert not all(one.written for one in signals)
    assert not signals[0].written
    assert sum(one.written for answer, one in zip(answers, signals, strict=True) if answer.span) <= 1
    for answer, one in zip(answers, signals, strict=True):
        assert answer.span is not None or one.written
        assert one.log_refusal is None  # the decoder never refuses
        assert answer.span is not None or answer.support is not None
        assert 0 <= one.f1_spans <= 1 + 1e-6
        assert one.f1_written is not None
        assert 0 <= one.f1_written <= 1 + 1e-6
        assert one.log_probability is not None
        assert one.log_probability < 0 <= one.certainty <= 1
    assert reader.candidates([Reading("Who?", ())]) == [([], [])]


ALWAYS, NEVER = Logistic(9.0, {}), Logistic(-9.0, {})


@pytest.mark.parametrize("n_best", [1, 8])
def test_answers_are_written_only_where_one_might_be_better(n_best: int) -> None:
    readings = [
        Reading("Who was asleep on the moon?", folktales.GOOSE),
        Reading("Why did the goose fly to the moon?", folktales.GOOSE),
        Reading("Who?", ()),
    ]
    # A written answer is worth more, wherever there is one.
    selector = AnswerSelector(Logistic(0.0, {"written": 9.0}), ALWAYS, NEVER, NEVER, ALWAYS, 0.5)
    given = AutoReader.load(None)
    writing, speaking = (
        AutoReader(given.encoder, given._writer, replace(selector, writes=writes)).read(readings, n_best)
        for writes in (ALWAYS, NEVER)
    )
    for written, spoken in zip(writing[:2], speaking[:2], strict=True):
        assert written[0].span is None
        assert all(one.span is not None for one in spoken)
        assert written[0].confidence > 0.9 > 0.1 > spoken[0].confidence
    assert writing[2] == speaking[2] == []


def test_a_selector_learns_where_to_write() -> None:
    scored = [_scored(kind, kind == "who", f"{n % 10}") for n in range(400) for kind in ("who", "why")]
    selector = fit_selector(scored)
    spoken = replace(PLAIN, f1_written=None, log_probability=None)
    assert selector.writes(spoken.features("who was it?")) < 0.1
    assert selector.writes(spoken.features("why was it?")) > 0.9
    assert selector.span_right(spoken.features("why was it?")) < 0.1
    (scores,) = _validated(scored).values()
    assert (scores.judged, scores.asked_to_write) == (1.0, 0.5)


@pytest.mark.parametrize("kinds", [("who",), ("who", "why")])
def test_nothing_is_written_where_that_is_never_better(kinds: tuple[str, ...]) -> None:
    scored = [_scored(kind, True, f"{n % 10}") for n in range(60) for kind in kinds]
    assert cheapest(judge_apart(scored)) > 1
    assert cheapest([]) == 0.0  # of one story nothing is known
    assert cheapest(judge_apart(scored[:1])) == 0.0


def test_fairy_tales_are_searched_as_one_book_and_full_stories_by_themselves(corpus: Corpus) -> None:
    tales = [*corpus.train, *corpus.held_out]
    novels = [replace(tale, kind=STORIES, name=f"Novel {n}") for n, tale in enumerate(tales)]
    together, *apart = books_to_search([*tales, *novels, *tales])
    assert [book.id for book in apart] == [f"novel-{n}" for n in range(len(tales))]
    assert [book.text for book in apart] == [tale.text for tale in tales]
    assert together.text == "\n\n".join(tale.text for tale in tales)


def test_what_is_read_of_a_book_is_what_answering_reads_of_it(
    reader: AutoReader, corpus: Corpus, tmp_path: Path
) -> None:
    (book,) = books_to_search([*corpus.train, *corpus.held_out])
    store = IndexStore(tmp_path)
    build_book(book, BuildSettings(), store)
    question = "Who was asleep on the moon?"
    found = found_reading(RerankRetriever(store.open(book.id), encoder=reader.encoder), question)
    [asked] = BookQA(store).find([Ask(book.id, question)])
    assert found.passages == asked.reading.passages
    assert [text for text in found.passages if "Osk" in text]


def test_a_judge_that_is_written_is_read_again_and_says_how_it_fares(
    reader: AutoReader, corpus: Corpus, tmp_path: Path
) -> None:
    every = [*corpus.train, *corpus.held_out]
    done: list[tuple[str, int, int]] = []
    # Two stories are too few for one to be held out: here the training stories stand in for them.
    kept = KeptCandidates(tmp_path / "judge.json", {})
    scored = score_candidates(
        reader, questions_to_read(Corpus((), tuple(every))), lambda *told: done.append(told), kept
    )
    assert len(scored) == 14
    assert done == [("indexing", 1, 1), ("reading", 14, 14)]
    path = write_selector(scored, tmp_path / "judge.json", "storyqa train judge", {"span": "abc"}).path
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert {where: scores["questions"] for where, scores in stored["cross_validated"].items()} == {
        "sections": 7,
        "stories": 7,
    }
    features = scored[0].signals[0].features(scored[0].question)
    read = load_selector("judge.json", str(tmp_path))
    assert read.right(features) == fit_selector(scored).right(features)


def test_a_fit_that_goes_on_indexes_no_book_that_all_is_read_of(
    reader: AutoReader, corpus: Corpus, tmp_path: Path
) -> None:
    questions = questions_to_read(Corpus((), (*corpus.train, *corpus.held_out)))
    read = [
        score_candidates(
            reader, questions, lambda *_: None, KeptCandidates(tmp_path / "judge.json", {}, True)
        )
    ]
    done: list[tuple[str, int, int]] = []
    kept = KeptCandidates(tmp_path / "judge.json", {}, resume=True)
    read.append(score_candidates(reader, questions, lambda *told: done.append(told), kept))
    assert done == []
    assert read[0] == read[1]


def test_questions_about_articles_are_read_with_their_paragraph(
    reader: AutoReader, corpus: Corpus, tmp_path: Path
) -> None:
    folktales.write_squad(tmp_path / "train-v1.1.json")
    articles = load_corpus([tmp_path]).train
    tales = [*corpus.train, *corpus.held_out]
    kept = KeptCandidates(tmp_path / "judge.json", {})
    scored = score_candidates(
        reader, questions_to_read(Corpus(articles, tuple(tales))), lambda *_: None, kept
    )
    of_articles = [one for one in scored if one.where == ARTICLES]
    asked = [question for article in articles for question in article.questions]
    assert sorted(one.question for one in of_articles) == sorted(question.text for question in asked)
    paragraphs = {len(article.text[a:b].split()) for article in articles for a, b in article.passages}
    for one in of_articles:
        assert {signals.passages for signals in one.signals} == {1}
        assert {signals.words_read for signals in one.signals} <= paragraphs
    kept = KeptCandidates(tmp_path / "none.json", {})
    no_story_held_out = questions_to_read(Corpus(articles, ()))
    assert score_candidates(reader, no_story_held_out, lambda *_: None, kept) == []


def test_questions_about_novels_are_read_with_what_is_found_in_theirs(
    reader: AutoReader, corpus: Corpus, tmp_path: Path
) -> None:
    tale = max((*corpus.train, *corpus.held_out), key=lambda one: len(one.text))
    asked = replace(tale.questions[0], exact=True)
    unanswered = LabelledQuestion("Who sang at the wedding of the comet?", (), (), exact=True)
    novel = replace(tale, kind=NOVELS, questions=(asked, unanswered))
    kept = KeptCandidates(tmp_path / "judge.json", {})
    scored = score_candidates(reader, questions_to_read(Corpus((), (novel,))), lambda *_: None, kept)
    assert {(one.where, one.question) for one in scored} == {
        (NOVELS, asked.text),
        (NOVELS, unanswered.text),
    }
    worth = {one.question: max(one.worth) for one in scored}
    assert worth[asked.text] > 0
    assert worth[unanswered.text] == 0


def test_what_was_read_before_the_time_was_up_is_not_read_again(
    reader: AutoReader, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.objectives.answer_selector.TOGETHER", 4)
    every = Corpus((), (*corpus.train, *corpus.held_out))
    whole = KeptCandidates(tmp_path / "whole" / "judge.json", {"seed": 0})
    score_candidates(reader, questions_to_read(every), lambda *_: None, whole)
    path = tmp_path / "pieces" / "judge.json"
    pieces: list[list[tuple[str, int, int]]] = []
    finished = False
    while not finished:
        pieces.append([])
        kept = KeptCandidates(path, {"seed": 0}, resume=len(pieces) > 1, until=0.0)
        with suppress(Paused):
            finished = bool(
                score_candidates(
                    reader, questions_to_read(every), lambda *told: pieces[-1].append(told), kept
                )
            )
        if len(pieces) == 2:  # killed while it wrote
            with path.with_suffix(".read.jsonl").open("a") as file:
                file.write('{"seconds": 3.0, "sco')
    indexed = ("indexing", 1, 1)
    assert pieces == [[indexed], *([indexed, ("reading", done, 14)] for done in (4, 8, 12, 14))]
    assert kept.scored == whole.scored
    with pytest.raises(RunExists, match="--resume"):
        KeptCandidates(path, {"seed": 0})
    with pytest.raises(RunExists, match="the same options"):
        KeptCandidates(path, {"seed": 1}, resume=True)
    kept.discard()
    assert [*path.parent.iterdir()] == []


@pytest.mark.training
def test_a_fit_that_is_stopped_goes_on_and_leaves_a_card_that_says_what_it_was_fitted_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = folktales.write_many_tales(tmp_path / "data", "train", stories=24)
    out = tmp_path / "out"
    with pytest.raises(Paused, match="--resume"):
        train(Invocation([data], out, "storyqa train judge", until=0.0), start=SHIPPED, questions=6, seed=5)
    arguments = ["train", "judge", "--data", str(data), "--start", str(SHIPPED), "--out", str(out)]
    arguments += ["--questions", "6", "--seed", "5"]
    assert run(arguments) == 2
    assert "--resume" in capsys.readouterr().err
    assert run([*arguments[:-1], "6", "--resume"]) == 2
    assert "the same options" in capsys.readouterr().err
    assert run([*arguments, "--resume"]) == 0
    assert {path.name for path in out.iterdir()} == {"judge.json", "judge.md"}
    encoders = weights_folder("encoders.weights", None)
    fitted_to = json.loads((out / "judge.json").read_text("utf-8"))["fitted_to"]
    assert fitted_to == {
        path.name: file_hash(path)
        for path in (
            encoders / "span.safetensors",
            SHIPPED / "generate.safetensors",
            SHIPPED / "feelings.safetensors",
            encoders / "dense.safetensors",
        )
    }
    card = (out / "judge.md").read_text("utf-8")
    assert all(f"{name}: `{sha256}`" in card for name, sha256 in fitted_to.items())
    for field in ("Data", "Licence", "Seed**: 5", "Command", "Time", "Processor", "Scores", "Size"):
        assert f"- **{field}" in card
    assert "6 questions" in card
    assert str(tmp_path) not in card


@pytest.mark.parametrize(
    ("selector", "size"), [("judge.json", None), ("judge-write.json", None), ("judge.json", LARGE)]
)
def test_a_shipped_selectors_card_names_all_that_it_is_older_than(selector: str, size: str | None) -> None:
    path = weights_folder("readers.weights", size) / selector
    fitted_to = json.loads(path.read_text("utf-8"))["fitted_to"]
    card = path.with_suffix(".md").read_text("utf-8")
    assert all(f"{name}: `{sha256}`" in card for name, sha256 in fitted_to.items())
    shipped = {
        file.name: file_hash(file)
        for folder in ("encoders.weights", "readers.weights")
        for file in weights_folder(folder, size).glob("*.safetensors")
    }
    # Novels and tales are searched by the shipped retriever of default, of either size.
    shipped["dense.safetensors"] = file_hash(weights_folder("encoders.weights", None) / "dense.safetensors")
    older = {name for name, sha256 in fitted_to.items() if sha256 != shipped[name]}
    [line, *others] = [line for line in card.splitlines() if line.startswith("- **Older than")] or [""]
    assert others == []
    assert {name for name in fitted_to if f"`{name}`" in line} == older
    if (selector, size) == ("judge.json", None):
        assert not older


@pytest.mark.parametrize("text", ["{", "[]", '{"judge": {"worth": {}}}'])
def test_a_broken_judge_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "judge.json").write_text(text)
    with pytest.raises(ModelError, match="fit it again"):
        load_selector("judge.json", str(tmp_path))
    with pytest.raises(ModelError, match="fit it again"):
        load_selector("judge.json", str(tmp_path / "nowhere"))
