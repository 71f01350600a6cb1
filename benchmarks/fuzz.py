"""Schemathesis over the whole OpenAPI: no 5xx, no status that is not documented, no answer of another shape.

``python -m benchmarks.fuzz --examples 200`` starts a server over a new store, puts books and a shelf into it
over HTTP, and sends what Schemathesis makes of the OpenAPI, sound and unsound, to every call. Exit code 1
where a check failed; every failure is printed with the request that shows it.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.sax.saxutils import escape

import httpx

ROOT = Path(__file__).parents[1]
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
)
# The names of the examples in the OpenAPI, so that some requests get as far as an answer.
BOOKS = ("the-bell", "the-mill")
SHELF = "mysteries"
_PATIENCE_S = 600
_LOOKS_S = 0.5
_COVER = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(64)).decode()
_OPENING = "Lisbet was the miller's daughter. Nobody but Lisbet knew where the key was hidden."
_FILE = """<FictionBook xmlns:l="http://www.w3.org/1999/xlink"><description><title-info>
<book-title>The Bell</book-title><coverpage><image l:href="#g"/></coverpage></title-info></description>
<body><section><title><p>III. The Bell Rope</p></title>{}</section></body>
<binary id="g" content-type="image/png">{}</binary></FictionBook>"""


@contextmanager
def server(store: Path) -> Iterator[str]:
    """The address of a server that answers with the quick models and takes all uploads that come."""
    command = [sys.executable, "-c", "from service.cli import main; main()", "serve", "--port", "0", "--json"]
    environment = os.environ | {
        "STORYQA_RETRIEVER": "bm25",
        "STORYQA_READER": "overlap",
        "STORYQA_MOST_JOBS": "100000",
    }
    # Not a pipe: nobody would read on in it, and the server would stop when it is full.
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as said, Path(said.name).open("w") as output:
        process = subprocess.Popen(
            [*command, "--store", str(store)],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=subprocess.DEVNULL,
        )
        try:
            begin = ""
            while "}\n" not in begin:
                if process.poll() is not None:
                    raise SystemExit("the server ended before it was ready")
                time.sleep(0.05)
                begin += said.read()
            yield str(json.loads(begin.partition("}\n")[0] + "}")["url"])
        finally:
            process.terminate()
            process.wait()


def put(client: httpx.Client) -> None:
    """Have the books, which are how the sample story begins, with a cover, and the shelf with them on it."""
    for id in BOOKS:
        if client.get(f"/books/{id}").status_code == 404:
            index(client, id)
    if client.get(f"/shelves/{SHELF}").status_code == 404:
        client.put(f"/shelves/{SHELF}", json={"books": BOOKS}).raise_for_status()


def index(client: httpx.Client, id: str) -> None:
    """Upload a book and wait until it can be asked."""
    story = (ROOT / "evaluation" / "sample" / "weigher-of-sandry-quay.txt").read_text(encoding="utf-8")
    paragraphs = "".join(f"<p>{escape(one)}</p>" for one in [_OPENING, *story[:4000].split("\n\n")])
    data = _FILE.format(paragraphs, _COVER).encode()
    began = client.post("/books", files={"file": ("bell.fb2", data)}, data={"id": id}).raise_for_status()
    deadline = time.monotonic() + _PATIENCE_S
    while (job := client.get(began.headers["location"]).json())["status"] != "done":
        if job["status"] == "failed" or time.monotonic() > deadline:
            raise SystemExit(f"the book cannot be indexed: {job}")
        time.sleep(0.2)


def stock(url: str) -> None:
    """Put the books and the shelf there, and from then on back when a call has taken them away."""
    client = httpx.Client(base_url=url, timeout=60)
    put(client)

    def keep() -> None:
        while True:
            time.sleep(_LOOKS_S)
            # Calls that come between ours, jobs that they give up, the server's end.
            with contextlib.suppress(httpx.HTTPError, KeyError, ValueError, SystemExit):
                put(client)

    threading.Thread(target=keep, daemon=True).start()


def fuzz(url: str, examples: int, seed: int, phases: str) -> int:
    """Run Schemathesis with ``examples`` cases at most per call and phase; its exit code."""
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json"]
    command += ["--checks", ",".join(CHECKS), "--phases", phases, "--max-examples", str(examples)]
    command += ["--seed", str(seed), "--mode", "all", "--request-timeout", "600", "--warnings", "off"]
    command += ["--generation-database", "none", "--continue-on-failure", "--no-color"]
    command += ["--suppress-health-check", "all"]
    with tempfile.TemporaryDirectory() as folder:  # where it would leave files
        return subprocess.run(command, cwd=folder, check=False).returncode


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--examples", type=int, default=200, help="cases at most per call and phase")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--phases", default="examples,coverage,fuzzing")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as store, server(Path(store)) as url:
        stock(url)
        return fuzz(url, arguments.examples, arguments.seed, arguments.phases)


if __name__ == "__main__":
    sys.exit(main())
