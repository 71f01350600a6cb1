"""Who somebody is, so far: the sentences of a book that introduce and describe a person up to a limit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from answering.quotes import Quote, paragraph_around, quote, sentences_at, story_text
from encoders.cross_encoder import CrossEncoder, EncodedPassage, load_crossencoder
from indexing.character_lookup import find_character
from indexing.characters import named
from indexing.index import BookIndex
from retrieval.diversity import maximal_marginal_relevance, word_similarity
from retrieval.hits import Readable
from text.named_entities import Entity
from text.sentences import sentence_spans
from text.speech import SAYS
from text.words import words

SENTENCES = 3
MOST_SENTENCES = 10
MOST_READ = 96  # sentences that the cross-encoder reads
FIRST_READ = 32  # of these so many that name somebody first
FIRST_BONUS = (
    5.0  # for who comes in is introduced; chosen on half A of NarrativeQA valid, by benchmarks/who.py
)
TELLING_BONUS = 8.0  # for a sentence that looks like a description, and what is taken from one that is none;
# chosen on half A's summaries, by what 83 persons of 19 of its stories are called in them
LONGEST_SPAN = 30  # tokens of a description within a sentence
LONGEST_QUOTE = 600  # characters: a longer sentence is none, but a list or a page without full stops

# What stands behind a name that is being told of: "Ines, the keeper", "Ines was".
_BEHIND = (
    r",? (?:is|was|were|had been|being)\b(?! (?:not )?[a-z]+ing\b)|"
    r",? (?:an?|the|who|whose|his|her|their|our|my|son|daughter)\b|\("
)


@dataclass(frozen=True, slots=True)
class Profile:
    """A person of a book as far as it has been read: the ``sentences`` that tell most, in story order.

    ``name`` and ``aliases`` are as ``Entity`` has them, ``count`` is of its places.
    """

    name: str
    aliases: tuple[str, ...]
    count: int
    sentences: tuple[Quote, ...]


def profile(index: BookIndex, asked: str, before: int | None, cache: Path, k: int = SENTENCES) -> Profile:
    """Who ``asked`` is, by the text before the character ``before`` alone.

    The folder ``cache`` keeps the names found. Raises ``UnknownCharacter`` and ``ModelError``.
    """
    limit = Readable(index, before).end
    text = story_text(index, limit)
    found = find_character(text, named(text, cache), asked)
    told = descriptions(text, found, k, load_crossencoder())
    sentences = tuple(quote(index, start, end, limit, score) for start, end, score in sorted(told))
    return Profile(found.name, found.aliases, len(found.places), sentences)


def descriptions(text: str, person: Entity, k: int, encoder: CrossEncoder) -> list[tuple[int, int, float]]:
    """The bounds of the ``k`` sentences that tell best who ``person`` is, and how well, the best first.

    A sentence that names them scores r + s for the question "Who is NAME?": r is the relevance of the
    sentence by itself, s the score of the best answer inside it where it is read between its neighbours.
    The first that names them is always read, and is worth ``FIRST_BONUS`` more; one that looks like a
    description is worth ``TELLING_BONUS`` more, and one where they are but spoken to, or said to speak, so
    much less. Those chosen are unlike each other (``retrieval.diversity``).
    """
    sentences = _worth_reading(text, person)
    if not sentences:
        return []
    asked = f"Who is {person.name}?"
    contexts = [_context(text, *one) for one in sentences]
    alone, within = encoder.encode(
        [(asked, [text[start:end] for start, end in sentences]), (asked, [text[a:z] for a, z in contexts])]
    )
    scores = [
        by_itself.relevance + _best_span(read, start - first, end - first)
        for by_itself, read, (start, end), (first, _) in zip(alone, within, sentences, contexts, strict=True)
    ]
    scores[0] += FIRST_BONUS
    telling, calling, name = _telling(person), _calling(person), _any_name(person)
    for i, (start, end) in enumerate(sentences):
        said = text[start:end]
        if len(calling.findall(said)) >= len(name.findall(said)):
            scores[i] -= TELLING_BONUS
        elif telling.search(said):
            scores[i] += TELLING_BONUS
    ignored = {word for name in (person.name, *person.aliases) for word in words(name)}
    bags = [[word for word in words(text[start:end]) if word not in ignored] for start, end in sentences]
    chosen = maximal_marginal_relevance(scores, word_similarity(bags), k)
    return [(*sentences[i], scores[i]) for i in chosen]


def _worth_reading(text: str, person: Entity) -> list[tuple[int, int]]:
    """The sentences that name them, in story order; of very many the first, and those that look telling."""
    found = [
        (start, end)
        for start, end in sentences_at(text, [start for start, _ in person.places])
        if end - start <= LONGEST_QUOTE
    ]
    if len(found) <= MOST_READ:
        return found
    telling = _telling(person)
    rest = sorted(found[FIRST_READ:], key=lambda one: not telling.search(text, *one))
    return sorted(found[:FIRST_READ] + rest[: MOST_READ - FIRST_READ])


def _telling(person: Entity) -> re.Pattern[str]:
    names = _names(person)
    return re.compile(rf"{names}(?:{_BEHIND})|(?<![”\"’,!?]\s)(?:named|called),? {names}\b|, {names},")


def _calling(person: Entity) -> re.Pattern[str]:
    """Their name where somebody calls them by it, or they are said to speak: “Come, Odo!” said Pim."""
    names = _names(person)
    return re.compile(
        rf"(?:[,“\"‘]\s*{names}[,.!?”\"]|[”\"’,!?]\s+{SAYS}\s+{names}(?!\w)|(?<!\w){names}\s+{SAYS}\b)"
    )


def _any_name(person: Entity) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){_names(person)}(?!\w)")


def _names(person: Entity) -> str:
    called = (r"\s+".join(map(re.escape, name.split())) for name in (person.name, *person.aliases))
    return f"(?:{'|'.join(called)})"


def _context(text: str, start: int, end: int) -> tuple[int, int]:
    """The sentence with the one before and the one behind it in its paragraph."""
    first, last = paragraph_around(text, start)
    spans = [(first + a, first + z) for a, z in sentence_spans(text[first:last])]
    near = [i for i, (a, z) in enumerate(spans) if a < end and start < z]
    if not near:
        return start, end
    return min(start, spans[max(0, near[0] - 1)][0]), max(end, spans[min(len(spans) - 1, near[-1] + 1)][1])


def _best_span(read: EncodedPassage, start: int, end: int) -> float:
    """The greatest start[i] + end[j], i <= j < i + ``LONGEST_SPAN``, of tokens within ``[start, end)``."""
    import numpy as np

    best = -np.inf
    for window in read.windows:
        offsets = np.asarray(window.window.offsets)
        inside = np.flatnonzero((offsets[:, 0] >= start) & (offsets[:, 1] <= end))
        if len(inside):
            sums = window.start[inside][:, None] + window.end[inside][None, :]  # (tokens, tokens)
            ahead = inside[None, :] - inside[:, None]
            best = max(best, float(np.where((ahead >= 0) & (ahead < LONGEST_SPAN), sums, -np.inf).max()))
    return float(best) if np.isfinite(best) else 0.0
