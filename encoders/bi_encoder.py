"""Text to unit vectors: the shared backbone with mean pooling, or any Hugging Face encoder in a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from encoders.activation_ranges import load_ranges
from encoders.adapters import NUMPY, file_hash, files_hash, load_weights
from encoders.backbone import BACKBONES, MINILM, MPNET, Backbone, find_backbone, load_tokenizer
from encoders.batches import batches
from encoders.errors import ModelError
from encoders.quiet_loading import quiet_loading
from encoders.runtime import OPENVINO, TORCH, Layers, Runtime, pick_runtime, run_backbone
from encoders.sizes import LARGE, STORY, weights_folder

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

TRAINED = {STORY: None, LARGE: LARGE}  # to find where stories answer questions, by the size of their weights
PLAIN = (MINILM.name, MPNET.name)  # backbones that read passages as they are
NAMES = (*TRAINED, *PLAIN)
WEIGHTS = "dense.safetensors"
LONGEST = 256  # tokens; what all-MiniLM-L6-v2 was trained to read
# Why so: ``encoders.cross_encoder``.
BATCH_TOKENS = {OPENVINO: 768, "cpu": 2048, "cuda": 4096}
# What the int8 layers size their inputs by: prose, speech, names, a question and numbers.
TYPICAL = (
    'Long after the lamps were out, the ferryman\'s daughter rowed back for her brother. "Who calls?" she '
    "asked; nobody answered, for in 1847 no more than 12 people, all of them old, lived by Lake Orrin. "
    "What did the miller promise to the king, and why was he afraid of the grey horse?"
)


class Encoder(Protocol):
    """Turns texts into vectors whose inner product is their similarity."""

    name: str
    hash: str
    width: int

    def encode(
        self, texts: Sequence[str], on_progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        """Unit-norm vectors of shape (texts, width); text past the model's limit is not read.

        ``on_progress`` is called with the number of texts encoded so far.
        """
        ...


class TransformerEncoder:
    """Mean of the last hidden states over all tokens, scaled to unit norm (Reimers and Gurevych 2019)."""

    def __init__(
        self, name: str, hash: str, model: Any, runtime: Runtime, tokenizer: Tokenizer, longest: int
    ) -> None:
        """``model`` runs in the runtime, and has a ``config`` as those of transformers."""
        self.name, self.hash, self.width = name, hash, int(model.config.hidden_size)
        self._longest = longest
        self._tokenizer = tokenizer
        self._runtime = runtime
        self._model: Layers = model
        if runtime.name == TORCH:
            self._model = _fast(model, runtime, self._cut(tokenizer.encode(TYPICAL).ids))

    def encode(
        self, texts: Sequence[str], on_progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        """See ``Encoder.encode``; batches hold texts of about one length, so little padding is read."""
        import numpy as np

        multiple = self._runtime.multiple
        pool = pool_arrays if self._runtime.name == OPENVINO else self._pool_tensors
        vectors = np.zeros((len(texts), self.width), dtype=np.float32)
        ids = [self._cut(encoding.ids) for encoding in self._tokenizer.encode_batch(list(texts))]
        done = 0
        for batch in batches([len(i) for i in ids], BATCH_TOKENS[self._runtime.batched_as]):
            longest = -(-max(len(ids[i]) for i in batch) // multiple) * multiple
            inputs, mask = (np.zeros((len(batch), longest), dtype=np.int64) for _ in range(2))
            for row, i in enumerate(batch):
                inputs[row, : len(ids[i])] = ids[i]
                mask[row, : len(ids[i])] = 1
            vectors[batch] = pool(self._model, inputs, mask)
            done += len(batch)
            if on_progress is not None:
                on_progress(done)
        return vectors

    def _pool_tensors(
        self, model: Layers, ids: NDArray[np.int64], mask: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        import torch

        device = self._runtime.torch_device
        with torch.inference_mode():
            given = (torch.from_numpy(one).to(device) for one in (ids, mask))
            pooled: NDArray[np.float32] = mean_pool(model, *given).cpu().numpy()
        return pooled

    def _cut(self, ids: list[int]) -> list[int]:
        return ids if len(ids) <= self._longest else [*ids[: self._longest - 1], ids[-1]]


def _fast(model: Any, runtime: Runtime, typical: list[int]) -> Layers:
    """A model of torch in 8-bit integers, where those are faster."""
    import torch

    from encoders.quantisation import int8_pays, with_int8_linears

    if not int8_pays(runtime.torch_device, runtime.dtype):
        return model  # type: ignore[no-any-return]
    return with_int8_linears(model, lambda model: model(input_ids=torch.tensor([typical])))


def pool_arrays(model: Layers, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
    """As ``mean_pool``, of what runs without torch."""
    import numpy as np

    hidden = model(input_ids=ids, attention_mask=None if mask.all() else mask).last_hidden_state
    weights = mask[..., None].astype(np.float32)
    mean = (hidden * weights).sum(1) / weights.sum(1)
    unit: NDArray[np.float32] = mean / np.maximum(np.linalg.norm(mean, axis=-1, keepdims=True), 1e-12)
    return unit


def mean_pool(model: Any, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Unit vectors (texts, width), fp32, of token ids and a mask of shape (texts, tokens)."""
    import torch

    # Without padding there is nothing to mask, and attention takes its fastest path.
    hidden = model(input_ids=ids, attention_mask=None if bool(mask.all()) else mask)
    weights = mask.unsqueeze(-1).float()
    mean = (hidden.last_hidden_state.float() * weights).sum(1) / weights.sum(1)
    return torch.nn.functional.normalize(mean, dim=-1)


def _trained_hash(base: Backbone, own: str) -> str:
    """That of weights whose file has the hash ``own``, beside their backbone."""
    return hashlib.sha256(f"{base.sha256}+{own}".encode()).hexdigest()


def encoder_hash(name: str) -> str:
    """The hash of the encoder of that name; one of ours is not loaded. Raises as ``load_encoder`` does."""
    from safetensors import SafetensorError, safe_open

    if name in PLAIN:
        return BACKBONES[name].sha256
    folder = weights_folder("encoders.weights", TRAINED[name]) if name in TRAINED else Path(name)
    try:
        with safe_open(folder / WEIGHTS, NUMPY) as file:
            base = find_backbone((file.metadata() or {}).get("backbone"))
    except (OSError, SafetensorError):
        base = None
    if base is None:  # that of another format, or there is none, which is told
        return load_encoder(name).hash
    return _trained_hash(base, file_hash(folder / WEIGHTS))


def _trained(name: str, path: Path) -> TransformerEncoder:
    """The backbone with the weights that ``storyqa train dense`` left."""
    weights = load_weights(path, pick_runtime().framework)
    base = weights.backbone
    own = file_hash(path)
    hash = _trained_hash(base, own)
    ranges = load_ranges(path, own)
    runtime = pick_runtime().given(ranges)
    model = run_backbone(base, weights.tensors, runtime, ranges)
    return TransformerEncoder(name, hash, model, runtime, load_tokenizer(base), LONGEST)


@lru_cache
def load_encoder(name: str = STORY) -> Encoder:
    """The encoder of that name, loaded once per process.

    ``story`` and ``large``, the shipped ones; ``minilm`` and ``mpnet``, their backbones as their publishers
    trained them; the folder of a run of ``storyqa train dense``; or the folder of a Hugging Face encoder.
    Raises ModelError where the folder is missing or holds no encoder.
    """
    if name in PLAIN:
        base, runtime = BACKBONES[name], pick_runtime().given(None)
        model = run_backbone(base, {}, runtime)
        return TransformerEncoder(name, base.sha256, model, runtime, load_tokenizer(base), LONGEST)
    if name in TRAINED:
        return _trained(name, weights_folder("encoders.weights", TRAINED[name]) / WEIGHTS)
    folder = Path(name)
    if not folder.is_dir():
        raise ModelError(
            f"unknown encoder {name!r}; wanted one of {', '.join(NAMES)}, the folder of a run of "
            "`storyqa train dense`, or that of a Hugging Face encoder"
        )
    if (folder / WEIGHTS).is_file():
        return _trained(str(folder), folder / WEIGHTS)
    import torch
    from tokenizers import Tokenizer
    from transformers import AutoModel

    try:
        with quiet_loading():
            model, found = AutoModel.from_pretrained(
                folder, local_files_only=True, dtype=torch.float32, output_loading_info=True
            )
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # tokenizers raises bare Exception for a missing or broken file
        raise ModelError(
            f"{folder} holds no encoder that can be loaded ({error}); "
            "wanted config.json, model.safetensors and tokenizer.json"
        ) from error
    # Weights that the files have not are made up by chance; those that pool are not used here.
    missing = sorted(key for key in found["missing_keys"] if not key.startswith("pooler."))
    if missing:
        raise ModelError(f"{folder} has no weights for {', '.join(missing[:3])}; wanted all of an encoder")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    longest = min(int(getattr(model.config, "max_position_embeddings", LONGEST)), 512)
    runtime = pick_runtime(TORCH)
    model = model.eval().to(runtime.torch_device, runtime.dtype)
    hash = files_hash([*sorted(folder.glob("*.safetensors")), *sorted(folder.glob("*.json"))])
    return TransformerEncoder(str(folder), hash, model, runtime, tokenizer, longest)
