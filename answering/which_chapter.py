"""In which chapter, or on which page, something happens: that of the passages which are found for it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from answering.chapter_references import NO_PAGES
from answering.citing import Candidate, Evidence, cite, whereabouts
from answering.said import Said
from readers.attribution import nearest_sentence
from retrieval.hits import BookHit
from text.bare_questions import bare_question
from text.book_words import THE_BOOK
from text.polar_questions import AUXILIARIES
from text.question_kinds import TELLING_NOTHING
from text.words import words

MOST_HITS = 10  # passages found, whose chapters are counted
# However many passages are of one chapter, what never happens is told of some, too: no answer is for certain.
_AT_MOST = 0.6
_PIECE = r"(?:passage|part|place|scene|chapter|section|bit|moment|page)"
_SHOWN = re.compile(
    rf"(?:(?:find|show|give|quote|take|bring|go|jump)(?: me)?(?: to)? (?:the |a |any |all )?{_PIECE}s?"
    rf"(?: (?:of|in) {THE_BOOK})? (?:where|when|in which|that tells? (?:of|about|how)|about|of|with)"
    rf"|(?:find|show me) where|where (?:can|do|could) I (?:find|read(?: about)?)) (?P<what>.+)",
    re.I,
)
_WHERE = re.compile(
    rf"(?:(?:(?:in|from|during|at) )?(?:which|what) (?:chapter|canto)s?(?: (?:of|in) {THE_BOOK})?"
    rf"|in (?:which|what) (?:part|section|act|scene)s?(?: of {THE_BOOK})?"
    rf"|(?P<page>on (?:which|what) pages?)(?: (?:of|in) {THE_BOOK})?"
    rf"|at (?:which|what) point (?:of|in) {THE_BOOK}"
    rf"|(?P<place>where(?:abouts)? in {THE_BOOK})) (?P<rest>.+)",
    re.I,
)
_VERBS = (
    r"(?:(?:is|are) (?:the one )?(?:about|where|in which)|tells?(?: us)?(?: of| about)?|describes?|"
    r"contains?|has|have|covers?|deals? with|shows?|recounts?|narrates?|mentions?|features?|concerns?)"
)
_TELLS = re.compile(rf"{_VERBS} (?P<what>.+)", re.I)
_OF_CHAPTERS = re.compile(
    r"(?:is|was|are) (?:this|that|it|your|the (?:longest|shortest|best|worst|last|first|next|most))\b"
    r"|(?:am I|are we)\b",
    re.I,
)


def looked_for(question: str) -> str | None:
    """What a question looks for the chapter of, or the place in the book; None for other questions.

    "is the bell rung" of "In which chapter is the bell rung?", "the fire" of "Which chapter has the fire?"
    and of "Find the passage about the fire."
    """
    bare = bare_question(question)
    if shown := _SHOWN.fullmatch(bare):
        return _if_telling(shown["what"])
    match = _WHERE.fullmatch(bare)
    if match is None:
        return None
    rest = match["rest"]
    if _OF_CHAPTERS.match(rest):
        return None
    telling = None if match["place"] or match["page"] else _TELLS.fullmatch(rest)
    first = words(rest)[:1]
    if telling is None and not (first and first[0] in AUXILIARIES):
        return None
    return _if_telling(rest if telling is None else telling["what"])


def asks_page(question: str) -> bool:
    """Whether it is a page that ``looked_for`` is asked by."""
    match = _WHERE.fullmatch(bare_question(question))
    return match is not None and match["page"] is not None


def _if_telling(what: str) -> str | None:
    return what if any(word not in TELLING_NOTHING for word in words(what)) else None


def chapters_of(what: str, hits: Sequence[BookHit], *, by_page: bool = False) -> Said:
    """The chapters of what was found for ``what``, the likeliest first, each with its best sentence.

    A chapter is the likelier, the more of the first ``MOST_HITS`` passages are of it, each by 1 / its rank.
    Of a book without chapters there is how far into it each passage is. ``by_page`` tells the pages of the
    best sentences in place of chapters, of books that have page numbers.
    """
    places: dict[tuple[str, str], list[Evidence]] = defaultdict(list)
    weights: dict[tuple[str, str], float] = defaultdict(float)
    for rank, hit in enumerate(hits[:MOST_HITS], 1):
        place = _best_sentence(what, hit)
        is_paged = by_page and place.page is not None
        where = place.book_id, f"page {place.page}" if is_paged else whereabouts(place)
        places[where].append(place)
        weights[where] += 1 / rank
    total = sum(weights.values())
    candidates = tuple(
        Candidate(
            where[1],
            min(_AT_MOST, weights[where] / total),
            places[where][0],
            NO_PAGES if by_page and places[where][0].page is None else None,
            also=_in_order(places[where][1:]),
        )
        for where in sorted(weights, key=lambda one: -weights[one])
    )
    return Said(candidates, searched=True)


def _best_sentence(what: str, hit: BookHit) -> Evidence:
    """The sentence of a passage that says most of what is looked for."""
    index, passage = hit.book.index, hit.passage
    found = nearest_sentence([index.text(passage.start, passage.end)], what, what)
    first, last = (0, passage.end - passage.start) if found is None else found[1:]
    return cite(index, passage, passage.start + first, passage.start + last, hit.book.before)


def _in_order(places: Sequence[Evidence]) -> tuple[Evidence, ...]:
    return tuple(sorted(places, key=lambda place: place.start))
