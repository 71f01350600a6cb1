"""The networks that fill blanks against numpy written from the papers' equations, in double precision."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from readers.cloze import Cloze, parse_cloze
from readers.neural.attentive import Attentive, Uniform
from readers.neural.cloze_example import draw_example, encode_cloze, read_example
from readers.neural.contextual_lstm import ContextualLstm
from readers.neural.deep_lstm import DeepLstm, PeepholeLstm
from readers.neural.document_reader import DocumentBatch
from readers.neural.embedding import EmbeddingModel, input_passage, padded_passages
from readers.neural.impatient import Impatient
from readers.neural.layers import adaptive_softmax
from readers.neural.lexical_memory import LexicalMemory
from readers.neural.lstm_lm import LstmLm, lstm_scores
from readers.neural.memn2n import MemN2N, SelfMemory, SentenceEmbedding, judge_windows
from readers.neural.memories import TIME, MemoryBatch, WindowEmbedding, memory_batch, window_example
from readers.neural.running_text import cloze_continuation
from readers.neural.vocabulary import END, FIRST_MARKER, SEPARATOR, Vocabulary
from readers.reading import Reading
from training.objectives.memn2n import self_loss

DOUBLE = torch.float64
WORDS = 12


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def softmax(x: Any) -> Any:
    powers = np.exp(x - x.max())
    return powers / powers.sum()


def seeded(net: Any) -> Any:
    """The net in double precision, its parameters noise, its dropout off."""
    torch.manual_seed(3)
    net = net.to(DOUBLE).eval()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.normal_(std=0.7)
    return net


def array(tensor: torch.Tensor) -> Any:
    return tensor.detach().numpy()


def lstm(cell: Any, xs: Any) -> Any:
    """h_1 .. h_T of a torch LSTM of one layer."""
    w, r = array(cell.weight_ih_l0), array(cell.weight_hh_l0)
    b = array(cell.bias_ih_l0) + array(cell.bias_hh_l0)
    h = c = np.zeros(r.shape[1])
    found = []
    for x in xs:
        i, f, new, o = np.split(w @ x + r @ h + b, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(new)
        h = sigmoid(o) * np.tanh(c)
        found.append(h)
    return np.array(found)


def bilstm(layer: Any, xs: Any) -> tuple[Any, Any]:
    """y(1) .. y(T), both directions side by side, and u."""
    forth, back = lstm(layer.forwards, xs), lstm(layer.backwards, xs[::-1])[::-1]
    return np.concatenate([forth, back], 1), np.concatenate([forth[-1], back[0]])


def documents(*pairs: tuple[Sequence[int], Sequence[int]]) -> DocumentBatch:
    def padded(rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        longest = max(map(len, rows))
        ids = torch.tensor([[*row, *[7] * (longest - len(row))] for row in rows])  # padding is never read
        return ids, torch.tensor([len(row) for row in rows])

    return DocumentBatch(*padded([d for d, _ in pairs]), *padded([q for _, q in pairs]))


PAIRS = (((3, 1, 4, 1, 5), (9, 2, 6)), ((5, 3), (5, 8, 9, 7)))


@pytest.mark.parametrize("uniform", [False, True])
def test_the_attentive_reader_is_the_papers(uniform: bool) -> None:
    net = seeded((Uniform if uniform else Attentive)(WORDS, 3, 2))
    logits, attention = net(documents(*PAIRS))
    table = array(net.words.table.weight)
    for row, (document, query) in enumerate(PAIRS):
        y_d, _ = bilstm(net.d, table[list(document)])
        _, u = bilstm(net.q, table[list(query)])
        m = [np.tanh(array(net.w_ym.weight) @ y + array(net.w_um.weight) @ u) for y in y_d]
        s = softmax(np.array([array(net.w_ms.weight)[0] @ one for one in m]))
        if uniform:
            s = np.full(len(document), 1 / len(document))
        r = (s[:, None] * y_d).sum(0)
        g = np.tanh(array(net.w_rg.weight) @ r + array(net.w_ug.weight) @ u)
        assert array(attention)[row, 0, : len(document)] == pytest.approx(s)
        assert array(attention)[row, 0, len(document) :] == pytest.approx(0)
        assert array(logits)[row] == pytest.approx(array(net.w.weight) @ g)


def test_the_impatient_reader_is_the_papers() -> None:
    net = seeded(Impatient(WORDS, 3, 2))
    logits, attention = net(documents(*PAIRS))
    table = array(net.words.table.weight)
    for row, (document, query) in enumerate(PAIRS):
        y_d, _ = bilstm(net.d, table[list(document)])
        y_q, u = bilstm(net.q, table[list(query)])
        r = array(net.r_0)
        for i, y in enumerate(y_q):
            more = array(net.w_rm.weight) @ r + array(net.w_qm.weight) @ y
            m = [np.tanh(array(net.w_dm.weight) @ one + more) for one in y_d]
            s = softmax(np.array([array(net.w_ms.weight)[0] @ one for one in m]))
            assert array(attention)[row, i, : len(document)] == pytest.approx(s)
            r = (s[:, None] * y_d).sum(0) + np.tanh(array(net.w_rr.weight) @ r)
        assert array(attention)[row, len(query) :] == pytest.approx(0)
        g = np.tanh(array(net.w_rg.weight) @ r + array(net.w_qg.weight) @ u)
        assert array(logits)[row] == pytest.approx(array(net.w.weight) @ g)


def peephole(layer: PeepholeLstm, xs: Any) -> Any:
    w, b, r = array(layer.x.weight), array(layer.x.bias), array(layer.h.weight)
    h = c = np.zeros(r.shape[1])
    found = []
    for x in xs:
        i, f, new, o = np.split(w @ x + b + r @ h, 4)
        i, f = sigmoid(i + array(layer.ci) * c), sigmoid(f + array(layer.cf) * c)
        c = f * c + i * np.tanh(new)
        h = sigmoid(o + array(layer.co) * c) * np.tanh(c)
        found.append(array(layer.y.weight) @ h + array(layer.y.bias))
    return np.array(found)


@pytest.mark.parametrize("query_first", [0, 1])
def test_the_deep_lstm_has_peepholes_and_skip_connections(query_first: int) -> None:
    net = seeded(DeepLstm(WORDS, 3, 2, depth=3, query_first=query_first))
    logits, attention = net(documents(*PAIRS))
    assert attention is None
    table = array(net.words.table.weight)
    for row, (document, query) in enumerate(PAIRS):
        one, other = (query, document) if query_first else (document, query)
        x = table[[*one, SEPARATOR, *other]]
        layers: list[Any] = []
        for layer in net.layers:
            layers.append(peephole(layer, np.concatenate([x, *layers[-1:]], 1)))
        y = np.concatenate([layer[-1] for layer in layers])
        assert array(logits)[row] == pytest.approx(array(net.w.weight) @ y)


def batch_of(memories: Any, example: Any, queries: Any, **others: Any) -> MemoryBatch:
    time = [sum(e == one for e in example[: n + 1]) for n, one in enumerate(example)]
    count = len(queries)
    values = {
        "memories": memories,
        "time": time,
        "example": example,
        "owner": [-1] * len(memories),
        "queries": queries,
        "candidates": list(range(count)),
        "of_candidate": list(range(count)),
        "answers": list(range(count)),
        **others,
    }
    return MemoryBatch(**{name: torch.tensor(value) for name, value in values.items()})


WINDOWS = [[2, 0, 5, 1, 2], [3, 4, 6, 1, 0], [0, 1, 5, 4, 4], [8, 8, 7, 3, 1]]
QUERIES = [[2, 0, 9, 1, 2], [8, 8, 9, 3, 0]]


def windows_by_hand(embedding: WindowEmbedding, rows: Any, time: Any = None) -> Any:
    """A φ(s): each place has its own rows of the table."""
    table = array(embedding.table.weight)
    found = np.array([sum(table[place * WORDS + word] for place, word in enumerate(row)) for row in rows])
    if time is not None and embedding.time is not None:
        found = found + TIME * np.array(time)[:, None] * array(embedding.time)
    return found


@pytest.mark.parametrize("hops", [1, 3])
def test_window_memories_are_read_hop_by_hop(hops: int) -> None:
    net = seeded(MemN2N(WORDS, 4, hops=hops))
    batch = batch_of(WINDOWS, [0, 0, 0, 1], QUERIES)
    q, alpha = net(batch)
    for example, (rows, expected) in enumerate((((0, 1, 2), QUERIES[0]), ((3,), QUERIES[1]))):
        memories = [WINDOWS[row] for row in rows]
        c = windows_by_hand(net.a, memories, range(1, len(rows) + 1))
        m = windows_by_hand(net.b, memories, range(1, len(rows) + 1))
        (by_hand,) = windows_by_hand(net.a, [expected])
        for hop in range(hops):
            weights = softmax(c @ by_hand)
            if not hop:
                assert array(alpha)[list(rows)] == pytest.approx(weights)
            by_hand = array(net.h.weight) @ by_hand + weights @ m
        assert array(q)[example] == pytest.approx(by_hand)


def test_a_sentence_is_its_words_weighted_by_their_places() -> None:
    embedding = seeded(SentenceEmbedding(WORDS, 4))
    found = array(embedding(torch.tensor([[2, 5, 1], [3, 4, -1]]), torch.tensor([1, 2])))
    table = array(embedding.table.weight)
    for i, words in enumerate(([2, 5, 1], [3, 4])):
        by_hand = TIME * (i + 1) * array(embedding.time)
        for j, word in enumerate(words, 1):
            for k in range(1, 5):
                length = len(words)
                by_hand[k - 1] += ((1 - j / length) - (k / 4) * (1 - 2 * j / length)) * table[word, k - 1]
        assert found[i] == pytest.approx(by_hand)


def test_a_candidate_scores_the_sum_of_its_windows_or_the_best_alone() -> None:
    net = seeded(SelfMemory(WORDS, 4))
    batch = batch_of(
        WINDOWS,
        [0, 0, 0, 1],
        QUERIES,
        owner=[0, 1, 0, 2],
        candidates=[5, 6, 7],
        of_candidate=[0, 0, 1],
        answers=[0, 2],
    )
    q = windows_by_hand(net.a, QUERIES)
    c = windows_by_hand(net.a, WINDOWS, [1, 2, 3, 1])
    alpha = [*softmax(c[:3] @ q[0]), 1.0]
    soft, hard = (judge_windows(net, batch, hard=one) for one in (False, True))
    assert array(soft.memories) == pytest.approx(alpha)
    assert array(soft.candidates) == pytest.approx([alpha[0] + alpha[2], alpha[1], 1.0])
    assert array(hard.candidates) == pytest.approx([max(alpha[0], alpha[2]), alpha[1], 1.0])


@pytest.mark.parametrize("seed", range(8))
def test_self_supervision_raises_the_best_memory_of_the_answer_over_other_candidates(seed: int) -> None:
    net = seeded(SelfMemory(WORDS, 4))
    torch.manual_seed(seed)
    with torch.no_grad():
        net.a.table.weight.normal_()
    batch = batch_of(
        WINDOWS[:3],
        [0, 0, 0],
        QUERIES[:1],
        owner=[0, 1, 0],
        candidates=[5, 6],
        of_candidate=[0, 0],
        answers=[0],
    )
    scores = windows_by_hand(net.a, WINDOWS[:3], [1, 2, 3]) @ windows_by_hand(net.a, QUERIES[:1])[0]
    best = max(scores[0], scores[2])
    # No step where the answer is best; the answer's other memory plays no part where it is not.
    expected = 0.0 if best > scores[1] else np.log(1 + np.exp(scores[1] - best))
    assert self_loss(net, batch).item() == pytest.approx(expected)


def test_s_of_the_embedding_model_is_a_product_of_two_embeddings() -> None:
    passage = torch.tensor([[2, 5, 2, -1, -1], [1, 0, 9, 4, 4]])
    for places in (1, 5):
        net = seeded(EmbeddingModel(WORDS, 3, places))
        a, b = array(net.a.weight), array(net.b.weight)
        for row, words in enumerate(([2, 5, 2], [1, 0, 9, 4, 4])):
            q = sum(a[(place % places) * WORDS + word] for place, word in enumerate(words))
            assert array(net(passage))[row] == pytest.approx(b @ q)


def test_a_contextual_language_model_attends_to_the_mean_of_five_words() -> None:
    net = seeded(ContextualLstm(WORDS, 3, 3))
    text, context = torch.tensor([[2, 4, 1]]), torch.tensor([[5, 6, 7, 8, 1, 2, 0, 0]])
    found = array(net(text, context, torch.tensor([6])))[0]
    h = lstm(net.lstm, array(net.words.table.weight)[[2, 4, 1]])
    x = array(net.f.table.weight)[[5, 6, 7, 8, 1, 2]]
    mean = np.array([x[max(0, i - 2) : i + 3].mean(0) for i in range(6)])
    for t in range(3):
        alpha = softmax(x @ (array(net.p.weight) @ h[t]))
        assert found[t] == pytest.approx(h[t] + array(net.w.weight) @ (alpha @ mean))


def test_lexical_memories_are_the_words_before_each_with_their_time() -> None:
    net = seeded(LexicalMemory(WORDS, 4, hops=2, n=3))
    text = [2, 5, 1, 4, 8]
    found = array(net(torch.tensor([text])))[0]
    a, b, t_a, t_b = (array(one) for one in (net.a.weight, net.b.weight, net.time_a, net.time_b))
    for step in range(2):
        words = text[step : step + 3]
        q = np.full(4, 0.1)
        for _ in range(2):
            alpha = softmax((a[words] + t_a) @ q)
            q = array(net.h.weight) @ q + alpha @ (b[words] + t_b)
            q[2:] = np.maximum(q[2:], 0)
        assert found[step] == pytest.approx(q)


def test_an_adaptive_softmax_sums_to_one() -> None:
    for words in (3, 500, 30_000):
        layer = adaptive_softmax(6, words).to(DOUBLE)
        log_p = layer.log_prob(torch.randn(4, 6, dtype=DOUBLE))
        assert log_p.shape == (4, words)
        assert array(log_p.exp().sum(1)) == pytest.approx(1)


ASKED = "The weaver told XXXXX that the tower was his ."
TOLD = ("The Old Miller met Anna by the tower .", "Anna gave the old miller bread , and Osk saw it .")
PEOPLE = ("Anna", "the old miller", "Osk")


def told(question: str = ASKED, passages: Sequence[str] = TOLD, people: Sequence[str] = PEOPLE) -> Cloze:
    return parse_cloze(Reading(question, tuple(passages)), tuple(people))


def vocabulary() -> Vocabulary:
    cloze = told()
    return Vocabulary(("xxxxx", *sorted({*cloze.context, *cloze.query} - {"xxxxx"})))


def test_the_language_model_ranks_by_the_words_before_and_after_the_blank() -> None:
    cloze = told()
    words = Vocabulary(sorted({*cloze.spelled, *cloze.query_spelled, "the", "old", "miller"}))
    net = seeded(LstmLm(len(words), 3, 4))
    part = cloze_continuation(cloze, words, cased=True)
    for context in (False, True):
        read = [END, *(part.context if context else []), *part.before]
        found = array(lstm_scores(net, [part, part], torch.device("cpu"), context))
        for n, option in enumerate(part.options):
            whole = read + option
            h = torch.from_numpy(lstm(net.lstm, array(net.words.table.weight)[whole[:-1]]))
            log_p = array(net.u.log_prob(h))
            steps = range(len(read) - 1, len(whole) - 1)
            assert found[n] == pytest.approx(sum(log_p[step][whole[step + 1]] for step in steps))
            assert found[n + 3] == pytest.approx(found[n])


def test_windows_stand_round_the_mentions_and_round_the_blank() -> None:
    words = vocabulary()
    example = window_example(encode_cloze(told(), words, answer="Osk"))
    read = [[words.key(id) for id in row] for row in example.memories.tolist()]
    assert read == [
        ["<end>", "<end>", "miller", "met", "anna"],
        ["miller", "met", "anna", "by", "the"],
        ["tower", ".", "anna", "gave", "the"],
        ["anna", "gave", "miller", "bread", ","],
        [",", "and", "osk", "saw", "it"],
    ]
    assert example.owners.tolist() == [1, 0, 0, 1, 2]
    assert [words.key(id) for id in example.query.tolist()] == ["weaver", "told", "xxxxx", "that", "the"]
    assert example.answer == 2
    whole = window_example(encode_cloze(told(), words, answer="Osk"), every_word=True)
    assert len(whole.memories) == len(told().context) - 4
    assert (whole.owners >= 0).sum() == 5


def test_hidden_candidates_are_one_marker_a_mention_and_drawn_anew() -> None:
    words = vocabulary()
    cloze = told(ASKED.replace("weaver", "old miller"))
    example = encode_cloze(cloze, words, anonymous=True)
    shown = [words.key(id) for id in example.context.tolist()]
    assert shown[:6] == ["@entity0", "met", "@entity1", "by", "the", "tower"]
    assert [words.key(id) for id in example.query.tolist()][:3] == ["@entity0", "told", "xxxxx"]
    assert example.query[example.blank] == words.ids(["xxxxx"])[0]
    assert len(example.context) == len(example.passages) == len(cloze.context) - 4
    drawn = [draw_example(example, random.Random(seed)).context.tolist() for seed in range(5)]
    assert len({row[0] for row in drawn}) > 1
    for row in drawn:
        assert row[0] >= FIRST_MARKER
        assert row[0] != row[2]
        assert [row.index(id) for id in row] == [
            *map(example.context.tolist().index, example.context.tolist())
        ]


def test_permuted_markers_change_nothing_that_is_read() -> None:
    words = vocabulary()
    passages = ("@entity4 met @entity7 by the tower .", "@entity9 saw it .")
    for names in ((4, 7, 9), (150, 3, 44), (9, 4, 7)):
        rename = dict(zip((4, 7, 9), names, strict=True))
        renamed = [
            " ".join(f"@entity{rename[int(w[7:])]}" if w.startswith("@entity") else w for w in text.split())
            for text in passages
        ]
        people = [f"@entity{name}" for name in names]
        example = read_example(told(ASKED, renamed, people), words, anonymous=True)
        if names == (4, 7, 9):
            first = example
        assert example.context.tolist() == first.context.tolist()
        assert example.candidates.tolist() == first.candidates.tolist()


def test_what_the_embedding_model_reads_is_the_context_the_query_or_the_blanks_window() -> None:
    words = vocabulary()
    example = encode_cloze(told(), words)

    def shown(kind: str) -> list[str]:
        return [words.key(id) for id in input_passage(example, kind).tolist()]

    assert shown("window") == ["weaver", "told", "that", "the"]
    assert shown("position") == ["weaver", "told", "xxxxx", "that", "the"]
    assert shown("query") == ["the", "weaver", "told", "that", "the", "tower", "was", "his", "."]
    assert shown("context")[:3] == ["the", "old", "miller"]
    assert len(shown("context")) == len(example.context) + 9
    padded = padded_passages(
        [input_passage(example, kind) for kind in ("window", "query")], torch.device("cpu")
    )
    assert padded[0].tolist()[4:] == [-1] * 5


def test_examples_read_together_are_read_as_alone() -> None:
    words = vocabulary()
    net = seeded(SelfMemory(len(words), 4)).float()
    clozes = [told(), told("XXXXX saw the tower .", TOLD[1:]), told(people=("Osk", "nobody"))]
    examples = [window_example(encode_cloze(one, words)) for one in clozes]
    together = judge_windows(net, memory_batch(examples, torch.device("cpu")), False).candidates
    alone = [
        judge_windows(net, memory_batch([one], torch.device("cpu")), False).candidates for one in examples
    ]
    assert array(together) == pytest.approx(array(torch.cat(alone)), rel=1e-5)
