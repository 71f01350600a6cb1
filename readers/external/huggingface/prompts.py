"""A reading as the one text that a sequence-to-sequence model is given, cut fairly where it is too long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from readers.external.fair_shares import fair_shares
from readers.reading import Reading

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

DELIMITER = " | "


def prompt(
    reading: Reading, tokenizer: PreTrainedTokenizerBase, longest: int, delimiter: str = DELIMITER
) -> str | None:
    """``question: ... context: p1 | p2 ...`` in at most ``longest`` tokens, special tokens included.

    Passages stand in story order, their line breaks made spaces. The question is never cut;
    None where it leaves no room for the passages.
    """
    head = f"question: {_one_line(reading.question)} context: "
    passages = [line for line in map(_one_line, reading.passages) if line]
    text = head + delimiter.join(passages)
    if count_tokens(tokenizer, text) <= longest:
        return text
    ends = [_token_ends(tokenizer, passage) for passage in passages]
    extra = count_tokens(tokenizer, delimiter, special=False)
    wanted = [len(tokens) + extra for tokens in ends]
    room = longest - count_tokens(tokenizer, head)
    while room > 0:
        shares = fair_shares(wanted, room)
        heads = (
            _head(passage, tokens, share - extra)
            for passage, tokens, share in zip(passages, ends, shares, strict=True)
        )
        text = head + delimiter.join(filter(None, heads))
        # Pieces tokenised together can take more tokens than apart, so the sum is checked.
        excess = count_tokens(tokenizer, text) - longest
        if excess <= 0:
            return text
        room -= excess
    return None


def count_tokens(tokenizer: PreTrainedTokenizerBase, text: str, special: bool = True) -> int:
    """How many tokens the model is given for ``text``."""
    return len(tokenizer(text, add_special_tokens=special, verbose=False)["input_ids"])


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _token_ends(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    """Where in ``text`` each of its tokens ends, in code points."""
    if tokenizer.is_fast:
        encoding = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return [end for _, end in encoding["offset_mapping"]]
    # A tokenizer written in Python keeps no offsets; its tokens are about equally long.
    tokens = count_tokens(tokenizer, text, special=False)
    return [len(text) * (token + 1) // tokens for token in range(tokens)]


def _head(text: str, ends: Sequence[int], tokens: int) -> str:
    """The first ``tokens`` tokens of ``text``, cut back to a whole word where there is one."""
    if tokens >= len(ends):
        return text
    end = ends[tokens - 1] if tokens > 0 else 0
    if not text[end : end + 1].isspace():
        end = max(text.rfind(" ", 0, end), 0) or end
    return text[:end].rstrip()
