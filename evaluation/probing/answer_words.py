"""Which of a task's answers a text names, and whether it is right: it names what is wanted, and no other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from text.words import words

_PATHS = 19  # the task whose answers are right in one order alone
# How else an answer may be said. Others are known by themselves and with an s: apple, apples.
_SAID_AS = {
    "n": ("north", "northward", "northwards"),
    "s": ("south", "southward", "southwards"),
    "e": ("east", "eastward", "eastwards"),
    "w": ("west", "westward", "westwards"),
    "none": ("no", "nothing", "zero", "0"),
    "one": ("1",),
    "two": ("2",),
    "three": ("3",),
    "nothing": ("none", "no"),
    "yes": (),
    "no": (),
    "maybe": ("perhaps", "possibly"),
    "mouse": ("mice",),
    "wolf": ("wolves",),
}


def is_right(text: str, wanted: Sequence[str], answers: Collection[str], task: int) -> bool:
    """Whether ``text`` names all of ``wanted``, the words of the right answer, and no other of ``answers``.

    ``answers`` are the words that answer any question of the task. "In the garden" names the garden, "No, he
    is not" says no, "2" is two, "north, then east" is n, e; directions have to come in their order, all else
    may come in any and be said twice. Where nothing is wanted, "nothing", "none" and "no objects" say so, and
    an empty text says nothing at all: it is wrong.
    """
    right = [word.lower() for word in wanted]
    found = named(text, {*answers, *wanted})
    return found == right if task == _PATHS else set(found) == set(right)


def named(text: str, answers: Collection[str]) -> list[str]:
    """Those of the ``answers``, in lower case, that ``text`` names, in its order and as often as it does.

    "No longer" says no to nothing: facts hold it, and to quote any of them is no answer.
    """
    by_word = {word: answer for answer in map(str.lower, answers) for word in _wordings(answer)}
    said = words(text)
    pairs = zip(said, [*said[1:], ""], strict=False)
    return [by_word[word] for word, after in pairs if word in by_word and (word, after) != ("no", "longer")]


def _wordings(answer: str) -> Iterator[str]:
    yield answer
    yield from _SAID_AS.get(answer, (f"{answer}s",))
