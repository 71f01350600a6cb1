"""The labelled questions of the training splits, read by the loaders that evaluation reads with."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

from evaluation import fairytaleqa, squad
from evaluation.questions import Benchmark, Place, Question
from indexing.errors import StoryQAError
from training.examples import LabelledQuestion
from training.targets import target_spans

LONGEST_PARAGRAPH = 160  # words; the longer tenth of SQuAD buys fewest questions for the time


class NoTrainingData(StoryQAError):
    """A folder that holds no data set a reader is trained on."""


def labelled(benchmark: Benchmark) -> dict[str, list[LabelledQuestion]]:
    """The questions of each story (or article) with their passages and the spans to learn from.

    Passages that other questions of the story are about, but not this one, are its negatives.
    """
    texts: dict[str, str] = {}
    passages: dict[str, dict[tuple[str, Place], str]] = defaultdict(dict)
    for question in benchmark.questions:
        text = texts.setdefault(question.book, benchmark.books[question.book]().text)
        for place in question.given:
            passages[question.story][question.book, place] = text[slice(*place)]
    found: dict[str, list[LabelledQuestion]] = defaultdict(list)
    for question in benchmark.questions:
        found[question.story].append(_label(question, passages[question.story]))
    return found


def _label(question: Question, passages: dict[tuple[str, Place], str]) -> LabelledQuestion:
    own = [(question.book, place) for place in question.given]
    texts = tuple(passages[place] for place in own)
    # SQuAD tells the very place of an answer, FairytaleQA the sections it is in: those are all given.
    known = [
        (number, gold[0] - place[0], gold[1] - place[0])
        for number, place in enumerate(question.given)
        for gold in question.gold
        if place[0] <= gold[0] and gold[1] <= place[1]
    ]
    targets = tuple(
        (known[i][0], known[i][1] + start, known[i][1] + end)
        for i, start, end in target_spans([texts[n][s:e] for n, s, e in known], question.answers)
    )
    others = tuple(text for place, text in passages.items() if place not in own)
    return LabelledQuestion(question.text, texts, targets, others, question.answers)


def training_questions(
    folders: list[Path], squad_questions: int, held_out: float, seed: int
) -> tuple[list[LabelledQuestion], list[LabelledQuestion], list[LabelledQuestion]]:
    """FairytaleQA's questions, ``squad_questions`` of SQuAD's, and those of held-out FairytaleQA stories.

    A folder is recognised by what it holds. Raises NoTrainingData for one that holds neither data
    set, and the loaders' ``DataError`` for one in another layout.
    """
    rng = random.Random(seed)
    fairytale: list[LabelledQuestion] = []
    validation: list[LabelledQuestion] = []
    from_squad: list[LabelledQuestion] = []
    for folder in folders:
        squad_file = next(iter(sorted(folder.glob("train-v1.1.json*"))), None)
        if (folder / "questions" / "train").is_dir():
            stories = labelled(fairytaleqa.load(folder, "train", "sections"))
            names = sorted(stories)
            rng.shuffle(names)
            held = set(names[: round(held_out * len(names))])
            for name, questions in stories.items():
                if name in held:
                    validation += questions
                else:
                    fairytale += [question for question in questions if question.targets]
        elif squad_file is not None:
            questions = [
                question
                for article in labelled(squad.load(squad_file)).values()
                for question in article
                if question.targets and len(question.passages[0].split()) <= LONGEST_PARAGRAPH
            ]
            rng.shuffle(questions)
            from_squad += questions[:squad_questions]
        else:
            raise NoTrainingData(
                f"{folder} holds no training data; wanted FairytaleQA (questions/train and "
                "section-stories/train) or SQuAD v1.1 (train-v1.1.json or train-v1.1.json.xz)"
            )
    return fairytale, from_squad, validation
