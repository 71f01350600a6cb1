"""A book's sentences, its words as the Penn Treebank parts them, and what each of them is."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from encoders.tagging import REMEDY, MissingTagger, tag
from indexing.book import Book
from text.names import Key, bounds, name_key
from text.sentences import sentence_spans

NAMED_TYPES = frozenset(
    {"PERSON", "NORP", "FAC", "ORG", "GPE", "LOC", "PRODUCT", "EVENT", "WORK_OF_ART", "LAW", "LANGUAGE"}
)
"""What spaCy calls the types of proper names; the others are of dates, numbers and amounts."""

Place = tuple[int, int]
Sentence = tuple[Place, list[Place]]
"""A sentence's place in the book's text, and those of its words."""


@dataclass(frozen=True)
class TaggedBook:
    """The words of a book in one row; ``ends[i]`` is how many there are up to the end of sentence ``i``.

    Word ``j`` is ``words[j]``, at ``starts[j]`` in the book's text, with the part of speech ``tags[j]`` and
    the type ``entities[j]`` of the named entity it is in, "" outside of any; ``begins[j]`` is 1 where an
    entity begins.
    """

    book: Book
    sentences: tuple[Place, ...]
    ends: array[int]
    words: Sequence[str]
    starts: array[int]
    tags: Sequence[str]
    entities: Sequence[str]
    begins: bytes

    @cached_property
    def firsts(self) -> array[int]:
        """The first word of each sentence."""
        return array("L", [0, *self.ends[:-1]])

    def words_of(self, sentence: int) -> range:
        """The numbers of a sentence's words."""
        return range(self.firsts[sentence], self.ends[sentence])

    def place(self, word: int) -> Place:
        """Where a word stands in the book's text."""
        return self.starts[word], self.starts[word] + len(self.words[word])


def tag_book(book: Book, parted: bool = False) -> TaggedBook:
    """The book with every sentence tagged once; ``parted`` where a line is a sentence parted by spaces.

    Raises ``MissingTagger`` where the extra ``cloze`` is not installed.
    """
    sentences = list(lines_of(book.text) if parted else sentences_of(book.text))
    words: list[str] = []
    starts, tags, entities, begins = array("L"), [], [], bytearray()
    texts = [[book.text[start:end] for start, end in places] for _, places in sentences]
    for (_, places), tagged in zip(sentences, tag(texts), strict=True):
        starts.extend(start for start, _ in places)
        for one in tagged:
            words.append(sys.intern(one.text))  # a library's words are few, its text is long
            tags.append(sys.intern(one.tag))
            entities.append(sys.intern(one.entity))
            begins.append(one.begins)
    ends = array("L", accumulate(len(places) for _, places in sentences))
    return TaggedBook(
        book, tuple(place for place, _ in sentences), ends, words, starts, tags, entities, bytes(begins)
    )


def sentences_of(text: str) -> Iterator[Sentence]:
    """The sentences of running text (``text.sentences``), their words by nltk's Treebank tokenizer.

    Raises ``MissingTagger`` where nltk is not installed.
    """
    try:
        from nltk.tokenize import NLTKWordTokenizer
    except ImportError as error:
        raise MissingTagger(f"the words of a sentence need nltk ({error}): {REMEDY}") from error

    tokenizer = NLTKWordTokenizer()
    plain = text.replace("’", "'")  # it knows clitics by the straight apostrophe alone
    for start, end in sentence_spans(text):
        places = tokenizer.span_tokenize(plain[start:end])
        yield (start, end), [(start + first, start + last) for first, last in places]


def lines_of(text: str) -> Iterator[Sentence]:
    """The sentences of text in which each line is one, its words parted by spaces."""
    at = 0
    for line in text.split("\n"):
        places, start = [], at
        for word in line.split():
            start = text.index(word, start)
            places.append((start, start + len(word)))
            start += len(word)
        if places:
            yield (places[0][0], places[-1][1]), places
        at += len(line) + 1


@dataclass(frozen=True, slots=True)
class Name:
    """A place of the book that names somebody or something, of a type such as PERSON."""

    start: int
    end: int
    type: str
    key: Key


def names_of(tagged: TaggedBook) -> list[Name]:
    """The book's proper names in story order, without article and 's; numbers and dates are none."""
    found = []
    for sentence in range(len(tagged.sentences)):
        words = tagged.words_of(sentence)
        first = words.start
        while first < words.stop:
            last = first + 1
            type = tagged.entities[first]
            while last < words.stop and tagged.entities[last] == type and not tagged.begins[last]:
                last += 1
            key = name_key(tagged.words[first:last]) if type in NAMED_TYPES else ()
            if key:
                start, end = bounds(tagged.words[first:last])
                place = tagged.place(first + start)[0], tagged.place(first + end - 1)[1]
                found.append(Name(*place, type, key))
            first = last
    return found
