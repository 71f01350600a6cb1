"""OpenAI's calls over the books: programs that talk with a language model can talk with a book."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from answering.scope import SHELF
from indexing.ids import LONGEST
from service import answer_events, problems
from service.assistants.completion_form import CompletionForm
from service.assistants.completion_requests import BEFORE, CompletionRequest
from service.assistants.completion_schemas import Completion, ModelList, ModelOut
from service.assistants.openai_errors import OpenAIError
from service.endpoints import BookInPath, TheService
from service.json_bodies import JsonRoute

MOST_MODELS = 1_000  # books; OpenAI's clients ask for one page and know of no other

router = APIRouter(prefix="/v1", route_class=JsonRoute, tags=["OpenAI"])

_STREAMED = {
    "type": "object",
    "required": ["data"],
    "properties": {
        "data": {
            "type": "string",
            "description": "A `chat.completion.chunk`, an error where it fails from there on, or `[DONE]`.",
        }
    },
}


def _failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: one | {"model": OpenAIError} for status, one in problems.responses(*statuses).items()}


@router.get("/models", responses=_failures(422, 500))
def models(
    service: TheService,
    after: Annotated[
        str, Query(max_length=LONGEST, description="Only books whose ids come after it.", examples=["emma"])
    ] = "",
    limit: Annotated[int, Query(ge=1, le=MOST_MODELS, description="At most so many books.")] = MOST_MODELS,
) -> ModelList:
    """Books as models of OpenAI's calls, in the order of their ids, and on the first page the shelves, too.

    Where `has_more` is true, the next page is had with `last_id` as `after`. A book need not be listed to be
    a `model`.
    """
    cards, has_more = service.page(after, limit)
    on_shelves = [] if after else [ModelOut.of_shelf(shelf) for shelf in service.shelves()]
    return ModelList(
        data=[*map(ModelOut.of, cards), *on_shelves],
        last_id=cards[-1].id if cards else None,
        has_more=has_more,
    )


@router.get("/models/{model}", responses=_failures(404, 422, 500))
def model(model: BookInPath, service: TheService) -> ModelOut:
    """One book or shelf as a model."""
    model = model.partition(BEFORE)[0]
    if model.startswith(SHELF):
        return ModelOut.of_shelf(service.qa.store.shelves().get(model.removeprefix(SHELF)))
    return ModelOut.of(service.qa.store.manifest(model))


@router.post(
    "/chat/completions",
    response_model=Completion,
    responses=_failures(400, 404, 422, 500, 502, 503, 504)
    | {200: {"content": {answer_events.MEDIA_TYPE: {"schema": _STREAMED}}}},
)
async def chat_completions(
    asked: CompletionRequest, request: Request, service: TheService
) -> Completion | Response:
    """Answer the last question of a conversation and cite the places in the book.

    With `stream` the answer comes in server-sent events: its words, then the annotations, then `[DONE]`.
    """
    form = CompletionForm(asked.model, _origin(request), asked.wants_usage)
    if asked.stream:
        events = answer_events.AnswerEvents(form)
        return await events.response(service.answer(request, asked.asked(), events.on_found))
    return form.completion(await service.answer(request, asked.asked()))


def _origin(request: Request) -> str:
    """The address at which the caller has found this service."""
    host = request.headers.get("host", "localhost")
    return f"{request.scope['scheme']}://{host}{request.scope.get('root_path', '')}"
