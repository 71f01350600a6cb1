"""The generating reader: a small decoder over all passages, able to copy and to say what no span holds."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from encoders.adapters import file_hash, load_weights
from encoders.backbone import MINILM, load_tokenizer
from encoders.batches import batches
from encoders.cross_encoder import WEIGHTS as ENCODER_WEIGHTS
from encoders.cross_encoder import CrossEncoder, EncodedWindow, load_crossencoder
from encoders.errors import ModelError
from encoders.runtime import OPENVINO, pick_runtime
from encoders.sizes import weights_folder
from readers.reading import Answer, Ranker, Reading, Span, encode_readings, merged
from text.sentences import sentence_spans

if TYPE_CHECKING:
    import torch

    from encoders.windows import Window
    from readers.default.beam_search import Written
    from readers.default.pointer_generator import Memory, PointerDecoder, Step

BEAMS = 4
READ_WINDOWS = 24  # of a reading, the most relevant ones: the memory of one answer is bounded
MEMORY_TOKENS = 16_384  # of the readings decoded together, padding included
RANKED = 32  # candidates scored together


@dataclass(frozen=True, slots=True)
class _Token:
    """A token of an answer: where it was probably copied from, and how much of its probability is that."""

    id: int
    place: int
    copied: float


Chosen = list[tuple[int, EncodedWindow]]
"""The windows to read of one reading, in story order, each with the number of its passage."""


class GenerateReader(Ranker):
    """Writes answers with a pointer-generator over the cross-encoder's states of all passages.

    Words that are copied from one another's neighbours are given as they stand in the passage, case
    and all; others in lower case, as the encoder's vocabulary has them. An answer is supported by
    the sentence with the most copy and attention mass. Its score is the log-probability that beams
    are ordered by, its confidence the geometric mean of its tokens' probabilities.
    """

    def __init__(self, encoder: CrossEncoder, decoder: PointerDecoder, version: str | None = None) -> None:
        self.encoder = encoder
        self.version = version
        self._decoder = decoder.to(encoder.device).eval()
        self._tokenizer = load_tokenizer()
        # [CLS], the text's tokens, [SEP]: of an empty text the two that an answer stands between.
        self._begin, self._end = self._tokenizer.encode("").ids
        from readers.default.decoder_weights import word_ids, words_of
        from readers.default.wording import Continuations

        self._words = words_of(encoder.device)
        runtime = pick_runtime()
        if runtime.name == OPENVINO:
            self._decoder.run_in(runtime, self._words)
        self._ids = None if encoder.base == MINILM else word_ids(encoder.base)
        self._continuations = Continuations.of(self._tokenizer, encoder.device)

    @classmethod
    def load(cls, argument: str | None) -> GenerateReader:
        """The shipped reader, small or ``LARGE``, or that of a run's folder.

        A folder without an encoder's weights of its own is read with the shipped encoder. Raises
        ModelError where there are no weights or they belong to another encoder.
        """
        from readers.default.decoder_weights import WEIGHTS, decoder_of

        path = weights_folder("readers.weights", argument) / WEIGHTS
        if not path.is_file():
            raise ModelError(f"{path} is missing; wanted the folder of a run of: storyqa train generate")
        own = (weights_folder("encoders.weights", argument) / ENCODER_WEIGHTS).is_file()
        encoder = load_crossencoder(argument if own else None)
        weights = load_weights(path)
        if weights.backbone != encoder.base:
            raise ModelError(
                f"{path} reads the states of {weights.backbone.name}, and the encoder beside it is "
                f"{encoder.base.name}; train it again: storyqa train generate --start DIR"
            )
        return cls(encoder, decoder_of(weights), f"{encoder.version}+{file_hash(path)[:12]}")

    def prepare(self, readings: Sequence[Reading]) -> list[Reading]:
        """See ``Reader.prepare``: what the encoder says of every passage."""
        return encode_readings(self.encoder, readings)

    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """See ``Reader.read``; the answers have no span, but the sentence they rest on."""
        if n_best < 1:
            raise ValueError(f"n_best {n_best}; wanted at least 1")
        import torch

        answers: list[list[Answer]] = [[] for _ in readings]
        chosen = [chosen_windows(reading) for reading in self.prepare(readings)]
        asked = [i for i, windows in enumerate(chosen) if windows]
        beams = max(BEAMS, n_best)
        sizes = [sum(len(one.window.ids) for _, one in chosen[i]) for i in asked]
        from readers.default.beam_search import beam_search
        from readers.default.wording import Wording

        for batch in batches(sizes, MEMORY_TOKENS):
            members = [asked[i] for i in batch]
            with torch.inference_mode():
                memory = self._memory([chosen[i] for i in members])
                wording = [
                    Wording(
                        (id for _, one in chosen[i] for id in self._numbered(one.window.ids)),
                        self._continuations,
                    )
                    for i in members
                ]
                found = beam_search(
                    self._decoder, memory, self._words, wording, self._begin, self._end, beams
                )
                for row, (i, written) in enumerate(zip(members, found, strict=True)):
                    best = self._answers(readings[i], chosen[i], _row(memory, row), written)
                    answers[i] = best[:n_best]
        return answers

    def rank(self, reading: Reading, candidates: Sequence[str]) -> list[float]:
        """See ``Ranker.rank``: the log-probability of each candidate per token, given the reading."""
        import torch

        from readers.default.pointer_generator import answer_tokens

        [prepared] = self.prepare([reading])
        windows = chosen_windows(prepared)
        if not windows or not candidates:
            return [0.0] * len(candidates)
        targets = [answer_tokens(candidate) for candidate in candidates]
        scores: list[float] = []
        with torch.inference_mode():
            memory = self._memory([windows])
            for first in range(0, len(targets), RANKED):
                scores += [
                    float(row.mean())
                    for row in self._log_probabilities(memory, targets[first : first + RANKED])
                ]
        return scores

    def _memory(self, chosen: Sequence[Chosen]) -> Memory:
        import torch

        rows, ids, copied = [], [], []
        for windows in chosen:
            rows.append(torch.cat([one.states.float() for _, one in windows]))
            ids.append(torch.tensor([id for _, one in windows for id in self._numbered(one.window.ids)]))
            copied.append(torch.tensor([inside for _, one in windows for inside in _context(one.window)]))
        pad = torch.nn.utils.rnn.pad_sequence
        device = self.encoder.device
        mask = pad([torch.ones(len(row), dtype=torch.bool) for row in ids], batch_first=True)
        return self._decoder.memory(
            pad(rows, batch_first=True),
            pad(ids, batch_first=True).to(device),
            mask.to(device),
            pad(copied, batch_first=True).to(device),
        )

    def _numbered(self, ids: Sequence[int]) -> Sequence[int]:
        """Token ids of the encoder as the decoder numbers them."""
        return ids if self._ids is None else self._ids[ids].tolist()

    def _step(self, memory: Memory, targets: Sequence[Sequence[int]]) -> tuple[Step, torch.Tensor]:
        """The decoder's word on each token of the targets, and the targets padded (targets, tokens)."""
        import torch

        padded = torch.nn.utils.rnn.pad_sequence(
            [torch.tensor(target) for target in targets], batch_first=True
        ).to(self.encoder.device)
        begin = torch.full_like(padded[:, :1], self._begin)
        return self._decoder(torch.cat([begin, padded[:, :-1]], 1), memory, self._words), padded

    def _log_probabilities(self, memory: Memory, targets: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        """Per target the log-probability of each of its tokens."""
        step, padded = self._step(memory, targets)
        rows = step.log_probability(padded, memory.ids)
        return [row[: len(target)] for row, target in zip(rows, targets, strict=True)]

    def _answers(
        self, reading: Reading, windows: Chosen, memory: Memory, written: Sequence[Written]
    ) -> list[Answer]:
        """The written answers as text, those that differ, with the sentences they rest on."""
        if not written:
            return []
        places = [
            (w, i - one.window.first)
            for w, (_, one) in enumerate(windows)
            for i in range(len(one.window.ids))
        ]
        step, padded = self._step(memory, [one.tokens for one in written])
        found: list[Answer] = []
        for row, one in enumerate(written):
            length = len(one.tokens)
            attention = step.attention[row, :length]  # (tokens, memory)
            same = attention * (memory.ids == padded[row, :length, None])
            copies = step.log_copies[row, :length].exp()
            whole = step.log_probability(padded, memory.ids)[row, :length].exp()
            share = (same.sum(1) * copies / whole.clamp_min(1e-9)).tolist()
            nearest = same.argmax(1).tolist()
            tokens = [
                _Token(id, place, part) for id, place, part in zip(one.tokens, nearest, share, strict=True)
            ]
            text = self._text(reading, windows, places, tokens)
            if text:
                mass = (same * copies[:, None] + attention * (1 - copies[:, None])).sum(0).tolist()
                confidence = min(1.0, math.exp(one.log_probability / (length + 1)))
                support = _support(reading, windows, places, mass)
                found.append(Answer(text, one.score, confidence, None, support=support))
        return merged(found, len(found))

    def _text(
        self,
        reading: Reading,
        windows: Chosen,
        places: Sequence[tuple[int, int]],
        tokens: Sequence[_Token],
    ) -> str:
        """The tokens as text; where neighbours were copied, what stands between them as well."""
        text = ""
        before: tuple[int, int] | None = None
        for token in tokens:
            piece = self._tokenizer.id_to_token(token.id) or ""
            joined = piece.startswith("##")
            word = piece.removeprefix("##")
            place = places[token.place] if token.copied > 0.5 else None
            if place is not None:
                number, encoded = windows[place[0]]
                passage, offsets = reading.passages[number], encoded.window.offsets
                start, end = offsets[place[1]]
                word = passage[start:end]
                if before == (place[0], place[1] - 1):
                    gap = passage[offsets[place[1] - 1][1] : start]
                    text += (" " if gap.strip() == "" and gap else gap) + word
                    before = place
                    continue
            glued = joined or not text or word in _CLOSING or text[-1:] in _OPENING
            text += word if glued else f" {word}"
            before = place
        return text.strip()


_CLOSING = frozenset(".,;:!?')]}\u2019")
_OPENING = frozenset("([{'\u2019-")


def chosen_windows(reading: Reading) -> Chosen:
    """Of a prepared reading the ``READ_WINDOWS`` most relevant windows."""
    windows = [
        (passage, window)
        for passage, encoded in enumerate(reading.encoded)
        if encoded is not None
        for window in encoded.windows
    ]
    best = sorted(range(len(windows)), key=lambda i: -windows[i][1].relevance)[:READ_WINDOWS]
    return [windows[i] for i in sorted(best)]


def _context(window: Window) -> list[bool]:
    """True at the tokens of the passage."""
    last = window.first + len(window.offsets)
    return [window.first <= i < last for i in range(len(window.ids))]


def _row(memory: Memory, row: int) -> Memory:
    from readers.default.pointer_generator import Memory

    length = int(memory.mask[row].sum())
    rows = slice(row, row + 1)
    return Memory(
        memory.ids[rows, :length],
        memory.mask[rows, :length],
        memory.copied[rows, :length],
        tuple(key[rows, :, :length] for key in memory.keys),
        tuple(value[rows, :, :length] for value in memory.values),
        memory.pointed[rows, :length],
    )


def _support(
    reading: Reading, windows: Chosen, places: Sequence[tuple[int, int]], mass: Sequence[float]
) -> Span | None:
    """The sentence on which most of ``mass`` (one number per token of the memory) lies."""
    of_sentence: dict[tuple[int, int], float] = defaultdict(float)
    for (w, token), part in zip(places, mass, strict=True):
        passage, encoded = windows[w]
        if 0 <= token < len(encoded.window.offsets):
            of_sentence[passage, encoded.window.sentences[token]] += part
    if not of_sentence:
        return None
    passage, number = max(of_sentence, key=lambda key: of_sentence[key])
    start, end = list(sentence_spans(reading.passages[passage]))[number]
    return Span(passage, start, end)
