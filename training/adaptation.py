"""Models that can be trained: by low-rank adapters beside their layers, or the layers themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import torch

from encoders.adapters import DOWN, UP
from encoders.backbone import Backbone, load_backbone
from encoders.device import pick_device, pick_dtype
from encoders.errors import ModelError
from evaluation.metrics.overlap import MissingExtra

SCALE = 2  # alpha / rank
# Of the two maps of an adapter: the end of its name in peft, that in our files, and what a file's has been
# multiplied by, so that nobody has to know the scale to add them up.
_ENDS = ((".lora_A.default.weight", DOWN, 1), (".lora_B.default.weight", UP, SCALE))


class AdaptedModel:
    """A model of which low-rank adapters beside linear maps are trained (Hu et al. 2021), by ``peft``."""

    def __init__(self, model: Any, adapted: Sequence[str], rank: int) -> None:
        """Adapters beside the linear maps whose names end in one of ``adapted``; none for rank 0."""
        self.rank = rank
        self.model = model
        if not rank:
            return
        if find_spec("peft") is None:
            raise MissingExtra("training adapters needs peft; install: pip install 'storyqa[train]'")
        from peft import LoraConfig, inject_adapter_in_model
        from peft.tuners.lora import LoraLayer

        config = LoraConfig(r=rank, lora_alpha=SCALE * rank, lora_dropout=0.0, target_modules=list(adapted))
        self.model = inject_adapter_in_model(config, model)
        for module in self.model.modules():
            if isinstance(module, LoraLayer):
                # Autocast brings what is multiplied to one format; by way of fp32 it would go twice
                # through the memory of a card.
                module.cast_input_dtype_enabled = False
        dtype = pick_dtype(pick_device())
        for parameter in self.model.parameters():
            if not parameter.requires_grad:
                # As they are multiplied: a sixth faster than to cast them anew at every step.
                parameter.data = parameter.data.to(dtype)

    def parameters(self) -> list[torch.nn.Parameter]:
        """What is trained."""
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]

    def tensors(self) -> dict[str, torch.Tensor]:
        """What is trained, named as ``encoders.adapters.overlay`` reads it."""
        found = {}
        for name, parameter in self.model.named_parameters():
            if not parameter.requires_grad:
                continue
            tensor = parameter.detach()
            for theirs, ours, scale in _ENDS:
                if name.endswith(theirs):
                    name, tensor = name.removesuffix(theirs) + ours, tensor * scale
            found[name] = tensor
        return found

    def begin_with(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Set what is trained; raises ModelError for a name or a shape that is not trained here."""
        own = dict(self.model.named_parameters())
        for name, tensor in tensors.items():
            trained = name
            for theirs, ours, scale in _ENDS:
                if name.endswith(ours):
                    trained, tensor = name.removesuffix(ours) + theirs, tensor.float() / scale
            if trained not in own or own[trained].shape != tensor.shape:
                raise ModelError(f"the weights to start from have {name}, which this run does not train")
            own[trained].data.copy_(tensor)


class TrainableBackbone(AdaptedModel):
    """A shared backbone with ``rank`` low-rank adapters per linear map, or all layers trained for rank 0.

    Embeddings stay as they are: they are shared with every other model of the process, and half of the
    backbone's size.
    """

    def __init__(self, base: Backbone, rank: int, start: Mapping[str, torch.Tensor] | None = None) -> None:
        """``start`` replaces parameters of the backbone before it is adapted."""
        super().__init__(load_backbone(start, base), base.adapted, rank)
        if not rank:
            for parameter in self.model.encoder.layer.parameters():
                # A copy: the pretrained values are shared with every other model of the process.
                parameter.data = parameter.data.clone()
                parameter.requires_grad_(True)
