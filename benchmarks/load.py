"""Questions sent to a server: at a rate of their own (open model), or by so many clients in turn (closed).

A crowd is closed for a time: its clients ask on until then, and after a refusal come back when told to.
"""

from __future__ import annotations

import asyncio
import math
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from answering.book_qa import Ask
from service.client_requests import retry_after


@dataclass(frozen=True, slots=True)
class Outcome:
    """One request: seconds from when it was due (of the run's clock) until its answer; 0 is no answer.

    ``retry_after_s`` is when a refused client was told to come again, None where it was told nothing.
    """

    due_s: float
    took_s: float
    status: int
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """Many requests: per second offered and answered, statuses, and how long the answered ones took."""

    offered_per_s: float
    answered_per_s: float
    statuses: dict[int, int]
    p50_s: float
    p95_s: float
    p99_s: float


# The path that is posted to, and the body, for JSON.
Request = tuple[str, dict[str, Any]]


def answer_request(ask: Ask) -> Request:
    """How storyqa's service is asked."""
    return "/answer", {
        "book_id": ask.book_id,
        "question": ask.question,
        "k": ask.k,
        "retriever": ask.retriever,
        "reader": ask.reader,
    }


def summary(outcomes: Sequence[Outcome], seconds: float) -> Summary:
    """The answers that came within ``seconds`` count for the rate, all of them for the latencies."""
    took = sorted(one.took_s for one in outcomes if one.status == 200)
    in_time = sum(one.status == 200 and one.due_s + one.took_s <= seconds for one in outcomes)
    return Summary(
        offered_per_s=round(len(outcomes) / seconds, 2),
        answered_per_s=round(in_time / seconds, 2),
        statuses=dict(sorted(Counter(one.status for one in outcomes).items())),
        p50_s=percentile(took, 50),
        p95_s=percentile(took, 95),
        p99_s=percentile(took, 99),
    )


def open_model(url: str, asks: Iterator[Ask], rate: float, seconds: float, seed: int = 0) -> list[Outcome]:
    """Poisson arrivals of ``rate`` per second, each the next of ``asks``, whatever becomes of those before.

    Latency counts from when a request was due, so a client that falls behind hides nothing.
    """
    return asyncio.run(_open_model(url, asks, rate, seconds, random.Random(seed)))


def closed(
    url: str, asks: Sequence[Ask], clients: int, request: Callable[[Ask], Request] = answer_request
) -> list[Outcome]:
    """Every ask once, by ``clients`` of which each waits for its answer before it asks again.

    Another service than storyqa's is asked by a ``request`` of its own.
    """
    return asyncio.run(_closed(url, asks, clients, request))


@dataclass(frozen=True, slots=True)
class Crowd:
    """What became of a crowd's requests, and seconds that ``/healthz`` took meanwhile; inf is no answer."""

    outcomes: list[Outcome]
    health_s: list[float]


def crowd(url: str, asks: Iterator[Ask], clients: int, seconds: float) -> Crowd:
    """Have ``clients`` ask, all at once, until ``seconds`` have gone; then wait for the last.

    Whoever is refused comes back with the next question when told to, and after a second where told nothing.
    """
    return asyncio.run(_crowd(url, asks, clients, seconds))


async def _crowd(url: str, asks: Iterator[Ask], clients: int, seconds: float) -> Crowd:
    outcomes: list[Outcome] = []
    health_s: list[float] = []

    async def ask_on(client: httpx.AsyncClient) -> None:
        async with client:
            while (due := time.perf_counter() - began) < seconds:
                outcomes.append(outcome := await _send(client, next(asks), began, due))
                if outcome.status != 200:
                    await asyncio.sleep(1.0 if outcome.retry_after_s is None else outcome.retry_after_s)

    async def look(client: httpx.AsyncClient) -> None:
        while True:
            asked = time.perf_counter()
            try:
                answered = (await client.get("/healthz")).status_code == 200
            except httpx.TransportError:
                answered = False
            health_s.append(time.perf_counter() - asked if answered else math.inf)
            await asyncio.sleep(0.1)

    # Each a client of its own: httpx looks at all connections of a client for each request, seconds for 200.
    everyone = [httpx.AsyncClient(base_url=url, timeout=600, verify=False) for _ in range(clients)]
    a_connection_each = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(base_url=url, limits=a_connection_each, verify=False) as prober:
        looking = asyncio.create_task(look(prober))
        began = time.perf_counter()
        await asyncio.gather(*map(ask_on, everyone))
        looking.cancel()
    return Crowd(outcomes, health_s)


async def _open_model(
    url: str, asks: Iterator[Ask], rate: float, seconds: float, chance: random.Random
) -> list[Outcome]:
    async with _client(url) as client:
        sent: list[asyncio.Task[Outcome]] = []
        began = time.perf_counter()
        due = chance.expovariate(rate)
        while due <= seconds:
            ask = next(asks)
            await asyncio.sleep(max(0.0, began + due - time.perf_counter()))
            sent.append(asyncio.create_task(_send(client, ask, began, due)))
            due += chance.expovariate(rate)
        return await asyncio.gather(*sent)


async def _closed(
    url: str, asks: Sequence[Ask], clients: int, request: Callable[[Ask], Request]
) -> list[Outcome]:
    async with _client(url) as client:
        left = iter(asks)
        outcomes: list[Outcome] = []
        began = time.perf_counter()

        async def ask_on() -> None:
            for ask in left:
                due = time.perf_counter() - began
                outcomes.append(await _send(client, ask, began, due, request))

        await asyncio.gather(*(ask_on() for _ in range(clients)))
        return outcomes


def _client(url: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=url, timeout=600, limits=httpx.Limits(max_connections=None, max_keepalive_connections=1000)
    )


async def _send(
    client: httpx.AsyncClient,
    ask: Ask,
    began: float,
    due: float,
    request: Callable[[Ask], Request] = answer_request,
) -> Outcome:
    path, body = request(ask)
    try:
        response = await client.post(path, json=body)
    except httpx.TransportError:
        return Outcome(due, time.perf_counter() - began - due, 0)
    told = retry_after(response.headers.get("retry-after"))
    return Outcome(due, time.perf_counter() - began - due, response.status_code, told)


def percentile(sorted_values: Sequence[float], percent: int) -> float:
    """The percentile of ``sorted_values``, 0 where there are none."""
    if len(sorted_values) < 2:
        return round(sum(sorted_values), 3)
    return round(statistics.quantiles(sorted_values, n=100, method="inclusive")[percent - 1], 3)
