"""Gets a backbone that comes with no package: from the Hugging Face hub, or from a folder."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from encoders.backbone import Backbone, backbone_folder, check_weights, models_folder
from encoders.errors import ModelError


def fetch_backbone(backbone: Backbone, source: Path | None = None) -> Path:
    """Put a backbone's files into the folder of models and return where; all of them, or nothing.

    They are copied from the folder ``source``, by default fetched from the hub at the revision that we know,
    and only what has the right SHA-256 is kept. Raises ModelError where they cannot be had or are others.
    """
    if backbone.package is not None:
        return backbone_folder(backbone)  # it came with its package
    if source is None and backbone.hub is None:
        raise ModelError(f"{backbone.title} is in no hub that we know of; {backbone.remedy}")
    models = models_folder()
    models.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=models, prefix=f".{backbone.name}-") as folder:
        staged = Path(folder) / backbone.name
        staged.mkdir()
        if source is not None:
            _from_folder(source, staged, backbone)
        elif backbone.hub is not None:
            _from_hub(*backbone.hub, staged, backbone)
        check_weights(backbone, staged)
        target = models / backbone.name
        if target.exists():
            target.rename(Path(folder) / "replaced")
        staged.rename(target)
    return target


def _files(backbone: Backbone) -> tuple[str, ...]:
    return (*backbone.beside, backbone.weights)


def _from_folder(source: Path, target: Path, backbone: Backbone) -> None:
    for name in _files(backbone):
        if not (source / name).is_file():
            wanted = ", ".join(_files(backbone))
            raise ModelError(f"{source / name} is missing; wanted a folder with {wanted}")
        shutil.copyfile(source / name, target / name)


def _from_hub(repository: str, revision: str, target: Path, backbone: Backbone) -> None:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    from huggingface_hub.utils.tqdm import disable_progress_bars

    if not sys.stderr.isatty():
        disable_progress_bars()
    for name in _files(backbone):
        try:
            hf_hub_download(repository, name, revision=revision, local_dir=target)
        except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
            raise ModelError(
                f"{name} of {repository} cannot be fetched from the hub ({str(error).splitlines()[0]}); try "
                f"again, or give a folder that has it: storyqa models fetch {backbone.name} --from FOLDER"
            ) from error
    shutil.rmtree(target / ".cache", ignore_errors=True)  # the hub's notes on what it fetched
