"""The labelled questions of the training splits, from the publishers' own layouts."""

from __future__ import annotations

import csv
import json
import lzma
import random
from pathlib import Path

from indexing.errors import SourceError
from training.examples import LabelledQuestion
from training.targets import target_spans


def fairytale_questions(folder: Path, split: str = "train") -> list[tuple[str, LabelledQuestion]]:
    """(story, question) pairs of FairytaleQA; the passages are the gold sections."""
    found = []
    for path in sorted((folder / "questions" / split).glob("*-questions.csv")):
        name = path.name.removesuffix("-questions.csv")
        with (folder / "section-stories" / split / f"{name}-story.csv").open(
            encoding="utf-8", newline=""
        ) as file:
            sections = {row["section"].strip(): row["text"] for row in csv.DictReader(file)}
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                gold = [s.strip() for s in row["cor_section"].split(",")]
                passages = tuple(sections[s] for s in gold)
                answers = tuple(a for n in range(1, 7) if (a := (row[f"answer{n}"] or "").strip()))
                targets = tuple(
                    (p, s, e) for p, t in enumerate(passages) for s, e in target_spans(t, answers)
                )
                others = [text for s, text in sections.items() if s not in gold]
                found.append(
                    (name, LabelledQuestion(row["question"].strip(), passages, targets, others, answers))
                )
    return found


def squad_questions(path: Path, longest_words: int = 160) -> list[LabelledQuestion]:
    """The questions of SQuAD v1.1 on paragraphs of at most ``longest_words`` words."""
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        articles = json.load(file)["data"]
    found = []
    for article in articles:
        paragraphs = [p["context"] for p in article["paragraphs"]]
        for number, paragraph in enumerate(article["paragraphs"]):
            context = paragraph["context"]
            if len(context.split()) > longest_words:
                continue
            others = paragraphs[:number] + paragraphs[number + 1 :]
            for qa in paragraph["qas"]:
                answers = tuple(answer["text"] for answer in qa["answers"])
                if qa.get("offset_ambiguous"):
                    spans = target_spans(context, answers)
                else:
                    spans = [(a["answer_start"], a["answer_start"] + len(a["text"])) for a in qa["answers"]]
                targets = tuple((0, start, end) for start, end in spans)
                found.append(LabelledQuestion(qa["question"].strip(), (context,), targets, others, answers))
    return found


def training_questions(
    folders: list[Path], squad: int, held_out: float, seed: int
) -> tuple[list[LabelledQuestion], list[LabelledQuestion], list[LabelledQuestion]]:
    """FairytaleQA, ``squad`` questions of SQuAD, and the held-out FairytaleQA stories' questions.

    A folder is recognised by what it holds. Raises SourceError for one that holds neither data set.
    """
    rng = random.Random(seed)
    fairytale: list[LabelledQuestion] = []
    validation: list[LabelledQuestion] = []
    from_squad: list[LabelledQuestion] = []
    for folder in folders:
        squad_file = next(iter(sorted(folder.glob("train-v1.1.json*"))), None)
        if (folder / "questions" / "train").is_dir():
            pairs = fairytale_questions(folder)
            stories = sorted({story for story, _ in pairs})
            rng.shuffle(stories)
            held = set(stories[: round(held_out * len(stories))])
            fairytale += [q for story, q in pairs if story not in held and q.targets]
            validation += [q for story, q in pairs if story in held]
        elif squad_file is not None:
            questions = [q for q in squad_questions(squad_file) if q.targets]
            rng.shuffle(questions)
            from_squad += questions[:squad]
        else:
            raise SourceError(
                f"{folder} holds no training data; wanted FairytaleQA (questions/train, section-stories/train)"
                " or SQuAD v1.1 (train-v1.1.json or train-v1.1.json.xz)"
            )
    return fairytale, from_squad, validation
