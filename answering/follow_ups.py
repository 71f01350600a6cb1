"""Questions that follow others: put so that they can be understood alone, and be searched for."""

from __future__ import annotations

from dataclasses import replace

from answering.ask import Ask, BadRequest
from answering.spoilers import SpoilerGuard
from readers.reading import LanguageModel


def understood_alone(ask: Ask, read: str | None, reader: LanguageModel) -> Ask:
    """``ask`` with its question rewritten by ``reader`` and without its conversation.

    ``read`` is what has been read of the book, None where there is no limit. An answer of the conversation
    that names what does not come up there, for it was given for another limit, is not shown to the model.
    """
    turns = [(turn.question, turn.answer) for turn in ask.conversation]
    if read is not None:
        guard = SpoilerGuard("\n".join(question for question, _ in turns), read)
        turns = [(question, "" if guard.leaks(answer) else answer) for question, answer in turns]
    alone = replace(ask, conversation=())
    try:
        return replace(alone, question=reader.rewrite(ask.question, turns))
    except BadRequest:  # a blank in it, say
        return alone
