"""Who did what to whom: the candidate in a clause of the context that matches the question's.

The paper parses PropBank's frames, whose parser cannot be had; here a frame is a verb's lemma, with its
subject and its object by spaCy (``encoders.tagging``).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from readers.baselines.frequency import exclusive_frequency
from readers.cloze import Cloze
from readers.filling import ClozeReader, Judged
from readers.options import split_options
from text.cloze import BLANK

if TYPE_CHECKING:
    from encoders.tagging import Tagged

NAME = "cloze-frames"
_NAME_TO_PARSE = "Smith"  # for the blank, and markers in the text, which must not be parsed by their numbers
_CLITICS = frozenset({"s", "m", "d", "ll", "re", "ve"})
_INSIDE = frozenset({"amod", "compound", "nmod", "nummod", "poss"})  # of a phrase, below its head
_OBJECTS = frozenset({"acomp", "attr", "dobj"})
_RULES = 5
_KEPT = 50_000  # sentences whose parse is kept: the questions about one text share most of them


@dataclass(frozen=True, slots=True)
class Argument:
    """A phrase of a sentence, by the places of its head and of all its words, in order."""

    head: int
    words: tuple[int, ...]

    def keys(self, tokens: Sequence[str], first: int) -> tuple[str, ...]:
        """What it says where the sentence begins at token ``first``."""
        return tuple(tokens[first + i] for i in self.words)


@dataclass(frozen=True, slots=True)
class Triple:
    """A subject, the lemma of a verb, and an object."""

    subject: Argument
    verb: str
    object: Argument

    def in_role(self, role: int) -> tuple[Argument, Argument]:
        """The argument in a role, 0 for the subject and 1 for the object, and the other one."""
        both = self.subject, self.object
        return both[role], both[1 - role]


class FramesReader(ClozeReader):
    """Answers with what stands in the blank's place of a matching triple (Hermann et al. 2015, table 4).

    The question says (p, V, y), its blank p being subject or object. The first of these rules that finds an
    x in the context wins: (x, V, y); (x, be, y), y the same by its head alone; (x, V, z), x not y itself;
    (y, V, x); (x, Z, y); and else the most frequent candidate that is not in the question.
    """

    def __init__(self) -> None:
        self._triples: dict[tuple[str, ...], tuple[Triple, ...]] = {}
        self._parsing = threading.Lock()

    @classmethod
    def load(cls, argument: str | None) -> FramesReader:
        """Raises ``ModelError`` for any argument: there is no model to name."""
        split_options(NAME, argument, NAME)
        return cls()

    def judge(self, clozes: Sequence[Cloze]) -> list[Judged]:
        """See ``ClozeReader.judge``; raises ``MissingTagger`` without the extra ``cloze``."""
        sentences = [(_query_words(cloze), list(_sentences(cloze))) for cloze in clozes]
        triples = self._parsed(
            [words for query, found in sentences for words in (query, *(one for _, one in found))]
        )
        judged = []
        for cloze, (query, found) in zip(clozes, sentences, strict=True):
            said = [(first, triple) for first, words in found for triple in triples[words]]
            judged.append(_judge(cloze, triples[query], said))
        return judged

    def _parsed(self, sentences: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], tuple[Triple, ...]]:
        """The triples of each sentence."""
        from encoders.tagging import tag

        with self._parsing:
            if len(self._triples) > _KEPT:
                self._triples = {}
            new = [words for words in dict.fromkeys(sentences) if words not in self._triples]
            for words, tagged in zip(new, tag(new, parse=True), strict=True):
                self._triples[words] = tuple(find_triples(tagged))
            return {words: self._triples[words] for words in sentences}


def _query_words(cloze: Cloze) -> tuple[str, ...]:
    return tuple(map(_to_parse, cloze.query, cloze.query_spelled))


def _sentences(cloze: Cloze) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Each passage of the context: its first token's number, and its words as the parser gets them."""
    first = 0
    for i in range(1, len(cloze.context) + 1):
        if i == len(cloze.context) or cloze.passages[i] != cloze.passages[first]:
            yield first, tuple(map(_to_parse, cloze.context[first:i], cloze.spelled[first:i]))
            first = i


def _to_parse(key: str, spelled: str) -> str:
    if key == BLANK or spelled.startswith("@entity"):
        return _NAME_TO_PARSE
    if key.startswith("@entity"):
        return spelled.split()[-1]  # a whole name is one token, and its last word mostly its head
    return f"'{key}" if key in _CLITICS else spelled  # which may have lost the apostrophe


def find_triples(words: Sequence[Tagged]) -> Iterator[Triple]:
    """What a parsed sentence says: each verb that has a subject and an object, in any voice.

    A verb that is joined to another and has no subject of its own has that of the other.
    """
    below: list[list[int]] = [[] for _ in words]
    for i, word in enumerate(words):
        if word.head != i:
            below[word.head].append(i)
    for i, word in enumerate(words):
        if word.tag.startswith("VB") and word.dependency not in ("aux", "auxpass"):
            subjects = _subjects(words, below, i)
            objects = [j for j in below[i] if words[j].dependency in (*_OBJECTS, "nsubjpass")]
            for subject in subjects:
                for other in objects:
                    yield Triple(
                        _argument(words, below, subject), word.lemma.lower(), _argument(words, below, other)
                    )


def _subjects(words: Sequence[Tagged], below: Sequence[Sequence[int]], verb: int) -> list[int]:
    found = [j for j in below[verb] if words[j].dependency == "nsubj"]
    by = [j for j in below[verb] if words[j].dependency == "agent"]
    found += [k for j in by for k in below[j] if words[k].dependency == "pobj"]
    joined = words[verb].dependency == "conj" and words[verb].head != verb
    return found if found or not joined else _subjects(words, below, words[verb].head)


def _argument(words: Sequence[Tagged], below: Sequence[Sequence[int]], head: int) -> Argument:
    inside, pending = [], [head]
    while pending:
        one = pending.pop()
        inside.append(one)
        pending += [j for j in below[one] if words[j].dependency in _INSIDE]
    return Argument(head, tuple(sorted(inside)))


def _judge(cloze: Cloze, asked: Sequence[Triple], said: Sequence[tuple[int, Triple]]) -> Judged:
    spelling: dict[int, list[int]] = {}
    for number, mention in enumerate(cloze.mentions):
        for i in range(mention.first, mention.last):
            spelling.setdefault(i, []).append(number)
    rules = [_RULES + 1] * len(cloze.mentions)
    for question in asked:
        for role in (0, 1):
            blank, _ = question.in_role(role)
            if blank.head != cloze.blank:
                continue
            for first, triple in said:
                for rule, found in _matches(cloze, question, role, first, triple):
                    for number in spelling.get(first + found.head, ()):
                        rules[number] = min(rules[number], rule)
    # Below 1 in size, so that whatever a rule finds comes first.
    scores = [score / (len(cloze.context) + 2) for score in exclusive_frequency(cloze)]
    for mention, rule in zip(cloze.mentions, rules, strict=True):
        if rule <= _RULES:
            scores[mention.candidate] = max(scores[mention.candidate], float(_RULES + 1 - rule))
    return Judged(scores, [float(_RULES + 1 - rule) for rule in rules])


def _matches(
    cloze: Cloze, question: Triple, role: int, first: int, triple: Triple
) -> Iterator[tuple[int, Argument]]:
    """The rules by which a triple of the context answers the question, with what each says x is."""
    _, y = question.in_role(role)
    x, other = triple.in_role(role)
    wanted = y.keys(cloze.query, 0)
    same_verb = triple.verb == question.verb
    same_other = other.keys(cloze.context, first) == wanted
    # Of "X met Suse / Suse met Tom" the third rule would say Suse, and the fourth, by which the paper's table
    # has Tom, never anything.
    permuted = x.keys(cloze.context, first) == wanted
    if same_verb and same_other:
        yield 1, x
    if same_verb and triple.verb == "be" and cloze.context[first + other.head] == cloze.query[y.head]:
        yield 2, x
    if same_verb:
        yield (4, other) if permuted else (3, x)
    if same_other:
        yield 5, x
