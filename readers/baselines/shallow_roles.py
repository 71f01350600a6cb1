"""Who did what where, by rules: the verb of a short English sentence, its arguments, and whom pronouns mean.

In place of the coreference system and the semantic role labelling that Weston et al. 2015, appendix B, ran
over the stories (Raghunathan et al. 2010; Collobert et al. 2011): one clause a sentence, an argument by the
preposition before it, and the nearest subject for a pronoun.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

DETERMINERS = frozenset({"the", "a", "an"})
_TIMES = ("this morning", "this afternoon", "this evening", "yesterday")
_LINKS = ("after that", "following that", "afterwards", "then")
_JOINED = ("box of chocolates", "to left", "to right", "no longer")  # one thing each
_MARKS = frozenset({"no_longer", "not", "either"})
_AUXILIARIES = frozenset({"is", "are", "was", "were", "did", "does", "do", "will"})
_MOVING = ("went", "moved", "journeyed", "travelled", "go")
_GETTING = ("got", "took", "grabbed", "picked", "get", "carrying")
_DROPPING = ("dropped", "discarded", "left", "put")
_GIVING = ("gave", "handed", "passed", "give", "received")
_VERBS = frozenset((*_MOVING, *_GETTING, *_DROPPING, *_GIVING, "fits", "fit"))
_DIRECTIONS = ("north", "south", "east", "west", "above", "below", "to_left", "to_right")
_RELATIONS = frozenset((*_DIRECTIONS, "bigger", "afraid"))
_PREPOSITIONS = frozenset(["to", "in", "inside", "of", "from", "before", "than", "or"])
_ASKING = frozenset(["where", "what", "who", "why", "how", "many", "objects", "color", "colour", "you"])
_PARTICLES = frozenset({"back", "up", "down", "there"})
_SINGULAR, _PLURAL = frozenset({"he", "she", "it"}), frozenset({"they"})


@dataclass(frozen=True, slots=True)
class Clause:
    """The verb of a sentence, and its arguments: each with its role, in the order of ``clause_of``."""

    verb: str
    arguments: tuple[tuple[str, str], ...]


@lru_cache(maxsize=16_384)  # the same sentences are told again and again
def clause_of(words: tuple[str, ...]) -> Clause:
    """The verb and arguments of a statement or a question; the verb is empty where none is known.

    An argument's role is ``subject``, ``object``, ``time``, the preposition before it (``to``),
    ``complement`` (``north of kitchen``), ``modifier`` (``no longer``), or ``asked`` of words that ask.
    """
    tokens = [word for word in words if word not in DETERMINERS]
    text = f" {' '.join(tokens)} "
    arguments = [("time", time) for time in _TIMES if f" {time} " in text]
    for phrase in (*_TIMES, *_LINKS):
        text = text.replace(f" {phrase} ", " ")
    for phrase in _JOINED:
        text = text.replace(f" {phrase} ", f" {phrase.replace(' ', '_')} ")
    tokens = text.split()
    verb, before, after = _around_verb(tokens)
    marks = [word for word in after if word in _MARKS]
    after = [word for word in after if word not in _MARKS]
    if not before and after and verb in _AUXILIARIES:  # a question: the subject follows
        before, after = _inverted(after)
    arguments += [("subject", name) for name in _names(before)]
    if _RELATIONS.isdisjoint(after):
        arguments += _by_preposition(after)
    else:
        arguments.append(("complement", " ".join(after).replace("_", " ")))
    arguments += [("modifier", word.replace("_", " ")) for word in marks]
    arguments += [("asked", word) for word in tokens if word in _ASKING]
    return Clause(verb, tuple(arguments))


def _around_verb(tokens: Sequence[str]) -> tuple[str, list[str], list[str]]:
    """The verb, and the tokens before and after it without auxiliaries, particles and words that ask."""
    main = next((i for i, word in enumerate(tokens) if word in _VERBS), None)
    if main is None:
        main = next((i for i, word in enumerate(tokens) if word in _AUXILIARIES), len(tokens))
    verb = tokens[main] if main < len(tokens) else ""
    skipped = _AUXILIARIES | _ASKING | _PARTICLES
    before = [word for word in tokens[:main] if word not in skipped]
    after = [word for word in tokens[main + 1 :] if word not in skipped]
    return verb, before, after


def _inverted(after: Sequence[str]) -> tuple[list[str], list[str]]:
    """Subject and rest behind an auxiliary: the subject ends where a relation or a preposition begins."""
    end = next((i for i, w in enumerate(after) if w in _RELATIONS or w in _PREPOSITIONS), len(after))
    return list(after[:end]), list(after[end:])


def _by_preposition(tokens: Sequence[str]) -> Iterator[tuple[str, str]]:
    role, phrase = "object", list[str]()
    for token in (*tokens, "or"):
        if token in _PREPOSITIONS:
            if phrase:
                yield role, " ".join(phrase).replace("_", " ")
            phrase = []
            role = role if token == "or" else token
        else:
            phrase.append(token)


def _names(tokens: Sequence[str]) -> Iterator[str]:
    phrase: list[str] = []
    for token in (*tokens, "and"):
        if token != "and":
            phrase.append(token)
        elif phrase:
            yield " ".join(phrase).replace("_", " ")
            phrase = []


def resolve_mentions(sentences: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The sentences, in order, with the nearest subject of its number in place of each pronoun."""
    one: tuple[str, ...] = ()
    several: tuple[str, ...] = ()
    resolved = []
    for words in sentences:
        spelled: list[str] = []
        for word in words:
            antecedent = one if word in _SINGULAR else several if word in _PLURAL else ()
            spelled += antecedent or (word,)
        found = tuple(spelled)
        subjects = [name for role, name in clause_of(found).arguments if role == "subject"]
        if len(subjects) == 1:
            one = tuple(subjects[0].split())
        elif subjects:
            several = tuple(" and ".join(subjects).split())
        resolved.append(found)
    return resolved
