"""What can be wrong with a model's files."""

from __future__ import annotations

from text.errors import StoryQAError


class ModelError(StoryQAError):
    """Model files that are missing, have another hash, or are of the wrong kind."""
