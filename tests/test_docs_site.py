"""The documentation as a site: whole, without a broken link, and asking nothing of other machines."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import storyqa

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="the extra docs is not installed")
    pytest.importorskip("mkdocstrings")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def test_every_page_of_the_documentation_is_in_the_site(site: Path) -> None:
    pages = {path.with_suffix(".html").name for path in (ROOT / "docs").glob("*.md")}
    assert pages <= {path.name for path in site.glob("*.html")}


def test_the_reference_has_every_public_name(site: Path) -> None:
    page = (site / "reference.html").read_text(encoding="utf-8")
    headings = " ".join(re.findall(r'<h3 id="([^"]+)"', page))
    names = set(storyqa.__all__) - {"__version__"}
    assert {name for name in names if not re.search(rf"\b{name}\b", headings)} == set()
    assert "The answer to a question, and where it stands." in page


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|img|iframe)[^>]* src="([^"]+)"', page)
        loaded += re.findall(r'<link[^>]* rel="(?:stylesheet|preload|preconnect)"[^>]* href="([^"]+)"', page)
        loaded += re.findall(r'<link[^>]* href="([^"]+)"[^>]* rel="(?:stylesheet|preload|preconnect)"', page)
        assert [one for one in loaded if one.startswith(("http:", "https:", "//"))] == []
