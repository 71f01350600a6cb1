"""Names in an address's query that its call does not have: refused, for ``befor=40%`` would show all."""

from __future__ import annotations

from fastapi import Request
from fastapi.exceptions import RequestValidationError


async def check_query_names(request: Request) -> None:
    """Raise ``RequestValidationError`` where the query names what the call does not take.

    It is a dependency of routes, in the event loop: nobody waits for it.
    """
    taken = [one.alias for one in request.scope["route"].dependant.query_params]
    wanted = f"wanted {', '.join(taken)} alone" if taken else "this call takes none in its address"
    unknown = [name for name in request.query_params if name not in taken]
    if unknown:
        raise RequestValidationError(
            [
                {"type": "extra_forbidden", "loc": ("query", name), "msg": f"no such parameter; {wanted}"}
                for name in unknown
            ]
        )
