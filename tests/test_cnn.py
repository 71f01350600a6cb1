"""CNN and Daily Mail: questions about entities, made of articles and books, and the publisher's own files."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluation.benchmarks.benchmark import Benchmark, Question, given_reading
from evaluation.benchmarks.cnn import load
from evaluation.benchmarks.files import DataError
from evaluation.sample import sample_story
from readers.cloze import Cloze, anonymise, parse_cloze
from service.cli import run
from text.names import entities, name_key

ARTICLE = (
    "Mary Turner left London for Paris on Monday. The museum, Mrs. Turner said, had paid for her. "
    "In Paris she met Peter Brown, who works for Google. Mr. Brown had never seen London."
)
BULLETS = ["Mary Turner met Brown in Paris.", "Nobody went to Berlin.", "It rained."]


def write_articles(folder: Path, **more: object) -> Path:
    row = {"id": "one", "text": ARTICLE, "highlights": BULLETS, **more}
    (folder / "valid.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    return folder


def clozes(benchmark: Benchmark) -> list[Cloze]:
    return [
        parse_cloze(given_reading(one, benchmark.books[one.book]().text), one.candidates)
        for one in benchmark.questions
    ]


def test_names_are_one_entity_s_by_title_article_and_part_of_one_longer_name() -> None:
    def same(*names: tuple[str, str]) -> list[int]:
        return entities([(name_key(words.split()), type) for words, type in names])

    person = "PERSON"
    assert same(("Mr. Brown", person), ("Brown 's", person), ("the Brown", person)) == [0, 0, 0]
    assert same(("Brown", person), ("Peter Brown", person), ("Peter", person)) == [0, 0, 0]
    # Of two Browns nobody knows which is meant, and a town is no person.
    assert same(("Brown", person), ("Peter Brown", person), ("Ann Brown", person)) == [0, 1, 2]
    assert same(("Paris", "GPE"), ("Paris Hill", person)) == [0, 1]


def test_each_entity_of_a_bullet_becomes_the_placeholder_in_turn(tmp_path: Path) -> None:
    found = load(write_articles(tmp_path)).questions
    assert {(one.text, one.answers[0]) for one in found} == {
        ("@placeholder met Brown in Paris.", "Mary Turner"),
        ("Mary Turner met @placeholder in Paris.", "Peter Brown"),
        ("Mary Turner met Brown in @placeholder.", "Paris"),
    }
    assert {one.kind for one in found} == {"CNN"}
    # Berlin is not in the article.
    assert all("Berlin" not in one.text for one in found)


def test_every_mention_of_an_entity_is_one_token_and_points_into_the_original(tmp_path: Path) -> None:
    for cloze in clozes(load(write_articles(tmp_path))):
        assert "turner" not in (*cloze.context, *cloze.query)
        spelled = {cloze.candidates[one.candidate]: set[str]() for one in cloze.mentions}
        for mention in cloze.mentions:
            span = cloze.span(mention)
            text = cloze.reading.passages[span.passage][span.start : span.end]
            spelled[cloze.candidates[mention.candidate]].add(text)
        assert spelled["Mary Turner"] == {"Mary Turner", "Turner"}
        assert spelled["Peter Brown"] == {"Peter Brown", "Brown"}


def test_anonymising_renames_entities_and_nothing_else(tmp_path: Path) -> None:
    for cloze in clozes(load(write_articles(tmp_path))):
        drawn = [anonymise(cloze, random.Random(seed)) for seed in range(8)]
        assert len({one.markers for one in drawn}) == 8
        for one in drawn:
            assert one.mentions == cloze.mentions
            names = dict(zip(cloze.context, one.context, strict=True))
            assert len(set(names.values())) == len(names)
            assert all(old == new or old.startswith("@entity") for old, new in names.items())
            assert one.query == tuple(names.get(key, key) for key in cloze.query)


def test_articles_over_two_thousand_tokens_are_left_out(tmp_path: Path) -> None:
    long = " ".join([ARTICLE] * 60)
    with pytest.raises(DataError, match="no article that makes a question"):
        load(write_articles(tmp_path, text=long))


@pytest.mark.parametrize("valid", ["valid.jsonl", "val.jsonl", "validation.jsonl"])
def test_a_file_named_after_a_split_is_of_that_split_alone(valid: str, tmp_path: Path) -> None:
    for name, split in (("train.jsonl", "train"), (valid, "valid")):
        row = {"id": split, "text": ARTICLE, "highlights": BULLETS}
        (tmp_path / name).write_text(json.dumps(row) + "\n", "utf-8")
    for split in ("train", "valid"):
        assert {one.story for one in load(tmp_path, split).questions} == {split}
    with pytest.raises(DataError, match="has no file of the split 'test'"):
        load(tmp_path, "test")
    (tmp_path / "others.jsonl").write_text((tmp_path / valid).read_text("utf-8"), "utf-8")
    assert {one.story for one in load(tmp_path, "test").questions} == {"valid"}


@pytest.mark.parametrize("ids", [("Новость 1", "Статья 1"), (None, None)])
def test_two_articles_of_one_id_are_named(ids: tuple[str | None, ...], tmp_path: Path) -> None:
    for name, id in zip("ab", ids, strict=True):
        row = {"text": ARTICLE, "highlights": BULLETS} | ({} if id is None else {"id": id})
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    with pytest.raises(DataError, match=r"a\.jsonl:1 and .*b\.jsonl:1 have the same id '1'; rename one"):
        load(tmp_path)


def test_official_stories_and_tokenised_articles_make_the_same_questions(tmp_path: Path) -> None:
    (tmp_path / "stories").mkdir()
    story = ARTICLE + "".join(f"\n\n@highlight\n\n{one}" for one in BULLETS)
    (tmp_path / "stories" / "one.story").write_text(story, "utf-8")
    (tmp_path / "lines").mkdir()
    asked = load(write_articles(tmp_path / "lines")).questions
    assert [one.text for one in load(tmp_path).questions] == [one.text for one in asked]
    rows = [{"src": [["Mary", "Turner", "left", "London", "."]], "tgt": [["Mrs.", "Turner", "left", "."]]}]
    (tmp_path / "tokenised.json").write_text(json.dumps(rows), "utf-8")
    [one] = load(tmp_path / "tokenised.json").questions
    assert (one.text, one.answers) == ("Mrs. @placeholder left .", ("Mary Turner",))


def test_a_sentence_of_a_book_is_asked_with_the_tokens_before_it(tmp_path: Path) -> None:
    (tmp_path / "weigher.txt").write_text(sample_story().read_text("utf-8")[:30_000], "utf-8")
    benchmark = load(tmp_path, setting="books", count=25, cache=tmp_path / "cache")
    assert len(benchmark.questions) == 25
    for question, cloze in zip(benchmark.questions, clozes(benchmark), strict=True):
        assert question.kind == "books"
        assert question.given[-1][1] <= int(question.id.rpartition(":")[2])
        assert {one.candidate for one in cloze.mentions} == set(range(len(question.candidates)))
        assert len(cloze.context) <= 2_100  # Treebank tokens are cut a little otherwise
    again = load(tmp_path, setting="books", count=25, cache=tmp_path / "cache")
    assert again.questions == benchmark.questions


def test_a_book_too_short_for_a_context_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "short.txt").write_text(ARTICLE, "utf-8")
    with pytest.raises(DataError, match="wanted books of more than 2,000 tokens"):
        load(tmp_path, setting="books", cache=tmp_path / "cache")


OFFICIAL = """http://example.org/one

( @entity3 ) @entity0 left @entity7 . @entity0 met @entity5 there . will @entity5 stay ?

@entity0 met @placeholder , says @entity9

@entity5

@entity0:Mary Turner
@entity3:Gazette
@entity5:Peter Brown
@entity7:Lowmarsh
@entity9:Herald"""


def official(folder: Path, text: str = OFFICIAL) -> Path:
    (folder / "questions" / "validation").mkdir(parents=True, exist_ok=True)
    (folder / "questions" / "validation" / "a1.question").write_text(text, "utf-8")
    return folder


def read(folder: Path, text: str = OFFICIAL) -> tuple[Question, Cloze]:
    benchmark = load(official(folder, text))
    [question], [cloze] = benchmark.questions, clozes(benchmark)
    return question, cloze


def test_official_files_are_read_with_their_names_in_place(tmp_path: Path) -> None:
    question, cloze = read(tmp_path)
    assert question.text == "Mary Turner met @placeholder , says Herald"
    assert question.answers == ("Peter Brown",)
    assert question.candidates == ("Gazette", "Mary Turner", "Lowmarsh", "Peter Brown")
    assert cloze.reading.passages == (
        "( Gazette ) Mary Turner left Lowmarsh .",
        "Mary Turner met Peter Brown there .",
        "will Peter Brown stay ?",
    )
    assert [one.candidate for one in cloze.mentions] == [0, 1, 2, 1, 3, 3]


@pytest.mark.parametrize("split", ["test", "train"])
def test_a_folder_of_one_split_is_not_read_as_another(split: str, tmp_path: Path) -> None:
    folder = official(tmp_path) / "questions" / "validation"
    assert len(load(folder).questions) == 1
    with pytest.raises(DataError, match=f"is of the split 'valid', not of '{split}'"):
        load(folder, split)


def test_a_line_in_an_official_query_is_not_a_second_blank(tmp_path: Path) -> None:
    question, cloze = read(tmp_path, OFFICIAL.replace("says @entity9", "says Lady ____ to @entity9"))
    assert question.text.startswith("Mary Turner met @placeholder , says Lady _")
    assert cloze.query[cloze.blank - 1 : cloze.blank + 2] == ("met", "xxxxx", ",")


def test_permuted_markers_make_the_same_question(tmp_path: Path) -> None:
    swapped = OFFICIAL
    for old, new in (("0", "x"), ("5", "0"), ("3", "5"), ("x", "3")):
        swapped = swapped.replace(f"@entity{old}", f"@entity{new}")
    assert swapped != OFFICIAL
    assert read(tmp_path, swapped) == read(tmp_path)


def test_texts_tell_one_data_set_from_another(tmp_path: Path) -> None:
    before = load(official(tmp_path))
    fingerprint = before.fingerprint()
    assert load(tmp_path).fingerprint() == fingerprint
    after = load(official(tmp_path, OFFICIAL.replace("left", "fled")))
    assert after.questions == before.questions
    assert after.fingerprint() != fingerprint


@pytest.mark.parametrize("seed", [0, 1])
def test_the_chance_and_the_heat_maps_are_of_the_questions_asked(seed: int, tmp_path: Path) -> None:
    folder = official(tmp_path) / "questions" / "validation"
    fewer = OFFICIAL.replace("( @entity3 ) ", "").replace("left @entity7", "left")  # 2 candidates, not 4
    (folder / "a2.question").write_text(fewer.replace("says", "writes"), "utf-8")
    command = ["evaluate", "cnn", "--data", str(tmp_path), "--limit", "1", "--seed", str(seed)]
    assert run([*command, "--heat-maps", "2", "--out", str(tmp_path / "out")]) == 0
    [asked] = (tmp_path / "out" / "predictions.jsonl").read_text("utf-8").splitlines()
    scores = json.loads((tmp_path / "out" / "scores.json").read_text("utf-8"))
    chance = {"a1": "25.0%", "a2": "50.0%"}[json.loads(asked)["id"]]
    assert f"a choice by chance is right for {chance} of the questions" in scores["notes"]
    page = (tmp_path / "out" / "attention.html").read_text("utf-8")
    assert re.findall("<h2>(.*)</h2>", page) == [json.loads(asked)["question"]]


@pytest.mark.parametrize("inner", ["", "questions", "questions/validation"])
def test_the_daily_mail_is_known_by_its_folder_however_much_of_the_layout_is_named(
    inner: str, tmp_path: Path
) -> None:
    for name, kind in (("dailymail", "DM"), ("cnn", "CNN")):
        (tmp_path / name).mkdir()
        assert [one.kind for one in load(official(tmp_path / name) / inner).questions] == [kind]


def test_the_daily_mail_is_known_by_the_address_of_its_articles(tmp_path: Path) -> None:
    text = OFFICIAL.replace(OFFICIAL.split("\n")[0], "http://www.dailymail.co.uk/news/lowmarsh.html")
    assert read(tmp_path, text)[0].kind == "DM"


@pytest.mark.parametrize(
    ("name", "said"),
    [("cnn", "1 of the split's 3,924 questions"), ("dailymail", "1 of the split's 64,835 questions")],
)
def test_a_part_of_the_split_is_told_by_the_size_of_its_own_data_set(
    name: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).mkdir()
    command = ["evaluate", "cnn", "--data", str(official(tmp_path / name)), "--reader", "random-rank"]
    assert run([*command, "--out", str(tmp_path / "out"), "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert any(note.startswith(f"these are {said}") for note in notes)


def test_questions_made_of_articles_are_no_part_of_the_published_split(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["evaluate", "cnn", "--data", str(write_articles(tmp_path)), "--reader", "random-rank"]
    assert run([*command, "--out", str(tmp_path / "out"), "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert not any("of the split's" in note for note in notes)


MALFORMED: dict[str, tuple[Callable[[str], str], str]] = {
    "an unknown marker": (
        lambda text: text.replace("left @entity7", "left @entity8"),
        "line 3: found the marker @entity8; wanted one of those that the last lines name",
    ),
    "an answer elsewhere": (
        lambda text: text.replace("\n@entity5\n", "\n@entity9\n"),
        "line 7: found the answer '@entity9'; wanted a marker that the context has",
    ),
    "no blank": (
        lambda text: text.replace("@placeholder", "him"),
        "line 5: found 0 blanks in the query; wanted one @placeholder",
    ),
    "a name without marker": (
        lambda text: text.replace("@entity7:", "@entity:"),
        "line 12: found '@entity:Lowmarsh'; wanted @entityN:Name",
    ),
    "no query": (
        lambda text: text.replace("@entity0 met @placeholder , says @entity9\n\n", ""),
        "line 1: found 4 parts with a blank line between; wanted 5",
    ),
}


@pytest.mark.parametrize("fault", MALFORMED)
def test_a_malformed_file_is_named_with_its_line(
    fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil, message = MALFORMED[fault]
    official(tmp_path, spoil(OFFICIAL))
    assert run(["evaluate", "cnn", "--data", str(tmp_path), "--reader", "random-rank"]) == 2
    error = capsys.readouterr().err
    assert f"a1.question, {message}" in error
    assert error.count("\n") == 1
