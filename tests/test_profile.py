"""The profile of a question: each moment counts once, to the step and the layer that it was spent in."""

from __future__ import annotations

import importlib
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from benchmarks import profile_report, steps
from benchmarks.profile import ATTENTION, KINDS, LINEAR, REST, NodeClock, Profile, by_layer, observed
from benchmarks.profile_report import BEGIN, END, rows, tables, write
from benchmarks.steps import EMBEDDINGS, GRAPH, HEAD, OTHER, SEARCH, STEPS, StepClock, step_of
from encoders.backbone import MINILM
from encoders.runtime import OPENVINO, Runtime, run_backbone

ROOT = Path(__file__).parents[1]
needs_openvino = pytest.mark.skipif(find_spec("openvino") is None, reason="OpenVINO is not installed")


def node(type: str, milliseconds: float) -> SimpleNamespace:
    return SimpleNamespace(node_type=type, real_time=timedelta(milliseconds=milliseconds))


def layer(linear: float, attention: float) -> list[SimpleNamespace]:
    """The nodes of a layer, as they are executed, with a millisecond for each norm."""
    return [
        node("Reorder", 0.0),
        node("FullyConnectedCompressed", linear),
        node("Subgraph", attention),
        node("MVN", 1.0),
        node("FullyConnected", linear),
        node("MVN", 1.0),
    ]


def test_a_layer_ends_with_its_second_norm_and_what_is_outside_of_all_is_of_the_nearest() -> None:
    embeddings = node("MVN", 0.25)
    found = by_layer([embeddings, *layer(2, 3), *layer(4, 5), node("MulAdd", 0.5)])
    assert found == [{LINEAR: 4, ATTENTION: 3, REST: 2.25}, {LINEAR: 8, ATTENTION: 5, REST: 2.5}]
    apart = [node("MatMul", 1), node("Softmax", 1), node("MatMul", 1)]
    assert by_layer(apart) == [{LINEAR: 0, ATTENTION: 3, REST: 0}]


def test_means_of_all_calls_become_sums_and_layers_of_a_second_graph_follow_the_first() -> None:
    now = SimpleNamespace(outer=OTHER)
    clock = NodeClock(cast(StepClock, now))
    lower, upper, decoder = (cast(Any, name) for name in ("lower", "upper", "decoder"))

    def call(graph: Any, nodes: Sequence[SimpleNamespace]) -> None:
        clock(graph, SimpleNamespace(profiling_info=nodes))

    call(lower, layer(5, 5))  # warms up: means are of it, too
    now.outer = GRAPH
    for _ in range(2):
        call(lower, layer(3, 2))
        call(upper, [node("MVN", 0.0), *layer(1, 1), *layer(2, 2)])
        now.outer = "decoder"
        call(decoder, layer(9, 9))
        now.outer = GRAPH
    # 3 calls of 3 ms in the mean, less the first one's 5: 4 by two questions.
    assert [round(one[LINEAR], 6) for one in clock.layers(2)] == [4, 2, 4]
    assert [round(one[ATTENTION], 6) for one in clock.layers(2)] == [0.5, 1, 2]


def test_every_step_names_files_and_functions_that_there_are() -> None:
    pytest.importorskip("openvino")
    for place in (*STEPS, *steps.WHOLE):
        file, _, function = place.partition(":")
        assert (ROOT / file).exists()
        if function:
            found: Any = importlib.import_module(file.removesuffix(".py").replace("/", "."))
            for name in function.split("."):
                found = getattr(found, name)
            assert found.__code__.co_filename == str(ROOT / file)
            assert step_of(found.__code__.co_filename, found.__code__.co_qualname)[0] == STEPS[place]


def function_of(file: str, name: str = "run") -> Any:
    """A function that calls what it is given, as if it stood in ``file``."""
    found: dict[str, Any] = {}
    exec(compile(f"def {name}(call): return call()", str(ROOT / file), "exec"), found)
    return found[name]


def test_time_counts_to_the_innermost_step_unless_a_whole_one_is_around_it() -> None:
    windows, head = function_of("encoders/windows.py"), function_of("encoders/cross_encoder.py")
    nowhere, retrieval = function_of("text/words.py"), function_of("retrieval/rerank.py")
    seen: list[str] = []
    clock = StepClock()

    def look() -> None:
        seen.append(clock.now)

    began = time.perf_counter()
    with clock:
        head(lambda: windows(look))
        head(lambda: nowhere(look))
        retrieval(lambda: head(lambda: windows(look)))
        look()
    assert seen == [steps.WINDOWS, HEAD, SEARCH, OTHER]
    assert sys.getprofile() is None
    assert set(clock.seconds) == {steps.WINDOWS, HEAD, SEARCH, OTHER, steps.OBSERVING}
    assert 0 < sum(clock.seconds.values()) <= time.perf_counter() - began


def test_a_step_that_raises_has_ended() -> None:
    clock = StepClock()
    with clock:
        with pytest.raises(ZeroDivisionError):
            function_of("encoders/windows.py")(lambda: 1 // 0)
        now = clock.now
    assert now == OTHER


@needs_openvino
def test_the_nodes_of_each_layer_of_the_encoder_are_timed_while_its_graphs_are_observed() -> None:
    import numpy as np

    clock = StepClock()
    nodes = NodeClock(clock)
    with observed(nodes):
        encoder = run_backbone(MINILM, {}, Runtime(OPENVINO, "cpu", "fp32"))
    with clock:
        encoder(np.ones((2, 16), dtype=np.int64))
    layers = nodes.layers(1)
    assert len(layers) == 6
    assert all(tuple(one) == KINDS and one[LINEAR] > 0 and one[ATTENTION] > 0 for one in layers)
    assert 0 < sum(sum(one.values()) for one in layers) <= 1000 * clock.seconds[GRAPH]
    assert clock.seconds[EMBEDDINGS] > 0


@needs_openvino
def test_nobody_observes_what_is_compiled_otherwise() -> None:
    from encoders.openvino_layers import Compiled

    with observed(NodeClock(StepClock())):
        assert Compiled.observer is not None
    assert Compiled.observer is None


def test_the_table_has_every_step_and_layer_and_the_picture_is_the_same_when_drawn_again(
    tmp_path: Path,
) -> None:
    pytest.importorskip("matplotlib")
    layers = tuple({LINEAR: 2.0, ATTENTION: 1.0, REST: 1.0} for _ in range(2))
    profile = Profile(12.0, {SEARCH: 1.0, EMBEDDINGS: 1.0, GRAPH: 1.0, HEAD: 1.0}, layers)
    assert sum(sum(parts) for _, parts in rows(profile)) == profile.total
    table = tables(profile, "Profiled.")
    assert "| encoder, layer 2 | 4.0 | 33.3% | 2.0 | 1.0 | 1.0 |" in table
    assert "| all | 12.0 | 100.0% | 4.0 | 2.0 | 2.0 |" in table
    document = tmp_path / "performance.md"
    document.write_text(f"before\n{BEGIN}\nold\n{END}\nbehind\n", encoding="utf-8")
    pictures = []
    for _ in range(2):
        write(profile, "Profiled.", tmp_path)
        pictures.append((tmp_path / profile_report.PICTURE).read_bytes())
    text = document.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith(f"{END}\nbehind\n")
    assert text.count(table) == 1
    assert "old" not in text
    assert pictures[0] == pictures[1]


@needs_openvino
@pytest.mark.processes
@pytest.mark.usefixtures("all_instructions")
def test_the_command_profiles_a_book_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "performance.md").write_text(f"{BEGIN}\n{END}\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "benchmarks.profile",
        "--questions",
        "2",
        "--words",
        "5000",
        "--docs",
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "performance.md").read_text(encoding="utf-8")
    assert "means of 2 questions" in text
    assert "| encoder, layer 6 |" in text
