"""The version of storyqa that is installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def installed_version() -> str:
    """Such as ``"0.1.0"``; ``"0+source"`` where the code is run without being installed."""
    try:
        return version("storyqa")
    except PackageNotFoundError:
        return "0+source"
