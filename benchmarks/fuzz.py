"""Schemathesis over the whole OpenAPI: no 5xx, no status that is not documented, no answer of another shape.

``python -m benchmarks.fuzz --examples 200`` starts a server over a new store, puts a book into it over HTTP,
and sends what Schemathesis makes of the OpenAPI, sound and unsound, to every call. Exit code 1 where a check
failed; every failure is printed with the request that shows it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
# The id of the examples in the OpenAPI, so that some requests get as far as an answer.
BOOK = "the-bell"
_PATIENCE_S = 600


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


def put_book(url: str) -> None:
    """Upload how the sample story begins and wait until it is on the shelf."""
    story = ROOT / "evaluation" / "sample" / "weigher-of-sandry-quay.txt"
    transport = httpx.HTTPTransport(retries=20)  # it listens a moment after it has said where
    text = story.read_text(encoding="utf-8")[:4000]
    with httpx.Client(base_url=url, transport=transport, timeout=60) as client:
        began = client.post("/books", json={"text": text, "id": BOOK}).raise_for_status()
        deadline = time.monotonic() + _PATIENCE_S
        while (job := client.get(began.headers["location"]).json())["status"] != "done":
            if job["status"] == "failed" or time.monotonic() > deadline:
                raise SystemExit(f"the book cannot be indexed: {job}")
            time.sleep(0.2)


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
        put_book(url)
        return fuzz(url, arguments.examples, arguments.seed, arguments.phases)


if __name__ == "__main__":
    sys.exit(main())
