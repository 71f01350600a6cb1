"""The questions of the Children's Book Test: a word of a sentence is blanked that stands in the 20 before it.

Hill et al. 2016 (section 2) leave the rule open; the official questions obey this one. Each 21 consecutive
sentences of a book count, headings and all. A question is made of each word of the 21st that is of the class
and that stands in the other 20, spelled the same. Its nine other candidates are drawn uniformly from the
distinct words of the class in the 20, of which upper and lower case are two; a question of named entities
that has fewer takes common nouns as well, any other is skipped.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from indexing.tagged_book import Place, TaggedBook
from text.cloze import blanks

CLASSES = ("NE", "CN", "V", "P")
CONTEXT = 20  # sentences
CANDIDATES = 10
_FUNCTION_WORDS = frozenset({"DT", "PDT", "IN", "TO", "CC", "POS", "PRP", "PRP$"})
VERSION = 1  # of the rule: what was built by another is built again


@dataclass(frozen=True, slots=True)
class BlankedWord:
    """A question: the word at ``answer`` is blanked in ``query``, both places in the text of the book.

    ``context`` is the number of the first of the 20 sentences before the query's.
    """

    book: str
    kind: str
    context: int
    query: Place
    answer: Place
    candidates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Blankable:
    """The words of a book that a question of one class can be made of: each by its sentence and number."""

    kind: str
    sentences: array[int]
    words: array[int]


def is_of(kind: str, tag: str, entity: str) -> bool:
    """Whether a word with this part of speech and type of entity is of the class.

    Of a named entity's words the articles, prepositions and the like are none: no official question has one.
    """
    if kind == "NE":
        return bool(entity) and tag not in _FUNCTION_WORDS
    if kind == "CN":
        return tag in ("NN", "NNS")
    return tag.startswith("VB") if kind == "V" else tag == "IN"


def blankable(tagged: TaggedBook, kind: str) -> Blankable:
    """The words of which questions of the class can be made, in story order."""
    distinct = _distinct(tagged, kind)
    nouns = _distinct(tagged, "CN") if kind == "NE" else None
    spelled = [{tagged.words[i] for i in tagged.words_of(n)} for n in range(len(tagged.sentences))]
    found = Blankable(kind, array("L"), array("L"))
    for sentence in range(CONTEXT, len(tagged.sentences)):
        words = [i for i in tagged.words_of(sentence) if _counts(tagged, kind, i)]
        if not words or _has_blank(tagged, sentence):
            continue
        context = slice(sentence - CONTEXT, sentence)
        before: set[str] = set().union(*spelled[context])
        choices: set[str] = set().union(*distinct[context], *(nouns[context] if nouns else ()))
        for word in words:
            answer = tagged.words[word]
            if answer in before and len(choices - {answer}) >= CANDIDATES - 1:
                found.sentences.append(sentence)
                found.words.append(word)
    return found


def blank(tagged: TaggedBook, kind: str, sentence: int, word: int, seed: int) -> BlankedWord:
    """The question that one blankable word makes, its other candidates drawn by ``seed``."""
    context = range(sentence - CONTEXT, sentence)
    answer = tagged.words[word]
    rng = random.Random(f"{seed} {tagged.book.id} {kind} {word}")
    choices = _choices(tagged, kind, context) - {answer}
    if len(choices) < CANDIDATES - 1:
        nouns = _choices(tagged, "CN", context) - choices - {answer}
        choices |= set(rng.sample(sorted(nouns), CANDIDATES - 1 - len(choices)))
    others = rng.sample(sorted(choices), CANDIDATES - 1)
    candidates = tuple(sorted((answer, *others)))
    return BlankedWord(
        tagged.book.id, kind, context.start, tagged.sentences[sentence], tagged.place(word), candidates
    )


def draw(tagged: Sequence[TaggedBook], kind: str, count: int | None, seed: int) -> Iterator[BlankedWord]:
    """``count`` questions of the class drawn by ``seed`` from all that the books make, in story order."""
    found = [blankable(book, kind) for book in tagged]
    ends = list(accumulate(len(one.words) for one in found))
    total = ends[-1] if ends else 0
    chosen: Sequence[int] = range(total)
    if count is not None and count < total:
        chosen = sorted(random.Random(f"{seed} {kind}").sample(range(total), count))
    book = 0
    for number in chosen:
        while number >= ends[book]:
            book += 1
        one = found[book]
        i = number - (ends[book] - len(one.words))
        yield blank(tagged[book], kind, one.sentences[i], one.words[i], seed)


def query(text: str, question: BlankedWord, blank: str = "XXXXX") -> str:
    """The sentence with the blank in it, on one line; the blank stands apart from letters around it."""
    (start, end), (first, last) = question.query, question.answer
    before, after = " ".join(text[start:first].split()), " ".join(text[last:end].split())
    apart_before = text[first - 1 : first].isspace() or _is_wordlike(before[-1:])
    apart_after = text[last : last + 1].isspace() or _is_wordlike(after[:1])
    return (before + " " * apart_before + blank + " " * apart_after + after).strip()


def _is_wordlike(character: str) -> bool:
    return character.isalnum() or character == "_"


def _counts(tagged: TaggedBook, kind: str, word: int) -> bool:
    return is_of(kind, tagged.tags[word], tagged.entities[word]) and any(
        character.isalnum() for character in tagged.words[word]
    )


def _distinct(tagged: TaggedBook, kind: str) -> list[set[str]]:
    """Per sentence the distinct words of the class."""
    return [
        {tagged.words[i] for i in tagged.words_of(n) if _counts(tagged, kind, i)}
        for n in range(len(tagged.sentences))
    ]


def _choices(tagged: TaggedBook, kind: str, sentences: range) -> set[str]:
    words = range(tagged.firsts[sentences.start], tagged.ends[sentences.stop - 1])
    return {tagged.words[i] for i in words if _counts(tagged, kind, i)}


def _has_blank(tagged: TaggedBook, sentence: int) -> bool:
    """Whether the book itself has a blank there (Mr. ____): then the question would have two."""
    start, end = tagged.sentences[sentence]
    return bool(blanks(tagged.book.text[start:end]))
