"""Answers to the questions of bAbI's twenty tasks, read off the facts alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

GO = r"(?:went|went back|moved|journeyed|travelled) to"
GET = r"(?:got|took|grabbed|picked up)"
DROP = r"(?:dropped|discarded|left|put down)"
GIVE = r"(?:gave|handed|passed)"
AFTERWARDS = "After that|Afterwards|Then|Following that"
TIMES = ("yesterday", "this morning", "this afternoon", "this evening")
NUMBERS = ("none", "one", "two", "three")
PLURALS = {"mice": "mouse", "sheep": "sheep", "wolves": "wolf", "cats": "cat"}
WHERE = {"hungry": "kitchen", "thirsty": "kitchen", "bored": "garden", "tired": "bedroom"}
WHAT = {"hungry": "apple", "thirsty": "milk", "bored": "football", "tired": "pajamas"}
COMPASS = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}
BACK = {"north": "south", "south": "north", "east": "west", "west": "east"}
STEPS = {
    **COMPASS,
    **{"above": (0, 1), "below": (0, -1), "to the right": (1, 0), "to the left": (-1, 0)},
}


def found(pattern: str, text: str) -> tuple[str, ...]:
    """The groups of the pattern, or nothing where the text is otherwise."""
    match = re.fullmatch(pattern, text)
    return match.groups() if match else ()


def pairs(pattern: str, facts: Sequence[str]) -> dict[str, str]:
    """What the facts of a pattern with two groups say of the first, in order."""
    said = (found(pattern, fact) for fact in facts)
    return {one[0]: one[1] for one in said if one}


def moves(facts: Sequence[str]) -> list[tuple[int, str, str]]:
    """Who went where, and in which fact; a pronoun stands for whoever the fact before was about."""
    went: list[tuple[int, str, str]] = []
    who: tuple[str, ...] = ()
    for number, fact in enumerate(facts):
        two = found(rf"(\w+) and (\w+) {GO} the (\w+)\.", fact)
        again = found(rf"(?:{AFTERWARDS}) (?:he|she|they) {GO} the (\w+)\.", fact)
        one = found(rf"(\w+) {GO} the (\w+)\.", fact)
        if again:
            place = again[0]
        elif two or one:
            *actors, place = two or one
            who = tuple(actors)
        else:
            continue
        went += [(number, actor, place) for actor in who]
    return went


def handled(facts: Sequence[str]) -> list[tuple[int, str, str, str, str]]:
    """Gets, drops and gives: the fact, what was done, who did it, to what, and to whom."""
    done: list[tuple[int, str, str, str, str]] = []
    for number, fact in enumerate(facts):
        if get := found(rf"(\w+) {GET} the (\w+)(?: there)?\.", fact):
            done.append((number, "get", get[0], get[1], ""))
        elif drop := found(rf"(\w+) {DROP} the (\w+)(?: there)?\.", fact):
            done.append((number, "drop", drop[0], drop[1], ""))
        elif give := found(rf"(\w+) {GIVE} the (\w+) to (\w+)\.", fact):
            done.append((number, "give", give[0], give[1], give[2]))
    return done


def places_of(facts: Sequence[str], thing: str) -> list[str]:
    """Where a thing was, one after another; whoever drops what nobody is told to have got had it before."""
    events = [one for one in handled(facts) if one[3] == thing]
    holder = events[0][2] if events[0][1] != "get" else None
    went = {number: (actor, place) for number, actor, place in moves(facts)}
    done = {number: (what, actor, other) for number, what, actor, _, other in events}
    at: dict[str, str] = {}
    been: list[str] = []
    for number in range(len(facts)):
        if number in went:
            at.update([went[number]])
        if number in done:
            what, actor, other = done[number]
            holder = {"get": actor, "drop": None, "give": other}[what]
        if holder in at:
            been.append(at[holder])
    return [place for number, place in enumerate(been) if not number or place != been[number - 1]]


def carried(facts: Sequence[str], actor: str) -> set[str]:
    """What somebody holds in the end."""
    holds: set[str] = set()
    for _, what, who, thing, other in handled(facts):
        if actor == other or (actor == who and what == "get"):
            holds.add(thing)
        elif actor == who:
            holds.discard(thing)
    return holds


def cells(facts: Sequence[str]) -> dict[str, tuple[int, int]]:
    """The grid that the facts of tasks 4, 17 and 19 tell."""
    told = [found(rf"The (.+) is ({'|'.join(STEPS)})(?: of)? the (.+)\.", fact) for fact in facts]
    at = {told[0][2]: (0, 0)}
    while any((one in at) != (other in at) for one, _, other in told):
        for one, direction, other in told:
            x, y = STEPS[direction]
            if other in at and one not in at:
                at[one] = at[other][0] + x, at[other][1] + y
            elif one in at and other not in at:
                at[other] = at[one][0] - x, at[one][1] - y
    return at


def answers(task: int, facts: Sequence[str], question: str) -> tuple[str, ...]:
    """The words of the answer, as they follow from the facts."""
    words = re.findall(r"\w+", question)
    if task in (1, 11, 12, 13):
        return ([place for _, actor, place in moves(facts) if actor == words[2]][-1],)
    if task == 2:
        return (places_of(facts, words[3])[-1],)
    if task == 3:
        been = places_of(facts, words[3])
        last = max(number for number, place in enumerate(been) if place == words[6])
        return (been[last - 1],)
    if task == 5:
        return (_given(facts, question),)
    if task in (6, 9, 10):
        return (_is_there(facts, words[1], words[4]),)
    if task == 7:
        return (NUMBERS[len(carried(facts, words[4]))],)
    if task == 8:
        return tuple(sorted(carried(facts, words[2]))) or ("nothing",)
    if task == 14:
        been = _visits(facts, words[2])
        return (been[max(number for number, place in enumerate(been) if place == words[5]) - 1],)
    if task in (4, 17, 18, 19):
        return _related(task, facts, question)
    return (_of_kind(task, facts, question),)


def _given(facts: Sequence[str], question: str) -> str:
    gifts = [one[2:] for one in handled(facts) if one[1] == "give"][::-1]
    for pattern, wanted, asked in (
        (r"What did (\w+) give to (\w+)\?", 1, (0, 2)),
        (r"Who received the (\w+)\?", 2, (1,)),
        (r"Who gave the (\w+)\?", 0, (1,)),
        (r"Who did (\w+) give the (\w+) to\?", 2, (0, 1)),
        (r"Who gave the (\w+) to (\w+)\?", 0, (1, 2)),
    ):
        if known := found(pattern, question):
            return next(gift[wanted] for gift in gifts if tuple(gift[i] for i in asked) == known)
    raise AssertionError(question)


def _is_there(facts: Sequence[str], actor: str, place: str) -> str:
    for fact in reversed(facts):
        if found(rf"{actor} is (?:no longer|not) in the (\w+)\.", fact) == (place,):
            return "no"
        if either := found(rf"{actor} is either in the (\w+) or the (\w+)\.", fact):
            return "maybe" if place in either else "no"
        if there := found(rf"{actor} (?:is in|{GO}) the (\w+)\.", fact):
            return "yes" if there == (place,) else "no"
    raise AssertionError(actor)


def _visits(facts: Sequence[str], actor: str) -> list[str]:
    by_time = {}
    for fact in facts:
        when = next(number for number, time in enumerate(TIMES) if time in fact.lower())
        who, place = found(rf"(?:{'|'.join(TIMES)})? ?(\w+) {GO} the (\w+).*\.", fact[0].lower() + fact[1:])
        if who.capitalize() == actor:
            by_time[when] = place
    return [by_time[when] for when in sorted(by_time)]


def _related(task: int, facts: Sequence[str], question: str) -> tuple[str, ...]:
    if task == 18:
        small, large = (
            found(r"Does the (.+) fit in the (.+)\?", question)
            or (found(r"Is the (.+) bigger than the (.+)\?", question)[::-1])
        )
        fits = {found(r"The (.+) fits inside the (.+)\.", fact) for fact in facts}
        fits |= {found(r"The (.+) is bigger than the (.+)\.", fact)[::-1] for fact in facts}
        fits.discard(())
        while more := {(a, d) for a, b in fits for c, d in fits if b == c} - fits:
            fits |= more
        assert ((small, large) in fits) != ((large, small) in fits)
        return ("yes" if (small, large) in fits else "no",)
    at = cells(facts)
    if task == 17:
        one, side, other = found(rf"Is the (.+?) ({'|'.join(STEPS)})(?: of)? the (.+)\?", question)
        east, north = (a - b for a, b in zip(at[one], at[other], strict=True))
        return ("yes" if STEPS[side][0] * east + STEPS[side][1] * north > 0 else "no",)
    if task == 4:
        direction, place = (
            found(r"What is (\w+) of the (\w+)\?", question)
            or (found(r"What is the (\w+) (\w+) of\?", question)[::-1])
        )
        sign = 1 if "of the" in question else -1
        step = tuple(sign * one for one in STEPS[direction])
        return _beside(at, place, step)
    start, end = found(r"How do you go from the (\w+) to the (\w+)\?", question)
    told = [found(r"The (\w+) is (\w+) of the (\w+)\.", fact) for fact in facts]
    paths = {(other, direction[0], one) for one, direction, other in told}
    paths |= {(one, BACK[direction][0], other) for one, direction, other in told}
    ways = [
        (first, second)
        for one, first, middle in paths
        for other, second, last in paths
        if (one, middle, last) == (start, other, end)
    ]
    assert len(ways) == 1, "there must be one way"
    return ways[0]


def _beside(at: dict[str, tuple[int, int]], place: str, step: tuple[int, ...]) -> tuple[str, ...]:
    cell = at[place][0] + step[0], at[place][1] + step[1]
    return tuple(other for other, there in at.items() if there == cell)


def _of_kind(task: int, facts: Sequence[str], question: str) -> str:
    name = next(word for word in re.findall(r"\w+", question)[1:] if _is_a(facts, word)).capitalize()
    kind = _is_a(facts, name)
    if task == 15:
        fears = pairs(r"(\w+) are afraid of (\w+)\.", [fact.lower() for fact in facts])
        return next(PLURALS[feared] for many, feared in fears.items() if PLURALS[many] == kind)
    if task == 16:
        kinds = pairs(r"(\w+) is a (\w+)\.", facts)
        colours = pairs(r"(\w+) is (\w+)\.", facts)
        return [colours[mate] for mate, one in kinds.items() if one == kind and mate in colours][-1]
    if question.startswith("Where"):
        return WHERE[kind]
    assert WHERE[kind] in question or WHAT[kind] in question
    return kind


def _is_a(facts: Sequence[str], name: str) -> str:
    """Of which kind somebody is said to be, or in which mood; empty where it is not said."""
    said = (found(rf"{name.capitalize()} is (?:a )?(\w+)\.", fact) for fact in facts)
    return next((kind[0] for kind in said if kind), "")
