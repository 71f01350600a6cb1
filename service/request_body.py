"""What all objects that clients send have in common; FastAPI is not needed to read or write them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, model_validator
from pydantic_core import PydanticCustomError

MOST_FIELDS = 32  # more than any object that is sent has; each that is unknown would be an error of its own


class RequestBody(BaseModel):
    """An object that clients send; one of very many fields is refused before its fields are looked at."""

    @model_validator(mode="before")
    @classmethod
    def _few_fields(cls, value: Any) -> Any:
        if isinstance(value, dict) and len(value) > MOST_FIELDS:
            names = ", ".join(cls.model_fields)
            raise PydanticCustomError("too_many_fields", f"{len(value):,} fields; wanted some of {names}")
        return value
