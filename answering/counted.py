"""What is counted of a whole book, not read: who, or what, is named beside words, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from answering.citing import Candidate
from answering.of_itself import OfItself
from answering.said import Said
from text.coreference import pronoun_of_title, times_called
from text.named_entities import Entity

_SHORTEST = 20_000  # characters of a story; a shorter one is read nearly whole, and has little to count
BESIDE = 150  # characters from a word, in which something may be named by it
_FALL = 40  # in which what is beside a word falls to 1/e of its worth
# By conditional logistic regression on 199 questions about 38 books (docs/facts.md).
_STATED_WEIGHT, _NEAR_WEIGHT, _INVERSE_WEIGHT = 1.0, 1.5, 1.1
# The confidence is a line through what 384 such questions have, by the share of the first one beside somebody
# who is not named, with such a score.
_LEAST, _OF_SHARE, _UNNAMED_SCORE = 0.28, 0.62, 1.3
_MOST_TOLD, _MOST_PLACES = 10, 5  # answers, and places of each
_MOST_CALLED = 80  # places of a name, behind which pronouns are looked for
_CLEARLY = 1.5  # the bound of log he / she

Place = tuple[int, int]


@dataclass(slots=True)
class Signs:
    """What speaks for an answer, and how much each of its places tells."""

    near: float = 0.0
    stated: float = 0.0
    inverse: float = 0.0
    places: dict[Place, float] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """log(1 + stated) + 1.5 log(1 + near) + 1.1 log(1 + inverse)."""
        return (
            _STATED_WEIGHT * math.log1p(self.stated)
            + _NEAR_WEIGHT * math.log1p(self.near)
            + _INVERSE_WEIGHT * math.log1p(self.inverse)
        )

    def add(self, place: Place, near: float, stated: float) -> None:
        """Count a place that names it."""
        self.near += near
        self.stated += stated
        self.places[place] = max(near + stated, self.places.get(place, 0.0))


def log_he(story: str, person: Entity) -> float:
    """log he / she of the pronouns behind a name, at most 1.5 either way; of a title that tells 1 or -1."""
    titled = pronoun_of_title(person.name)
    if titled is not None:
        return 1.0 if titled == "he" else -1.0
    he, she = times_called(story, (end for _, end in person.places[:_MOST_CALLED]))
    return max(-_CLEARLY, min(math.log((he + 1) / (she + 1)), _CLEARLY))


def nearness(distance: float, fall: float = _FALL) -> float:
    """exp(-d / fall) at d characters."""
    return math.exp(-distance / fall)


def is_counted(book: OfItself) -> bool:
    """Whether there is enough of a story, before its limit, to count in."""
    return len(book.story.rstrip()) >= _SHORTEST


def counted_person(name: str, book: OfItself) -> Entity | None:
    """Who is called so, if that is somebody; None of a short story, too."""
    person = book.person(name) if is_counted(book) else None
    return person if person is not None and person.is_person else None


def told(found: Sequence[tuple[str, float, Signs]], book: OfItself, about: str) -> Said | None:
    """The answers with their scores, the highest first, where they tell most; None where there are none.

    How sure each is goes by its share of the exponentials of all scores.
    """
    if not found:
        return None
    ranked = sorted(found, key=lambda one: -one[1])
    first = ranked[0][1]
    every = [math.exp(score - first) for _, score, _ in ranked]
    sure = _LEAST + _OF_SHARE / (sum(every) + math.exp(_UNNAMED_SCORE - first))
    candidates = []
    for (text, _, signs), share in list(zip(ranked, every, strict=True))[:_MOST_TOLD]:
        places = sorted(signs.places, key=lambda place: (-signs.places[place], place))
        cited, *more = [book.evidence(*place) for place in places[:_MOST_PLACES]]
        candidates.append(Candidate(text, sure * share, cited, f"{about}: counted, not read", tuple(more)))
    return Said(tuple(candidates), guessed=True)
