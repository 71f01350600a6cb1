"""Questions that follow others: put so that they can be understood alone, and be searched for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from answering.ask import Ask, BadRequest
from answering.book_questions import asked_of_book
from answering.chapter_references import asked_of_chapter, chapter_alone
from answering.of_itself import AUTHOR, FIRST_PUBLISHED, GENRE, TITLE
from answering.spoilers import SpoilerGuard
from text.coreference import Asked, bare_adverb, leans, put_alone

_OF_WRITING = frozenset({AUTHOR, TITLE, FIRST_PUBLISHED, GENRE})
_WHEN_PUBLISHED = "When was this book first published?"


def leans_on_others(question: str) -> bool:
    """Whether something in a question may stand for what was said before, or it is but a chapter's name."""
    return leans(question) or chapter_alone(question) is not None


def put_by_rule(question: str, turns: Sequence[Asked], text: str) -> str:
    """The question as ``put_alone`` puts it; behind "Who wrote this book?" it is of the book itself.

    "When?" asks there when it was published. Why and how it was written stays as it stands, for no book says.
    """
    adverb = bare_adverb(question)
    if adverb is not None and turns and asked_of_book(turns[-1][0]) in _OF_WRITING:
        return _WHEN_PUBLISHED if adverb == "when" else question
    return put_alone(question, turns, text)


def understood_alone(ask: Ask, read: str | None, rewrite: Callable[[str, Sequence[Asked]], str]) -> Ask:
    """``ask`` with its question as ``rewrite`` puts it after the turns before, and without its conversation.

    ``read`` is what has been read of the book, None where there is no limit. An answer of the conversation
    that names what does not come up there, for it was given for another limit, is not told. "And in chapter
    3?" asks what was asked last, of that chapter.
    """
    turns = [(turn.question, turn.answer) for turn in ask.conversation]
    if read is not None:
        guard = SpoilerGuard("\n".join(question for question, _ in turns), read)
        turns = [(question, "" if guard.leaks(answer) else answer) for question, answer in turns]
    alone = replace(ask, conversation=())
    try:
        of_chapter = replace(alone, question=_of_its_chapter(ask))
        return replace(of_chapter, question=rewrite(of_chapter.question, turns))
    except BadRequest:  # a blank in it, say
        return alone


def _of_its_chapter(ask: Ask) -> str:
    """The question, or what was asked last of another chapter where it only names one."""
    chapter = chapter_alone(ask.question)
    asked = [turn.question for turn in ask.conversation if chapter_alone(turn.question) is None]
    return ask.question if chapter is None or not asked else asked_of_chapter(asked[-1], chapter)
