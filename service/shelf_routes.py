"""The calls about shelves: books that are asked together by a name."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import Response
from pydantic import Field

from indexing.ids import LONGEST
from indexing.shelves import MOST_BOOKS, Shelves
from service import problems
from service.endpoints import TheService
from service.json_bodies import JsonRoute
from service.request_body import RequestBody
from service.schemas import BookId, ShelfOut, example

Name = Annotated[str, Path(max_length=LONGEST, pattern=r"^[a-z0-9][a-z0-9._-]*$", examples=["mysteries"])]

router = APIRouter(tags=["shelves"], route_class=JsonRoute)


class ShelfIn(RequestBody):
    """What a shelf is to hold."""

    model_config = example({"title": "Mysteries", "books": ["the-bell", "the-mill"]})

    books: Annotated[list[BookId], Field(max_length=MOST_BOOKS, description="Ids, each once.")]
    title: str | None = Field(
        default=None, min_length=1, max_length=1000, description="As before, or the name, if left out."
    )


@router.get("/shelves", responses=problems.responses(500))
def shelves(service: TheService) -> list[ShelfOut]:
    """Every shelf that is whole."""
    return [ShelfOut.model_validate(one) for one in service.shelves()]


@router.get("/shelves/{name}", responses=problems.responses(404, 422, 500))
def shelf(name: Annotated[str, Path(examples=["mysteries"])], service: TheService) -> ShelfOut:
    """One shelf."""
    return ShelfOut.model_validate(_shelves(service).get(name))


@router.put("/shelves/{name}", responses=problems.responses(400, 404, 422, 500, 507))
def put_shelf(name: Name, given: ShelfIn, service: TheService) -> ShelfOut:
    """Make a shelf, or have it hold these books alone."""
    for id in given.books:
        service.qa.store.current(id)
    return ShelfOut.model_validate(_shelves(service).put(name, given.books, given.title))


@router.delete("/shelves/{name}", status_code=204, responses=problems.responses(404, 422, 500, 507))
def delete_shelf(name: Name, service: TheService) -> Response:
    """Forget a shelf; its books stay."""
    _shelves(service).delete(name)
    return Response(status_code=204)


def _shelves(service: TheService) -> Shelves:
    return service.qa.store.shelves()
