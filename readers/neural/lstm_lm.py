"""The reader ``lstm-lm``: an LSTM language model, Hill et al. 2016, section 4.4.

Candidates are ranked by p(q_1 .. q_k-1, c, q_k+1 .. q_l), after the context has been read (``context``), or
of the query alone (``query``). The text is read as it is spelled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch.nn import LSTM, Module
from torch.nn.utils.rnn import pack_padded_sequence

from readers.cloze import Cloze
from readers.filling import Judged
from readers.neural.cloze_reader import ClozeForm, NeuralClozeReader
from readers.neural.layers import WordEmbedding, adaptive_softmax, pad_sequences
from readers.neural.running_text import Continuation, padded_options, sums_by_length
from readers.neural.vocabulary import END

State = tuple[torch.Tensor, torch.Tensor]  # h and c, each (1, rows, hidden)


class LstmLm(Module):
    """h_t = LSTM(h_t-1, x(w_t)),  p(w_t+1) = softmax(U h_t), adaptive (Grave et al. 2017)."""

    def __init__(self, words: int, d: int, hidden: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.words = WordEmbedding(words, d, dropout, std=0.1)
        self.lstm = LSTM(d, hidden, batch_first=True)
        self.u = adaptive_softmax(hidden, words)

    def forward(self, text: torch.Tensor, state: State | None = None) -> torch.Tensor:
        """h (rows, tokens, hidden) of ``text`` (rows, tokens), which goes on from ``state``."""
        h: torch.Tensor
        h, _ = self.lstm(self.words(text), state)
        return h

    def state_after(self, text: torch.Tensor, lengths: torch.Tensor) -> State:
        """The state at each row's own end."""
        packed = pack_padded_sequence(self.words(text), lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, state = self.lstm(packed)
        return state  # type: ignore[no-any-return]


def lstm_scores(
    net: LstmLm, continuations: Sequence[Continuation], device: torch.device, context: bool
) -> torch.Tensor:
    """log p of each candidate and of the words after it, (all candidates,).

    The words before the blank are the same for all candidates, so that their own p orders nothing.
    """
    ids, lengths, of = padded_options(continuations, device)
    before = [[END, *(one.context if context else ()), *one.before] for one in continuations]
    text, ends = pad_sequences(before, device)
    # The last word before the blank is read with each candidate: what it predicts is scored.
    h, c = net.state_after(text, (ends - 1).clamp_min(1)) if int(ends.max()) > 1 else (None, None)
    last = text[torch.arange(len(text), device=device), ends - 1][of]
    read = torch.cat([last[:, None], ids[:, :-1]], 1)
    state = None
    if h is not None and c is not None:
        fresh = (ends == 1)[None, :, None]  # nothing stands before the last word
        state = h.masked_fill(fresh, 0.0)[:, of].contiguous(), c.masked_fill(fresh, 0.0)[:, of].contiguous()
    hidden = net(read, state)
    log_p = net.u(hidden.flatten(0, 1), ids.flatten()).output.view_as(ids)
    return sums_by_length(log_p, lengths)


class LstmLmReader(NeuralClozeReader):
    """Fills a blank with the candidate that makes the query likeliest; one model reads it in both ways."""

    name = "lstm-lm"
    reading_options = ("context", "query")

    @classmethod
    def net(cls, form: ClozeForm, words: int, sizes: Mapping[str, int]) -> Module:
        """See ``NeuralClozeReader.net``."""
        return LstmLm(words, **sizes)

    def _judge(self, clozes: Sequence[Cloze]) -> list[Judged]:
        context = "query" not in self.form.options
        return self.judge_text(
            clozes, lambda net, parts, device: lstm_scores(net, parts, device, context), cased=True
        )
