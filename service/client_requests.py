"""One request of a client: what is sent, what comes back, what goes wrong, when to try again."""

from __future__ import annotations

import contextlib
import email.utils
import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Generic, Literal, TypeVar

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError
from tenacity import RetryCallState, retry_if_exception_type

from text.errors import StoryQAError

Result = TypeVar("Result")

Limits = int | str | Mapping[str, int | str | None] | None
"""How far a reader has got: in each book alike, or by book id."""

URL = "http://127.0.0.1:8000"
TIMEOUT_S = 150.0
POLL_S = 0.5
_BUSY = frozenset({429, 503})
_GATEWAY = frozenset({502, 504})  # what a proxy answers for a service that is being started again
# What is raised for a file that cannot be read, for what cannot be written as JSON, a URL or a header, and by
# a client that is closed, or whose event loop is.
UNSENDABLE = (OSError, TypeError, ValueError, RuntimeError, httpx.InvalidURL)


class ServiceError(StoryQAError):
    """What the service answered instead of a result; ``problem`` is its problem document.

    ``status`` is the HTTP status, and None where the service was not reached at all.
    """

    def __init__(self, message: str, status: int | None = None, problem: Mapping[str, Any] | None = None):
        super().__init__(message)
        self.status = status
        self.problem = dict(problem or {})


class ServiceBusy(ServiceError):
    """Nothing was done: the service was too busy, this client too eager, or neither was reached.

    ``retry_after_s`` is when to ask again, where the service says it.
    """

    retry_after_s: float | None = None


class JobFailed(StoryQAError):
    """A book that could not be indexed; ``job`` says why."""

    def __init__(self, job: JobStatus) -> None:
        super().__init__(f"job {job.id} failed: {job.error or 'no reason was given'}")
        self.job = job


class JobStatus(BaseModel):
    """The indexing of one book, as far as it is; ``progress`` is 0 to 1."""

    id: str
    status: Literal["queued", "running", "done", "failed"]
    progress: float
    book_id: str | None
    error: str | None

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen."""
        return self.status in ("done", "failed")


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a busy service is asked again, and for how long at most.

    It is asked after as long as its ``Retry-After`` says; where there is none, after about 0.5 s, 1 s, 2 s
    and so on. A wait longer than ``longest_wait_s`` is not begun. Who waits for a job gives it up once nobody
    has answered for ``longest_gone_s``, in which a service can be started again.
    """

    tries: int = 4
    longest_wait_s: float = 30.0
    longest_gone_s: float = 60.0

    def retrying(self) -> dict[str, Any]:
        """The arguments of tenacity's ``Retrying``, and of ``AsyncRetrying``.

        Not httpx-retries, which cuts a long ``Retry-After`` where we give up; nor stamina, which logs and
        counts every wait in the loggers and metrics of the program that uses us.
        """
        return {
            "retry": retry_if_exception_type(ServiceBusy),
            "wait": _pause_s,
            "stop": self._gives_up,
            "reraise": True,
        }

    def _gives_up(self, state: RetryCallState) -> bool:
        return state.attempt_number >= self.tries or state.upcoming_sleep > self.longest_wait_s


def _pause_s(state: RetryCallState) -> float:
    """Seconds until the next try."""
    busy = state.outcome.exception() if state.outcome is not None else None
    assert isinstance(busy, ServiceBusy)
    if busy.retry_after_s is not None:
        return busy.retry_after_s
    # Spread out: clients that were turned away together must not come back together.
    return 0.5 * 2.0 ** (state.attempt_number - 1) * random.uniform(0.75, 1.25)


def retry_after(value: str | None) -> float | None:
    """The header in seconds from now, whichever of its two forms it has; None where it says nothing."""
    if value is None:
        return None
    if value.strip().isdigit():
        return float(value)
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, moment.timestamp() - time.time())


@dataclass(frozen=True, slots=True)
class Call(Generic[Result]):
    """One request, and what it is answered with: JSON of a type, ``bytes`` as they come, or nothing."""

    method: str
    path: str
    returns: TypeAdapter[Result] | type[bytes] | None
    json: Any = None
    params: Mapping[str, str | int | list[str]] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)
    file: tuple[str, Path | bytes] | None = None

    def result(self, response: httpx.Response) -> Result:
        """What the response holds; raises ``ServiceError``."""
        if not response.is_success:
            raise error_in(response)
        if self.returns is None:
            return None  # type: ignore[return-value]
        if not isinstance(self.returns, TypeAdapter):
            return response.content  # type: ignore[return-value]
        try:
            # A newer service may say more than this client knows of.
            return self.returns.validate_json(response.content, extra="ignore")
        except ValidationError as error:
            raise no_answer_of_storyqa(response, response.text) from error


def no_answer_of_storyqa(response: httpx.Response, said: str) -> ServiceError:
    """The error for a response that says something else than storyqa does."""
    return ServiceError(
        f"{response.url} answered {said[:80]!r}, which is no answer of storyqa; "
        "is the address that of a storyqa service?",
        response.status_code,
    )


def error_in(response: httpx.Response) -> ServiceError:
    """The problem that the response is."""
    try:
        problem = response.json()
        detail = str(problem["detail"])
    except (ValueError, TypeError, KeyError):
        problem, detail = {}, f"no reason was given ({response.text[:80]!r})"
    return error_of(response, response.status_code, problem, detail)


def error_of(response: httpx.Response, status: int, problem: Mapping[str, Any], detail: str) -> ServiceError:
    """The error for a problem that came with the response, as which or in which."""
    said = f"{response.url} answered {status}: {detail}"
    if status not in _BUSY:
        return ServiceError(said, status, problem)
    busy = ServiceBusy(said, status, problem)
    busy.retry_after_s = retry_after(response.headers.get("retry-after"))
    return busy


def unreachable(url: httpx.URL, error: httpx.RequestError) -> ServiceError:
    """The error for a service that gave no answer at all."""
    # Where there was a connection it may have been done: once more could be once too often.
    kind = ServiceBusy if isinstance(error, httpx.ConnectError) else ServiceError
    return kind(f"{url} gave no answer ({type(error).__name__}: {error}); is storyqa serve running?")


def again_in_s(error: ServiceError, job: JobStatus, silent_s: float, patience: Patience) -> float:
    """When the job is asked for again after that, ``silent_s`` after it was last told of.

    Raises ``error`` where that will not pass, or nobody has answered for too long.
    """
    if isinstance(error, ServiceBusy) and error.status is not None:
        return error.retry_after_s or POLL_S
    is_gone = error.status in _GATEWAY or isinstance(error.__cause__, httpx.TransportError)
    if is_gone and silent_s < patience.longest_gone_s:
        return POLL_S
    if not is_gone:
        raise error
    raise type(error)(
        f"job {job.id} was {job.status} when last heard of, {silent_s:.0f} s ago: {error}", error.status
    ) from error


def address(url: str) -> httpx.URL:
    """The address of a service; raises ``ServiceError`` for what is none."""
    try:
        return httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as error:
        raise ServiceError(
            f"{url!r} is no address of a service ({error}); wanted one such as {URL}"
        ) from error


def headers(key: str | None) -> dict[str, str]:
    """How a client shows its key; raises ``ServiceError`` for one that no header can hold."""
    if key is None:
        return {}
    if not (key.isascii() and key.isprintable()):
        raise ServiceError("the key has a character that no key has; wanted what storyqa keys create said")
    return {"Authorization": f"Bearer {key}"}


def done(job: JobStatus) -> JobStatus:
    """A job that has ended; raises ``JobFailed``."""
    if job.status == "failed":
        raise JobFailed(job)
    return job


@contextlib.contextmanager
def parts(call: Call[Any]) -> Iterator[dict[str, Any]]:
    """The parts of the request for httpx; a file is opened anew for every try, and never read whole."""
    with contextlib.ExitStack() as stack:
        parts: dict[str, Any] = {"params": call.params}
        if call.json is not None:
            parts["json"] = call.json
        if call.file is not None:
            name, source = call.file
            content: IO[bytes] | bytes = (
                source if isinstance(source, bytes) else stack.enter_context(source.open("rb"))
            )
            parts |= {"files": {"file": (name, content)}, "data": call.data}
        yield parts
