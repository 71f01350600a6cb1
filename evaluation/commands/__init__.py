"""``storyqa evaluate``, ``reproduce`` and ``prepare``."""
