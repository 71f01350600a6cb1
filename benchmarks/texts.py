"""What is measured on: real books where the data sets are at hand, else made-up prose of the same shape."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path

_WORD = re.compile(r"\S+")
_SENTENCE = (6, 28)  # words, fewest and most
_PARAGRAPH = (3, 9)  # sentences
_NAMES = 600
_NAME_SHARE = 0.1  # of all words; with it 200 words come to about 270 tokens, as in novels


@dataclass(frozen=True, slots=True)
class Texts:
    """A long text, questions about it, and what to call it."""

    name: str
    text: str
    questions: tuple[str, ...]


def real(data: Path, words: int) -> Texts:
    """The longest well-paired book of NarrativeQA valid, with further ones after it up to ``words`` words.

    ``data`` holds ``narrativeqa`` as its publishers lay it out. The questions are those about
    the first book, then those about the next ones, and then about any.
    """
    from evaluation.benchmarks.narrativeqa import load

    benchmark = load(data / "narrativeqa", "valid", "stories")
    sizes = {id: len(load_book().text) for id, load_book in benchmark.books.items()}
    order = sorted(sizes, key=lambda id: -sizes[id])
    text, used = "", []
    for id in order:
        text += ("\n\n" if text else "") + benchmark.books[id]().text
        used.append(benchmark.titles[id])
        if len(text.split()) >= words:
            break
    questions = sorted(benchmark.questions, key=lambda question: order.index(question.story))
    return Texts(
        f"NarrativeQA: {', then '.join(used)}",
        first_words(text, words),
        tuple(dict.fromkeys(question.text for question in questions)),
    )


def generated(words: int, seed: int = 1) -> Texts:
    """Prose of the shape of a novel's that says nothing: no text of anybody's is needed for it.

    Its words are drawn by Zipf's law from the encoder's own vocabulary, which is sorted by how
    frequent words are, and from names made of syllables.
    """
    from encoders.backbone import load_tokenizer

    chance = random.Random(seed)
    by_number = sorted(load_tokenizer().get_vocab().items(), key=lambda item: item[1])
    common = [word for word, _ in by_number if word.isascii() and word.isalpha() and len(word) > 1]
    names = sorted({_name(chance) for _ in range(_NAMES)})
    draw_common, draw_name = _zipf(common, chance), _zipf(names, chance)

    def drawn() -> str:
        return next(draw_name) if chance.random() < _NAME_SHARE else next(draw_common)

    paragraphs: list[str] = []
    left = words
    while left > 0:
        sentences = []
        for _ in range(chance.randint(*_PARAGRAPH)):
            sentence = [drawn() for _ in range(min(left, chance.randint(*_SENTENCE)))]
            left -= len(sentence)
            if sentence:
                sentences.append(_sentence(sentence, chance))
        paragraphs.append(" ".join(sentences))
    questions = tuple(
        f"{chance.choice(('Who', 'What', 'Where', 'Why', 'How'))} did {chance.choice(names)} "
        f"{' '.join(next(draw_common) for _ in range(chance.randint(3, 8)))}?"
        for _ in range(400)
    )
    return Texts("made-up prose", "\n\n".join(paragraphs), questions)


def first_words(text: str, words: int) -> str:
    """The first ``words`` words of ``text``, or all of it; a word is a run of non-space characters."""
    found = list(islice(_WORD.finditer(text), words))
    return text[: found[-1].end()] if found else ""


def _zipf(words: Sequence[str], chance: random.Random) -> Iterator[str]:
    """Words without end, the one of rank r as often as 1 / (r + 2.7) says (Mandelbrot 1953)."""
    weights = list(accumulate(1 / (rank + 2.7) for rank in range(1, len(words) + 1)))
    while True:
        yield from chance.choices(words, cum_weights=weights, k=4096)


def _name(chance: random.Random) -> str:
    syllables = chance.randint(2, 3)
    return "".join(
        chance.choice("bdfghklmnprstvw") + chance.choice(("a", "e", "i", "o", "u", "an", "el", "or"))
        for _ in range(syllables)
    ).capitalize()


def _sentence(words: list[str], chance: random.Random) -> str:
    if len(words) > 8:
        words[len(words) // 2] += ","
    text = " ".join(words)
    text = text[0].upper() + text[1:]
    return f'"{text}!"' if chance.random() < 0.1 else text + "."
