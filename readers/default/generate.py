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
from encoders.cross_encoder import CrossEncoder, EncodedWindow, own_crossencoder
from encoders.errors import ModelError
from encoders.runtime import OPENVINO
from encoders.sizes import weights_folder
from readers.default.decoding import Read
from readers.reading import Answer, Ranker, Reading, Span, encode_readings, merged
from text.question_names import capitalised
from text.sentences import sentence_spans

if TYPE_CHECKING:
    from encoders.windows import Window
    from readers.default.beam_search import Written
    from readers.default.decoding import Decoding, Said

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
    and all; others in lower case, as the encoder's vocabulary has them, but for what the passages have as a
    name. An answer is supported by
    the sentence with the most copy and attention mass. Its score is the log-probability that beams
    are ordered by, its confidence the geometric mean of its tokens' probabilities.
    """

    def __init__(self, encoder: CrossEncoder, decoding: Decoding, version: str | None = None) -> None:
        self.encoder = encoder
        self.version = version
        self._decoding = decoding
        self._tokenizer = load_tokenizer()
        # [CLS], the text's tokens, [SEP]: of an empty text the two that an answer stands between.
        self._begin, self._end = self._tokenizer.encode("").ids
        from readers.default.decoder_weights import word_ids
        from readers.default.wording import Continuations

        self._ids = None if encoder.base == MINILM else word_ids(encoder.base)
        self._continuations = Continuations.of(self._tokenizer, decoding.mask)

    @classmethod
    def load(cls, argument: str | None) -> GenerateReader:
        """The shipped reader, small or ``LARGE``, or that of a run's folder.

        A folder without an encoder's weights of its own is read with the shipped encoder. Raises
        ModelError where there are no weights or they belong to another encoder.
        """
        from readers.default.decoder_weights import WEIGHTS, decoder_tensors

        path = weights_folder("readers.weights", argument) / WEIGHTS
        if not path.is_file():
            raise ModelError(f"{path} is missing; wanted the folder of a run of: storyqa train generate")
        encoder = own_crossencoder(argument)
        runtime = encoder.runtime
        weights = load_weights(path, runtime.framework)
        if weights.backbone != encoder.base:
            raise ModelError(
                f"{path} reads the states of {weights.backbone.name}, and the encoder beside it is "
                f"{encoder.base.name}; train it again: storyqa train generate --start DIR"
            )
        decoding: Decoding
        if runtime.name == OPENVINO:
            from readers.default.openvino_decoding import OpenVINODecoding

            decoding = OpenVINODecoding(decoder_tensors(weights), runtime.floats)
        else:
            from readers.default.torch_decoding import TorchDecoding, decoder_of

            decoding = TorchDecoding(decoder_of(weights), runtime.torch_device)
        return cls(encoder, decoding, f"{encoder.version}+{file_hash(path)[:12]}")

    def prepare(self, readings: Sequence[Reading]) -> list[Reading]:
        """See ``Reader.prepare``: what the encoder says of every passage."""
        return encode_readings(self.encoder, readings)

    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """See ``Reader.read``; the answers have no span, but the sentence they rest on."""
        if n_best < 1:
            raise ValueError(f"n_best {n_best}; wanted at least 1")
        from readers.default.wording import Wording

        answers: list[list[Answer]] = [[] for _ in readings]
        chosen = [chosen_windows(reading) for reading in self.prepare(readings)]
        asked = [i for i, windows in enumerate(chosen) if windows]
        beams = max(BEAMS, n_best)
        sizes = [sum(len(one.window.ids) for _, one in chosen[i]) for i in asked]
        for batch in batches(sizes, MEMORY_TOKENS):
            members = [asked[i] for i in batch]
            read = [self._as_read(chosen[i]) for i in members]
            memory = self._decoding.read(read)
            wording = [Wording(one.ids, self._continuations) for one in read]
            found = self._decoding.search(memory, wording, self._begin, self._end, beams)
            for row, (i, written) in enumerate(zip(members, found, strict=True)):
                if written:
                    tokens = [one.tokens for one in written]
                    said = self._decoding.say(memory, row, self._begin, tokens)
                    best = self._answers(readings[i], chosen[i], read[row].ids, written, said)
                    answers[i] = best[:n_best]
        return answers

    def rank(self, reading: Reading, candidates: Sequence[str]) -> list[float]:
        """See ``Ranker.rank``: the log-probability of each candidate per token, given the reading."""
        from readers.default.decoding import answer_tokens

        [prepared] = self.prepare([reading])
        windows = chosen_windows(prepared)
        if not windows or not candidates:
            return [0.0] * len(candidates)
        targets = [answer_tokens(candidate) for candidate in candidates]
        memory = self._decoding.read([self._as_read(windows)])
        return [
            float(said.log_probability.mean())
            for first in range(0, len(targets), RANKED)
            for said in self._decoding.say(memory, 0, self._begin, targets[first : first + RANKED])
        ]

    def _as_read(self, windows: Chosen) -> Read:
        return Read(
            [one.states for _, one in windows],
            [id for _, one in windows for id in self._numbered(one.window.ids)],
            [inside for _, one in windows for inside in _context(one.window)],
        )

    def _numbered(self, ids: Sequence[int]) -> Sequence[int]:
        """Token ids of the encoder as the decoder numbers them."""
        return ids if self._ids is None else self._ids[ids].tolist()

    def _answers(
        self,
        reading: Reading,
        windows: Chosen,
        ids: Sequence[int],
        written: Sequence[Written],
        said: Sequence[Said],
    ) -> list[Answer]:
        """The written answers as text, those that differ, with the sentences they rest on.

        ``ids`` are the memory's, ``said`` is what the decoder says of each.
        """
        import numpy as np

        places = [
            (w, i - one.window.first)
            for w, (_, one) in enumerate(windows)
            for i in range(len(one.window.ids))
        ]
        found: list[Answer] = []
        for one, its in zip(written, said, strict=True):
            same = its.attention * (np.array(ids) == np.array(one.tokens)[:, None])  # (tokens, memory)
            copies = np.exp(its.log_copies)
            share = same.sum(1) * copies / np.maximum(np.exp(its.log_probability), 1e-9)
            tokens = [
                _Token(id, place, part)
                for id, place, part in zip(one.tokens, same.argmax(1).tolist(), share.tolist(), strict=True)
            ]
            text = self._text(reading, windows, places, tokens)
            if text:
                mass = (same * copies[:, None] + its.attention * (1 - copies[:, None])).sum(0).tolist()
                confidence = min(1.0, math.exp(one.log_probability / (len(one.tokens) + 1)))
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
        passages = "\n\n".join(reading.passages)
        text = ""
        copied = 0  # characters of it, behind which words are in lower case
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
                    copied, before = len(text), place
                    continue
                if not joined:
                    text = text[:copied] + capitalised(text[copied:], passages)
            glued = joined or not text or word in _CLOSING or text[-1:] in _OPENING
            text += word if glued else f" {word}"
            copied = copied if place is None else len(text)
            before = place
        return (text[:copied] + capitalised(text[copied:], passages)).strip()


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
