"""The encoders of the backbones, BERT and MPNet, in torch alone.

transformers has both, and tests compare with it. But to import it takes longer than to answer a question, and
its MPNet does not use torch's fused attention. Modules and parameters are named as there, so that files of
weights, adapters and ``peft`` fit either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from encoders.transformer_config import TransformerConfig, distance_buckets, distances


class Hidden(NamedTuple):
    """The last layer's states (texts, tokens, width)."""

    last_hidden_state: Tensor


class Linear(nn.Linear):
    """A linear map that is given its parameters: to draw them first would take longer than to load them."""

    def reset_parameters(self) -> None:
        """Nothing is drawn."""


class Embedding(nn.Embedding):
    """As ``Linear``, of vectors by number."""

    def reset_parameters(self) -> None:
        """Nothing is drawn."""


class Layer(nn.Module):
    """Self-attention and a feed-forward net, each added to its input and normalised (Vaswani et al. 2017)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        width, inner = config.hidden_size, config.intermediate_size
        self.heads = config.num_attention_heads
        self.attention = nn.ModuleDict()
        self.intermediate = nn.ModuleDict({"dense": Linear(width, inner)})
        self.output = nn.ModuleDict({"dense": Linear(inner, width), "LayerNorm": _norm(config)})

    def projections(self) -> tuple[nn.Module, ...]:
        """Those to query, key and value, that of what attention gives, and the norm behind it."""
        raise NotImplementedError

    def forward(self, states: Tensor, bias: Tensor | None) -> Tensor:
        """States (texts, tokens, width); ``bias`` (texts or 1, heads or 1, tokens or 1, tokens) is added."""
        *three, out, norm = self.projections()
        q, k, v = (linear(states).unflatten(-1, (self.heads, -1)).transpose(1, 2) for linear in three)
        context = attend(q, k, v, bias).transpose(1, 2).flatten(2)
        states = norm(out(context) + states)
        inner = functional.gelu(self.intermediate["dense"](states))
        normed: Tensor = self.output["LayerNorm"](self.output["dense"](inner) + states)
        return normed


def attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
    """softmax(q kᵀ / √d + bias) v; q, k, v and the result have shape (texts, heads, tokens, d)."""
    if torch.is_grad_enabled() and q.device.type == "cpu" and q.dtype != torch.float32:
        # In bf16 the fused kernel of CPUs takes twice the time of three steps there and back, in fp32 two
        # thirds.
        scores = (q / math.sqrt(q.shape[-1])).contiguous() @ k.transpose(-1, -2)
        with torch.autocast(q.device.type, enabled=False):  # which would compute softmax in fp32, and copy
            scores = scores if bias is None else scores.add_(bias.to(scores.dtype))
            return scores.softmax(-1) @ v
    bias = None if bias is None else bias.to(q.dtype)
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)


class BertLayer(Layer):
    """A layer of BERT (Devlin et al. 2019)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        width = config.hidden_size
        self.attention["self"] = nn.ModuleDict(
            {name: Linear(width, width) for name in ("query", "key", "value")}
        )
        self.attention["output"] = nn.ModuleDict({"dense": Linear(width, width), "LayerNorm": _norm(config)})

    def projections(self) -> tuple[nn.Module, ...]:
        """See ``Layer.projections``."""
        own: Any = self.attention["self"]
        out: Any = self.attention["output"]
        return own["query"], own["key"], own["value"], out["dense"], out["LayerNorm"]


class MPNetLayer(Layer):
    """A layer of MPNet (Song et al. 2020)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        width = config.hidden_size
        self.attention["attn"] = nn.ModuleDict({name: Linear(width, width) for name in "qkvo"})
        self.attention["LayerNorm"] = _norm(config)

    def projections(self) -> tuple[nn.Module, ...]:
        """See ``Layer.projections``."""
        own: Any = self.attention["attn"]
        return own["q"], own["k"], own["v"], own["o"], self.attention["LayerNorm"]


class Embeddings(nn.Module):
    """What the first layer is given for a token; the vectors of words alone are of use to others, too."""

    word_embeddings: nn.Embedding


class BertEmbeddings(Embeddings):
    """The sum of a token's, a place's and a segment type's vectors, normalised."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        width = config.hidden_size
        self.word_embeddings = Embedding(config.vocab_size, width)
        self.position_embeddings = Embedding(config.max_position_embeddings, width)
        self.token_type_embeddings = Embedding(config.type_vocab_size, width)
        self.LayerNorm = _norm(config)

    def forward(self, ids: Tensor, types: Tensor | None) -> Tensor:
        """Shapes: (texts, tokens) to (texts, tokens, width); all of the first type where none are given."""
        types = torch.zeros_like(ids) if types is None else types
        found = self.word_embeddings(ids) + self.token_type_embeddings(types)
        normed: Tensor = self.LayerNorm(found + self.position_embeddings.weight[: ids.shape[1]])
        return normed


class MPNetEmbeddings(Embeddings):
    """The sum of a token's and a place's vectors, normalised; places are counted behind that of padding."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.pad = config.pad_token_id
        self.word_embeddings = Embedding(config.vocab_size, config.hidden_size)
        self.position_embeddings = Embedding(config.max_position_embeddings, config.hidden_size)
        self.LayerNorm = _norm(config)

    def forward(self, ids: Tensor, types: Tensor | None) -> Tensor:
        """Shapes: (texts, tokens) to (texts, tokens, width); it knows no types."""
        real = (ids != self.pad).long()
        places = real.cumsum(1) * real + self.pad
        normed: Tensor = self.LayerNorm(self.word_embeddings(ids) + self.position_embeddings(places))
        return normed


class Layers(nn.Module):
    """The layers, and for MPNet the biases of attention by distance that all of them share."""

    def __init__(self, config: TransformerConfig, kind: type[Layer]) -> None:
        super().__init__()
        self.layer = nn.ModuleList(kind(config) for _ in range(config.num_hidden_layers))
        buckets = config.relative_attention_num_buckets
        if buckets:
            self.relative_attention_bias = Embedding(buckets, config.num_attention_heads)

    def bias(self, tokens: int) -> Tensor | None:
        """(1, heads, tokens, tokens), what attention adds for the distance of two tokens, if anything."""
        if not hasattr(self, "relative_attention_bias"):
            return None
        return distance_bias(self.relative_attention_bias.weight, tokens)


def distance_bias(table: Tensor, tokens: int) -> Tensor:
    """(1, heads, tokens, tokens) from what each bucket of distances adds in each head, (buckets, heads)."""
    return table[_buckets(tokens, len(table), table.device)].permute(2, 0, 1).contiguous()[None]


@lru_cache(maxsize=64)  # lengths, of which each takes up to a megabyte; a card would wait for each anew
def _buckets(tokens: int, buckets: int, device: torch.device) -> Tensor:
    with torch.inference_mode(False):  # whoever asks first: others may train with it
        return torch.from_numpy(distance_buckets(distances(tokens), buckets)).to(device)


class Transformer(nn.Module):
    """An encoder of one of the ``ARCHITECTURES``, without dropout, pooler or head."""

    def __init__(self, architecture: str, config: TransformerConfig) -> None:
        super().__init__()
        embeddings, kind = ARCHITECTURES[architecture]
        self.config = config
        self.embeddings = embeddings(config)
        self.encoder = Layers(config, kind)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> Hidden:
        """All have shape (texts, tokens); the mask is 1 where a token is, and without one all are."""
        states = self.embeddings(input_ids, token_type_ids)
        device = states.device.type
        autocast = torch.is_autocast_enabled(device)
        dtype = torch.get_autocast_dtype(device) if autocast else states.dtype
        bias = self.encoder.bias(input_ids.shape[1])
        if attention_mask is not None:
            hidden = attention_mask[:, None, None, :] == 0
            mask = torch.zeros(hidden.shape, dtype=dtype, device=hidden.device)
            mask.masked_fill_(hidden, torch.finfo(dtype).min)
            bias = mask if bias is None else bias + mask
        bias = None if bias is None else bias.to(dtype)
        for layer in self.encoder.layer:
            states = layer(states, bias)
        return Hidden(states)


def _norm(config: TransformerConfig) -> nn.LayerNorm:
    return nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)


# By the names that transformers gives the same.
ARCHITECTURES: Mapping[str, tuple[Callable[[TransformerConfig], Embeddings], type[Layer]]] = {
    "BertModel": (BertEmbeddings, BertLayer),
    "MPNetModel": (MPNetEmbeddings, MPNetLayer),
}
