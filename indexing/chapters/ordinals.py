"""Ordinal numbers in words, as chapters and parts have them in other languages: erstes, deuxième, первая."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

_Ordinals = Iterator[tuple[str, int]]

_GERMAN = (
    "erst zweit dritt viert fünft sechst siebt acht neunt zehnt elft zwölft dreizehnt vierzehnt fünfzehnt "
    "sechzehnt siebzehnt achtzehnt neunzehnt"
)
_GERMAN_UNITS = "ein zwei drei vier fünf sechs sieben acht neun"
_GERMAN_TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig"
_DUTCH = (
    "eerste tweede derde vierde vijfde zesde zevende achtste negende tiende elfde twaalfde dertiende "
    "veertiende vijftiende zestiende zeventiende achttiende negentiende"
)
_DUTCH_UNITS = "eenen tweeën drieën vieren vijfen zesen zevenen achten negenen"
_DUTCH_TENS = "twintig dertig veertig vijftig zestig zeventig tachtig negentig"
_FRENCH = (
    "premier deuxième troisième quatrième cinquième sixième septième huitième neuvième dixième onzième "
    "douzième treizième quatorzième quinzième seizième dix-septième dix-huitième dix-neuvième"
)
_FRENCH_TENS = "vingt trente quarante cinquante soixante"
_SPANISH = (
    "primero segundo tercero cuarto quinto sexto séptimo octavo noveno décimo undécimo duodécimo "
    "decimotercero decimocuarto decimoquinto decimosexto decimoséptimo decimoctavo decimonoveno"
)
_SPANISH_TENS = "vigésimo trigésimo cuadragésimo quincuagésimo sexagésimo septuagésimo octogésimo nonagésimo"
_PORTUGUESE = "primeiro segundo terceiro quarto quinto sexto sétimo oitavo nono décimo"
_PORTUGUESE_TENS = (
    "vigésimo trigésimo quadragésimo quinquagésimo sexagésimo septuagésimo octogésimo nonagésimo"
)
_ITALIAN = (
    "primo secondo terzo quarto quinto sesto settimo ottavo nono decimo undicesimo dodicesimo tredicesimo "
    "quattordicesimo quindicesimo sedicesimo diciassettesimo diciottesimo diciannovesimo"
)
_ITALIAN_UNITS = "un adu atre aquattr acinqu asei asett ott anov"
_ITALIAN_TENS = "vent trent quarant cinquant sessant settant ottant novant"
_RUSSIAN = (
    "первая вторая третья четвёртая пятая шестая седьмая восьмая девятая десятая одиннадцатая двенадцатая "
    "тринадцатая четырнадцатая пятнадцатая шестнадцатая семнадцатая восемнадцатая девятнадцатая"
)
_RUSSIAN_TENS = "двадцат тридцат сороков пятидесят шестидесят семидесят восьмидесят девяност"
_RUSSIAN_TENS_BEFORE = "двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто"


MOST_WORDS = 3  # of one: vingt et unième
ORDINAL_WORD, ORDINAL_JOIN = r"[^\W\d_]+", r"[ \xa0-]"  # what may be one, to be pieces of other patterns


def ordinal_elsewhere(text: str) -> int | None:
    """The value of an ordinal below 100 in the languages of ``CHAPTERS_ELSEWHERE``; None for anything else.

    It may have lost its accents, as capitals often do.
    """
    return _ordinals().get(_without_marks(text))


@cache
def _ordinals() -> dict[str, int]:
    languages = (_german, _dutch, _french, _spanish, _portuguese, _italian, _russian)
    return {_without_marks(word): value for language in languages for word, value in language()}


def _without_marks(text: str) -> str:
    letters = unicodedata.normalize("NFD", re.sub(r"[\s-]+", " ", text.casefold()))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _german() -> _Ordinals:
    stems = [*_counted(_GERMAN), ("siebent", 7)]
    for ten, value in _tens(_GERMAN_TENS):
        stems.append((f"{ten}st", value))
        stems += ((f"{word}und{ten}st", value + unit) for word, unit in _counted(_GERMAN_UNITS))
    yield from ((stem + end, value) for stem, value in stems for end in ("e", "er", "es"))


def _dutch() -> _Ordinals:
    yield from _counted(_DUTCH)
    for ten, value in _tens(_DUTCH_TENS):
        yield f"{ten}ste", value
        yield from ((f"{word}{ten}ste", value + unit) for word, unit in _counted(_DUTCH_UNITS))


def _french() -> _Ordinals:
    yield from (*_counted(_FRENCH), ("première", 1), ("second", 2), ("seconde", 2))
    for ten, value in _tens(_FRENCH_TENS):
        yield f"{ten.removesuffix('e')}ième", value
        yield f"{ten} et unième", value + 1
        yield from ((f"{ten} {word}", value + unit) for word, unit in _counted(_FRENCH) if 1 < unit < 10)


def _spanish() -> _Ordinals:
    yield from _of_both_genders((*_counted(_SPANISH), *_composed(_SPANISH_TENS, _SPANISH)))
    yield from (("primer", 1), ("tercer", 3), ("decimotercer", 13))


def _portuguese() -> _Ordinals:
    units = [*_counted(_PORTUGUESE)]
    teens = ((f"décimo {word}", 10 + unit) for word, unit in units[:9])
    yield from _of_both_genders((*units, *teens, *_composed(_PORTUGUESE_TENS, _PORTUGUESE)))


def _italian() -> _Ordinals:
    found = [*_counted(_ITALIAN)]
    for ten, value in _tens(_ITALIAN_TENS):
        found.append((f"{ten}esimo", value))
        for word, unit in _counted(_ITALIAN_UNITS):
            found.append((f"{ten}{re.sub('^a', 'i', word) if value == 20 else word}esimo", value + unit))
    yield from _of_both_genders(found)


def _russian() -> _Ordinals:
    yield from _counted(_RUSSIAN)
    yield from ((f"{ten}ая", value) for ten, value in _tens(_RUSSIAN_TENS))
    yield from _composed(_RUSSIAN_TENS_BEFORE, _RUSSIAN)


def _composed(tens: str, units: str) -> _Ordinals:
    """Two words, as in vigésimo primero."""
    for ten, value in _tens(tens):
        yield ten, value
        yield from ((f"{ten} {word}", value + unit) for word, unit in _counted(units) if unit < 10)


def _counted(words: str) -> _Ordinals:
    yield from ((word, value) for value, word in enumerate(words.split(), 1))


def _tens(words: str) -> _Ordinals:
    yield from ((word, 10 * value) for value, word in enumerate(words.split(), 2))


def _of_both_genders(ordinals: Iterable[tuple[str, int]]) -> _Ordinals:
    for word, value in ordinals:
        yield from ((re.sub(r"o\b", end, word), value) for end in "oa")
