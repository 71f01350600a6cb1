"""A user's own Hugging Face model, from a folder or the hub, with errors that say what to do."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from encoders.adapters import files_hash
from encoders.errors import ModelError
from encoders.quiet_loading import quiet_loading

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedTokenizerBase

_BESIDE_WEIGHTS = ("*.json", "*.txt", "*.model", "*.jinja")  # as tokenizers are saved, too
_DIGITS = 12


def load_config(name: str) -> PreTrainedConfig:
    """The configuration of the model ``name``, a local folder or a hub name; raises ModelError."""
    from transformers import AutoConfig

    _check_folder(name)
    try:
        config: PreTrainedConfig = AutoConfig.from_pretrained(_place(name))
    except _broken() as error:
        raise _model_error(name, error) from error
    return config


def load_pretrained(auto_class: str, name: str) -> tuple[Any, PreTrainedTokenizerBase]:
    """The model (fp32, on the CPU, eval mode) and the tokenizer of ``name``.

    ``auto_class`` is a name in transformers, such as ``"AutoModelForSeq2SeqLM"``. Raises ModelError
    where files are missing or broken. That includes weights that this class has and the files have
    not, and a tokenizer: transformers would make up either and go on.
    """
    import torch
    import transformers

    _check_folder(name)
    # A download deserves a progress bar.
    with quiet_loading() if Path(_place(name)).is_dir() else nullcontext():
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(_place(name))
            model, found = getattr(transformers, auto_class).from_pretrained(
                _place(name), dtype=torch.float32, output_loading_info=True
            )
        except _broken() as error:
            raise _model_error(name, error) from error
    letters = tokenizer("question", add_special_tokens=False)["input_ids"]
    if not letters or tokenizer.unk_token_id in letters:
        raise ModelError(
            f"{name!r} has no tokenizer that reads plain letters; save the model's own beside it "
            "with tokenizer.save_pretrained"
        )
    missing = sorted(found["missing_keys"])
    if missing:
        raise ModelError(
            f"{name!r} has no weights for {', '.join(missing[:3])}; wanted a model saved as {auto_class[4:]}"
            ", not its encoder alone or one with another head"
        )
    return model.requires_grad_(False).eval(), tokenizer


def version_of(name: str) -> str:
    """The first digits of what tells the model ``name``, which could be loaded, from others.

    Of a folder that is a hash of its weights, tokenizer and configuration, of a hub name the commit that the
    hub's cache has.
    """
    folder = Path(_place(name))
    if folder.is_dir():
        weights = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("*.bin"))
        rest = sorted(path for kind in _BESIDE_WEIGHTS for path in folder.glob(kind))
        return files_hash([*weights, *rest])[:_DIGITS]
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(name, "config.json")
    return Path(config).parent.name[:_DIGITS] if isinstance(config, str) else name


def _place(name: str) -> str:
    folder = Path(name).expanduser()
    return str(folder) if folder.is_dir() else name


def _check_folder(name: str) -> None:
    """Raise ModelError for what was meant as a folder and cannot be loaded as one."""
    path = Path(name).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ModelError(f"{name!r} has no config.json; give a folder written by save_pretrained")
    elif path.exists():
        raise ModelError(f"{name!r} is a file; give the folder that holds the model")
    elif not name.strip() or name[0] in "./~\\" or name.count("/") > 1:
        raise ModelError(f"there is no folder {name!r}; give a folder of a Hugging Face model or a hub name")


def _broken() -> tuple[type[Exception], ...]:
    """What transformers raises for files that it cannot read, find or fetch."""
    from safetensors import SafetensorError

    return (
        OSError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        ImportError,
        RuntimeError,
        SafetensorError,
    )


def _model_error(name: str, error: Exception) -> ModelError:
    why = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    if Path(_place(name)).is_dir():
        return ModelError(f"cannot load the model in {name!r}: {why}; save it anew with save_pretrained")
    return ModelError(
        f"cannot get the model {name!r} from the hub: {why} Check the name and the connection, or give a "
        "local folder; with HF_HUB_OFFLINE=1 only models fetched before can be used"
    )
