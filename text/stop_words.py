"""Words of English that tell nothing of what a text is about, those of scikit-learn."""

from __future__ import annotations

import runpy
from importlib.util import find_spec
from pathlib import Path


def _stop_words() -> frozenset[str]:
    """Read from the one file that has them: with all around it they take a second to import, and 90 MB."""
    [folder] = getattr(find_spec("sklearn"), "submodule_search_locations", None) or [""]
    try:
        found = runpy.run_path(str(Path(folder, "feature_extraction", "_stop_words.py")))
    except FileNotFoundError:  # a release that keeps them elsewhere
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # type: ignore[import-untyped]

        return frozenset(ENGLISH_STOP_WORDS)
    return frozenset(found["ENGLISH_STOP_WORDS"])


STOP_WORDS = _stop_words()
