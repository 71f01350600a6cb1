"""The LSTM over stories: sharing what was read changes nothing, and its file is enough."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tiny_worlds import asked_of, learnt, right, walks

from encoders.errors import ModelError
from evaluation.worlds.stories import Asked, Story
from readers import open_reader
from readers.neural.babi_lstm import AskedStory, StoryLstm, asked_stories

FACTS: list[list[tuple[int, ...]]] = [[(1, 2)], [(1, 2), (3,), (2, 5)], [(4,)], [(1, 2)], [(4,), (1, 2)]]
QUESTIONS = [[5], [5, 6], [6], [6, 1], [5]]


def network() -> StoryLstm:
    torch.manual_seed(3)
    return StoryLstm(words=6, answers=4, d=5, hidden=7).eval()


def test_questions_share_a_story_where_the_facts_of_one_go_on_from_those_of_another() -> None:
    assert asked_stories(FACTS) == [
        AskedStory(parts=((1, 2), (3, 2, 5)), asked=((0, 3), (1,))),
        AskedStory(parts=((4,), (1, 2)), asked=((2,), (4,))),
    ]


def test_questions_of_one_story_are_answered_as_if_each_had_a_story_of_its_own() -> None:
    net = network()
    together = net(asked_stories(FACTS), QUESTIONS)
    for n, (facts, question) in enumerate(zip(FACTS, QUESTIONS, strict=True)):
        torch.testing.assert_close(together[n : n + 1], net(asked_stories([facts]), [question]))


def test_the_answer_follows_from_the_last_state_of_one_lstm_over_story_and_question() -> None:
    net = network()
    states, _ = net.lstm(net.words(torch.tensor([[1, 2, 3, 2, 5, 5, 6]])))
    torch.testing.assert_close(net(asked_stories(FACTS), QUESTIONS)[1], net.v(states[0, -1]))


@pytest.mark.training
def test_a_small_world_is_learnt_by_heart_and_alike_with_the_same_seed(tmp_path: Path) -> None:
    stories = walks(9)
    reader = learnt("babi-lstm", stories, tmp_path / "one", epochs=200)
    assert right(reader, stories) == 1
    assert reader.trained_on == "tales"
    other = learnt("babi-lstm", stories, tmp_path / "other", epochs=200)
    assert other.read(asked_of(stories)) == reader.read(asked_of(stories))


def test_the_epoch_that_is_best_on_the_stories_held_out_is_kept(tmp_path: Path) -> None:
    learnt("babi-lstm", walks(20), tmp_path, epochs=3)
    assert (tmp_path / "best-accuracy.safetensors").is_file()


def test_questions_asked_before_any_fact_teach_nothing(tmp_path: Path) -> None:
    early = Story(("Orla slept.",), (Asked("Where is Orla?", ("mill",), (), 0),))
    reader = learnt("babi-lstm", [early, *walks(2)], tmp_path, epochs=1)
    assert all(reader.read(asked_of(walks(2))))


def test_without_a_folder_it_is_told_how_the_network_is_trained(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"storyqa train babi --system babi-lstm --data DATA --out FOLDER"):
        open_reader(f"babi-lstm:{tmp_path}")
    with pytest.raises(ModelError, match="needs a folder: write babi-lstm:DIR"):
        open_reader("babi-lstm")
