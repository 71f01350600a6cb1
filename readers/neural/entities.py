"""Entity markers (section 5.1): names become ``@entityN``, so that no embedding learns one story's names.

A name is a word with a capital that never appears in lower case in the context, as the paper has it.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from text.tokens import tokens

MARKERS = 200  # of the vocabulary; the least frequent names of a longer context stay as they are
_MARKER = re.compile(r"@entity(\d+)")


def marker(number: int) -> str:
    """``"@entity42"``."""
    return f"@entity{number}"


@dataclass(frozen=True, slots=True)
class Entities:
    """The markers of one example: ``numbers`` by lower-cased name, and ``names`` as they are spelled."""

    numbers: dict[str, int]
    names: dict[int, str]

    def mark(self, text: str) -> list[str]:
        """The keys of the text's tokens (``text.tokens``), names replaced by their markers.

        However it is spelled there: questions in capitals alone are asked too.
        """
        return [self.of(token.key) for token in tokens(text)]

    def of(self, key: str) -> str:
        """The marker of one token's key, or the key where it is no name."""
        number = self.numbers.get(key)
        return key if number is None else marker(number)

    def unmark(self, keys: Sequence[str]) -> list[str]:
        """The keys with every marker replaced by its name; one that stands for nothing here is left out."""
        found = []
        for key in keys:
            match = _MARKER.fullmatch(key)
            name = self.names.get(int(match[1])) if match else key
            if name is not None:
                found.append(name)
        return found


def find_entities(passages: Sequence[str], rng: random.Random, markers: int = MARKERS) -> Entities:
    """The names in the passages, numbered by chance: call it anew for each example, in training and testing.

    Of more names than ``markers`` the most frequent are marked, the earlier where they are equally so.
    """
    spellings: dict[str, Counter[str]] = {}
    lower = set()
    for passage in passages:
        for token in tokens(passage):
            word = passage[token.start : token.end]
            if word[0].isupper():
                spellings.setdefault(token.key, Counter())[word] += 1
            else:
                lower.add(token.key)
    names = {key: counts for key, counts in spellings.items() if key not in lower}
    kept = sorted(names, key=lambda key: -names[key].total())[:markers]  # stable: the earlier first
    numbers = dict(zip(kept, rng.sample(range(markers), len(kept)), strict=True))
    return Entities(numbers, {number: names[key].most_common(1)[0][0] for key, number in numbers.items()})
