"""The generating reader's decoder: its equations by hand, its search, and how tokens become text."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from encoders.backbone import base_tensors, load_tokenizer
from encoders.cross_encoder import CrossEncoder, load_crossencoder
from readers.default.beam_search import LENGTH_PENALTY
from readers.default.decoding import LONGEST, WIDTH, answer_tokens
from readers.default.generate import GenerateReader, chosen_windows
from readers.default.pointer_generator import Memory, Past, PointerDecoder, Step
from readers.default.torch_decoding import TorchDecoding, distribution
from readers.default.wording import Continuations, Wording
from readers.reading import Reading

PASSAGES = (
    "Maud carried the blue lamp over the hill.",
    "She hid it in a hollow oak. The O'Dowds of Vane-on-Lune never found it.",
)


@pytest.fixture(scope="module")
def encoder() -> CrossEncoder:
    return load_crossencoder()


@pytest.fixture(scope="module")
def decoder() -> PointerDecoder:
    torch.manual_seed(3)
    return PointerDecoder.from_backbone().eval()


@pytest.fixture(scope="module")
def reader(encoder: CrossEncoder, decoder: PointerDecoder) -> GenerateReader:
    return GenerateReader(encoder, TorchDecoding(decoder, torch.device("cpu")))


def _memory(decoder: PointerDecoder, readings: int, length: int) -> Memory:
    torch.manual_seed(readings * length)
    ids = torch.randint(1000, 1040, (readings, length))
    mask = torch.ones_like(ids, dtype=torch.bool)
    return decoder.memory(torch.randn(readings, length, WIDTH), ids, mask, mask)


def test_a_words_probability_is_the_mixture_counted_by_hand() -> None:
    # p_gen 1/4; P_vocab of word 2 is 0.2; the copy attention lies 0.3 + 0.4 on it, at two places.
    vocabulary = torch.tensor([[[0.5, 0.3, 0.2]]]).log()
    step = Step(
        vocabulary,
        torch.tensor([[[0.3, 0.3, 0.4]]]),
        torch.tensor([[0.25]]).log(),
        torch.tensor([[0.75]]).log(),
    )
    memory_ids = torch.tensor([[2, 0, 2]])
    p = step.log_probability(torch.tensor([[2]]), memory_ids).exp()
    assert p.item() == pytest.approx(0.25 * 0.2 + 0.75 * 0.7)
    whole = distribution(step, memory_ids)
    assert whole[0].tolist() == pytest.approx([0.25 * 0.5 + 0.75 * 0.3, 0.25 * 0.3, 0.575])
    assert whole.sum().item() == pytest.approx(1.0)


def test_the_decoder_is_causal_and_blind_to_padding(decoder: PointerDecoder) -> None:
    words = base_tensors()["embeddings.word_embeddings.weight"]
    memory = _memory(decoder, 1, 9)
    tokens = torch.tensor([[101, 2000, 2001, 2002]])
    with torch.inference_mode():
        whole = decoder(tokens, memory, words)
        part = decoder(tokens[:, :2], memory, words)
        torch.testing.assert_close(whole.log_vocabulary[:, :2], part.log_vocabulary, atol=1e-4, rtol=1e-4)
        past = Past()
        steps = [decoder(tokens[:, n : n + 1], memory, words, past) for n in range(4)]
        for n, step in enumerate(steps):
            torch.testing.assert_close(step.attention[:, 0], whole.attention[:, n], atol=1e-5, rtol=1e-4)
            torch.testing.assert_close(
                step.log_vocabulary[:, 0], whole.log_vocabulary[:, n], atol=1e-4, rtol=1e-4
            )
        states = torch.randn(1, 9, WIDTH)
        mask = torch.tensor([[True] * 6 + [False] * 3])
        loud = states.clone()
        loud[:, 6:] = 40.0
        ids = torch.arange(1000, 1009).unsqueeze(0)
        quiet, padded = (
            decoder(tokens, decoder.memory(s, ids, mask, torch.ones_like(mask)), words)
            for s in (states, loud)
        )
        torch.testing.assert_close(quiet.log_vocabulary, padded.log_vocabulary)
        assert not padded.attention[:, :, 6:].any()


def test_answers_to_one_reading_share_its_memory_as_if_each_had_its_own(decoder: PointerDecoder) -> None:
    words = base_tensors()["embeddings.word_embeddings.weight"]
    memory = _memory(decoder, 2, 7)
    tokens = torch.tensor([[101, 2000], [101, 2001], [101, 2000], [101, 2003]])  # two for each reading
    targets = torch.randint(1000, 1040, (4, 2))
    with torch.inference_mode():
        together = decoder(tokens, memory, words)
        shared = together.log_probability(targets, memory.ids)
        for row in range(4):
            own = slice(row // 2, row // 2 + 1)
            alone = Memory(
                memory.ids[own],
                memory.mask[own],
                memory.copied[own],
                tuple(key[own] for key in memory.keys),
                tuple(value[own] for value in memory.values),
                memory.pointed[own],
            )
            step = decoder(tokens[row : row + 1], alone, words)
            torch.testing.assert_close(step.attention[0], together.attention[row], atol=1e-5, rtol=1e-4)
            torch.testing.assert_close(
                step.log_probability(targets[row : row + 1], alone.ids)[0], shared[row], atol=1e-4, rtol=1e-4
            )


def test_without_the_copy_mechanism_everything_is_generated() -> None:
    decoder = PointerDecoder.from_backbone(copies=False).eval()
    words = base_tensors()["embeddings.word_embeddings.weight"]
    step = decoder(torch.tensor([[101]]), _memory(decoder, 1, 5), words)
    assert step.log_generates.exp().item() == pytest.approx(1.0)


class _Babbler(PointerDecoder):
    """Says four words with probabilities that depend on the word before alone."""

    TABLE = torch.tensor(
        [[0.1, 0.4, 0.3, 0.2], [0.3, 0.2, 0.4, 0.1], [0.2, 0.4, 0.3, 0.1], [0.1, 0.5, 0.3, 0.1]]
    )

    def forward(
        self, tokens: torch.Tensor, memory: Memory, words: torch.Tensor, past: Past | None = None
    ) -> Step:
        chances = self.TABLE[tokens[:, -1:]].log()
        nothing = torch.zeros(len(tokens), 1, memory.ids.shape[1])
        sure = torch.zeros(len(tokens), 1)
        return Step(chances, nothing, sure, sure - 1e9)


def test_beams_wide_enough_find_the_best_answers_of_all() -> None:
    babbler = _Babbler()
    end, begin = 0, 3
    memory = _memory(babbler, 2, 4)
    memory = Memory(
        torch.zeros_like(memory.ids), memory.mask, memory.copied, memory.keys, memory.values, memory.pointed
    )
    wording = Wording([], Continuations(frozenset(), torch.zeros(4, dtype=torch.bool)))
    found = TorchDecoding(babbler, torch.device("cpu")).search(memory, [wording] * 2, begin, end, beams=8)
    table = _Babbler.TABLE
    everything = {}
    for length in range(1, 9):
        for tokens in itertools.product([1, 2], repeat=length):  # word 3 begins answers and stands in none
            pairs = list(itertools.pairwise(tokens))
            if len(set(pairs)) < len(pairs) or any(a == b for a, b in pairs):
                continue
            path = (begin, *tokens, end)
            log_p = sum(math.log(float(table[a, b])) for a, b in itertools.pairwise(path))
            everything[tokens] = log_p / (length + 1) ** LENGTH_PENALTY
    best = sorted(everything, key=lambda tokens: -everything[tokens])[:3]
    for of_one in found:
        assert [written.tokens for written in of_one[:3]] == best
        assert of_one[0].score == pytest.approx(everything[best[0]], abs=1e-5)
        assert all(end not in written.tokens for written in of_one)


def test_copied_neighbours_are_given_as_they_stand_in_the_passage(reader: GenerateReader) -> None:
    from readers.default.generate import _Token

    reading = Reading("Who?", PASSAGES)
    [reading] = reader.prepare([reading])
    windows = chosen_windows(reading)
    cut = [encoded.window for _, encoded in windows]
    places = [(w, i - window.first) for w, window in enumerate(cut) for i in range(len(window.ids))]
    flat = [id for window in cut for id in window.ids]
    first = load_tokenizer().encode("o'dowds of vane-on-lune", add_special_tokens=False).ids
    start = next(i for i in range(len(flat)) if flat[i : i + len(first)] == first)
    copied = [_Token(id, start + n, 0.9) for n, id in enumerate(first)]
    assert reader._text(reading, windows, places, copied) == "O'Dowds of Vane-on-Lune"
    said = [_Token(id, 0, 0.0) for id in load_tokenizer().encode("to hide it.", add_special_tokens=False).ids]
    assert reader._text(reading, windows, places, said) == "to hide it."


def test_names_that_are_written_and_not_copied_have_the_capitals_of_the_passages(
    reader: GenerateReader,
) -> None:
    from readers.default.generate import _Token

    [reading] = reader.prepare(
        [Reading("Who?", (*PASSAGES, "Then Vell told Maud so, and Mr. Pask told Vell."))]
    )
    windows = chosen_windows(reading)
    ids = windows[0][1].window.ids
    places = [(0, i - windows[0][1].window.first) for i in range(len(ids))]
    lamp = load_tokenizer().encode("lamp", add_special_tokens=False).ids[0]

    def said(text: str) -> list[_Token]:
        return [_Token(id, 0, 0.0) for id in load_tokenizer().encode(text, add_special_tokens=False).ids]

    written = [*said("maud's"), _Token(lamp, [*ids].index(lamp), 0.9), *said("and mr. pask, vell told her")]
    text = reader._text(reading, windows, places, written)
    assert text == "Maud's lamp and Mr. Pask, Vell told her"


def test_a_ranking_is_the_log_probability_of_the_tokens(
    reader: GenerateReader, decoder: PointerDecoder
) -> None:
    reading = Reading("Where did she hide it?", PASSAGES)
    texts = ["in a hollow oak", "zebra"]
    scores = reader.rank(reading, texts)
    windows = chosen_windows(*reader.prepare([reading]))
    memory = reader._decoding.read([reader._as_read(windows)])
    with torch.inference_mode():
        for text, score in zip(texts, scores, strict=True):
            target = answer_tokens(text)
            words = base_tensors()["embeddings.word_embeddings.weight"]
            chances = []
            for n, token in enumerate(target):
                prefix = torch.tensor([[101, *target[:n]]])
                chances.append(distribution(decoder(prefix, memory, words), memory.ids)[0, token])
            by_hand = torch.stack(chances).log().mean().item()
            assert score == pytest.approx(by_hand, abs=1e-3)


def test_an_answer_rests_on_a_whole_sentence_of_a_passage(reader: GenerateReader) -> None:
    from text.sentences import sentence_spans

    for answer in reader.read([Reading("Where did she hide it?", PASSAGES)], 3)[0]:
        assert answer.span is None
        assert answer.support is not None
        place = answer.support
        assert (place.start, place.end) in list(sentence_spans(PASSAGES[place.passage]))


def test_a_long_answer_keeps_its_beginning_and_its_end_token() -> None:
    for count in (1, LONGEST - 2, LONGEST - 1, LONGEST, 200):
        words = [f"{'abcdefgh'[n % 8]}" for n in range(count)]
        tokens = answer_tokens(" ".join(words))
        assert len(tokens) == min(count + 1, LONGEST)
        whole = load_tokenizer().encode(" ".join(words)).ids
        assert tokens == [*whole[1 : len(tokens)], whole[-1]]


PIECES = {"[SEP]": 0, "lo": 1, "##va": 2, "##ge": 3, "the": 4, "well": 5, "##ll": 6}
CONTINUATIONS = Continuations(
    frozenset(id for piece, id in PIECES.items() if piece.startswith("##")),
    torch.tensor([piece.startswith("##") for piece in PIECES]),
)
ANSWERS = st.lists(st.sampled_from(sorted(set(PIECES.values()) - {0})), max_size=9)


def _words_of(tokens: list[int]) -> list[tuple[int, ...]]:
    words: list[list[int]] = []
    for token in tokens:
        if token in CONTINUATIONS.ids and words:
            words[-1].append(token)
        else:
            words.append([token])
    return [tuple(word) for word in words]


def _may_be_written(wording: Wording, tokens: list[int]) -> bool:
    for n, token in enumerate([*tokens, PIECES["[SEP]"]]):
        log_p = torch.zeros(len(PIECES))
        wording.forbid(tokens[:n], log_p)
        if log_p[token] < 0:
            return False
    return True


@given(ANSWERS, ANSWERS)
def test_what_may_be_written_has_no_word_of_pieces_that_is_not_read(
    read: list[int], written: list[int]
) -> None:
    words = _words_of(written)
    if _may_be_written(Wording(read, CONTINUATIONS), written):
        assert all(len(word) == 1 or word in _words_of(read) for word in words)
        assert all(word[0] not in CONTINUATIONS.ids for word in words)
        assert all(one != other for one, other in itertools.pairwise(words) if len(one) == len(other) == 1)


@given(ANSWERS)
def test_whatever_is_read_may_be_written_once(read: list[int]) -> None:
    whole = [word for word in _words_of(read) if word[0] not in CONTINUATIONS.ids]
    for word in whole:
        assert _may_be_written(Wording(read, CONTINUATIONS), list(word))


def test_a_name_is_not_made_up_and_a_word_not_said_over_and_over() -> None:
    lo, va, ge, the, well = (PIECES[piece] for piece in ("lo", "##va", "##ge", "the", "well"))
    wording = Wording([the, lo, va, ge, well], CONTINUATIONS)
    assert _may_be_written(wording, [the, lo, va, ge, well])
    assert not _may_be_written(wording, [lo, va])  # broken off
    assert not _may_be_written(wording, [lo, va, va, ge, ge])
    assert not _may_be_written(wording, [well, well])
    assert not _may_be_written(wording, [the, well, the, well])
    assert _may_be_written(wording, [the, well, lo, the, lo])
