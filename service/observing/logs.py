"""The server's log: lines for people or JSON objects for machines, each with its request's id."""

from __future__ import annotations

import json
import logging
import time
from contextvars import ContextVar
from typing import Any

# The request that is being answered; empty outside of one.
REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")

_BORN_WITH = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "request_id",
    "color_message",
}


class WithRequestId(logging.Filter):
    """Gives every record the id of the request it was made in."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Never drops one."""
        record.request_id = REQUEST_ID.get()
        return True


class TextFormatter(logging.Formatter):
    """One line for people: when, how grave, what, and which request."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, in UTC; a traceback follows on lines of its own."""
        line = f"{_utc(record.created)} {record.levelname} {super().format(record)}"
        first, newline, rest = line.partition("\n")
        request = getattr(record, "request_id", "")
        return f"{first} [{request}]{newline}{rest}" if request else line


class JsonFormatter(logging.Formatter):
    """One JSON object on one line: time, level, logger, message, request_id, what the record has besides."""

    def format(self, record: logging.LogRecord) -> str:
        """The object; a traceback is its ``exception``."""
        content: dict[str, Any] = {
            "time": _utc(record.created),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request := getattr(record, "request_id", ""):
            content["request_id"] = request
        content |= {name: value for name, value in vars(record).items() if name not in _BORN_WITH}
        if record.exc_info:
            content["exception"] = self.formatException(record.exc_info)
        return json.dumps(content, default=str)


def log_config(kind: str) -> dict[str, Any]:
    """What ``logging.config.dictConfig`` is given; ``kind`` is ``text`` or ``json``, on standard error."""
    formatter = {"text": TextFormatter, "json": JsonFormatter}[kind]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"request": {"()": WithRequestId}},
        "formatters": {"chosen": {"()": formatter}},
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "chosen", "filters": ["request"]}
        },
        "root": {"level": "WARNING", "handlers": ["stderr"]},
        # uvicorn's own lines about requests are off: ours have the id, the route and the time taken.
        "loggers": {"service": {"level": "INFO"}, "uvicorn.error": {"level": "INFO"}},
    }


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1000):03d}Z"
