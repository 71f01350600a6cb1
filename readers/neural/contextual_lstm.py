"""The reader ``contextual-lstm``: a language model that attends to its context.

Hill et al. 2016, section 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch.nn import LSTM, Linear, Module
from torch.nn.functional import avg_pool1d

from readers.cloze import Cloze
from readers.filling import Judged
from readers.neural.cloze_reader import ClozeForm, NeuralClozeReader
from readers.neural.layers import MASKED, WordEmbedding, adaptive_softmax, pad_sequences, sequence_mask
from readers.neural.running_text import Continuation, padded_options, sums_by_length
from readers.neural.vocabulary import END

SMOOTHED = 5  # w, the context's words that one x̄ is the mean of


class ContextualLstm(Module):
    """An LSTM whose every step also gets what it attends to of the context (Rush et al. 2015, section 3.2).

    x_i = F w_i of the context's words,  x̄_i = the mean of x_{i-2} .. x_{i+2}
    h_t = LSTM(h_t-1, E w_t),  α = softmax(x_i . P h_t),  a_t = sum of α_i x̄_i
    p(w_t+1) = softmax(U (h_t + W a_t)), adaptive (Grave et al. 2017)
    """

    def __init__(self, words: int, d: int, hidden: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.words, self.f = (WordEmbedding(words, d, dropout, std=0.1) for _ in range(2))
        self.lstm = LSTM(d, hidden, batch_first=True)
        self.p = Linear(hidden, d, bias=False)
        self.w = Linear(d, hidden, bias=False)
        self.u = adaptive_softmax(hidden, words)

    def forward(self, text: torch.Tensor, context: torch.Tensor, contexts: torch.Tensor) -> torch.Tensor:
        """h + W a, (rows, tokens, hidden), of ``text`` (rows, tokens) and ``context`` before its lengths."""
        real = sequence_mask(contexts, context.shape[1])
        x = self.f(context) * real[:, :, None]
        h, _ = self.lstm(self.words(text))
        alpha = (self.p(h) @ x.transpose(1, 2)).masked_fill(~real[:, None], MASKED).softmax(2)
        a: torch.Tensor = h + self.w(alpha @ smoothed(x, real))
        return a


def smoothed(x: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
    """x̄ of ``x`` (rows, tokens, d): near an end, and near padding, the mean of what is there."""
    reach = SMOOTHED // 2

    def sums(values: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = avg_pool1d(values, SMOOTHED, stride=1, padding=reach) * SMOOTHED
        return found

    counts = sums(real[:, None].to(x.dtype)).clamp_min(1.0)
    return (sums(x.transpose(1, 2)) / counts).transpose(1, 2)


def contextual_scores(
    net: ContextualLstm, continuations: Sequence[Continuation], device: torch.device
) -> torch.Tensor:
    """log p of each candidate and of the words after it, (all candidates,)."""
    ids, lengths, of = padded_options(continuations, device)
    context, contexts = pad_sequences([one.context for one in continuations], device)
    starts = [[END, *continuations[n].before] for n in of.tolist()]
    text, lasts = pad_sequences(
        [
            start + option[: int(size)]
            for start, option, size in zip(starts, ids.tolist(), lengths, strict=True)
        ],
        device,
    )
    h = net(text[:, :-1], context[of], contexts[of])
    log_p = net.u(h.flatten(0, 1), text[:, 1:].flatten()).output.view(len(text), -1)
    before = torch.tensor([len(start) - 1 for start in starts], device=device)
    return sums_by_length(log_p, lasts - 1) - sums_by_length(log_p, before)


class ContextualLstmReader(NeuralClozeReader):
    """Fills a blank with the candidate that makes the query likeliest."""

    name = "contextual-lstm"

    @classmethod
    def net(cls, form: ClozeForm, words: int, sizes: Mapping[str, int]) -> Module:
        """See ``NeuralClozeReader.net``."""
        return ContextualLstm(words, **sizes)

    def _judge(self, clozes: Sequence[Cloze]) -> list[Judged]:
        return self.judge_text(clozes, contextual_scores, cased=True)
