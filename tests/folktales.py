"""Tiny data sets of our own writing, laid out as the publishers of the real ones lay out theirs."""

from __future__ import annotations

import csv
import json
import lzma
from itertools import product
from pathlib import Path

GOOSE = (
    "Under the hill of Brammel lived a goose who could count. Her name was Dorrit, and she counted the "
    "stars every night for a baker who could not sleep.",
    "One autumn the baker's number came out one short. Dorrit flew up to see, and found a tinker called "
    "Osk asleep on the moon with a star in his kettle.",
    "She pecked his ear until he gave it back. Since then the baker has slept soundly, and Osk boils his "
    "tea on an ordinary stove.",
)
FERRY = (
    "The ferryman of Lune took no money. Whoever crossed had to tell him something that he did not know, "
    "and he was very old, and knew nearly everything.",
    "A girl named Wilm told him what the bottom of his own boat looked like from below, for she had swum "
    "the river and been too proud to ask.",
    "The ferryman laughed until the oars fell in. He gave her the boat, and walked off to see a mountain.",
)

_ANSWERS = ["answer1", "answer2", "answer3", "ex-or-im2", "answer4", "answer5", "answer6"]
_KIND = ["attribute1", "attribute2"]
_FIRST_ORDER = ["question_id", "cor_section", *_KIND, "question", "ex-or-im1", *_ANSWERS]
_SECOND_ORDER = ["question_id", "cor_section", "ex-or-im1", *_KIND, "question", *_ANSWERS, "comments"]

_GOOSE_QUESTIONS = (
    ("1", "1", "explicit", "What was the goose called?", "Dorrit", "her name was Dorrit"),
    ("2", "1", "explicit", "For whom did the goose count the stars?", "a baker", "a sleepless baker"),
    ("3", "2", "explicit", "Who was asleep on the moon?", "a tinker called Osk", "Osk the tinker"),
    ("4", "2, 3", "implicit", "Why did the goose peck him?", "he had taken a star", "to get the star back"),
)
_FERRY_QUESTIONS = (
    ("1", "1", "explicit", "What did the ferryman take for crossing?", "something that he did not know", ""),
    ("2", "2", "explicit", "Who had swum the river?", "Wilm", "a girl named Wilm"),
    ("3", "2,3", "implicit", "Why did the ferryman laugh?", "he had never seen that", "at himself"),
)


_FELT = {
    "goose": (
        ("5", "1", "implicit", "How did the baker feel when he could not sleep?", "unhappy", "tired"),
        ("6", "3", "implicit", "How will Osk feel when he boils his tea?", "content", "happy"),
    ),
    "ferry": (
        ("4", "2", "implicit", "How did Wilm feel about asking?", "proud", "Proud."),
        ("5", "3", "implicit", "How did the ferryman feel when he heard her?", "happy", "merry"),
    ),
}


def _rows(questions: tuple[tuple[str, ...], ...], split: str) -> list[dict[str, str]]:
    second = "answer4" if split == "val" else "answer2"
    names = ("question_id", "cor_section", "ex-or-im1", "question", "answer1", second)
    return [dict(zip(names, one, strict=True)) for one in questions]


def _write(path: Path, columns: list[str], rows: list[dict[str, str]], encoding: str, newline: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, columns, restval="", lineterminator=newline)
        writer.writeheader()
        writer.writerows(rows)


def write_fairytaleqa(folder: Path, split: str = "val", felt: bool = False) -> Path:
    """Two stories, one file of each kind with another order of columns, a byte-order mark and CRLF.

    With ``felt``, some of the questions ask how somebody feels.
    """
    questions, stories = folder / "questions" / split, folder / "section-stories" / split
    _write(
        questions / "The-counting-goose-questions.csv",
        _FIRST_ORDER,
        _rows(_GOOSE_QUESTIONS + (_FELT["goose"] if felt else ()), split),
        "utf-8",
        "\n",
    )
    _write(
        questions / "ferryman-of-lune-questions.csv",
        _SECOND_ORDER,
        _rows(_FERRY_QUESTIONS + (_FELT["ferry"] if felt else ()), split),
        "utf-8-sig",
        "\r\n",
    )
    for name, sections, encoding, newline in (
        ("The-counting-goose", GOOSE, "utf-8-sig", "\r\n"),
        ("ferryman-of-lune", FERRY, "utf-8", "\n"),
    ):
        rows = [{"section": str(i), "text": text + newline} for i, text in enumerate(sections, 1)]
        _write(stories / f"{name}-story.csv", ["section", "text"], rows, encoding, newline)
    return folder


def _made_up(opening: str, count: int) -> list[str]:
    """So many words of which no two are the same."""
    return ["".join((opening, *rest)) for rest in product("bdgklmnprst", "aeiou", "nrst")][:count]


# Three passages of 200 words that nobody finds but by how often they name a heron or an otter.
HERONS = tuple(
    " ".join([*["heron"] * herons, *["otter"] * otters, *_made_up(opening, 200 - herons - otters)]) + "."
    for opening, herons, otters in (("ba", 16, 0), ("do", 2, 0), ("mi", 6, 3))
)


def write_herons(folder: Path, split: str = "val") -> Path:
    """One story of as many passages as it has sections, and questions that name a word of some of them."""
    asked = (("1", "heron"), ("2", "heron"), ("3", "otter"), ("3", "heron"))
    questions = tuple(
        (str(i), section, "explicit", f"Where is the {word}?", "in the shallow water", "")
        for i, (section, word) in enumerate(asked, 1)
    )
    _write(
        folder / "questions" / split / "heron-questions.csv",
        _FIRST_ORDER,
        _rows(questions, split),
        "utf-8",
        "\n",
    )
    rows = [{"section": str(i), "text": text} for i, text in enumerate(HERONS, 1)]
    _write(folder / "section-stories" / split / "heron-story.csv", ["section", "text"], rows, "utf-8", "\n")
    return folder


def write_many_tales(folder: Path, split: str, stories: int, felt: bool = False) -> Path:
    """As ``write_fairytaleqa``, with the two stories under as many names as are wanted."""
    write_fairytaleqa(folder, split, felt)
    for kind in ("questions", "section-stories"):
        for file in sorted((folder / kind / split).iterdir()):
            for number in range(stories // 2 - 1):
                name, _, rest = file.name.rpartition("-")
                file.with_name(f"{name}-{number}-{rest}").write_bytes(file.read_bytes())
    return folder


# The last is in half A of valid, the others in half B.
PAIRED, MISPAIRED, SCRIPT = "aa" * 20, "bb" * 20, "3c" * 20
_SUMMARY = (
    "In the village of Brammel the goose Dorrit counts stars for the baker Hob. She finds the tinker Osk "
    "asleep, and with the help of old Marn of Lune she wins the star back. When Hob thanks Dorrit and Marn, "
    "the tinker Osk drinks tea in Brammel with both."
)
_STORY = "\n\n".join(
    (
        *GOOSE,
        "The baker, whose name was Hob, thanked her and thanked Marn of Lune, who had lent the ladder. "
        "In Brammel they drank tea together, Osk among them, and nobody counted the cups.",
    )
)
_OTHER_STORY = "\n\n".join(FERRY)
_ASKED = (
    ("What is the goose called?", "Dorrit .", "The goose is Dorrit"),
    ("Who was asleep on the moon?", "Osk , a tinker", "the tinker Osk"),
    ("What did Osk drink?", "Tea", "tea in Brammel"),
)


def write_narrativeqa(folder: Path, notes: bool = False) -> Path:
    """Three documents: a story, a story that is another work than its summary, and a script without one.

    With ``notes``, a ``stories.csv`` says which is the wrong one.
    """
    ids = (PAIRED, MISPAIRED, SCRIPT)
    documents = [
        {"document_id": id, "set": "valid", "kind": "x", "wiki_title": f"Tale {id[0]}"} for id in ids
    ]
    asked = [
        {"document_id": id, "set": "valid", "question": question, "answer1": first, "answer2": second}
        for id in ids
        for question, first, second in _ASKED
    ]
    summaries = [{"document_id": id, "set": "valid", "summary": _SUMMARY} for id in ids]
    _write(folder / "documents.csv", ["document_id", "set", "kind", "wiki_title"], documents, "utf-8", "\n")
    columns = ["document_id", "set", "question", "answer1", "answer2"]
    _write(folder / "qaps.csv", columns, asked, "utf-8", "\n")
    path = folder / "third_party" / "wikipedia" / "summaries.csv"
    _write(path, ["document_id", "set", "summary"], summaries, "utf-8", "\n")
    (folder / "tmp").mkdir()
    (folder / "tmp" / f"{PAIRED}.content").write_text(_STORY, "utf-8")
    (folder / "tmp" / f"{MISPAIRED}.content").write_text(_OTHER_STORY, "utf-8")
    if notes:
        rows = [
            {"document_id": PAIRED, "pairing_note": ""},
            {"document_id": MISPAIRED, "pairing_note": "a ferry"},
        ]
        _write(folder / "stories.csv", ["document_id", "pairing_note"], rows, "utf-8", "\n")
    return folder


def write_squad(path: Path) -> Path:
    """Two articles of one paragraph each; compressed where the path ends in .xz."""
    articles = []
    for title, text, (question, answer) in (
        ("Counting_geese", " ".join(GOOSE), ("Who was asleep on the moon?", "a tinker called Osk")),
        ("Ferries", " ".join(FERRY), ("Who had swum the river?", "Wilm")),
    ):
        qa = {
            "id": title,
            "question": question,
            "answers": [{"text": answer, "answer_start": text.index(answer)}],
        }
        articles.append({"title": title, "paragraphs": [{"context": text, "qas": [qa]}]})
    data = json.dumps({"version": "1.1", "data": articles}).encode()
    path.write_bytes(lzma.compress(data) if path.suffix == ".xz" else data)
    return path
