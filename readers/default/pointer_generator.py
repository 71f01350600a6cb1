"""A small decoder that reads all passages at once and may copy their tokens: a pointer-generator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch.nn import Dropout, Embedding, LayerNorm, Linear, Module, ModuleList, Parameter
from torch.nn.functional import gelu, scaled_dot_product_attention

from encoders.backbone import base_tensors
from readers.default.decoding import HEADS, INNER, LONGEST, WIDTH

GENERATES = 30.0  # the log-odds of p_gen where nothing may be copied
DROPOUT = 0.1  # in training: Vaswani et al. 2017, section 5.4
_INITIAL_LAYERS = (3, 5)  # the backbone's layers that each layer of the decoder begins as


@dataclass(frozen=True, slots=True)
class Memory:
    """What is read from: the encoder's states of all windows of a reading, end to end.

    ``states`` (readings, memory, width), ``ids`` (readings, memory) and ``copied`` (readings,
    memory), True where a token may be copied; padding has ``mask`` False. ``keys`` and ``values``
    are those of each layer's attention over the memory, (readings, heads, memory, width / heads).
    """

    ids: torch.Tensor
    mask: torch.Tensor
    copied: torch.Tensor
    keys: tuple[torch.Tensor, ...]
    values: tuple[torch.Tensor, ...]
    pointed: torch.Tensor  # (readings, memory, width): the keys of the copy attention

    def row(self, row: int) -> Memory:
        """That of one reading, without padding."""
        rows, length = slice(row, row + 1), int(self.mask[row].sum())
        return Memory(
            self.ids[rows, :length],
            self.mask[rows, :length],
            self.copied[rows, :length],
            tuple(key[rows, :, :length] for key in self.keys),
            tuple(value[rows, :, :length] for value in self.values),
            self.pointed[rows, :length],
        )


class Past:
    """Each layer's keys and values of the answers so far, (answers, heads, tokens, width / heads)."""

    def __init__(self) -> None:
        self._layers: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    @property
    def tokens(self) -> int:
        """How many tokens the answers have so far."""
        return self._layers[0][0].shape[2] if self._layers else 0

    def grow(self, layer: int, key: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """All keys and values of a layer, those of one more token included."""
        if layer in self._layers:
            before_key, before_value = self._layers[layer]
            key, value = torch.cat([before_key, key], 2), torch.cat([before_value, value], 2)
        self._layers[layer] = key, value
        return key, value

    def keep(self, rows: torch.Tensor) -> None:
        """Go on with these answers, in this order."""
        self._layers = {n: (key[rows], value[rows]) for n, (key, value) in self._layers.items()}


@dataclass(frozen=True, slots=True)
class Step:
    """What the decoder says of the next token, for every position of the answers so far.

    ``log_vocabulary`` (answers, tokens, vocabulary) is log P_vocab, ``attention`` (answers, tokens,
    memory) the copy attention, and ``generates`` (answers, tokens) p_gen.
    """

    log_vocabulary: torch.Tensor
    attention: torch.Tensor
    log_generates: torch.Tensor
    log_copies: torch.Tensor

    def log_probability(self, targets: torch.Tensor, memory_ids: torch.Tensor) -> torch.Tensor:
        """log P(w) of ``targets`` (answers, tokens), the same shape; ``memory_ids`` are the readings'.

        P(w) = p_gen P_vocab(w) + (1 - p_gen) sum of a_i over i with w_i = w (See et al. 2017, equation 9).
        """
        generated = self.log_vocabulary.gather(2, targets.unsqueeze(2)).squeeze(2) + self.log_generates
        ids = for_each(memory_ids, len(targets))
        same = ids.unsqueeze(1) == targets.unsqueeze(2)  # (answers, tokens, memory)
        copied = (self.attention * same).sum(2).clamp_min(1e-30).log() + self.log_copies
        return torch.logaddexp(generated, copied)


def for_each(of_readings: torch.Tensor, answers: int) -> torch.Tensor:
    """What each of ``answers`` answers has of its reading, all answers to a reading in a row."""
    return of_readings.repeat_interleave(answers // len(of_readings), 0)


def split_heads(tensor: torch.Tensor) -> torch.Tensor:
    """(rows, tokens, width) to (rows, heads, tokens, width / heads)."""
    rows, tokens, _ = tensor.shape
    return tensor.view(rows, tokens, HEADS, WIDTH // HEADS).transpose(1, 2)


class PointerDecoder(Module):
    """Transformer layers (Vaswani et al. 2017, section 3.1) over the states of all passages together.

    The passages are encoded one by one and fused here (fusion in the decoder: Izacard and Grave
    2021, section 2). Word embeddings are the backbone's own, in and out, and no parameters of this.
    ``copies`` False takes the copy mechanism away, for comparison. The states may be wider than the decoder,
    ``states`` numbers each: ``narrow`` maps them to its width then. Whatever encoder they are of, words are
    numbered as ``MINILM`` numbers them.
    """

    def __init__(self, layers: int = len(_INITIAL_LAYERS), copies: bool = True, states: int = WIDTH) -> None:
        super().__init__()
        self.copies = copies
        self.positions = Embedding(LONGEST + 1, WIDTH)
        self.norm = LayerNorm(WIDTH, eps=1e-12)
        self.dropout = Dropout(DROPOUT)
        self.narrow = None if states == WIDTH else Linear(states, WIDTH)
        self.layers = ModuleList(_Layer() for _ in range(layers))
        self.transform = Linear(WIDTH, WIDTH)
        self.transform_norm = LayerNorm(WIDTH, eps=1e-12)
        self.bias = Parameter(torch.zeros(30_522))
        self.point_query = Linear(WIDTH, WIDTH)
        self.point_key = Linear(WIDTH, WIDTH)
        self.switch = Linear(3 * WIDTH, 1)

    @classmethod
    def from_backbone(cls, copies: bool = True, states: int = WIDTH) -> PointerDecoder:
        """A decoder to train, whose layers begin as copies of the backbone's (Rothe et al. 2020).

        What narrows states of another width begins as it is drawn.
        """
        decoder = cls(copies=copies, states=states)
        base = base_tensors()
        for layer, number in zip(decoder.stack(), _INITIAL_LAYERS, strict=True):
            layer.begin_as(
                {
                    name.removeprefix(f"encoder.layer.{number}."): tensor
                    for name, tensor in base.items()
                    if name.startswith(f"encoder.layer.{number}.")
                }
            )
        with torch.no_grad():
            decoder.positions.weight.copy_(base["embeddings.position_embeddings.weight"][: LONGEST + 1])
            decoder.norm.weight.copy_(base["embeddings.LayerNorm.weight"])
            decoder.norm.bias.copy_(base["embeddings.LayerNorm.bias"])
            decoder.transform.weight.copy_(torch.eye(WIDTH))
            decoder.transform.bias.zero_()
        return decoder

    def stack(self) -> list[_Layer]:
        """The layers, first to last."""
        return [layer for layer in self.layers if isinstance(layer, _Layer)]

    def tensors(self) -> dict[str, torch.Tensor]:
        """The parameters by name, for a file; without copies with a switch that whoever reads it has, too."""
        state = self.state_dict()
        if not self.copies:
            state["switch.weight"] = torch.zeros_like(self.switch.weight)
            state["switch.bias"] = torch.full_like(self.switch.bias, GENERATES)
        return state

    def memory(
        self, states: torch.Tensor, ids: torch.Tensor, mask: torch.Tensor, copied: torch.Tensor
    ) -> Memory:
        """The keys and values of ``states`` (readings, memory, width), computed once per reading."""
        if self.narrow is not None:
            states = self.narrow(states)
        across = [layer.across for layer in self.stack()]
        keys = tuple(split_heads(one.key(states)) for one in across)
        values = tuple(split_heads(one.value(states)) for one in across)
        return Memory(ids, mask, copied & mask, keys, values, self.point_key(states))

    def forward(
        self, tokens: torch.Tensor, memory: Memory, words: torch.Tensor, past: Past | None = None
    ) -> Step:
        """The next token after each prefix of ``tokens`` (answers, tokens); ``words`` are the embeddings.

        Every reading has as many answers as every other, all answers to a reading in a row: they
        look at one memory together, which is not copied for each.
        With a ``past``, ``tokens`` (answers, 1) go on from it, and are added to it.
        """
        first = 0 if past is None else past.tokens
        place = torch.arange(first, first + tokens.shape[1], device=tokens.device)
        embedded = words[tokens] + self.positions(place)
        hidden = self.dropout(self.norm(embedded))
        seen = memory.mask[:, None, None, :]
        for n, layer in enumerate(self.stack()):
            own = layer.own.key_value(hidden)
            if past is not None:
                own = past.grow(n, *own)
            hidden = layer(hidden, own, (memory.keys[n], memory.values[n]), seen, causal=past is None)
        # The copy attention and what it looks at.
        together = hidden.reshape(len(memory.ids), -1, WIDTH)
        scores = self.point_query(together) @ memory.pointed.transpose(1, 2) / WIDTH**0.5
        attention = scores.float().masked_fill(~memory.copied.unsqueeze(1), -1e9).softmax(2)
        context = (attention.to(hidden.dtype) @ memory.pointed).view_as(hidden)
        switch = self.switch(torch.cat([context, hidden, embedded], 2)).squeeze(2).float()
        if not self.copies:
            switch = torch.full_like(switch, GENERATES)
        last = self.transform_norm(gelu(self.transform(hidden)))
        logits = last @ words.T + self.bias
        return Step(
            logits.float().log_softmax(2),
            attention.view(*tokens.shape, -1),
            torch.nn.functional.logsigmoid(switch),
            torch.nn.functional.logsigmoid(-switch),
        )


class _Attention(Module):
    """Multi-head attention with a residual and a norm after it, as BERT has it."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.output = (Linear(WIDTH, WIDTH) for _ in range(4))
        self.norm = LayerNorm(WIDTH, eps=1e-12)
        self.dropout = Dropout(DROPOUT)

    def key_value(self, states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """What ``states`` (rows, tokens, width) are attended to by."""
        return split_heads(self.key(states)), split_heads(self.value(states))

    def forward(
        self,
        hidden: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None = None,
        causal: bool = False,
    ) -> torch.Tensor:
        query = split_heads(self.query(hidden))
        found = scaled_dot_product_attention(query, key, value, mask, is_causal=causal)
        mixed: torch.Tensor = self.norm(hidden + self.dropout(self.output(found.transpose(1, 2).flatten(2))))
        return mixed

    def begin_as(self, tensors: Mapping[str, torch.Tensor]) -> None:
        for name in ("query", "key", "value"):
            _copy(getattr(self, name), tensors, f"attention.self.{name}")
        _copy(self.output, tensors, "attention.output.dense")
        _copy(self.norm, tensors, "attention.output.LayerNorm")


class _Layer(Module):
    """Attention to the answer so far, attention to the memory, and a feed-forward network."""

    def __init__(self) -> None:
        super().__init__()
        self.own, self.across = _Attention(), _Attention()
        self.inner, self.outer = Linear(WIDTH, INNER), Linear(INNER, WIDTH)
        self.norm = LayerNorm(WIDTH, eps=1e-12)
        self.dropout = Dropout(DROPOUT)

    def forward(
        self,
        hidden: torch.Tensor,
        own: tuple[torch.Tensor, torch.Tensor],
        across: tuple[torch.Tensor, torch.Tensor],
        mask: torch.Tensor,
        causal: bool,
    ) -> torch.Tensor:
        """``own`` and ``across`` are the keys and values of the answer so far and of the memory."""
        hidden = self.own(hidden, *own, causal=causal)
        together = hidden.reshape(len(mask), -1, WIDTH)  # all answers to a reading
        hidden = self.across(together, *across, mask).view_as(hidden)
        changed: torch.Tensor = self.norm(hidden + self.dropout(self.outer(gelu(self.inner(hidden)))))
        return changed

    def begin_as(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Both attentions begin as the layer's own."""
        self.own.begin_as(tensors)
        self.across.begin_as(tensors)
        _copy(self.inner, tensors, "intermediate.dense")
        _copy(self.outer, tensors, "output.dense")
        _copy(self.norm, tensors, "output.LayerNorm")


def _copy(module: Linear | LayerNorm, tensors: Mapping[str, torch.Tensor], name: str) -> None:
    with torch.no_grad():
        module.weight.copy_(tensors[f"{name}.weight"])
        module.bias.copy_(tensors[f"{name}.bias"])
