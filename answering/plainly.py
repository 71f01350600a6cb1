"""Questions as people put them, as they are searched for and answered."""

from __future__ import annotations

from dataclasses import replace

from answering.ask import LONGEST_QUESTION, Ask
from answering.opened_scope import OneBook, Scope
from text.cloze import find_blank
from text.plain_questions import plain_question
from text.question_names import respelled


def put_plainly(ask: Ask, scope: Scope) -> Ask:
    """``ask`` without what is polite or says which book is asked, its names as the book spells them.

    So are those of the questions that it follows. What has not been read of the book spells none. A question
    to several books keeps its names, which each of them may spell otherwise, and a question with a blank
    stays as it stands.
    """
    if find_blank(ask.question):
        return ask
    if isinstance(scope, OneBook):
        book = scope.readable
        question = respelled(plain_question(ask.question, book.index.title), book.read_so_far())
        turns = (
            replace(one, question=respelled(one.question, book.read_so_far())) for one in ask.conversation
        )
        ask = replace(ask, conversation=tuple(turns))
    else:
        question = plain_question(ask.question)
    # Names that are longer in the book may take a long question over its limit.
    return ask if len(question) > LONGEST_QUESTION else replace(ask, question=question)
