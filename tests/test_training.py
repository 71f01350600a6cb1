"""What the models are trained on: documents, labels, and how questions are shown."""

from __future__ import annotations

import json
import lzma
import random
from pathlib import Path

import folktales
import pytest

from evaluation.benchmarks.files import DataError
from evaluation.benchmarks.holdout import held_out
from evaluation.benchmarks.narrativeqa import half
from training.context_sampling import Example, Sampling, sample_example
from training.corpora.corpus import Corpus, Document, LabelledQuestion, NoTrainingData, iter_questions
from training.corpora.fairytaleqa import FAIRYTALES
from training.corpora.loading import load_corpus
from training.corpora.mctest import CHILDRENS_STORIES
from training.corpora.narrativeqa import STORIES, SUMMARIES, TRAIN_SUMMARIES
from training.corpora.squad import ARTICLES
from training.distant_supervision import distant_gold
from training.span_targets import NEAR, target_spans

HALF_A = "1a" * 20


def write_half_a(folder: Path) -> Path:
    """NarrativeQA of which the document with a story is in half A, and the others in half B."""
    folktales.write_narrativeqa(folder)
    for path in (*folder.glob("*.csv"), folder / "third_party" / "wikipedia" / "summaries.csv"):
        path.write_text(path.read_text("utf-8").replace(folktales.PAIRED, HALF_A), "utf-8")
    (folder / "tmp" / f"{folktales.PAIRED}.content").rename(folder / "tmp" / f"{HALF_A}.content")
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A folder of each data set."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "squad").mkdir()
    folktales.write_squad(folder / "squad" / "train-v1.1.json.xz")
    return [
        folktales.write_fairytaleqa(folder / "fairytaleqa", "train"),
        folder / "squad",
        write_half_a(folder / "narrativeqa"),
    ]


@pytest.fixture(scope="module")
def corpus(folders: list[Path]) -> Corpus:
    return load_corpus(folders)


def _found(text: str, *answers: str) -> list[str]:
    return [text[target.start : target.end] for target in target_spans([text], answers)]


def test_every_place_where_an_answer_stands_is_a_target() -> None:
    text = "The Grey\ngoose hissed. Nobody loved the grey goose, goose or not."
    assert _found(text, "the grey goose!") == ["The Grey\ngoose", "the grey goose"]
    assert {target.weight for target in target_spans([text], ["the grey goose!"])} == {1.0}


def test_an_answer_that_stands_nowhere_has_the_spans_that_come_close() -> None:
    text = "Because the miller had cheated her, she hid the key under the third stone."
    targets = target_spans([text], ["the miller cheated her"])
    best = max(targets, key=lambda target: target.weight)
    assert text[best.start : best.end] == "the miller had cheated her"
    assert best.weight == 1.0
    assert all(NEAR**2 <= target.weight <= 1.0 for target in targets)


@pytest.mark.parametrize("answer", ["zebra", "to his and the", "", "?!"])
def test_an_answer_that_shares_nothing_but_stop_words_has_no_target(answer: str) -> None:
    assert _found("He went to the mill and slept.", answer) == []


def test_the_closest_span_is_that_of_the_best_passage_and_answer() -> None:
    texts = ["The miller wept.", "Because the old miller had cheated her, she hid the key.", "A key."]
    targets = target_spans(texts, ["the grey mill", "the miller cheated her"])
    best = max(targets, key=lambda target: target.weight)
    assert (best.text, texts[best.text][best.start : best.end]) == (1, "the old miller had cheated her")


def test_no_close_span_is_learnt_where_an_answer_stands() -> None:
    texts = ["The old miller had cheated her.", "It was greed, said the miller."]
    [target] = target_spans(texts, ["the miller cheated her", "greed"])
    assert texts[target.text][target.start : target.end] == "greed"


def test_every_kind_of_data_is_read_with_its_places(corpus: Corpus) -> None:
    documents = (*corpus.train, *corpus.held_out)
    assert {document.kind for document in documents} == {FAIRYTALES, ARTICLES, SUMMARIES, STORIES}
    for document in documents:
        assert "".join(document.texts).split() == document.text.split() or document.kind == ARTICLES
        for one in document.questions:
            for start, end in one.gold:
                assert document.text[start:end].strip()
    articles = [document for document in documents if document.kind == ARTICLES]
    for _, one in iter_questions(articles):
        [place] = one.gold
        assert next(w for w in articles if one in w.questions).text[slice(*place)] == one.answers[0]


def test_half_b_is_never_trained_on(corpus: Corpus) -> None:
    for document in (*corpus.train, *corpus.held_out):
        if document.kind in (SUMMARIES, STORIES):
            assert half(document.name) == "A"


def test_held_out_stories_are_on_one_side_and_a_smaller_share_is_part_of_a_larger() -> None:
    stories = [f"story-{n}" for n in range(200)]
    small, large = held_out(stories, 0.05), held_out(stories[::-1], 0.1)
    assert (len(small), len(large)) == (10, 20)
    assert small < large < set(stories)


def test_a_folder_without_training_data_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoTrainingData, match="questions/train"):
        load_corpus([tmp_path])


TALE = Document(
    FAIRYTALES,
    "tale",
    "The fox hid a golden key in the well. " * 4 + "Nobody knew the well but the old fox of Vane. " * 4,
    ((0, 151), (152, 336)),
    (),
)
QUESTION = LabelledQuestion("What did the fox hide?", ("a golden key",), ((0, 38),))


def _examples(document: Document, one: LabelledQuestion, sampling: Sampling) -> list[Example]:
    shown = (sample_example(document, one, sampling, random.Random(seed)) for seed in range(120))
    return [example for example in shown if example is not None]


def test_a_tale_is_shown_with_its_section_or_among_others_and_at_times_without_an_answer() -> None:
    examples = _examples(TALE, QUESTION, Sampling())
    given = [example for example in examples if example.passages == (TALE.text[:38],)]
    among = [example for example in examples if len(example.passages) == 2 and example.right]
    assert given
    assert among
    for example in examples:
        for target in example.targets:
            assert target.text in example.right
            assert example.passages[target.text][target.start : target.end] == "a golden key"


def test_without_distractors_only_passages_that_answer_are_shown() -> None:
    for example in _examples(TALE, QUESTION, Sampling(distractors=False)):
        assert example.right == tuple(range(len(example.passages)))


def test_without_the_marginal_one_span_is_right() -> None:
    assert all(len(e.targets) == 1 for e in _examples(TALE, QUESTION, Sampling(marginal=False)))


def test_the_passages_shown_are_in_story_order() -> None:
    text = "\n".join(f"The miller of town {n} ground corn and sang song {n}." for n in range(30))
    starts = [m for m in range(len(text)) if m == 0 or text[m - 1] == "\n"]
    places = tuple((s, e - 1) for s, e in zip(starts, [*starts[1:], len(text) + 1], strict=True))
    document = Document(STORIES, "songs", text, places, ())
    for example in _examples(
        document, LabelledQuestion("Who sang song 7?", ("the miller of town 7",)), Sampling()
    ):
        order = [document.texts.index(passage) for passage in example.passages]
        assert order == sorted(order)
        assert any("town 7" in example.passages[n] for n in example.right)


def test_a_passage_probably_answers_where_it_holds_the_answers_words() -> None:
    text = "A goose counted stars. | The baker could not sleep. | Osk boiled tea on a stove."
    parts = text.split(" | ")
    starts = [text.index(part) for part in parts]
    places = tuple((s, s + len(p)) for s, p in zip(starts, parts, strict=True))
    document = Document(STORIES, "goose", text, places, ())
    assert distant_gold(document, LabelledQuestion("What did Osk do?", ("boiled his tea", "tea"))) == [2]
    assert distant_gold(document, LabelledQuestion("Who?", ("a zebra",))) == []


def test_the_place_that_squad_tells_is_the_target(tmp_path: Path) -> None:
    text = "The goose hissed at Maud, and Maud laughed at the goose."
    place = {"text": "Maud", "answer_start": text.rindex("Maud")}
    qas = [{"id": "1", "question": "Who laughed?", "answers": [place]}]
    article = {"title": "Geese", "paragraphs": [{"context": text, "qas": qas}]}
    (tmp_path / "train-v1.1.json").write_text(json.dumps({"data": [article]}))
    [document] = load_corpus([tmp_path]).train
    example = sample_example(document, document.questions[0], Sampling(), random.Random(0))
    assert example is not None
    [target] = example.targets
    assert (target.text, target.start, target.end) == (0, 30, 34)


def test_the_excerpt_of_narrativeqa_train_is_read_beside_half_a(tmp_path: Path) -> None:
    folder = folktales.write_narrativeqa(tmp_path)
    row = {
        "document_id": "77" * 20,
        "question": "Who did n't count the cups ?",
        "answers": ["Nobody ."],
        "summary_sentences": ["Dorrit did n't sleep .", "Nobody counted the cups ."],
    }
    path = folder / "nqa_train60.jsonl.xz"
    path.write_bytes(lzma.compress((json.dumps(row) + "\n").encode()))
    [document] = [one for one in load_corpus([folder]).train if one.kind == TRAIN_SUMMARIES]
    assert document.text == "Dorrit didn't sleep. Nobody counted the cups."
    assert [(q.text, q.answers) for q in document.questions] == [("Who didn't count the cups?", ("Nobody.",))]
    path.write_bytes(b"no archive")
    with pytest.raises(DataError, match="nqa_train60"):
        load_corpus([folder])


def test_mctest_is_trained_on_with_its_right_choices(tmp_path: Path) -> None:
    story = "Maud hid the lamp in an oak."
    choices = [["in a well", "in an oak", "at home", "nowhere"]] * 4
    cells = ["mc160.train.0", "author", story]
    for some in choices:
        cells += ["one: Where did Maud hide it?", *some]
    (tmp_path / "mc160.train.tsv").write_text("\t".join(cells) + "\n", "utf-8")
    (tmp_path / "mc160.train.ans").write_text("B\tB\tB\tB\n", "utf-8")
    for kind in ("tsv", "ans"):
        (tmp_path / f"mc500.train.{kind}").touch()
    [document] = load_corpus([tmp_path]).train
    assert document.kind == CHILDRENS_STORIES
    assert {question.answers for question in document.questions} == {("in an oak",)}
    example = sample_example(document, document.questions[0], Sampling(), random.Random(0))
    assert example is not None
    assert example.passages == (story,)
    assert [story[target.start : target.end] for target in example.targets] == ["in an oak"]
