"""Does what the Dockerfile says without Docker: its commands in a folder, its server until it is healthy.

    python deploy/rehearse.py FOLDER            # builds FOLDER/opt/storyqa anew, then serves and stops
    python deploy/rehearse.py FOLDER --built    # serves what an earlier rehearsal has built

Commands that change the system (``apt-get``, ``useradd``) are shown and left out.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from dockerfile_parse import DockerfileParser  # type: ignore[import-untyped]

ROOT = Path(__file__).parent.parent
PATIENCE_S = 600


def steps(stage: str) -> list[tuple[str, str]]:
    """The instructions of one stage, in order."""
    found: list[tuple[str, str]] = []
    within = False
    with (ROOT / "deploy" / "Dockerfile").open("rb") as file:
        for one in DockerfileParser(fileobj=file).structure:
            if one["instruction"] == "FROM":
                within = one["value"].endswith(f" AS {stage}")
            elif within and one["instruction"] != "COMMENT":
                found.append((one["instruction"], one["value"]))
    return found


def build(folder: Path) -> None:
    """The stage ``build``, in ``folder`` instead of ``/``."""
    shutil.rmtree(folder, ignore_errors=True)
    source = folder / "src"
    source.mkdir(parents=True)
    for name, value in steps("build"):
        if name == "COPY":
            *sources, _ = value.split()
            for one in sources:
                copy = shutil.copytree if (ROOT / one).is_dir() else shutil.copy
                copy(ROOT / one, source / one)
        elif name == "RUN":
            command = value.replace("/opt/storyqa", str(folder / "opt" / "storyqa"))
            print(f"$ {command}", flush=True)
            subprocess.run(["bash", "-ec", command], cwd=source, check=True)


def serve(folder: Path) -> None:
    """The stages ``runtime`` and ``cpu``: settings, command, health check; raises where one fails."""
    instructions = steps("runtime") + steps("cpu")
    environment = {"PATH": os.environ["PATH"], "STORYQA_INSECURE": "1"}
    for name, value in instructions:
        if name == "ENV":
            for key, set_to in re.findall(r"(\w+)=(\S+)", value):
                moved = set_to.replace("/opt/storyqa", str(folder / "opt" / "storyqa"))
                if set_to.startswith(("/data", "/tmp")):
                    moved = f"{folder}{moved}"
                environment[key] = moved.replace("$PATH", environment["PATH"])
        elif name == "RUN":
            print(f"left out: {value}", flush=True)
    said = dict(instructions)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    command = [
        part.replace("8000", port) for part in json.loads(said["ENTRYPOINT"]) + json.loads(said["CMD"])
    ]
    health = [part.replace("8000", port) for part in json.loads(said["HEALTHCHECK"].partition("CMD ")[2])]
    (folder / "tmp").mkdir(exist_ok=True)
    print(f"$ {' '.join(command)}", flush=True)
    began = time.monotonic()
    executable = shutil.which(command[0], path=environment["PATH"])
    server = subprocess.Popen([executable or command[0], *command[1:]], env=environment, cwd=folder)
    try:
        while subprocess.run(health, env=environment, capture_output=True).returncode != 0:
            if server.poll() is not None or time.monotonic() - began > PATIENCE_S:
                raise SystemExit("the server did not become healthy")
            time.sleep(0.5)
        print(f"healthy after {time.monotonic() - began:.1f} s", flush=True)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)
    print(f"stopped on SIGTERM with {server.returncode}")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--built", action="store_true", help="serve what an earlier rehearsal has built")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    if not arguments.built:
        build(folder)
    serve(folder)


if __name__ == "__main__":
    main()
