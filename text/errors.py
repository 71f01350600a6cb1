"""The error whose message is written for the user."""

from __future__ import annotations


class StoryQAError(Exception):
    """An error whose message is written for the user: what was given, what was wanted, what to do."""
