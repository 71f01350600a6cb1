"""The loaders: publishers' layouts as they are, and what they say where something is not."""

from __future__ import annotations

from pathlib import Path

import folktales
import pytest

from evaluation.benchmarks import domains, fairytaleqa, narrativeqa, squad
from evaluation.benchmarks.benchmark import Benchmark, Question, sample
from evaluation.benchmarks.files import DataError
from evaluation.preparation.pairing import mispaired, shared_names


def text_at(benchmark: Benchmark, question: Question, place: tuple[int, int]) -> str:
    return benchmark.books[question.book]().text[place[0] : place[1]]


@pytest.fixture(scope="module")
def tales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folktales.write_fairytaleqa(tmp_path_factory.mktemp("fairytaleqa"))


@pytest.mark.parametrize("setting", fairytaleqa.SETTINGS)
def test_gold_places_hold_the_sections_that_a_question_names(tales: Path, setting: str) -> None:
    benchmark = fairytaleqa.load(tales, "val", setting)
    golds = {q.id: [text_at(benchmark, q, place) for place in q.gold] for q in benchmark.questions}
    assert golds["The-counting-goose:1"] == [folktales.GOOSE[0]]
    assert golds["The-counting-goose:4"] == list(folktales.GOOSE[1:])
    assert golds["ferryman-of-lune:3"] == list(folktales.FERRY[1:])


def test_sections_are_given_in_story_order_and_only_in_that_setting(tales: Path) -> None:
    given = {q.id: q.given for q in fairytaleqa.load(tales, "val", "sections").questions}
    assert all(places == tuple(sorted(places)) and places for places in given.values())
    assert not fairytaleqa.load(tales, "val", "sections").retrieved
    for setting in ("stories", "collection"):
        benchmark = fairytaleqa.load(tales, "val", setting)
        assert benchmark.retrieved
        assert not any(question.given for question in benchmark.questions)


def test_the_collection_is_one_book_of_all_stories_a_blank_line_apart(tales: Path) -> None:
    stories, whole = fairytaleqa.load(tales, "val", "stories"), fairytaleqa.load(tales, "val", "collection")
    [book] = [load() for load in whole.books.values()]
    assert book.text == "\n\n".join(load().text for load in stories.books.values())
    assert {q.story for q in whole.questions} == {q.story for q in stories.questions}


def test_val_has_both_annotators_as_references_and_train_the_paraphrases(tmp_path: Path) -> None:
    for split in ("val", "train"):
        folktales.write_fairytaleqa(tmp_path, split)
        questions = {q.id: q for q in fairytaleqa.load(tmp_path, split).questions}
        assert questions["ferryman-of-lune:2"].answers == ("Wilm", "a girl named Wilm")
        assert questions["ferryman-of-lune:1"].answers == ("something that he did not know",)
    assert questions["ferryman-of-lune:3"].kind == "implicit"


def test_a_question_number_used_twice_gives_two_ids(tmp_path: Path) -> None:
    folktales.write_fairytaleqa(tmp_path)
    path = tmp_path / "questions" / "val" / "The-counting-goose-questions.csv"
    path.write_text(path.read_text("utf-8").replace("\n2,", "\n1,"), "utf-8")
    ids = [question.id for question in fairytaleqa.load(tmp_path).questions]
    assert len(set(ids)) == len(ids) == 7


def test_a_missing_story_is_named_with_what_is_expected_where(tmp_path: Path) -> None:
    folktales.write_fairytaleqa(tmp_path)
    gone = tmp_path / "section-stories" / "val" / "ferryman-of-lune-story.csv"
    gone.unlink()
    with pytest.raises(DataError, match=r"ferryman-of-lune-story\.csv is missing; expected there: .*<split>"):
        fairytaleqa.load(tmp_path)


def test_a_section_that_the_story_does_not_have_is_told(tmp_path: Path) -> None:
    folktales.write_fairytaleqa(tmp_path)
    path = tmp_path / "questions" / "val" / "The-counting-goose-questions.csv"
    path.write_text(path.read_text("utf-8").replace('"2, 3"', '"2, 9"'), "utf-8")
    with pytest.raises(DataError, match=r"question 4 names section '2, 9'; the story has 1, 2, 3"):
        fairytaleqa.load(tmp_path)


def test_an_unknown_split_or_setting_lists_those_there_are(tales: Path) -> None:
    with pytest.raises(DataError, match=r"unknown split 'test'; .* has val"):
        fairytaleqa.load(tales, "test")
    with pytest.raises(
        DataError, match="unknown setting 'books'; FairytaleQA has collection, sections, stories"
    ):
        fairytaleqa.load(tales, "val", "books")


@pytest.fixture(params=[False, True], ids=["by names", "by stories.csv"])
def documents(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return folktales.write_narrativeqa(tmp_path, notes=request.param)


def test_full_stories_leave_out_scripts_and_other_works_and_say_so(documents: Path) -> None:
    benchmark = narrativeqa.load(documents, "valid", "stories")
    assert {question.story for question in benchmark.questions} == {folktales.PAIRED}
    reasons = {one.story: one.reason for one in benchmark.left_out}
    assert reasons.keys() == {folktales.MISPAIRED, folktales.SCRIPT}
    assert reasons[folktales.MISPAIRED].startswith("the story is another work: ")
    assert reasons[folktales.SCRIPT] == "no full story"
    assert sum(one.questions for one in benchmark.left_out) == 6


def test_mispaired_stories_can_be_kept(documents: Path) -> None:
    benchmark = narrativeqa.load(documents, "valid", "stories", keep_mispaired=True)
    assert {question.story for question in benchmark.questions} == {folktales.PAIRED, folktales.MISPAIRED}


def test_summaries_stand_on_every_document(documents: Path) -> None:
    benchmark = narrativeqa.load(documents, "valid", "summaries")
    assert len(benchmark.questions) == 9
    assert not benchmark.left_out
    for question in benchmark.questions:
        [place] = question.given
        assert text_at(benchmark, question, place) == benchmark.books[question.story]().text


def test_a_folder_without_stories_is_told_where_they_belong(documents: Path) -> None:
    for path in (documents / "tmp").iterdir():
        path.unlink()
    with pytest.raises(DataError, match=r"holds no story .* expected there: tmp/<document_id>\.content"):
        narrativeqa.load(documents, "valid", "stories")


def test_a_file_of_another_layout_is_told_its_missing_columns(documents: Path) -> None:
    (documents / "qaps.csv").write_text("id,question\n1,Who?\n", "utf-8")
    with pytest.raises(DataError, match=r"qaps\.csv has no column document_id, set, answer1, answer2"):
        narrativeqa.load(documents)


def test_too_few_names_decide_nothing() -> None:
    assert shared_names("A goose named Dorrit counts.", "nobody is here") is None
    assert not mispaired("A goose named Dorrit counts.", "nobody is here")


@pytest.mark.parametrize("name", ["own.json", "own.json.xz"])
def test_squad_is_read_packed_or_not(tmp_path: Path, name: str) -> None:
    benchmark = squad.load(folktales.write_squad(tmp_path / name))
    assert benchmark.split == "own"
    assert [question.answers for question in benchmark.questions] == [("a tinker called Osk",), ("Wilm",)]
    assert list(benchmark.titles.values()) == ["Counting geese", "Ferries"]


@pytest.mark.parametrize("text", ["", "{}", '{"data": []}', '{"data": [{"title": "x"}]}', "[1]"])
def test_a_file_that_is_not_squad_is_told_so(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match=r"SQuAD v1\.1 file"):
        squad.load(path)


@pytest.mark.parametrize("setting", domains.SETTINGS)
def test_answers_of_other_domains_stand_where_they_are_said_to(setting: str) -> None:
    benchmark = domains.load(setting)
    questions = benchmark.questions
    assert {one.kind for one in questions} == ({setting} if setting != "all" else set(domains.SETTINGS[1:]))
    assert len({one.id for one in questions}) == len({one.text for one in questions}) == len(questions)
    assert len(questions) == 30 * len({one.kind for one in questions})
    for one in questions:
        text = benchmark.books[one.book]().text
        assert tuple(text[start:end] for start, end in one.gold) == one.answers
        assert one.given == ((0, len(text)),)


def test_an_unknown_domain_is_told_so() -> None:
    with pytest.raises(DataError, match="unknown setting 'poems'; the set of other domains has all, forum"):
        domains.load("poems")


def test_a_sample_is_the_same_for_a_seed_and_keeps_the_order(tales: Path) -> None:
    questions = fairytaleqa.load(tales).questions
    drawn = sample(questions, 4, seed=1)
    assert [question.id for question in drawn] == [questions[i].id for i in (0, 1, 2, 4)]  # as ever
    assert list(drawn) == [question for question in questions if question in drawn]
    assert len({sample(questions, 4, seed=seed) for seed in range(8)}) > 1
    assert sample(questions, 99, seed=1) == sample(questions, None, seed=1) == questions


@pytest.mark.data
def test_fairytaleqa_has_the_published_questions_and_stories(data_folder: Path) -> None:
    for split, stories, questions in (("val", 23, 1025), ("train", 232, 8548)):
        for setting in fairytaleqa.SETTINGS:
            benchmark = fairytaleqa.load(data_folder / "fairytaleqa", split, setting)
            assert (len(benchmark.titles), len(benchmark.questions)) == (stories, questions)
            assert len({question.id for question in benchmark.questions}) == questions
            assert len(benchmark.books) == (1 if setting == "collection" else stories)


@pytest.mark.data
def test_narrativeqa_has_the_published_questions_and_55_stories_to_score_on(data_folder: Path) -> None:
    folder = data_folder / "narrativeqa"
    summaries = narrativeqa.load(folder)
    assert (len(summaries.titles), len(summaries.questions)) == (115, 3461)
    stories = narrativeqa.load(folder, "valid", "stories")
    assert len(stories.titles) == 55
    assert sum(one.reason.startswith("the story is another work") for one in stories.left_out) == 3


@pytest.mark.data
def test_names_alone_find_the_three_mispaired_books_of_narrativeqa(data_folder: Path) -> None:
    folder = data_folder / "narrativeqa"
    noted = {id for id, note in narrativeqa._pairing_notes(folder / "stories.csv").items() if note}
    summaries = narrativeqa.load(folder).books
    found = {
        path.stem
        for path in (folder / "tmp").glob("*.content")
        if mispaired(summaries[path.stem]().text, path.read_text("utf-8"))
    }
    assert found == noted
    assert len(noted) == 3


@pytest.mark.data
def test_squad_dev_has_the_published_questions(data_folder: Path) -> None:
    benchmark = squad.load(data_folder / "squad" / "dev-v1.1.json.xz")
    assert (len(benchmark.titles), len(benchmark.questions)) == (48, 10570)
