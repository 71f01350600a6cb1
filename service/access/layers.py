"""What every request passes before it reaches a route, put around the app and into its OpenAPI."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from service import problems
from service.access.bodies import Bodies
from service.access.gate import Gate, scope_of
from service.access.keyring import KeyRing
from service.access.keys import KeyFile, keys_in_environment
from service.access.rate_limits import RateLimits
from service.settings import Settings


def install(app: FastAPI, settings: Settings) -> None:
    """Put the layers that refuse around ``app``, the outermost last.

    Raises ``StoryQAError`` for bad keys and rates.
    """
    app.add_middleware(Bodies, largest=settings.largest_upload_mb * 2**20)
    app.add_middleware(
        Gate,
        ring=key_ring(settings),
        rates=RateLimits(settings.rate, settings.rate_storage),
        insecure=settings.insecure,
        origins=settings.cors_origins,
    )
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "X-Request-ID"],
            expose_headers=["Location", "Retry-After", "X-Request-ID"],
        )


def key_ring(settings: Settings) -> KeyRing:
    """The keys that ``settings`` lead to; raises ``BadKeys``."""
    secret = settings.keys.get_secret_value() if settings.keys is not None else ""
    return KeyRing(KeyFile(settings.key_file), keys_in_environment(secret))


def describe(schema: dict[str, Any]) -> dict[str, Any]:
    """The OpenAPI ``schema`` with the key and the problems that the layers answer, changed in place."""
    components = schema.setdefault("components", {})
    components["securitySchemes"] = {
        "key": {
            "type": "http",
            "scheme": "bearer",
            "description": "An API key, where the service wants one; storyqa keys create makes it.",
        }
    }
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            needed = scope_of(method.upper(), path)
            statuses = [403] if method.upper() != "GET" else []
            if needed is not None:
                operation["security"] = [{"key": []}, {}]
                operation["description"] = f"{operation.get('description', '')} Scope: {needed}.".strip()
                statuses = [401, 403, 429]
            if "requestBody" in operation:
                statuses += [408, 413]
            for status in statuses:
                operation["responses"].setdefault(str(status), problems.documented(status))
            operation["responses"] = dict(sorted(operation["responses"].items()))
    return schema
