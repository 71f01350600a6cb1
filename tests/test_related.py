"""Who is NAME's father? Where does NAME live?: told by what is named beside the word, in all of a book."""

from __future__ import annotations

from pathlib import Path

import pytest
from counted_books import answer, counted, long_story, store_of

from answering.book_qa import Ask, BookQA
from answering.related_questions import related_asked

SCENES = (
    "Orla Pell ran down the stair. “Good morning, Orla,” said Mr. Harker. Orla said that she had seen a "
    "seal. She laughed, and Bram Osk laughed, too. Bram Osk was late, and he had lost his hat. ",
    "Orla Pell came home, and her father, Edmund Pell, mended a net. Edmund Pell said that he was tired. "
    "“You are late,” said Edmund to Orla. Dilly Osk said that she had seen her. Dilly told Bram so. ",
    "Bram and his sister Dilly went to the fair. Dilly said that she wanted a drum. Bram had two crowns, and "
    "he spent them. Orla said that she knew Dilly. Mr. Harker watched them, for he had nothing to do. ",
    "Edmund’s daughter Orla was the first to see the flood. Mr. Harker, the ferryman, lost his boat, and "
    "Edmund said that the ferryman should have his. Bram said that he would row. Dilly Osk held her hat. ",
    "Orla’s father said that he was too old for it. Edmund Pell went all the same, and Mr. Harker went with "
    "him. The ferryman sang. Bram’s sister said that she would not, and Dilly went home. Tarn lay behind. ",
    "In the spring Orla Pell married Bram Osk. Dilly said that she had known it. Bram had a new hat, and he "
    "rowed the bride to the church. Mr. Harker said that he had never seen such a day. ",
    "Mr. Harker lived in Wexcombe, in a house of two rooms. Bram went to Wexcombe once, and he was at Farrow "
    "for a week. Dilly said that in Wexcombe nobody sang, and that in Farrow everybody did. ",
    "So it was in Farrow that Orla had her home, and Orla lived in Farrow until she was old. Bram sold his "
    "boat at Farrow. They said that in Wexcombe Mr. Harker had a dog in his house. ",
)
STORY = long_story(SCENES)


@pytest.fixture(scope="module")
def qa(tmp_path_factory: pytest.TempPathFactory) -> BookQA:
    return BookQA(store_of(SCENES, tmp_path_factory.mktemp("store")))


@pytest.mark.parametrize(
    ("question", "word", "whom"),
    [
        ("Who is Orla's father?", "father", "Orla"),
        ("Who was Orla Pell’s only brother", "brother", "Orla Pell"),
        ("who's the father of Orla?", "father", "Orla"),
        ("What is the name of James' wife?", "wife", "James"),
        ("What is Orla's aunt's name?", "aunt", "Orla"),
        ("What is Orla's dog called?", "dog", "Orla"),
        ("Whom does Orla marry?", "married", "Orla"),
        ("Who did Orla Pell marry in the end?", "married", "Orla Pell"),
        ("Who is Orla married to?", "married", "Orla"),
        ("Who marries Orla?", "married", "Orla"),
        ("Where does Orla live?", "live", "Orla"),
        ("What is Mr. Harker's address?", "live", "Mr. Harker"),
        ("Where Orla lives", "live", "Orla"),
        ("Whom Orla married", "married", "Orla"),
        ("Who is the ferryman?", "ferryman", None),
        ("What is the name of the vicar in the book?", "vicar", None),
    ],
)
def test_relations_and_trades_are_asked_for(question: str, word: str, whom: str | None) -> None:
    asked = related_asked(question)
    assert asked is not None
    assert (asked.relation.words[0], asked.whom) == (word, whom)


@pytest.mark.parametrize(
    "question",
    [
        "Who is her father?",
        "Who is the captain's wife?",
        "Who is the thief?",
        "Who is Orla?",
        "Who is Orla's first employer in town?",
        "Who is Orla's younger sister?",
        "Who is the eldest daughter of Edmund?",
        "Who is Orla's real father?",
        "Why is Orla's father tired?",
        "Who loves Orla's father?",
        "Who is the author?",
    ],
)
def test_what_is_no_relation_to_a_name_is_none(question: str) -> None:
    assert related_asked(question) is None


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Who is Orla's father?", "Edmund Pell"),
        ("What is the name of Orla's father?", "Edmund Pell"),
        ("Who is Edmund's daughter?", "Orla Pell"),
        ("Who is Bram's sister?", "Dilly Osk"),
        ("Who is Dilly's brother?", "Bram Osk"),
        ("Whom does Orla marry?", "Bram Osk"),
        ("Where does Orla live?", "Farrow"),
        ("Where is Mr. Harker’s house?", "Wexcombe"),
        ("Who is the ferryman?", "Mr. Harker"),
    ],
)
def test_whoever_is_named_most_beside_the_word_is_told(qa: BookQA, question: str, said: str) -> None:
    cited = answer(qa, question)
    assert cited.text == said
    assert counted(cited)
    assert cited.evidence is not None
    last = said.split()[-1]
    assert cited.evidence.text.split()[-1] in {last, said.split()[0]}
    assert cited.evidence.text == STORY[cited.evidence.start : cited.evidence.end]
    confidences = [one.confidence for one in cited.candidates]
    assert confidences == sorted(confidences, reverse=True)
    assert all(0 < one <= 0.9 for one in confidences)


@pytest.mark.parametrize(
    ("question", "whose"),
    [
        ("Who is Dilly's father?", "Dilly’s father"),  # Edmund is named beside Orla's
        ("Who is Mr. Harker's sister?", "Mr. Harker’s sister"),
        ("Who are Mr. Harker's daughters?", "Mr. Harker’s daughter"),
        ("Whom does Mr. Harker marry?", None),  # he is at a wedding
    ],
)
def test_nobody_is_told_for_a_relation_that_is_only_somebody_else_s(
    qa: BookQA, question: str, whose: str | None
) -> None:
    said = "whom Mr. Harker marries" if whose is None else f"who {whose} is"
    for before in (None, len(STORY) - 10):
        cited = answer(qa, question, before=before)
        part = "the book" if before is None else "what has been read of the book"
        assert (cited.text, cited.verdict) == ("", "none")
        assert cited.note == f"{part} does not say {said}"


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> BookQA:
    """Kitto has married Lowena, but Jenna stands by; Jenna lives at Penwarden, but Trewell is spoken of."""
    scenes = (
        *SCENES,
        "Kitto Rowe said that he was happy, and he sang. Kitto laughed, for he was glad. “Come,” said Kitto. "
        "“So it is,” said Lowena Tull. Kitto saw Lowena, and she sang. ",
        "Kitto Rowe, who had married Lowena Tull, asked Jenna Stone for a hat. “A bride, a marriage,” said "
        "Jenna, and she laughed at the bride. “A bride,” said Jenna. Kitto Rowe laughed. ",
        "They lived in Trewell, and their home in Trewell was old. Jenna laughed. In Trewell it rained. ",
        "Jenna Stone lived at Penwarden. Jenna said that it was cold in Penwarden, and in Trewell, too. ",
        "Kitto Rowe said that it rained. Bram lived in Farrow. Kitto Rowe laughed, and Kitto said so. ",
        "Orla saw a widow with her daughter Demelza and her son Perran. “So it is,” said Perran, for he was "
        "glad. “It is,” said Demelza, and she laughed. Perran said that he knew Bram and his brother. ",
    )
    return BookQA(store_of(scenes, tmp_path_factory.mktemp("others")))


def test_whom_somebody_is_said_to_have_married_goes_before_who_stands_by(others: BookQA) -> None:
    cited = answer(others, "Whom does Kitto marry?")
    assert cited.text == "Lowena Tull"
    assert cited.note == "named most where the marriage of Kitto may be spoken of: counted, not read"


def test_children_who_are_named_together_are_brother_and_sister(others: BookQA) -> None:
    assert answer(others, "Who is Demelza's brother?").text == "Perran"
    assert answer(others, "Who is Perran's sister?").text == "Demelza"


def test_a_home_is_a_place_that_a_sentence_names_beside_whoever_lives_there(others: BookQA) -> None:
    assert answer(others, "Where does Jenna Stone live?").text == "Penwarden"
    assert not counted(answer(others, "Where does Kitto Rowe live?"))


def test_nobody_is_related_to_themselves(qa: BookQA) -> None:
    told = qa.answer(Ask("lock", "Who is Orla's father?", retriever="bm25", reader="overlap", n_best=5))
    assert "Orla Pell" not in {one.text for one in told.candidates}


@pytest.fixture(scope="module")
def aunts(tmp_path_factory: pytest.TempPathFactory) -> BookQA:
    """Edmund, who is called he, stands by "her aunt" oftener than Dilly, and by "his wife" alone."""
    scenes = (
        *SCENES,
        "Orla went to her aunt, and Edmund Pell went to her aunt, too. Her aunt let Edmund in. ",
        "Edmund sat, for he was tired. Edmund sang as he could. Edmund slept, and he dreamt. ",
        "Edmund woke, for he was cold. Edmund rose, and he ate. ",
        "Orla and her aunt, Dilly Osk, sang. Bram told his wife of Edmund. ",
    )
    return BookQA(store_of(scenes, tmp_path_factory.mktemp("aunts")))


def test_who_is_clearly_called_he_is_nobodys_aunt(aunts: BookQA) -> None:
    told = answer(aunts, "Who is Orla's aunt?")
    assert counted(told)
    assert told.text == "Dilly Osk"
    assert "Edmund Pell" not in {one.text for one in told.candidates}
    wife = answer(aunts, "Who is Bram's wife?")
    assert counted(wife)
    assert "Edmund Pell" not in {one.text for one in wife.candidates}


def test_a_monk_is_nobodys_brother_by_his_name(tmp_path: Path) -> None:
    scenes = (
        *SCENES,
        "Brother Ivo rang the bell, and Orla heard him. Orla gave Brother Ivo bread. “Good day, Orla,” said "
        "Brother Ivo. Orla said that Brother Ivo was old. ",
    )
    assert answer(BookQA(store_of(scenes, tmp_path)), "Who is Orla's brother?").text != "Brother Ivo"


def test_no_more_is_counted_than_has_been_read(qa: BookQA) -> None:
    limit = STORY.index("Edmund’s daughter")
    asked = answer(qa, "Who is Orla's father?", before=limit)
    places = [one for one in (asked.evidence, *asked.candidates[0].also) if one]
    assert asked.text == "Edmund Pell"
    assert all(one.end <= limit for one in places)
    assert not counted(answer(qa, "Who is the ferryman?", before=limit))


@pytest.mark.parametrize("question", ["Who is Tarn's sister?", "Who is Zora's father?", "Who is the bishop?"])
def test_what_is_not_counted_is_left_to_the_reader(qa: BookQA, question: str) -> None:
    assert not counted(answer(qa, question))


def test_a_short_story_is_read(qa: BookQA) -> None:
    assert not counted(answer(qa, "Who is Orla's father?", "short"))
