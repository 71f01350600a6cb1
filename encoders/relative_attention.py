"""Attention with relative position biases by torch's fused kernel, which transformers' MPNet does not use."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers.modeling_outputs import BaseModelOutput
from transformers.models.mpnet import modeling_mpnet

# transformers' own types say too little of them to be inherited from.
SelfAttention: Any = modeling_mpnet.MPNetSelfAttention
Encoder: Any = modeling_mpnet.MPNetEncoder


class FusedSelfAttention(SelfAttention):  # type: ignore[misc]
    """softmax(q kᵀ / √d + biases) v in one kernel; parameters and results are those of its parent."""

    def forward(
        self,
        hidden_states: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        position_bias: torch.Tensor | None = None,
        output_attentions: bool = False,
        **kwargs: Any,
    ) -> tuple[torch.Tensor, ...]:
        """Shapes: states (batch, tokens, width), biases (batch or 1, heads, tokens, tokens)."""
        if torch.is_grad_enabled() and hidden_states.device.type == "cpu":
            # Backwards the fused kernel of CPUs is slower than the three steps.
            found: tuple[torch.Tensor, ...] = super().forward(hidden_states, attention_mask, position_bias)
            return found
        shape = (*hidden_states.shape[:-1], -1, self.attention_head_size)
        q, k, v = (linear(hidden_states).view(shape).transpose(1, 2) for linear in (self.q, self.k, self.v))
        bias = None if position_bias is None else position_bias.to(q.dtype)
        context = scaled_dot_product_attention(q, k, v, attn_mask=bias)
        return (self.o(context.transpose(1, 2).reshape(hidden_states.shape)),)


class FusedEncoder(Encoder):  # type: ignore[misc]
    """MPNet's layers; position biases and mask are added up once, not in every layer."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        for layer in self.layer:
            layer.attention.attn = FusedSelfAttention(config)

    def forward(
        self, hidden_states: torch.Tensor, attention_mask: torch.Tensor | None = None, **kwargs: Any
    ) -> BaseModelOutput:
        """Shapes: states (batch, tokens, width), mask (batch, 1, 1, tokens), 0 or very low."""
        bias = self.compute_position_bias(hidden_states[:1])
        if attention_mask is not None:
            bias = bias + attention_mask
        if torch.is_autocast_enabled(bias.device.type):
            bias = bias.to(torch.get_autocast_dtype(bias.device.type))
        for layer in self.layer:
            [hidden_states] = layer(hidden_states, None, bias)
        return BaseModelOutput(last_hidden_state=hidden_states)
