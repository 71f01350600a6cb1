"""bAbI's tasks of where people are said to be: 9 to 13.

Nobody is told to go to where they are. Task 9 may say where somebody is not, task 10 two places of which
one is right; in 11 and 13 a pronoun stands for whoever went before, in 12 and 13 two go together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from evaluation.worlds.cast import Cast, pronoun
from evaluation.worlds.grammar import ABSENT, went, went_on
from evaluation.worlds.scene import Question, Scene, is_it, yes_or_no
from evaluation.worlds.world import World


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where an actor is: in ``place``, not in it, or in one of several; whichever ``kind`` says."""

    kind: str
    actor: str
    places: tuple[str, ...]


class _Told(Scene[Whereabouts]):
    """People who turn up anywhere but where they are."""

    def __init__(self, rng: Random, cast: Cast) -> None:
        super().__init__(rng)
        self.world = World(rng, cast.actors, cast.places)

    def someone(self, avoid: Sequence[str]) -> str:
        """An actor who is not to be avoided."""
        return self.rng.choice([actor for actor in self.world.actors if actor not in avoid])

    def move(self, *actors: str) -> str:
        """Let people turn up together in a place where none of them is."""
        been = {self.world.at[actor] for actor in actors}
        place = self.rng.choice([place for place in self.world.places if place not in been])
        self.world.at.update(dict.fromkeys(actors, place))
        return place

    def last(self, actor: str) -> tuple[Whereabouts, int]:
        """What was last told of an actor."""
        return next(told for told in reversed(self.clauses) if told[0].actor == actor)


class _YesNo(_Told):
    """Half of all facts are moves, the others say where somebody is or, as ``state`` tells, may be."""

    def go_on(self, avoid: Sequence[str]) -> None:
        actor = self.someone(avoid)
        before = self.world.at[actor]
        place = self.move(actor)
        chance = self.rng.random()
        if chance < 0.5:
            self.tell(went(actor, place, self.rng), Whereabouts("in", actor, (place,)))
        elif chance < 0.75:
            self.tell(f"{actor} is in the {place}.", Whereabouts("in", actor, (place,)))
        else:
            self.state(actor, before, place)

    def state(self, actor: str, before: str, place: str) -> None:
        """Say of an actor who came from ``before`` to ``place`` what does not say where they are."""
        raise NotImplementedError

    def asked_of(self, told: Whereabouts) -> tuple[str, tuple[str, ...]]:
        """A place to ask about, and whether the actor is there."""
        place, true = is_it(told.places[0], self.world.places, self.rng)
        return place, yes_or_no(true)

    def question(self, clause: Whereabouts) -> Question | None:
        told, number = self.last(clause.actor)
        place, answer = self.asked_of(told)
        return Question(f"Is {told.actor} in the {place}?", answer, (number,), (told.actor,))


class Negation(_YesNo):
    """Task 9: after a negation the place asked about is its own."""

    def state(self, actor: str, before: str, place: str) -> None:
        self.tell(f"{actor} {self.rng.choice(ABSENT)} the {before}.", Whereabouts("not in", actor, (before,)))

    def asked_of(self, told: Whereabouts) -> tuple[str, tuple[str, ...]]:
        return (told.places[0], yes_or_no(False)) if told.kind == "not in" else super().asked_of(told)


class Indefinite(_YesNo):
    """Task 10: after two places one of them is ``maybe``, others are not."""

    def state(self, actor: str, before: str, place: str) -> None:
        other = self.rng.choice([other for other in self.world.places if other != place])
        either = (place, other) if self.rng.random() < 0.5 else (other, place)
        self.tell(
            f"{actor} is either in the {either[0]} or the {either[1]}.",
            Whereabouts("either", actor, either),
        )

    def asked_of(self, told: Whereabouts) -> tuple[str, tuple[str, ...]]:
        if told.kind != "either":
            return super().asked_of(told)
        place, _ = is_it(self.rng.choice(told.places), self.world.places, self.rng)
        return place, ("maybe",) if place in told.places else yes_or_no(False)


class Conjunction(_Told):
    """Task 12: two go together; where is one of them?"""

    together = 2
    again = False

    def go_on(self, avoid: Sequence[str]) -> None:
        free = [actor for actor in self.world.actors if actor not in avoid]
        actors = self.rng.sample(free, self.together)
        place = self.move(*actors)
        self._tell(went(" and ".join(actors), place, self.rng), actors, place)
        if self.again:
            place = self.move(*actors)
            they = "they" if self.together > 1 else pronoun(actors[0])
            self._tell(went_on(they, place, self.rng), actors, place)

    def _tell(self, fact: str, actors: Sequence[str], place: str) -> None:
        self.tell(fact, *(Whereabouts("in", actor, (place,)) for actor in actors))

    def question(self, clause: Whereabouts) -> Question | None:
        told, last = self.last(clause.actor)
        support = (last - 1, last) if self.again else (last,)
        return Question(f"Where is {clause.actor}?", told.places, support, (clause.actor,))


class Coreference(Conjunction):
    """Task 11: somebody goes, and then he or she goes on; both facts support the answer."""

    together = 1
    again = True


class CompoundCoreference(Conjunction):
    """Task 13: two go, and then they go on; both facts support the answer."""

    again = True
