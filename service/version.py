"""The version of storyqa that is installed, and what it runs with."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from service.schemas import Version
    from service.settings import Settings


def installed_version() -> str:
    """Such as ``"0.1.0"``; ``"0+source"`` where the code is run without being installed."""
    try:
        return version("storyqa")
    except PackageNotFoundError:
        return "0+source"


def running_version(settings: Settings) -> Version:
    """What ``GET /version`` and ``storyqa --version --json`` say.

    Raises ModelError where the environment names a wrong runtime or size.
    """
    from encoders.runtime import pick_runtime
    from encoders.sizes import prefers_large
    from service.schemas import Version

    return Version(
        version=installed_version(),
        retriever=settings.retriever,
        reader=settings.reader,
        size="large" if prefers_large() else "small",
        runtime=str(pick_runtime()),
    )
