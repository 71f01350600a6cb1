"""What a small language model is given to write an answer from: passages and a question, as tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from readers.external.fair_shares import fair_shares

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

LONGEST = 1_400  # tokens of a prompt
REFUSAL = "The passages do not tell."
INSTRUCTION = f"Answer the question from the passages in a few words. If you cannot, say: {REFUSAL}"
_PLACE = "\ue000"  # where passages and question go, in what the chat template makes; of private use
_BETWEEN = "\n\n"
_ASKED = "\n\nQuestion: "


def is_refusal(text: str) -> bool:
    """Whether a written answer is the sentence that the passages do not tell."""
    return text.casefold().startswith(REFUSAL.rstrip(".").casefold())


class WritePrompts:
    """Makes the prompts of a model that has a chat template, and the tokens of its answers.

    A text that spells one of the template's own marks is letters like any other: nobody who writes a book
    or a question speaks in the place of the system.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, longest: int = LONGEST) -> None:
        """``longest`` is the limit on a prompt's tokens, those of the template included."""
        self._tokenizer = tokenizer
        self._longest = longest
        turns = [{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": _PLACE}]
        framed = str(tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))
        self._head, self._tail = (self._framing(part) for part in framed.split(_PLACE))
        self._between = self._ids(_BETWEEN)[0]

    def __call__(self, question: str, passages: Sequence[str]) -> list[int] | None:
        """The tokens of a prompt with the passages in order and the whole question.

        Passages that do not fit are cut at their ends, the longest ones first; None where the question
        leaves no room for them. Line breaks are made spaces.
        """
        parts = self.parts(question, passages)
        return None if parts is None else [*parts[0], *parts[1]]

    def parts(self, question: str, passages: Sequence[str]) -> tuple[list[int], list[int]] | None:
        """A prompt in two: up to the passages' end, which other questions may share, and from there on."""
        asked = [*self._ids(_ASKED + _one_line(question))[0], *self._tail]
        texts = [line for line in map(_one_line, passages) if line]
        known = [self._ids(text) for text in texts]
        room = self._longest - len(self._head) - len(asked)
        if room <= len(texts) * len(self._between):
            return None
        shares = fair_shares([len(ids) + len(self._between) for ids, _ in known], room)
        shown: list[int] = []
        for text, (ids, starts), share in zip(texts, known, shares, strict=True):
            kept = _whole_words(text, starts, share - len(self._between))
            shown += [*(self._between if shown and kept else ()), *ids[:kept]]
        return [*self._head, *shown], asked

    def answer(self, text: str) -> list[int]:
        """The tokens of an answer and of its end."""
        return [*self._ids(_one_line(text))[0], int(self._tokenizer.eos_token_id)]

    def _framing(self, text: str) -> list[int]:
        """The tokens of a part of the template, marks and all."""
        return list(self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def _ids(self, text: str) -> tuple[list[int], list[int]]:
        """The tokens of a text, and where in it each begins, in code points."""
        found = self._tokenizer(
            text,
            add_special_tokens=False,
            split_special_tokens=True,
            return_offsets_mapping=True,
            verbose=False,
        )
        return list(found["input_ids"]), [start for start, _ in found["offset_mapping"]]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _whole_words(text: str, starts: Sequence[int], tokens: int) -> int:
    """How many of the first ``tokens`` tokens end with a word, all of them where none does.

    ``starts`` is where in the text each token begins: with the space before a word, or behind it.
    """
    if tokens >= len(starts):
        return len(starts)
    whole = max(0, tokens)
    while whole and " " not in text[max(0, starts[whole] - 1) : starts[whole] + 1]:
        whole -= 1
    return whole or max(0, tokens)
