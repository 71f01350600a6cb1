"""What can go wrong between a reader and a model behind an address."""

from __future__ import annotations

from encoders.errors import ModelError


class EndpointError(ModelError):
    """A model behind an address that does not answer, or answers what cannot be used.

    ``passing`` where the same question may well be answered later: it is down, stalled or busy.
    ``status`` is the HTTP status that it refused with, None where it did not even do that.
    """

    def __init__(self, message: str, passing: bool = False, status: int | None = None) -> None:
        super().__init__(message)
        self.passing = passing
        self.status = status
