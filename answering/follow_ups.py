"""Questions that follow others: put so that they can be understood alone, and be searched for."""

from __future__ import annotations

from dataclasses import replace

from answering.ask import Ask, BadRequest, before_offset
from answering.spoilers import SpoilerGuard
from indexing.index import BookIndex
from readers.reading import LanguageModel


def understood_alone(ask: Ask, index: BookIndex, reader: LanguageModel) -> Ask:
    """``ask`` with its question rewritten by ``reader`` and without its conversation.

    An answer of the conversation that names what does not come up before the limit, for it was given for
    another, is not shown to the model.
    """
    before = before_offset(ask.before, index.characters)
    turns = [(turn.question, turn.answer) for turn in ask.conversation]
    if before is not None:
        read = index.text(0, min(before, index.characters)) if before else ""
        guard = SpoilerGuard("\n".join(question for question, _ in turns), read)
        turns = [(question, "" if guard.leaks(answer) else answer) for question, answer in turns]
    alone = replace(ask, conversation=())
    try:
        return replace(alone, question=reader.rewrite(ask.question, turns))
    except BadRequest:  # a blank in it, say
        return alone
