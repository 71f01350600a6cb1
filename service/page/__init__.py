"""The pages at ``/`` and ``/docs``: files that a browser runs as they are, with a strict content policy."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.staticfiles import StaticFiles

from service.sample_story import BOOK_ID, story, suggested_questions

FILES = Path(__file__).parent / "static"

# Nothing from anywhere else, and no script or style but our files.
_OWN_FILES = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
)
# Nor is a string ever turned into markup.
POLICY = "; ".join(
    (*_OWN_FILES, "img-src 'self'", "require-trusted-types-for 'script'", "trusted-types 'none'")
)
# Swagger UI draws its icons from its style sheet, and makes markup of what it has cleaned.
DOCS_POLICY = "; ".join((*_OWN_FILES, "img-src 'self' data:"))


class _Files(StaticFiles):
    """The files of a folder."""

    async def get_response(self, path: str, scope: object) -> Response:
        response = await super().get_response(path, scope)  # type: ignore[arg-type]
        response.headers["Content-Security-Policy"] = DOCS_POLICY if path == "docs.html" else POLICY
        # Asked for anew each time, and answered with 304: old and new files must not be mixed.
        response.headers["Cache-Control"] = "no-cache"
        return response


def install(app: FastAPI) -> None:
    """Serve the page at ``/`` of ``app``, its calls at ``/docs``, and the files of both under ``/page/``."""
    files = _Files(directory=FILES)

    async def page(request: Request) -> Response:
        """Ask and read in a browser."""
        return await files.get_response("index.html", request.scope)

    async def docs(request: Request) -> Response:
        """Try the calls in a browser."""
        return await files.get_response("docs.html", request.scope)

    async def about_sample() -> Response:
        """The sample story's id and questions to begin with."""
        return JSONResponse({"book_id": BOOK_ID, "questions": suggested_questions()})

    async def sample_story() -> Response:
        """The sample story, for the page to add as it adds any file."""
        return FileResponse(story(), media_type="text/plain; charset=utf-8")

    app.add_api_route("/", page, include_in_schema=False)
    app.add_api_route("/docs", docs, include_in_schema=False)
    app.add_api_route("/page/sample.json", about_sample, include_in_schema=False)
    app.add_api_route("/page/sample.txt", sample_story, include_in_schema=False)
    app.mount("/page/swagger-ui", _Files(directory=_swagger_ui()))
    app.mount("/page", files)


def _swagger_ui() -> Path:
    """The folder of Swagger UI's files, for which fastapi-offline is installed; its code is not run."""
    package = find_spec("fastapi_offline")
    assert package is not None, "a dependency of storyqa"
    assert package.origin is not None, "no package without files"
    return Path(package.origin).parent / "static"
