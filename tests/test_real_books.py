"""The books of NarrativeQA as users have them: all are read, and their chapters found."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path

import pytest

from indexing.formats.read import read_book
from indexing.passages import split
from indexing.sources.locate import find
from text.sentences import sentence_spans

# By number of Project Gutenberg; prefaces, epilogues and notes are counted as a reader of the book would.
CHAPTERS = {
    "1023": 68,  # Bleak House
    "1661": 12,  # The Adventures of Sherlock Holmes
    "42254": 8,  # Beyond the Black River
    "4709": 34,  # Brewster's Millions
    "5165": 25,  # Innocent
    "2911": 6,  # Justice
    "16517": 12,  # Liza of Lambeth
    "615": 47,  # Orlando Furioso
    "24020": 74,  # Romola
    "2500": 12,  # Siddhartha
    "166": 18,  # Summer
    "1193": 12,  # The Coxon Fund
    "3285": 32,  # The Deerslayer
    "2384": 48,  # The Deliverance
    "689": 49,  # The Kreutzer Sonata
    "174": 20,  # The Picture of Dorian Gray
    "2084": 87,  # The Way of All Flesh
    "257": 5,  # Troilus and Criseyde
    "885": 4,  # An Ideal Husband
    "1657": 0,  # Crito
}


@pytest.mark.data
def test_all_books_are_read_and_known_chapters_found(data_folder: Path) -> None:
    with (data_folder / "narrativeqa" / "stories.csv").open(newline="", encoding="utf-8") as lines:
        numbers = {row["document_id"]: row["gutenberg_id"] for row in csv.DictReader(lines)}
    counts = {}
    for source in find(str(data_folder / "narrativeqa" / "tmp")):
        book = read_book(source)
        text = book.text
        counts[numbers[book.id]] = len(book.chapters)
        assert "Project Gutenberg" not in text[:500] + text[-500:]
        assert all(before.end <= after.start for before, after in pairwise(book.chapters))
        words = text.split()
        assert [
            word for passage in split(text) for word in text[passage.start : passage.end].split()
        ] == words
        assert [word for start, end in sentence_spans(text) for word in text[start:end].split()] == words
    assert len(counts) == 58
    assert {number: counts.get(number) for number in CHAPTERS} == CHAPTERS
