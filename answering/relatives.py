"""Who are NAME's children, parents, friends?: all who are told of each relation, in one answer."""

from __future__ import annotations

from statistics import fmean

from answering.citing import Candidate
from answering.counted import log_he
from answering.of_itself import OfItself
from answering.related import related
from answering.related_questions import RelatedQuestion, Relation, RelativesQuestion
from answering.said import Said, said_at

_SURE = 0.2  # from which confidence on more are named than the first of each relation
_IS_OTHER = 1.0  # log he / she, from where on somebody is no brother, or no sister, as by a title


def relatives(asked: RelativesQuestion, book: OfItself) -> Said | None:
    """All who stand in one of the relations, the likeliest first; None where nobody is told.

    That is the first of each, and whoever else is likely. The confidence is the mean of theirs: the share of
    the names that are right.
    """
    found: dict[str, Candidate] = {}
    for relation in asked.relations:
        said = related(RelatedQuestion(relation, asked.whom), book)
        fitting = [] if said is None else [one for one in said.candidates if _fits(one, relation, book)]
        for rank, one in enumerate(fitting):
            is_told = not rank or (one.confidence >= _SURE and not asked.one_each)
            if is_told and (one.text not in found or found[one.text].confidence < one.confidence):
                found[one.text] = one
    if not found:
        return None
    ranked = sorted(found.values(), key=lambda one: -one.confidence)
    first, *others = [one.evidence for one in ranked if one.evidence is not None]
    return said_at(
        ", ".join(one.text for one in ranked),
        fmean(one.confidence for one in ranked),
        [first, *sorted(others, key=lambda place: place.start)],
        "; ".join(dict.fromkeys(one.note for one in ranked if one.note)),
        guessed=True,
    )


def _fits(one: Candidate, relation: Relation, book: OfItself) -> bool:
    """Whether somebody may be called as whoever stands in the relation is."""
    sign = {"he": 1, "she": -1}.get(relation.pronoun or "", 0)
    return sign * log_he(book.story, book.cast.by_name[one.text]) > -_IS_OTHER
