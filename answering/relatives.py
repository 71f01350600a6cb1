"""Who are NAME's children, parents, friends?: all who are told of each relation, in one answer."""

from __future__ import annotations

from statistics import fmean

from answering.citing import Candidate
from answering.of_itself import OfItself
from answering.related import told_if_any
from answering.related_questions import RelatedQuestion, RelativesQuestion
from answering.said import Said, said_at

_SURE = 0.2  # from which confidence on more are named than the first of each relation


def relatives(asked: RelativesQuestion, book: OfItself) -> Said | None:
    """All who stand in one of the relations, the likeliest first; as ``told_if_any`` where nobody is told.

    That is the first of each, and whoever else is likely. The confidence is the mean of theirs: the share of
    the names that are right.
    """
    found: dict[str, Candidate] = {}
    nobody: Said | None = None
    for relation in asked.relations:
        said = told_if_any(RelatedQuestion(relation, asked.whom), book)
        nobody = nobody or (said if said is None or not said.candidates else None)
        for rank, one in enumerate(said.candidates if said else ()):
            is_told = not rank or (one.confidence >= _SURE and not asked.one_each)
            if is_told and (one.text not in found or found[one.text].confidence < one.confidence):
                found[one.text] = one
    if not found:
        return nobody
    ranked = sorted(found.values(), key=lambda one: -one.confidence)
    first, *others = [one.evidence for one in ranked if one.evidence is not None]
    return said_at(
        ", ".join(one.text for one in ranked),
        fmean(one.confidence for one in ranked),
        [first, *sorted(others, key=lambda place: place.start)],
        "; ".join(dict.fromkeys(one.note for one in ranked if one.note)),
        guessed=True,
    )
