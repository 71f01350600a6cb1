"""On a Ray cluster of two nodes: what one machine makes is made, and a node that is killed costs nothing.

Run where Ray is installed: pip install -c constraints.txt '.[cluster]'
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import folktales
import pytest
from test_book_lists import PATIENCE_S, ROOT, STORYQA, builds, library

from indexing.cluster import connected, mapped
from indexing.store import IndexStore
from text.errors import StoryQAError

cluster_utils = pytest.importorskip("ray.cluster_utils", reason="the extra cluster is not installed")
pytestmark = [pytest.mark.processes, pytest.mark.filterwarnings("ignore")]

ONE_THREAD = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A cluster with a head that has one processor; each test adds the other node."""
    for name in ("OMP_NUM_THREADS", "PYTHONPATH"):
        monkeypatch.setenv(name, ONE_THREAD[name])
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    head = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 100 * 2**20}
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
    yield cluster
    cluster.shutdown()


def storyqa(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*STORYQA, *arguments],
        cwd=ROOT,
        env=ONE_THREAD,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_list_is_indexed_whole_though_a_node_is_killed(
    cluster: Any, tiny_bert: Path, tmp_path: Path
) -> None:
    file = library(tmp_path / "library", books=16, words=6000)
    options = ["index", "--manifest", str(file), "--encoder", str(tiny_bert), "--json"]
    alone, store = IndexStore(tmp_path / "alone"), IndexStore(tmp_path / "store")
    single = storyqa(*options, "--workers", "1", "--store", str(alone.root))
    told_alone = json.loads(single.communicate()[0])
    node = cluster.add_node(num_cpus=1, object_store_memory=100 * 2**20)
    cluster.wait_for_nodes()
    report = tmp_path / "report.jsonl"
    process = storyqa(*options, "--ray", cluster.address, "--store", str(store.root), "--report", str(report))
    deadline = time.monotonic() + PATIENCE_S
    while len(store.ids()) < 4 and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    before = store.builds()
    assert len(before) < 16
    cluster.remove_node(node, allow_graceful=False)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 3, err
    told = json.loads(out)
    assert sorted(one["id"] for one in told) == sorted(one["id"] for one in told_alone)  # none twice
    assert {one["id"] for one in told if one["status"] == "failed"} == {
        json.loads(line)["id"] for line in report.read_text("utf-8").splitlines()
    }
    assert builds(store) == builds(alone)
    assert before.items() <= store.builds().items()
    assert not list((store.root / "books").glob("*/.new-*"))


def test_an_item_that_kills_its_process_is_lost_and_no_other(cluster: Any) -> None:
    def double(item: int) -> int:
        if item == 7:
            os._exit(1)
        return 2 * item

    with connected(cluster.address):
        found = dict(mapped("doubling", double, range(70)))
    assert found == {item: None if item == 7 else 2 * item for item in range(70)}


def test_a_cluster_that_is_not_there_is_said_at_once() -> None:
    with pytest.raises(StoryQAError, match=r"no Ray cluster at '127\.0\.0\.1:9'"), connected("127.0.0.1:9"):
        pass


def test_figures_of_a_cluster_are_those_of_one_machine(cluster: Any, tmp_path: Path) -> None:
    cluster.add_node(num_cpus=1, object_store_memory=100 * 2**20)
    folktales.write_fairytaleqa(tmp_path / "fairytaleqa")
    for setting in (["--setting", "sections"], ["--setting", "stories", "--retriever", "rerank"]):
        scores = []
        for number, where in enumerate([[], ["--ray", cluster.address]]):
            options = [
                "--data",
                str(tmp_path / "fairytaleqa"),
                "--out",
                str(tmp_path / setting[1] / str(number)),
            ]
            if "stories" in setting:
                options += ["--store", str(tmp_path / f"store-{number}")]
            process = storyqa(
                "evaluate", "fairytaleqa", *setting, *options, "--reader", "span", *where, "--json"
            )
            out, err = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0, err
            scores.append(json.loads(out) | {"command": ""})
        assert scores[0] == scores[1]
        lines = [
            sorted(
                (tmp_path / setting[1] / str(number) / "predictions.jsonl").read_text("utf-8").splitlines()
            )
            for number in range(2)
        ]
        assert lines[0] == lines[1]
        assert len(lines[0]) == 7
