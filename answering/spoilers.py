"""What a language model knows of a book by itself, kept from whoever has not read so far."""

from __future__ import annotations

import re

from answering.finding import Found
from readers import spec_of
from readers.reading import OnWords
from text.question_kinds import opens_question
from text.question_names import unmentioned

LEAKED = "the answer named what has not come up in what has been read, and is kept back"

_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_POSSESSIVE = re.compile(r"['’](?:s|t|re|ve|ll|d|m)?$", re.IGNORECASE)
# Words with which a sentence begins that name nobody, beside those with which questions do.
_OPENERS = (
    "a an the this that these those my our your its no not yes none nobody nothing some many most all "
    "both each every one two three i you we it after although as at because before but by during "
    "finally first for from here how however if in initially instead just last later like meanwhile "
    "moreover next now of on once only or other overall perhaps rather since so soon still such then "
    "there therefore though through thus to together toward towards under unlike until unanswerable "
    "upon when where whereas which while with within without answer passage quote question summary mr "
    "mrs ms miss dr sir lady lord "
)
_COMMON = frozenset(_OPENERS.split())


class SpoilerGuard:
    """Knows the names that may be told: those of the question, and of ``text``, as far as it has been read.

    A language model may have read the whole book elsewhere. What it says without a name cannot be told from
    what the passages say.
    """

    def __init__(self, question: str, text: str) -> None:
        self._known = f"{question}\n{text}"
        self._allowed: set[str] = set()

    def leaks(self, said: str) -> bool:
        """Whether ``said`` names what may not be told."""
        words = {_POSSESSIVE.sub("", match[0]) for match in _WORD.finditer(said)}
        names = [
            word
            for word in sorted(words - self._allowed)
            if word[:1].isupper() and len(word) > 1 and not _is_common(word.lower())
        ]
        if unmentioned(names, self._known):
            return True
        self._allowed.update(names)
        return False

    def guarded(self, on_words: OnWords) -> OnWords:
        """Tells ``on_words`` whole words, up to the first that leaks."""
        waiting, closed = "", False

        def hear(words: str) -> None:
            nonlocal waiting, closed
            waiting += words
            ready, space, rest = waiting.rpartition(" ")
            closed = closed or self.leaks(ready)
            if space and not closed:
                waiting = rest
                on_words(ready + space)

        return hear


def _is_common(word: str) -> bool:
    return word in _COMMON or opens_question(word)


def guard_of(found: Found) -> SpoilerGuard | None:
    """What keeps a language model from telling what lies behind a limit, where there is one."""
    books = found.books.values()
    if not spec_of(found.ask.reader).language_model or not any(book.is_limited for book in books):
        return None
    return SpoilerGuard(found.ask.question, "\n".join(book.read_so_far() for book in books))


def guarded(on_words: OnWords | None, guard: SpoilerGuard | None) -> OnWords | None:
    """``on_words`` as the guard lets it hear them."""
    return on_words if on_words is None or guard is None else guard.guarded(on_words)
