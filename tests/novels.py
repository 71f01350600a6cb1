"""Books for tests, made up from a seed, word by word: the common words of English and invented ones."""

from __future__ import annotations

import random
from itertools import pairwise

from indexing.book import Book, Chapter

_COMMON = (
    "the",
    "a",
    "of",
    "and",
    "to",
    "in",
    "was",
    "she",
    "he",
    "it",
    "his",
    "her",
    "with",
    "for",
    "that",
    "on",
)
_SYLLABLES = (
    "ba",
    "bel",
    "cor",
    "dan",
    "el",
    "far",
    "gim",
    "hol",
    "ish",
    "jor",
    "kal",
    "lum",
    "mar",
    "ost",
    "wyn",
)


def novel(
    id: str = "novel", words: int = 1000, seed: int = 0, source: str | None = None, chapters: int = 0
) -> Book:
    """So many words, few of them frequent and most rare, in sentences and paragraphs."""
    chance = random.Random(seed)
    rare = sorted(
        {"".join(chance.choices(_SYLLABLES, k=chance.randint(1, 4))) for _ in range(words // 4 + 10)}
    )
    pieces = []
    for number in range(words):
        word = (
            chance.choice(_COMMON) if chance.random() < 0.5 else rare[int(len(rare) * chance.random() ** 3)]
        )
        ends = chance.random() < 0.08
        pieces.append(word + ("." if ends else "") + ("\n\n" if ends and chance.random() < 0.2 else " "))
        if number % 97 == 0:
            pieces.append("\u201cNo,\u201d said caf\u00e9-keeper Ren\u00e9. ")
    text = "".join(pieces).strip()
    bounds = [len(text) * i // chapters for i in range(chapters + 1)] if chapters else []
    marked = tuple(
        Chapter(f"Chapter {number}", start, end) for number, (start, end) in enumerate(pairwise(bounds), 1)
    )
    return Book(id, f"The {id}", text, source or f"shelf/{id}.txt", marked)


def questions(book: Book, count: int, seed: int = 0) -> list[str]:
    """Questions of words of the book, some asked twice, with one that it has not."""
    chance = random.Random(seed)
    words = book.text.split()
    return [
        " ".join(["Who", *chance.choices(words, k=4), words[chance.randrange(9)] * 2, "zzyzx", "the the?"])
        for _ in range(count)
    ]
