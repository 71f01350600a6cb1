"""What a question calls the book that it is asked of, as a pattern."""

from __future__ import annotations

WORK = r"(?:book|novel|novella|story|tale|play|text|narrative)"
THE_BOOK = rf"(?:the|this|that)\s+(?:(?:whole|entire)\s+)?{WORK}"
