"""Questions that follow others: put so that they can be understood alone, and be searched for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from answering.ask import Ask, BadRequest
from answering.spoilers import SpoilerGuard
from text.coreference import Asked


def understood_alone(ask: Ask, read: str | None, rewrite: Callable[[str, Sequence[Asked]], str]) -> Ask:
    """``ask`` with its question as ``rewrite`` puts it after the turns before, and without its conversation.

    ``read`` is what has been read of the book, None where there is no limit. An answer of the conversation
    that names what does not come up there, for it was given for another limit, is not told.
    """
    turns = [(turn.question, turn.answer) for turn in ask.conversation]
    if read is not None:
        guard = SpoilerGuard("\n".join(question for question, _ in turns), read)
        turns = [(question, "" if guard.leaks(answer) else answer) for question, answer in turns]
    alone = replace(ask, conversation=())
    try:
        return replace(alone, question=rewrite(ask.question, turns))
    except BadRequest:  # a blank in it, say
        return alone
