"""What a model that writes freely knows of a book by itself, kept from whoever has not read so far."""

from __future__ import annotations

import re
from functools import cached_property

from answering.finding import Found
from readers import spec_of
from readers.reading import OnWords
from text.honorifics import is_title
from text.question_kinds import opens_question
from text.question_names import unmentioned
from text.sentences import sentence_spans

LEAKED = "the answer named what has not come up in what has been read, and is kept back"

_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_POSSESSIVE = re.compile(r"['’](?:s|t|re|ve|ll|d|m)?$", re.IGNORECASE)
# A line, an item of a list or a quotation.
_BEGINS = re.compile(r"(?:^|[\"\u201c\u2018])[^\w\n]*(?:\d+[.)][^\w\n]*)?(?=[^\W\d_])", re.M)
_CONTEXT = 400  # characters of what was said before, which tell whether a sentence begins
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
        self._allowed: set[tuple[str, bool]] = set()

    def leaks(self, said: str, after: str = "") -> bool:
        """Whether ``said``, which follows ``after``, names what may not be told.

        A word that begins a sentence, a line or a quotation may have its capital for that alone, so there it
        may be known in any case; elsewhere it is known where it has a capital: a rose in the garden is no
        Rose.
        """
        whole = after + said
        begins = {word.start() for one in sentence_spans(whole) if (word := _WORD.search(whole, *one))}
        begins |= {match.end() for match in _BEGINS.finditer(whole)}
        words = {
            (_POSSESSIVE.sub("", match[0]), match.start() in begins)
            for match in _WORD.finditer(whole)
            if match.end() > len(after)
        }
        named = {one for one in words - self._allowed if _may_name(*one)}
        first = sorted(name for name, is_first in named if is_first)
        inside = sorted(name for name, is_first in named if not is_first)
        if unmentioned(first, self._known) or (inside and unmentioned(inside, self._capitals)):
            return True
        self._allowed.update(named)
        return False

    @cached_property
    def _capitals(self) -> str:
        """The words of what is known that have a capital."""
        return " ".join(dict.fromkeys(word for word in _WORD.findall(self._known) if word[0].isupper()))

    def guarded(self, on_words: OnWords) -> OnWords:
        """Tells ``on_words`` whole words, up to the first that leaks."""
        told, waiting, closed = "", "", False

        def hear(words: str) -> None:
            nonlocal told, waiting, closed
            waiting += words
            ready, space, rest = waiting.rpartition(" ")
            closed = closed or self.leaks(ready, told)
            if space and not closed:
                waiting = rest
                told = (told + ready + space)[-_CONTEXT:]
                on_words(ready + space)

        return hear


def _may_name(word: str, is_first: bool) -> bool:
    """Whether a word, the first of a sentence or not, may be a name by its capital."""
    if not word[:1].isupper() or len(word) < 2 or is_title(word) or word.lower() in _COMMON:
        return False
    return not is_first or not opens_question(word.lower())


def guard_of(found: Found) -> SpoilerGuard | None:
    """What keeps a reader that writes freely from telling what lies behind a limit, where there is one.

    That is a limit of any book that is asked, whether or not a passage of it was found. Known is what those
    books say that are read, as far as they may be, and what stands on their covers.
    """
    ask = found.ask
    if not spec_of(ask.reader).writes_freely or not found.scope.is_limited:
        return None
    known = "\n".join(book.known_so_far() for book in found.books.values())
    return SpoilerGuard("\n".join((ask.question, *ask.candidates)), known)


def guarded(on_words: OnWords | None, guard: SpoilerGuard | None) -> OnWords | None:
    """``on_words`` as the guard lets it hear them."""
    return on_words if on_words is None or guard is None else guard.guarded(on_words)
