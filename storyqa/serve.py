"""For Ray Serve: ``serve run storyqa.serve:app``; needs the extra ``ray-serve``."""

from __future__ import annotations

from service.ray_serve import app

__all__ = ["app"]
