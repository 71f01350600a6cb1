"""A question about one book, checked once at birth, and the limits of what may be asked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral

from answering.scope import Before, Limits, limit_of
from readers import DEFAULT_READER
from retrieval import DEFAULT_RETRIEVER
from text.cloze import NotACloze, find_blank
from text.errors import StoryQAError

LONGEST_QUESTION = 2000
MOST_CANDIDATES = 100
LONGEST_CANDIDATE = 200
MOST_PASSAGES = 100
MOST_ANSWERS = 20
MOST_TURNS = 20
LONGEST_ANSWER = 4000  # of a turn
# The confidence from which an answer is taken for one: below it the book may not say.
ANSWERABLE = 0.15
# The confidence from which an answer is given for one, so that at most about a third of those are wrong.
SURE = 0.65

_WORD = re.compile(r"\w")
_BEFORE = re.compile(r"(?P<number>[0-9]{1,12}(?:\.[0-9]{1,6})?)(?P<percent>%?)")


class BadRequest(StoryQAError):
    """A request that nothing can be answered to; ``field`` is what is wrong with it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class Turn:
    """A question that was asked before, and what was answered."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to the book ``book_id``, and how to go about it.

    ``book_id`` may be several: ``a,b``, ``shelf:NAME``, or ``*`` for every book of the store. ``k``
    passages are read and at most ``n_best`` answers given. ``before`` is how far the reader
    has got, a character offset or a share of the book (``"40%"``): nothing after it is used. It is
    of each book alike, or by book id where it is a mapping, in which ``*`` stands for all others; books that
    it does not name may be read to their ends.
    ``reader`` is a name as ``open_reader`` takes it. One blank (``XXXXX``, ``@placeholder``, ``____``) makes
    the question a cloze, and ``candidates`` are the answers to choose from, to it or to any question.
    ``conversation`` is what was asked and answered before, which the question may follow. Raises
    ``BadRequest``.
    """

    book_id: str
    question: str
    k: int = 5
    retriever: str = DEFAULT_RETRIEVER
    reader: str = DEFAULT_READER
    n_best: int = 3
    before: Before | Mapping[str, Before] = None
    candidates: tuple[str, ...] = ()
    conversation: tuple[Turn, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.before, Mapping):
            object.__setattr__(self, "before", Limits(self.before))
        check_question(self.question)
        _check_blank(self.question)
        _check_candidates(self.candidates)
        check_conversation(self.conversation)
        check_count("k", self.k, MOST_PASSAGES)
        check_count("n_best", self.n_best, MOST_ANSWERS)
        for before in self.before.values() if isinstance(self.before, Mapping) else [self.before]:
            before_offset(before, 0)

    def before_of(self, book_id: str, characters: int) -> int | None:
        """How far that book, of so many ``characters``, may be read, as ``before_offset`` has it."""
        return before_offset(limit_of(self.before, book_id), characters)

    @property
    def searched(self) -> str:
        """What passages are searched for: the question without its blank."""
        blank = find_blank(self.question)
        return self.question if blank is None else self.question[: blank[0]] + self.question[blank[1] :]


def check_question(question: str) -> str:
    """``question`` itself; raises ``BadRequest`` where it is blank, too long or not text."""
    if not isinstance(question, str):
        raise BadRequest("question", f"the question is {question!r:.40}; wanted text")
    if not question.strip():
        raise BadRequest("question", f"the question is empty ({question[:20]!r}); wanted at least one word")
    if len(question) > LONGEST_QUESTION:
        raise BadRequest(
            "question",
            f"the question has {len(question):,} characters; wanted at most {LONGEST_QUESTION:,}",
        )
    try:
        question.encode()
    except UnicodeEncodeError as error:
        # Half a surrogate pair: JSON and command lines can carry it, no tokenizer takes it.
        raise BadRequest(
            "question",
            f"the question holds half a surrogate pair at character {error.start}; wanted Unicode text",
        ) from None
    return question


def _check_blank(question: str) -> None:
    try:
        blank = find_blank(question)
    except NotACloze as error:
        raise BadRequest("question", str(error)) from None
    if blank is not None and not _WORD.search(question[: blank[0]] + question[blank[1] :]):
        raise BadRequest("question", "the question is a blank alone; wanted words around it")


def _check_candidates(candidates: tuple[str, ...]) -> None:
    def refuse(message: str) -> BadRequest:
        return BadRequest("candidates", message)

    if candidates and not 2 <= len(candidates) <= MOST_CANDIDATES:
        raise refuse(f"there are {len(candidates)} candidates; wanted none, or 2 to {MOST_CANDIDATES}")
    for candidate in candidates:
        if not isinstance(candidate, str):
            raise refuse(f"{candidate!r:.40} is a candidate; wanted text")
        if not candidate.strip() or len(candidate) > LONGEST_CANDIDATE:
            raise refuse(f"{candidate[:20]!r} is a candidate; wanted 1 to {LONGEST_CANDIDATE} characters")
        if not candidate.isprintable():  # nor half a surrogate pair, which no tokenizer takes
            raise refuse(f"the candidate {candidate[:20]!r} holds a character that cannot be printed")
    if len(set(candidates)) < len(candidates):
        twice = next(one for one in candidates if candidates.count(one) > 1)
        raise refuse(f"the candidate {twice[:20]!r} is given twice; wanted each once")


def check_conversation(conversation: Sequence[Turn]) -> None:
    """Raise ``BadRequest`` where there are too many turns, or one is too long or no text."""
    if len(conversation) > MOST_TURNS:
        raise BadRequest("conversation", f"{len(conversation)} turns; wanted at most {MOST_TURNS}")
    for turn in conversation:
        for text, longest in ((turn.question, LONGEST_QUESTION), (turn.answer, LONGEST_ANSWER)):
            if len(text) > longest or _has_half_pair(text):
                raise BadRequest(
                    "conversation",
                    f"{text[:20]!r} is part of a turn; wanted Unicode text of at most {longest:,}",
                )


def _has_half_pair(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def before_offset(before: int | str | None, characters: int) -> int | None:
    """``before`` as a character offset into a book of ``characters``, rounded down.

    None, an offset (30000 or "30000") or a share from "0%" to "100%"; raises ``BadRequest``
    for anything else. An offset past the book's end means the whole book.
    """
    if before is None:
        return None
    match = _BEFORE.fullmatch(str(before).strip())
    if match is not None and match["percent"]:
        share = Fraction(match["number"]) / 100  # exact: 29 % of 100 is 29, which floats make 28
        if share <= 1:
            return int(share * characters)
    elif match is not None and "." not in match["number"]:
        return int(match["number"])
    raise BadRequest(
        "before",
        f"before is {str(before)[:40]!r}; wanted a character offset from 0 up (30000), "
        "or a share of the book from '0%' to '100%'",
    )


def limit_before(before: int | str | None, characters: int) -> int:
    """The character that nothing may be told from on, of a book of ``characters``; see ``before_offset``."""
    offset = before_offset(before, characters)
    return characters if offset is None else min(offset, characters)


def check_count(field: str, count: int, most: int | None = None) -> None:
    """Raise ``BadRequest`` unless the count is a whole number from 1 to ``most``, if there is a most."""
    whole = isinstance(count, Integral) and not isinstance(count, bool)  # NumPy's, too
    if not whole or count < 1 or (most and count > most):
        wanted = "a whole number from 1 up" if most is None else f"1 to {most}"
        raise BadRequest(field, f"{field} is {count!r:.40}; wanted {wanted}")
