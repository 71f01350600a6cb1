"""Titles of persons, and what they tell of who bears them."""

from __future__ import annotations

from typing import Literal

Bearer = Literal["man", "wife", "maid", "office", "any"]
"""Whom a title is of: a man, a woman who may have it of her husband, another woman, or anybody.

One of an "office" is a man's in most novels, but alone it does not tell.
"""

_BEARERS: dict[Bearer, str] = {
    "man": """mr messrs monsieur mons sir lord master father brother uncle king prince duke count earl baron
    emperor herr don signor senor señor squire rev reverend friar abbot fra""",
    "wife": "mrs mme madame lady dame duchess countess baroness queen empress donna señora senora frau",
    "maid": "miss ms mlle mademoiselle mistress princess sister aunt auntie mother signorina",
    "office": """dr doctor prof professor president senator governor mayor judge justice captain capt colonel
    col general gen major maj lieutenant lt sergeant sgt admiral commander inspector""",
    "any": "st saint cousin",
}
TITLES: dict[str, Bearer] = {title: bearer for bearer, names in _BEARERS.items() for title in names.split()}


def is_title(word: str) -> bool:
    """Whether a word is a title of persons, such as Mrs or Captain; without its full stop."""
    return word.lower() in TITLES
