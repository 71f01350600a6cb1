"""Who may call the service, how often and with how much."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import shelf
from server import new_key, problem, serving
from test_service import ASKED

from indexing.store import IndexStore
from service.access.api_keys import BadKeys, KeyFile, Scope, find_key, keys_in_environment, make_key
from service.access.authorization import is_loopback, scope_of
from service.access.middleware import MAX_QUESTION_BYTES, MAX_SHELF_BYTES
from service.access.rate_limits import RateLimits
from service.cli import run
from service.settings import Settings
from text.errors import StoryQAError


def settings(store: IndexStore, state: Path, **more: Any) -> Settings:
    return Settings(store=store.root, state=state, retriever="bm25", reader="overlap", **more)


def key_for(state: Path, name: str, scope: Scope, per_minute: int | None = None) -> dict[str, str]:
    """The header with a new key of the service whose folder is ``state``."""
    return {"Authorization": f"Bearer {new_key(state / 'keys.json', name, scope, per_minute)}"}


@pytest.fixture
def open_client(shelf_store: IndexStore, tmp_path: Path) -> Iterator[httpx.Client]:
    with serving(settings(shelf_store, tmp_path)) as client:
        yield client


def test_a_key_is_known_by_its_hash_and_nothing_else_is() -> None:
    secret, key = make_key("reader", "read")
    _, other = make_key("other", "admin")
    assert find_key([other, key], secret) == key
    assert secret.split("_", 2)[2] not in json.dumps([key.sha256, key.in_environment()])
    changed = secret[:-1] + ("A" if secret[-1] != "A" else "B")
    for wrong in (changed, secret.upper(), secret[:-1], f"{secret}x", "", "ü", key.sha256, f" {secret}"):
        assert find_key([other, key], wrong) is None


def test_keys_survive_the_file_and_the_environment_and_only_the_owner_may_read_them(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "deep" / "keys.json")
    assert file.read() == ()
    made = [make_key("one", "read"), make_key("two", "admin", 7)]
    for _, key in made:
        file.add(key)
    assert file.read() == tuple(key for _, key in made)
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert not any(secret.split("_", 2)[2] in file.path.read_text() for secret, _ in made)
    read = keys_in_environment(" , ".join(key.in_environment() for _, key in made))
    assert [find_key(read, secret) for secret, _ in made] == list(read)
    assert [(key.name, key.scope, key.per_minute) for key in read] == [
        ("one", "read", None),
        ("two", "admin", 7),
    ]
    assert file.revoke("one").revoked
    assert find_key(file.read(), made[0][0]) is None
    file.add(make_key("one", "read")[1])  # the name is free again
    with pytest.raises(BadKeys, match="choose another name"):
        file.add(make_key("one", "read")[1])


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("secret", "the key 'secret' in STORYQA_KEYS is not NAME:SCOPE:ID:SHA256"),
        ("a:read:x:y", "the key 'a' has an id or hash that storyqa did not make"),
        (f"a:owner:{'0' * 12}:{'0' * 64}", "unknown scope 'owner'; choose from read, admin"),
        (f"a:read:{'0' * 12}:{'0' * 64}:often", "the key 'a' in STORYQA_KEYS is not .* with :PER_MINUTE"),
        ("::::::", "the key '' in STORYQA_KEYS is not NAME:SCOPE:ID:SHA256"),
    ],
)
def test_keys_that_are_none_stop_the_service_from_starting(
    value: str, said: str, shelf_store: IndexStore, tmp_path: Path
) -> None:
    with pytest.raises(BadKeys, match=said), serving(settings(shelf_store, tmp_path, keys=value)):
        pass


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"keys": [{}]}', '{"keys": [{"id": 1}]}', "\0"])
def test_a_damaged_file_of_keys_never_opens_the_service(
    content: str, shelf_store: IndexStore, tmp_path: Path
) -> None:
    (tmp_path / "keys.json").write_text(content)
    with pytest.raises(BadKeys, match="put it right"), serving(settings(shelf_store, tmp_path)):
        pass


def test_where_there_are_keys_one_must_be_shown(shelf_store: IndexStore, tmp_path: Path) -> None:
    reader = key_for(tmp_path, "reader", "read")
    admin = key_for(tmp_path, "admin", "admin")
    secret, in_environment = make_key("from outside", "read")
    with serving(settings(shelf_store, tmp_path, keys=in_environment.in_environment())) as client:
        for path in ("/healthz", "/openapi.json"):
            assert client.get(path).status_code == 200
        for headers in ({}, {"Authorization": "Basic x"}, {"Authorization": "Bearer"}):
            refused = client.post("/answer", json=ASKED[0], headers=headers)
            assert "Authorization: Bearer KEY" in problem(refused, 401)["detail"]
            assert refused.headers["www-authenticate"] == 'Bearer realm="storyqa"'
        wrong = {"Authorization": reader["Authorization"][:-2] + "xx"}
        assert "invalid_token" in (refused := client.get("/books", headers=wrong)).headers["www-authenticate"]
        assert problem(refused, 401)["type"] == "urn:storyqa:problem:key"
        for headers in (reader, admin, {"authorization": f"bearer {secret}"}):
            assert client.post("/answer", json=ASKED[0], headers=headers).status_code == 200
        for headers in (reader, {"authorization": f"bearer {secret}"}):
            refused = client.delete("/books/lantern", headers=headers)
            assert "scope admin" in problem(refused, 403)["detail"]
        assert IndexStore(shelf_store.root).ids() == sorted(shelf.STORIES)
        problem(client.get("/nothing"), 401)  # not even what there is and is not can be found out
        problem(client.get("/nothing", headers=reader), 404)


def test_a_revoked_key_is_refused_at_once_and_the_last_one_leaves_the_door_shut(
    shelf_store: IndexStore, tmp_path: Path
) -> None:
    headers = key_for(tmp_path, "reader", "read")
    with serving(settings(shelf_store, tmp_path)) as client:
        assert client.get("/books", headers=headers).status_code == 200
        KeyFile(tmp_path / "keys.json").revoke("reader")
        problem(client.get("/books", headers=headers), 401)
        problem(client.get("/books"), 401)
        later = key_for(tmp_path, "later", "read")
        assert client.get("/books", headers=later).status_code == 200
        (tmp_path / "keys.json").write_text("{")
        assert client.get("/books", headers=later).status_code == 200
        (tmp_path / "keys.json").unlink()
        problem(client.get("/books"), 401)


def test_each_key_has_a_rate_of_its_own(shelf_store: IndexStore, tmp_path: Path) -> None:
    few = key_for(tmp_path, "few", "read", per_minute=3)
    many = key_for(tmp_path, "many", "read")
    with serving(settings(shelf_store, tmp_path, rate="5/hour")) as client:
        assert client.head("/books").status_code == 401
        counts = {}
        for name, headers in (("few", few), ("many", many)):
            answers = [client.request(method, "/books", headers=headers) for method in ("HEAD", "GET") * 4]
            counts[name] = [answer.status_code for answer in answers].count(200)
            content = problem(answers[-1], 429)
            assert content["type"] == "urn:storyqa:problem:too-often"
            assert 0 < int(answers[-1].headers["retry-after"]) <= 3600
        assert counts == {"few": 3, "many": 5}
        assert client.get("/healthz").status_code == 200


def test_setting_the_clock_changes_no_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = RateLimits("1/second")
    now, real = [100.0], time.time
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    assert asyncio.run(rates.wait_s("key")) == 0
    assert asyncio.run(rates.wait_s("key")) == 1
    monkeypatch.setattr(time, "time", lambda: real() + 1e6)
    assert asyncio.run(rates.wait_s("key")) == 1
    monkeypatch.setattr(time, "time", lambda: real() - 1e6)
    now[0] += 1.05
    assert asyncio.run(rates.wait_s("key")) == 0


def test_whoever_goes_on_asking_is_let_in_again_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rates, now = RateLimits("1/second"), [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    waits = []
    for at in (100.0, 100.5, 100.9, 101.1, 101.5, 102.2):
        now[0] = at
        waits.append(asyncio.run(rates.wait_s("key")))
    assert [wait > 0 for wait in waits] == [False, True, True, False, True, False]


@pytest.mark.parametrize(
    ("rate", "storage", "said"),
    [
        ("often", None, "'often' is no rate"),
        ("0/minute", None, "wanted one of 1 or more"),
        ("10/second; 600/minute", None, "wanted one of 1 or more"),
        ("1/minute", "nowhere://1.2.3.4", "'nowhere://1.2.3.4' .*; wanted redis://"),
        ("1/minute", "redis://[::1", r"'redis://\[::1' .*; wanted redis://"),
    ],
)
def test_rates_that_cannot_be_counted_are_said_at_the_start(
    rate: str, storage: str | None, said: str
) -> None:
    with pytest.raises(StoryQAError, match=said):
        RateLimits(rate, storage)


@pytest.mark.parametrize("state", ["closed", "silent", "no Redis"])
def test_while_the_shared_counts_do_not_answer_a_call_with_a_key_is_told_to_come_again(
    shelf_store: IndexStore, tmp_path: Path, state: str
) -> None:
    def reply(server: socket.socket) -> None:
        with contextlib.suppress(OSError):  # until the server is closed
            while True:
                with server.accept()[0] as one:
                    one.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    reader = key_for(tmp_path, "few", "read")
    with socket.create_server(("127.0.0.1", 0)) as redis:
        storage = f"redis://user:secret@127.0.0.1:{redis.getsockname()[1]}"
        if state == "closed":
            redis.close()
        if state == "no Redis":
            threading.Thread(target=reply, args=[redis], daemon=True).start()
        with serving(settings(shelf_store, tmp_path, rate_storage=storage)) as client:
            for _ in range(3):
                refused = client.get("/books", headers=reader)
                content = problem(refused, 503)
                assert content["type"] == "urn:storyqa:problem:rates-unavailable"
                assert "secret" not in refused.text
                assert int(refused.headers["retry-after"]) >= 1
            problem(client.get("/books"), 401)
            assert client.get("/healthz").status_code == 200


def test_without_keys_this_machine_alone_is_served(shelf_store: IndexStore, tmp_path: Path) -> None:
    outside = {"Host": "books.example.org"}
    with serving(settings(shelf_store, tmp_path)) as client:
        assert client.get("/books").status_code == 200
        assert client.get("/books", headers={"Host": "localhost:8000"}).status_code == 200
        assert "storyqa keys create" in problem(client.get("/books", headers=outside), 403)["detail"]
        assert client.get("/healthz", headers=outside).status_code == 200
    with serving(settings(shelf_store, tmp_path, insecure=True)) as client:
        assert client.get("/books", headers=outside).status_code == 200


@pytest.mark.parametrize(
    ("host", "own"),
    [
        *((own, True) for own in ("127.0.0.1", "127.8.8.8", "localhost", "[::1]", "::1", "::ffff:127.0.0.1")),
        *(
            (other, False)
            for other in ("0.0.0.0", "::", "10.0.0.1", "", "localhost.example.org", "127.0.0.1.x")
        ),
    ],
)
def test_what_is_this_machine_is_told_from_what_is_not(host: str, own: bool) -> None:
    assert is_loopback(host) is own


def test_everything_that_is_not_known_to_read_needs_an_admin() -> None:
    assert scope_of("POST", "/answer") == scope_of("GET", "/books") == scope_of("GET", "/metrics") == "read"
    assert {scope_of(*call) for call in [("POST", "/books"), ("DELETE", "/books/x"), ("PUT", "/x")]} == {
        "admin"
    }
    assert scope_of("GET", "/healthz") is scope_of("GET", "/") is None
    assert scope_of("POST", "/") == "admin"


def test_pages_of_other_sites_can_change_nothing_and_read_nothing_unless_named(
    shelf_store: IndexStore, tmp_path: Path
) -> None:
    site = {"Origin": "https://reader.example.org"}
    with serving(settings(shelf_store, tmp_path)) as client:
        problem(client.post("/answer", json=ASKED[0], headers=site), 403)
        assert "access-control-allow-origin" not in client.get("/books", headers=site).headers
        own = {"Origin": str(client.base_url).rstrip("/")}
        assert client.post("/answer", json=ASKED[0], headers=own).status_code == 200
    key = key_for(tmp_path, "page", "read")
    named = settings(shelf_store, tmp_path, cors_origins="https://Reader.example.org/, http://[::1]:8080")
    assert named.cors_origins == (site["Origin"], "http://[::1]:8080")
    with serving(named) as client:
        preflight = client.options(
            "/answer",
            headers=site | {"Access-Control-Request-Method": "POST"} | {"Host": "books.example.org"},
        )
        assert preflight.status_code == 200
        assert preflight.headers["access-control-allow-origin"] == site["Origin"]
        for path, method, sent in (
            ("/shelves/sea", "PUT", "authorization, content-type"),
            ("/books", "HEAD", "authorization"),
            ("/mcp", "POST", "mcp-protocol-version, mcp-session-id"),
            ("/v1/chat/completions", "POST", "authorization, x-stainless-lang"),
        ):
            asked = {"Access-Control-Request-Method": method, "Access-Control-Request-Headers": sent}
            preflight = client.options(path, headers=site | asked)
            assert preflight.status_code == 200, preflight.text
            assert preflight.headers["access-control-allow-headers"] == sent
            assert method in preflight.headers["access-control-allow-methods"]
        answer = client.post("/answer", json=ASKED[0], headers=site | key)
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == site["Origin"]
        refused = client.post("/answer", json=ASKED[0], headers=site)
        assert problem(refused, 401)  # and the page may read why:
        assert refused.headers["access-control-allow-origin"] == site["Origin"]
        other = client.options(
            "/answer", headers={"Origin": "https://example.com", "Access-Control-Request-Method": "POST"}
        )
        assert other.status_code == 400
        assert "access-control-allow-origin" not in other.headers


def test_every_answer_tells_browsers_to_load_nothing(open_client: httpx.Client) -> None:
    for path in ("/books", "/nothing", "/healthz"):
        headers = open_client.get(path).headers
        assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_a_body_beyond_the_limit_is_refused_whatever_it_claims(open_client: httpx.Client) -> None:
    content = problem(open_client.post("/answer", content=b" " * (MAX_QUESTION_BYTES + 1)), 413)
    assert content["type"] == "urn:storyqa:problem:too-large"
    assert content["most_bytes"] == MAX_QUESTION_BYTES
    assert "larger than 256 kB" in content["detail"]
    pieces = (b" " * 2**16 for _ in range(MAX_QUESTION_BYTES // 2**16 + 2))
    assert problem(open_client.post("/answer", content=pieces), 413) == content
    assert open_client.post("/answer", json=ASKED[0]).status_code == 200


def test_a_shelf_may_be_as_large_as_a_shelf_can_be(open_client: httpx.Client) -> None:
    books = [f"{number:0>128}" for number in range(10_000)]
    assert "unknown book" in problem(open_client.put("/shelves/all", json={"books": books}), 404)["detail"]
    refused = open_client.put("/shelves/all", content=b" " * (MAX_SHELF_BYTES + 1))
    assert "larger than 3 MB" in problem(refused, 413)["detail"]
    assert "at most 10,000 ids" in refused.json()["detail"]


def test_a_claim_of_a_gigabyte_is_refused_before_anything_is_sent(open_client: httpx.Client) -> None:
    for path, kind in (("/answer", "application/json"), ("/books", "multipart/form-data; boundary=x")):
        with socket.create_connection((open_client.base_url.host, open_client.base_url.port or 0)) as caller:
            caller.settimeout(30)
            head = (
                f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {2**30}"
            )
            caller.sendall(f"{head}\r\n\r\n".encode())
            assert caller.recv(2**16).startswith(b"HTTP/1.1 413 ")


def test_a_question_of_many_characters_is_refused_for_its_length(open_client: httpx.Client) -> None:
    for question in ("x" * 10**5, "🜁" * 10**4):
        content = problem(open_client.post("/answer", json=ASKED[0] | {"question": question}), 422)
        assert "at most 2000 characters" in content["detail"]
        assert len(content["detail"]) < 200


def test_keys_are_made_listed_and_revoked_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORYQA_STORE", str(tmp_path))

    def storyqa(*arguments: str, code: int = 0) -> str:
        assert run(["keys", *arguments]) == code
        captured = capsys.readouterr()
        return captured.err if code else captured.out

    made = json.loads(storyqa("create", "Ann", "--scope", "admin", "--per-minute", "5", "--json"))
    [kept] = KeyFile(tmp_path / "service" / "keys.json").read()
    assert find_key([kept], made["key"]) == kept
    assert find_key(keys_in_environment(made["environment"]), made["key"]) is not None
    shown = storyqa("create", "Bob")
    assert shown.startswith("sqa_")
    listed = storyqa("list")
    assert "Ann" in listed
    assert "Bob" in listed
    assert made["key"] not in listed
    assert kept.sha256 not in listed + storyqa("list", "--json")
    assert "revoked Bob" in storyqa("revoke", "Bob")
    assert [key["revoked"] for key in json.loads(storyqa("list", "--json"))] == [False, True]
    assert "no key in use" in storyqa("revoke", "Bob", code=2)
    assert "cannot be a key's name" in storyqa("create", "a:b", code=2)
    assert "1 or more" in storyqa("create", "c", "--per-minute", "0", code=2)


def test_serve_refuses_other_addresses_without_keys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", "--host", "0.0.0.0", "--port", "0", "--store", str(tmp_path)]) == 2
    assert "--insecure" in capsys.readouterr().err


@pytest.mark.parametrize("damaged", ["environment", "file"])
def test_serve_tells_of_damaged_keys_before_it_says_where_it_listens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, damaged: str
) -> None:
    if damaged == "environment":
        monkeypatch.setenv("STORYQA_KEYS", "bad")
    else:
        (tmp_path / "service").mkdir()
        (tmp_path / "service" / "keys.json").write_text("{")
    assert run(["serve", "--port", "0", "--store", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("storyqa: ")
    assert said.err.count("\n") == 1
