"""A text cut into sentences, by exact offsets: of prose, of verse and of plays."""

from __future__ import annotations

import re

_CLOSING = "\"'\u201d\u2019\u00bb)\\]}_*"
_OPENING = "\"'\u201c\u201d\u2018\u2019\u00ab([{_*\u2014\u2013- "
_NOTE_MARK = r"(?:\[(?:\d{1,3}|\*)\])"
_END = re.compile(
    rf"(?P<blank>\n[^\S\n]*\n)"
    rf"|(?<![.!?\u2026])(?P<stop>[.!?\u2026]++[{_CLOSING}]*+){_NOTE_MARK}*+(?=\s)"
    r"|(?P<wide>[\u3002\uff01\uff1f]+[\u300d\u300f\u201d\u2019]*)"  # the full stops of Chinese and Japanese
)
_LAST_WORD = re.compile(r"[^\W_](?:[\w.'\u2019]*[^\W_])?$")

# A name, a number or more of the same sentence follows these.
_ABBREVIATIONS = frozenset(
    re.findall(
        r"\S+",
        """mr mrs ms messrs mme mlle mlles dr prof rev revd hon st ste sr fr capt captn cpt col gen lt lieut
        maj sgt sergt serjt corp brig cmdr adm gov pres sen rep supt insp rt mons mdlle mdme
        wm chas geo jas jno thos robt edw edwd benj saml vs viz cf eg ie e.g i.e al ibid mt ft approx""",
    )
)
_BEFORE_NUMBERS = frozenset(
    re.findall(
        r"\S+",
        """no nos vol vols chap ch bk pt p pp fig figs sec art l ll c ca a.d
        jan feb mar apr jun jul aug sept sep oct nov dec""",
    )
)
_SHILLINGS = re.compile(r"\d+[ls]")  # before pence
_BEFORE_NUMERALS = frozenset(("vol", "vols", "chap", "ch", "bk", "pt"))
_ROMAN = re.compile(r"[IVXLC]+\b")
_CLOCK = ("a.m", "p.m", "a.d", "b.c")
_LONGEST_SPEAKER = 40


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """``(start, end)`` of each sentence in code points, in order, without the space around it.

    Together they cover every non-space character once. A sentence ends at a full stop, question or
    exclamation mark and its closing quotes, unless what stands before it is an abbreviation or an
    initial or what follows goes on in lower case; and always at a blank line. A speaker's name
    in capitals (``HAMLET. Words, words``) stays with the words spoken, and so does a paragraph's number.
    """
    spans: list[tuple[int, int]] = []
    start = _skip_space(text, 0)
    for match in _END.finditer(text):
        if match.start() < start:
            continue
        end = match.end()
        if match["blank"] is not None:
            end = match.start()
            while text[end - 1].isspace():
                end -= 1
        elif match["stop"] and not _ends_sentence(text, start, match.span("stop"), end):
            continue
        if start < end:
            spans.append((start, end))
        start = _skip_space(text, match.end())
    end = len(text)
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        spans.append((start, end))
    return spans


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _ends_sentence(text: str, start: int, stop: tuple[int, int], end: int) -> bool:
    """Whether the sentence that begins at ``start`` ends at ``end``, with a stop and its closing quotes."""
    mark = stop[0]
    follows = _skip_space(text, end)
    line_ends = "\n" in text[end:follows]
    while follows < len(text) and text[follows] in _OPENING:
        follows += 1
    after = text[follows : follows + 1]
    if after.islower() or (after and after in ",;:.!?\u2026"):
        return False
    if text[slice(*stop)] != ".":
        return True
    match = _LAST_WORD.search(text, max(start, mark - 30), mark)
    if match is None:
        return True
    word = match[0]
    key = word.lower()
    if key in _ABBREVIATIONS or (len(word) == 1 and word.isupper() and word != "I"):
        return False
    numeral = _ROMAN.match(text, follows) if key in _BEFORE_NUMERALS else None
    if numeral and (numeral[0] != "I" or word[0].isupper()):  # "a good chap. I know him"
        return False
    if key in _BEFORE_NUMBERS or _SHILLINGS.fullmatch(key):
        return not after.isdigit()
    if "." in word and key not in _CLOCK and len(word) <= 6:
        return False  # U.S.A. and other initials set close
    said = text[start:mark]
    # A speaker's name, or the number of a paragraph.
    is_label = (said.isupper() and len(said) <= _LONGEST_SPEAKER) or (said.isdecimal() and len(said) <= 3)
    return line_ends or not (is_label and (start == 0 or text[start - 1] == "\n"))
