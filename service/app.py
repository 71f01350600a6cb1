"""The HTTP service: questions in, cited answers out, every error a problem document."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from service import page, problems
from service.access import middleware as access
from service.answering_service import Service
from service.assistants import completions, mcp_route, openai_errors
from service.endpoints import router, state_router
from service.head_requests import HeadRequests
from service.ingestion import routes as ingestion
from service.ingestion.ingester import Ingester
from service.load.cancellation import on_stop_signal
from service.observing import observer
from service.settings import Settings
from service.shelf_routes import router as shelf_router
from service.version import installed_version


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    ingester: Ingester = app.state.ingester
    service.batcher.start()
    ingester.indexer.start()
    warming = asyncio.create_task(service.warm())  # meanwhile /healthz answers
    looking = asyncio.create_task(service.local_models.servers())
    if app.state.listens_warm:
        await warming
    try:
        with on_stop_signal(ingester.close):
            async with mcp_route.running(app):
                yield
    finally:
        ingester.close()
        await asyncio.to_thread(ingester.indexer.close)
        await service.batcher.close()
        warming.cancel()
        looking.cancel()
        await asyncio.to_thread(service.observer.close)


def create_app(
    settings: Settings, *, shared_metrics: Path | None = None, listens_warm: bool = False
) -> FastAPI:
    """The service over the store that ``settings`` names.

    Processes that answer at one socket count together in the folder ``shared_metrics``, and each
    ``listens_warm``: it takes no request before its models are loaded, for the others can.
    """
    app = FastAPI(
        title="storyqa",
        summary="Answers questions about whole books and cites the exact place.",
        version=installed_version(),
        lifespan=_lifespan,
        redirect_slashes=False,
        docs_url=None,  # FastAPI's own loads from elsewhere; the page has it
        redoc_url=None,
    )
    service = app.state.service = Service(settings, shared_metrics)
    app.state.ingester = Ingester(settings, service.qa.store)
    app.state.listens_warm = listens_warm
    app.include_router(router)
    app.include_router(state_router)
    app.include_router(shelf_router)
    app.include_router(ingestion.router)
    app.include_router(completions.router)
    mcp_route.install(app, service)
    page.install(app)
    problems.install(app)
    app.add_middleware(HeadRequests)  # first: the innermost
    access.install(app, settings)
    observer.install(app, service.observer)
    app.add_middleware(access.SecurityHeaders)  # last: the outermost

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(
                title=app.title, version=app.version, summary=app.summary, routes=app.routes, tags=None
            )
            app.openapi_schema = openai_errors.describe(access.describe(problems.document_media_type(schema)))
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
    return app
