"""The package as others install it: a wheel, in an environment of its own, outside of the repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
import shelf

import storyqa

ROOT = Path(__file__).parents[1]
BUILD = "import sys; sys.path[:0] = ['deploy']; import build_backend; print(build_backend.{}(sys.argv[1]))"
THEIRS = ("service", "training", "text", "readers", "evaluation", "indexing", "answering", "retrieval")

pytestmark = pytest.mark.processes


def run(*command: str, cwd: Path, **environment: str) -> str:
    """What the command prints; it must succeed, and knows nothing of the repository."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, env=kept | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def built(kind: str, into: Path, root: Path = ROOT) -> Path:
    return into / run(sys.executable, "-c", BUILD.format(kind), str(into), cwd=root).split()[-1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is built from the source distribution, as whoever packages it does."""
    folder = tmp_path_factory.mktemp("dist")
    with tarfile.open(built("build_sdist", folder)) as archive:
        archive.extractall(folder, filter="data")
    [source] = (path for path in folder.iterdir() if path.is_dir())
    return built("build_wheel", folder, source)


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has the wheel, and our dependencies but not the repository."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    site = next(folder.glob("lib/python*/site-packages"))
    python = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps")
    run(*pip, "--no-index", str(wheel), cwd=folder)
    # A path, whose own .pth files are not read: an editable installation there stays unseen.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder of the user's with packages of our rooms' names, which fail if they are taken for ours."""
    for name in THEIRS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("THEIRS = True\n")
    (tmp_path / "lantern.txt").write_text(shelf.LANTERN, encoding="utf-8")
    return tmp_path


def test_a_wheel_holds_one_package_that_says_its_types(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"storyqa"}
    assert {"storyqa/py.typed", "storyqa/service/page/static/index.html"} <= set(names)
    ours = {
        str(path.relative_to(ROOT))
        for room in ("encoders", "readers", "evaluation", "text")
        for path in (ROOT / room).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert ours <= {name.removeprefix("storyqa/") for name in names}


LIBRARY = """
import json, service, text, training
from storyqa import AsyncClient, Client, Library
library = Library("store", retriever="bm25", reader="overlap")
book = library.index("lantern.txt")
answer = library.ask(book.id, "Where had Ines hidden the good oil?", before="100%")
assert service.THEIRS and text.THEIRS and training.THEIRS
hits = library.search(["lantern"], "Who kept the lighthouse?", k=2, before={"lantern": 1300}).hits
place = answer.evidence
assert library.text(book.id, place.start, place.end) == place.text
print(json.dumps({"books": [one.id for one in library.books()], "sentence": place.sentence,
                  "ends": [hit.end for hit in hits]}))
"""


def test_the_library_works_where_the_user_has_packages_of_our_rooms_names(
    python: Path, project: Path
) -> None:
    (project / "theirs.py").write_text(LIBRARY)
    told = json.loads(run(str(python), "theirs.py", cwd=project))
    assert told["books"] == ["lantern"]
    assert told["sentence"] in " ".join(shelf.LANTERN.split()) or told["sentence"] in shelf.LANTERN
    assert told["ends"]
    assert all(end <= 1300 for end in told["ends"])


def test_the_command_works_there_too(python: Path, project: Path) -> None:
    command = str(python.with_name("storyqa"))
    assert run(command, "--version", cwd=project) == "storyqa 0.1.0\n"
    store = ("--store", "store")
    run(command, "index", "lantern.txt", "--workers", "2", *store, cwd=project)
    asked = ("lantern", "Who kept the lighthouse?", "--retriever", "bm25", "--reader", "overlap", "--json")
    answer = json.loads(run(command, "ask", *asked, *store, cwd=project))
    assert answer["evidence"]["book_id"] == "lantern"
    for name in ("evaluate", "train", "probe", "worlds", "reproduce"):
        assert "Usage" in run(command, name, "--help", cwd=project)
    completion = run(
        command, "--show-completion", "bash", cwd=project, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1"
    )
    assert "_STORYQA_COMPLETE=complete_bash" in completion


def test_type_checkers_see_the_types(python: Path, project: Path) -> None:
    (project / "typed.py").write_text(
        "from storyqa import Library\n"
        "reveal_type(Library('x').ask('a', 'Who?', before={'a': '40%'}).evidence)\n"
        "reveal_type(Library('x').books()[0].title)\n"
    )
    checked = run(sys.executable, "-m", "mypy", "--python-executable", str(python), "typed.py", cwd=project)
    assert 'Revealed type is "storyqa.service.schemas.EvidenceOut | None"' in checked
    assert 'Revealed type is "str"' in checked


def test_every_public_name_leads_somewhere_and_no_other_does() -> None:
    assert sorted(storyqa.__all__) == storyqa.__all__
    for name in storyqa.__all__:
        assert getattr(storyqa, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = storyqa.Nothing
