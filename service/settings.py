"""The configuration, read from the environment here and nowhere else."""

from __future__ import annotations

import difflib
import functools
import logging
import os
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import platformdirs
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from answering.ask import ANSWERABLE, SURE
from answering.configuration import STORE_CACHE_BYTES, Configuration
from encoders.runtime import asked_runtime
from indexing.store_address import StoreAddress, checked_address
from readers import DEFAULT_EXTRACTOR, DEFAULT_READER, public_readers, spec_of
from readers.external.discovery import USUAL_ADDRESSES, is_local
from retrieval import DEFAULT_RETRIEVER, RETRIEVERS, public_retrievers
from text.errors import StoryQAError
from text.registry import UnknownName, check_name
from text.user_folders import folder_named

if TYPE_CHECKING:
    from indexing.store_protocol import Store

log = logging.getLogger(__name__)

_PREFIX = "STORYQA_"
# Read where they are used: the first four in encoders/, then in the tests, and in deploy/compose.yaml.
_NO_SETTINGS = ("MODELS", "SIZE", "ENCODER", "RUNTIME", "DATA", "METRICS_KEY_FILE")
# What Kubernetes and Docker set where a service is called storyqa, and STORYQA_PORT of deploy/compose.yaml.
_LINK = re.compile(r"(.+_)?(SERVICE_(HOST|PORT(_.+)?)|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)")
_ORIGIN = re.compile(
    r"[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?"
)  # RFC 6454, section 6.2


class BadSetting(StoryQAError):
    """A setting in the environment that cannot be used."""


class Settings(BaseSettings):
    """One field is one variable: ``store`` is ``STORYQA_STORE``. Raises ``ValidationError``."""

    model_config = SettingsConfigDict(env_prefix=_PREFIX, env_ignore_empty=True, frozen=True)

    store: Path | str = Field(
        default_factory=lambda: platformdirs.user_data_path("storyqa") / "store",
        description="the index store: a folder, or s3://, gs:// or az:// with bucket and prefix",
    )
    store_cache_mb: int = Field(
        default=STORE_CACHE_BYTES // 2**20,
        ge=1,
        description="the most megabytes of copies of an object store's indexes that are kept on this machine",
    )
    cache: Path = Field(
        default_factory=lambda: platformdirs.user_cache_path("storyqa"),
        description="the folder for fetched books, and for what takes long to make of them",
    )
    gutenberg_mirror: str = Field(
        default="https://www.gutenberg.org", description="where gutenberg:ID is fetched from"
    )
    retriever: str = Field(default=DEFAULT_RETRIEVER, description="the retriever where none is named")
    reader: str = Field(default=DEFAULT_READER, description="the reader where none is named")
    extractor: str = Field(
        default=DEFAULT_EXTRACTOR,
        description="the reader of properties that facts are found with, such as rnn-labeler:DIR",
    )
    readers: Annotated[tuple[str, ...], NoDecode] = Field(
        default_factory=public_readers,
        description="the readers that HTTP clients may name, by full name, separated by commas",
    )
    retrievers: Annotated[tuple[str, ...], NoDecode] = Field(
        default_factory=public_retrievers,
        description="the retrievers that HTTP clients may name, separated by commas",
    )
    answerable: float = Field(
        default=ANSWERABLE, ge=0, le=1, description="the confidence below which the book may not say"
    )
    sure: float = Field(
        default=SURE, ge=0, le=1, description="the confidence from which an answer is called one, not a maybe"
    )
    chat_key: SecretStr | None = Field(default=None, description="the key shown to every chat: endpoint")
    chat_timeout_s: float = Field(
        default=120.0, gt=0, le=3600, description="the most that one question to a chat: endpoint may take"
    )
    model_servers: Annotated[tuple[str, ...], NoDecode] = Field(
        default=USUAL_ADDRESSES,
        description="where on this machine the server looks for language models, separated by commas; `none` "
        "for nowhere",
    )
    service_key: SecretStr | None = Field(
        default=None, description="the API key shown to the service that `storyqa probe --url` asks"
    )
    batch_wait_ms: float = Field(
        default=3.0, ge=0, le=1000, description="how long a question waits for others"
    )
    batch_tokens: int = Field(default=16384, ge=1, description="about how many tokens are read in one batch")
    most_waiting: int = Field(default=1024, ge=1, description="the most that may wait; more are refused")
    longest_wait_s: float = Field(
        default=10.0, gt=0, description="the longest that a question may be expected to wait; else refused"
    )
    most_connections: int = Field(
        default=2048, ge=8, description="the most connections of each process; idle ones are closed beyond it"
    )
    deadline_s: float = Field(
        default=120.0, gt=0, le=3600, description="how long after its arrival a request ends, answered or not"
    )
    answer_cache_mb: int = Field(
        default=64, ge=0, description="the most megabytes of answers kept; 0 for none"
    )
    log_format: Literal["text", "json"] = Field(default="text", description="how the server's log is written")
    log_questions: bool = Field(default=False, description="log the text of questions")
    traces: str | None = Field(
        default=None, description="the OTLP/HTTP address that traces are sent to; needs the extra otel"
    )
    open_mb: int = Field(default=1024, ge=1, description="the most megabytes of indexes held open at once")
    state: Path | None = Field(
        default=None,
        description="the folder of uploads, jobs and keys; by default `service` in the store's folder, or "
        "beside where that is by default",
    )
    jobs: SecretStr | None = Field(
        default=None,
        description="the database of jobs where several machines index, such as postgresql://USER@HOST/NAME, "
        "which needs the extra postgres; by default a file in the state's folder",
    )
    largest_upload_mb: int = Field(default=100, ge=1, le=4096, description="the largest book to be uploaded")
    most_jobs: int = Field(default=100, ge=1, description="the most uploads that may wait to be indexed")
    stall_s: float = Field(
        default=180.0,
        gt=0,
        description="how long indexing may stand still; as long again for each further megabyte of the file",
    )
    keys: SecretStr | None = Field(
        default=None,
        description="hashes of API keys as `storyqa keys create` prints them",
    )
    rate: str = Field(default="600/minute", description="how often each API key may ask")
    rate_storage: str | None = Field(
        default=None, description="where processes count that together, such as redis://HOST:PORT"
    )
    insecure: bool = Field(default=False, description="serve anyone who can reach it, without keys")
    cors_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="the sites whose pages may call the service, separated by commas"
    )
    debug: bool = Field(default=False, description="show the whole of an unexpected error")

    @field_validator("store", mode="before")
    @classmethod
    def _address(cls, value: Any) -> Any:
        try:
            return checked_address(value) if isinstance(value, str) else value
        except StoryQAError as error:
            raise ValueError(str(error)) from None

    @field_validator("cache", "state", mode="before")
    @classmethod
    def _folder(cls, value: Any) -> Any:
        try:
            return folder_named(value) if isinstance(value, str) else value
        except StoryQAError as error:
            raise ValueError(str(error)) from None

    @field_validator("readers", "retrievers", "cors_origins", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value

    @field_validator("reader", "extractor", "readers")
    @classmethod
    def _known_readers(cls, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
        return _checked(value, spec_of)

    @field_validator("retriever", "retrievers")
    @classmethod
    def _known_retrievers(cls, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
        return _checked(value, lambda name: check_name("retriever", name, RETRIEVERS))

    @field_validator("cors_origins")
    @classmethod
    def _origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        origins = tuple(one.lower().removesuffix("/") for one in value)  # as browsers send them
        for given, origin in zip(value, origins, strict=True):
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                raise ValueError(
                    f"{given!r} is no origin of pages; wanted such as https://reader.example.org, with "
                    "a port where it has one and no path, or * for every one"
                )
        return origins

    @field_validator("traces")
    @classmethod
    def _http(cls, value: str | None) -> str | None:
        if value is not None and not re.match(r"https?://[^/]", value):
            raise ValueError(
                f"{value!r} is no address for traces; wanted such as http://127.0.0.1:4318/v1/traces"
            )
        return value

    @field_validator("model_servers", mode="before")
    @classmethod
    def _split_servers(cls, value: Any) -> Any:
        given = cls._split("" if value == "none" else value)
        return tuple(one.rstrip("/") for one in given) if isinstance(given, tuple) else given

    @field_validator("model_servers")
    @classmethod
    def _on_this_machine(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for address in value:
            if not is_local(address):
                raise ValueError(
                    f"{address!r} is no address on this machine; wanted such as {USUAL_ADDRESSES[0]}, or none"
                )
        return value

    @property
    def state_folder(self) -> Path:
        """Where the service keeps what is its own."""
        if self.state is not None:
            return self.state
        folder = self.store if isinstance(self.store, Path) else platformdirs.user_data_path("storyqa")
        return folder / "service"

    @property
    def own_folders(self) -> tuple[Path, ...]:
        """The folders that storyqa fills itself, where none of the user's books lie."""
        filled = (self.store, self.cache, self.state_folder)
        return tuple(one for one in filled if isinstance(one, Path))

    @property
    def jobs_url(self) -> str | None:
        """The address of the database of jobs, if they are in one."""
        return None if self.jobs is None else self.jobs.get_secret_value()

    @property
    def key_file(self) -> Path:
        """The file that ``storyqa keys`` keeps."""
        return self.state_folder / "keys.json"

    def index_store(self) -> Store:
        """The store; raises StoryQAError where what it needs is not installed."""
        return self.configuration().index_store()

    def allowed_readers(self) -> tuple[str, ...]:
        """The readers a client may name: any model that a stranger named would be fetched and loaded."""
        return tuple(dict.fromkeys((self.reader, *self.readers)))

    def allowed_retrievers(self) -> tuple[str, ...]:
        """The retrievers a client may name: some take seconds, or minutes for a long book."""
        return tuple(dict.fromkeys((self.retriever, *self.retrievers)))

    def configuration(self, keyless: Collection[str] = ()) -> Configuration:
        """What of this everything below the service is given.

        Chat endpoints at the addresses ``keyless`` are not shown the key.
        """
        key = None if self.chat_key is None else self.chat_key.get_secret_value()
        return Configuration(
            store=self.store,
            cache=self.cache,
            open_bytes=self.open_mb * 2**20,
            store_cache_bytes=self.store_cache_mb * 2**20,
            answerable=self.answerable,
            sure=self.sure,
            reader_settings={
                "chat": {"key": key, "timeout_s": self.chat_timeout_s, "keyless": frozenset(keyless)}
            },
        )


def load_settings(store: StoreAddress | None = None) -> Settings:
    """The settings of this process, with ``store`` before the environment's; see ``warn_of_unknown``.

    Raises as ``read_settings`` does.
    """
    warn_of_unknown()
    return read_settings(store)


@functools.cache
def warn_of_unknown() -> None:
    """Warn, once in a process, of each variable that is called as ours are and that nothing reads."""
    known = [name.upper() for name in Settings.model_fields] + list(_NO_SETTINGS)
    for variable in sorted(os.environ):
        name = variable.upper().removeprefix(_PREFIX)
        if name == variable.upper() or name in known or _LINK.fullmatch(name):
            continue
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {_PREFIX}{near[0]}?" if near else ""
        log.warning("%s is no variable that storyqa knows, and changes nothing%s", variable, hint)


def read_settings(store: StoreAddress | None = None) -> Settings:
    """``load_settings`` for those who warn elsewhere, or whose parent has.

    Raises ``BadSetting``, ``StoryQAError`` where ``store`` is none, and ModelError for an unknown runtime.
    """
    asked_runtime()  # now, and not where the first question loads a model
    try:
        return Settings() if store is None else Settings(store=checked_address(store))
    except ValidationError as error:
        first = error.errors()[0]
        name = f"{_PREFIX}{str(first['loc'][0]).upper()}"
        said = first["msg"].removeprefix("Value error, ")
        raise BadSetting(f"{name} is {os.environ.get(name)!r}: {said}") from None


def _checked(value: str | tuple[str, ...], check: Callable[[str], object]) -> str | tuple[str, ...]:
    """``value``, a name or several; raises ValueError for one that ``check`` raises ``UnknownName`` for."""
    try:
        for name in (value,) if isinstance(value, str) else value:
            check(name)
    except UnknownName as error:
        raise ValueError(str(error)) from None
    return value
