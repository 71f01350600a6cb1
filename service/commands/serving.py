"""``storyqa serve``: the HTTP service until it is told to stop."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING, Annotated

import typer

from service.commands.options import AsJson, Store, same_store
from terminal.output import console, print_json

if TYPE_CHECKING:
    from service.access.api_keys import Keyring
    from service.settings import Settings


def serve(
    host: Annotated[str, typer.Option(help="The address to listen at; 0.0.0.0 for every one.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen at; 0 for any free one.")
    ] = 8000,
    workers: Annotated[
        int, typer.Option(min=1, max=256, help="How many processes answer, each with the models.")
    ] = 1,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Serve anyone who can reach it, without keys.")
    ] = False,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Answer questions over HTTP; Ctrl-C stops.

    Without API keys (storyqa keys create) only this machine is served.
    """
    from service.settings import read_settings

    settings = read_settings(store)
    if insecure:
        settings = settings.model_copy(update={"insecure": True})
    with _listen(host, port) as listening:
        from service.load.workers import run

        address, bound = listening.getsockname()[:2]
        ring = _check_keys(address, settings, same_store(store))
        _check_shared(settings)
        url = f"http://[{address}]:{bound}" if ":" in address else f"http://{address}:{bound}"
        if as_json:
            print_json(
                {"url": url, "host": address, "port": bound, "workers": workers, "store": str(settings.store)}
            )
        else:
            console().print(
                f"storyqa at {url} (calls at {url}/docs, Ctrl-C stops)", soft_wrap=True, markup=False
            )
            threading.Thread(target=_tell_local_models, args=(settings, ring), daemon=True).start()
        with contextlib.suppress(KeyboardInterrupt):  # how the server is meant to be stopped
            run(settings, listening, workers)


def _tell_local_models(settings: Settings, ring: Keyring) -> None:
    """Say which language models run on this machine; the server starts meanwhile."""
    import asyncio

    from readers.external.discovery import find_local_servers
    from service.local_models import allowed_readers

    for server in asyncio.run(find_local_servers(settings.model_servers)):
        offered = not set(server.readers).isdisjoint(allowed_readers(settings, ring, [server]))
        remedy = (
            "choose it on the page" if offered else f"list {server.readers[0]} in STORYQA_READERS to offer it"
        )
        models = ", ".join(server.models)
        console().print(f"{server.name} at {server.url} has {models}: {remedy}", soft_wrap=True, markup=False)


def _check_keys(address: str, settings: Settings, where: str) -> Keyring:
    """The keys; raises ``StoryQAError`` where other machines can call it and none keeps them out.

    ``where`` ends the command that makes one, for these are of one store.
    """
    from service.access.authorization import is_loopback
    from service.access.middleware import keyring_of
    from text.errors import StoryQAError

    ring = keyring_of(settings)  # whoever may call: damaged keys are told before the address is
    if not (is_loopback(address) or settings.insecure or ring.is_required):
        raise StoryQAError(
            f"{address} can be reached from other machines, and there are no keys; make one with "
            f"storyqa keys create NAME{where}, or serve everyone with --insecure"
        )
    return ring


def _check_shared(settings: Settings) -> None:
    """Raise ``StoryQAError`` for what each worker would refuse, once it has loaded all that it needs."""
    from service.access.rate_limits import RateLimits
    from service.ingestion.job_database import job_database
    from text.output_files import check_folder

    settings.index_store()
    if settings.state is not None:
        with contextlib.suppress(OSError):  # a full disk: uploads are refused until there is room again
            check_folder(settings.state, "STORYQA_STATE")
    RateLimits(settings.rate, settings.rate_storage)
    if settings.jobs_url is not None:
        job_database(settings.state_folder, settings.jobs_url)


def _listen(host: str, port: int) -> socket.socket:
    """A socket at the address, where whoever calls waits until the server takes what has come.

    Raises ``StoryQAError`` where there is none to be had.
    """
    from text.errors import StoryQAError

    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:  # the latter of a name that is none, such as 127.0.0..1
        raise StoryQAError(
            f"{host!r} is not an address of this machine ({error}); try --host 127.0.0.1"
        ) from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()  # now: until one of them listens, several may be bound to one address
    except OSError as error:
        listening.close()
        raise StoryQAError(
            f"cannot listen at {host} port {port} ({error.strerror}); choose another with --host or --port"
        ) from error
    return listening
