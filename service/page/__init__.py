"""The page at ``/``: plain files that a browser runs as they are, served with a strict content policy."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI, Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

FILES = Path(__file__).parent / "static"

# Nothing from anywhere else, no script or style but our files, and no string ever turned into markup.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    # Asked for anew each time, and answered with 304: old and new files must not be mixed.
    "Cache-Control": "no-cache",
}


class _Page(StaticFiles):
    """The files of the page, each with ``HEADERS``."""

    async def get_response(self, path: str, scope: object) -> Response:
        response = await super().get_response(path, scope)  # type: ignore[arg-type]
        response.headers.update(HEADERS)
        return response


def install(app: FastAPI) -> None:
    """Serve the page at ``/`` of ``app``, and its files under ``/page/``."""
    files = _Page(directory=FILES)

    async def page(request: Request) -> Response:
        """Ask and read in a browser."""
        return await files.get_response("index.html", request.scope)

    app.add_api_route("/", page, methods=["GET", "HEAD"], include_in_schema=False)
    app.mount("/page", files)
