"""The layers of the paper's neural readers against numbers counted by hand; padding changes nothing."""

from __future__ import annotations

from math import exp, log, tanh

import pytest
import torch

from readers.neural.attention_sum import (
    BEGIN_TYPE,
    END_TYPE,
    AttentionSum,
    DecoderState,
    Document,
    target_probabilities,
)
from readers.neural.bidaf import AttentionFlow, Batch, Bidaf, Highway, span_loss
from readers.neural.layers import BiLstm, final_states, reverse_sequences
from readers.neural.seq2seq_lstm import Seq2SeqLstm


def sigmoid(x: float) -> float:
    return 1 / (1 + exp(-x))


def fill(parameter: torch.Tensor, *numbers: float) -> None:
    with torch.no_grad():
        parameter.copy_(torch.tensor(numbers).view_as(parameter))


def lstm_by_hand(xs: list[float], w: list[float], r: list[float], b: list[float]) -> list[float]:
    """h_1 .. h_T of an LSTM of one unit; the gates are in torch's order: i, f, the candidate, o."""
    h = c = 0.0
    found = []
    for x in xs:
        i, f, o = (sigmoid(w[n] * x + r[n] * h + b[n]) for n in (0, 1, 3))
        c = f * c + i * tanh(w[2] * x + r[2] * h + b[2])
        h = o * tanh(c)
        found.append(h)
    return found


def test_a_bidirectional_lstm_is_the_one_counted_by_hand() -> None:
    lstm = BiLstm(1, 1)
    numbers = ([0.5, -0.3, 1.2, 0.7], [0.1, 0.4, -0.6, 0.2], [0.0, 1.0, 0.3, -0.2])
    for one in (lstm.forwards, lstm.backwards):
        for name, values in zip(("weight_ih_l0", "weight_hh_l0", "bias_ih_l0"), numbers, strict=True):
            fill(getattr(one, name), *values)
        fill(one.get_parameter("bias_hh_l0"), 0.0, 0.0, 0.0, 0.0)
    xs = [0.3, -1.0, 2.0]
    padding = 9.0
    states = lstm(torch.tensor([[*xs, padding]])[:, :, None], torch.tensor([3]))
    forth, back = lstm_by_hand(xs, *numbers), lstm_by_hand(xs[::-1], *numbers)[::-1]
    assert states[0, :3, 0].tolist() == pytest.approx(forth, rel=1e-5)
    assert states[0, :3, 1].tolist() == pytest.approx(back, rel=1e-5)
    assert final_states(states, torch.tensor([3]))[0].tolist() == pytest.approx(
        [forth[-1], back[0]], rel=1e-5
    )


def test_turning_leaves_the_padding_where_it_is() -> None:
    rows = torch.tensor([[1, 2, 3], [4, 5, 0]])[:, :, None]
    assert reverse_sequences(rows, torch.tensor([3, 2]))[:, :, 0].tolist() == [[3, 2, 1], [5, 4, 0]]


def test_a_highway_layer_is_the_one_counted_by_hand() -> None:
    layer = Highway(1)
    fill(layer.change.weight, 2.0)
    fill(layer.change.bias, -1.0)
    fill(layer.gate.weight, 1.0)
    fill(layer.gate.bias, 0.0)
    for x in (-0.5, 1.5):
        gate = sigmoid(x)
        assert layer(torch.tensor([[x]])).item() == pytest.approx(
            gate * max(0.0, 2 * x - 1) + (1 - gate) * x, rel=1e-5
        )


def test_the_attention_flow_is_the_one_counted_by_hand() -> None:
    flow = AttentionFlow(1)
    fill(flow.w_h.weight, 1.0)
    fill(flow.w_u.weight, 0.0)
    fill(flow.w_hu, log(3.0))
    # S_tj = h_t + log 3 h_t u_j: rows (0, 0) and (1, 1 + log 3); the third word is padding, and so is u_3.
    h, u = torch.tensor([[[0.0], [1.0], [7.0]]]), torch.tensor([[[0.0], [1.0], [9.0]]])
    g = flow(h, u, torch.tensor([[True, True, False]]), torch.tensor([[True, True, False]]))
    attended = [1 / 2, 3 / 4]
    b = 3 * exp(1) / (1 + 3 * exp(1))  # softmax of the rows' maxima 0 and 1 + log 3
    for t, h_t in enumerate((0.0, 1.0)):
        assert g[0, t].tolist() == pytest.approx([h_t, attended[t], h_t * attended[t], h_t * b], rel=1e-5)


def test_the_span_loss_is_the_mean_of_both_logarithms() -> None:
    log_p1 = torch.tensor([[0.5, 0.5], [0.9, 0.1]]).log()
    log_p2 = torch.tensor([[0.2, 0.8], [0.25, 0.75]]).log()
    loss = span_loss(log_p1, log_p2, torch.tensor([0, 0]), torch.tensor([1, 0]))
    assert loss.item() == pytest.approx(-(log(0.5 * 0.8) + log(0.9 * 0.25)) / 2)


def test_bidaf_gives_the_same_beside_a_longer_text_and_nothing_where_no_answer_may_be() -> None:
    torch.manual_seed(0)
    model = Bidaf(30, 4).eval()
    context, query = torch.randint(4, 30, (2, 9)), torch.randint(4, 30, (2, 5))
    lengths, queries = torch.tensor([6, 9]), torch.tensor([3, 5])
    answerable = torch.arange(9) < lengths[:, None]
    answerable[0, 2] = False
    both = Batch(context, lengths, query, queries, answerable)
    alone = Batch(context[:1, :6], lengths[:1], query[:1, :3], queries[:1], answerable[:1, :6])
    with torch.inference_mode():
        for together, single in zip(model(both), model(alone), strict=True):
            torch.testing.assert_close(together[:1, :6], single)
            assert single.exp().sum().item() == pytest.approx(1)
            assert single.exp()[0, 2].item() == 0
            assert together[0, 6:].exp().sum().item() == 0


def _document() -> Document:
    """Three words and the end: the first and the third word are of one type, 3, the second of type 4."""
    f = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [0.0, 2.0], [0.0, 0.0]]])
    return Document(
        f, torch.zeros(1, 2), torch.tensor([[3, 4, 3, END_TYPE]]), torch.tensor([[0, 0, 0, 9, 8]])
    )


def test_the_probability_of_a_word_is_the_sum_of_what_points_to_where_it_stands() -> None:
    document = _document()
    s = torch.tensor([[0.1, 0.2, 0.3, 0.4]])
    assert document.word_probabilities(s)[0].tolist() == pytest.approx([0, 0.4, 0, 0.4, 0.2])
    targets = torch.tensor([[3, -1]])
    assert target_probabilities(s[:, None].expand(1, 2, 4), targets, document)[0].tolist() == pytest.approx(
        [0.4, 0]
    )


def test_a_step_of_the_pointing_decoder_is_the_one_counted_by_hand() -> None:
    torch.manual_seed(0)
    model = AttentionSum(12, 1, 1).eval()
    fill(model.words.table.weight, *[0.0] * 12)
    fill(model.w_s.weight, 0, 0, 0, 0, 0, 0, 0, 0)
    fill(model.w_s.bias, log(2.0), log(3.0))
    document = _document()
    state = DecoderState(torch.zeros(1, 2), torch.zeros(1, 2), torch.tensor([[0.3, 0.5, 0.1, 0.1]]))
    read: list[torch.Tensor] = []
    model.decoder.register_forward_pre_hook(lambda module, inputs: read.append(inputs[0]))
    after = model.step(torch.tensor([3]), torch.tensor([9]), state, document)
    # Type 3 was read at the first word, 0.3, and at the third, 0.1: r = (0.3 f_1 + 0.1 f_3) / 0.4.
    assert read[0][0].tolist() == pytest.approx([0.0, 0.75, 0.5])
    # f_i . (log 2, log 3) is log 2, log 3, log 9 and 0.
    assert after.s[0].tolist() == pytest.approx([2 / 15, 3 / 15, 9 / 15, 1 / 15], rel=1e-5)


def test_nothing_was_read_before_the_first_word() -> None:
    model = AttentionSum(12, 1, 1).eval()
    read: list[torch.Tensor] = []
    model.decoder.register_forward_pre_hook(lambda module, inputs: read.append(inputs[0]))
    document = _document()
    model.step(torch.tensor([BEGIN_TYPE]), torch.tensor([1]), model.initial_state(document, 1), document)
    assert read[0][0, 1:].tolist() == [0.0, 0.0]


def test_answers_to_several_readings_are_written_as_each_alone() -> None:
    torch.manual_seed(0)
    model = AttentionSum(30, 4, 3).eval()
    lengths, queries = torch.tensor([5, 8]), torch.tensor([2, 4])
    context, query = torch.randint(4, 30, (2, 8)), torch.randint(4, 30, (2, 4))
    types = torch.where(torch.arange(8) < lengths[:, None], torch.randint(3, 6, (2, 8)), 0)
    words = torch.randint(4, 30, (2, 6))
    targets = torch.tensor([[3, 4, 1], [5, 3, 1], [4, 1, 0], [3, 3, 1]])  # two answers to each
    fed = torch.randint(4, 30, (4, 3))
    with torch.inference_mode():
        document = model.encode(context, lengths, query, queries, types, words)
        s = model.attention(targets, fed, document)
        alone = model.encode(
            context[:1, :5], lengths[:1], query[:1, :2], queries[:1], types[:1, :5], words[:1]
        )
        torch.testing.assert_close(s[1:2, :, :5], model.attention(targets[1:2], fed[1:2], alone))
    torch.testing.assert_close(s.sum(2), torch.ones(4, 3))
    assert s[:2, :, 5:].sum().item() == 0


def test_a_sequence_is_as_likely_as_its_words_one_after_another() -> None:
    torch.manual_seed(0)
    model = Seq2SeqLstm(20, 4, 3).eval()
    x, lengths = torch.randint(4, 20, (1, 5)), torch.tensor([5])
    y = torch.tensor([[1, 7, 9]])
    with torch.inference_mode():
        log_p, _ = model(y, model.encode(x, lengths))
        memory = model.encode(x, lengths)
        for t in range(3):
            one, memory = model(y[:, t : t + 1], memory)
            torch.testing.assert_close(one[:, 0], log_p[:, t])
    torch.testing.assert_close(log_p.exp().sum(2), torch.ones(1, 3))
