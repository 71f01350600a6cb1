"""What ``deploy/`` holds is what Docker, Kubernetes, systemd, Prometheus and Grafana can read."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from indexing.store import IndexStore
from service.cli import run
from service.observing.metrics import Metrics

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
INDEXING = DEPLOY / "indexing"
PROXY = DEPLOY / "haproxy"
HAPROXY = shutil.which("haproxy", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")


def documents(file: Path) -> list[dict[str, Any]]:
    """The YAML documents of a file."""
    return list(yaml.safe_load_all(file.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "file", sorted(DEPLOY.rglob("*.y*ml")), ids=lambda file: str(file.relative_to(DEPLOY))
)
def test_every_yaml_file_is_in_good_style(file: Path) -> None:
    yamllint = pytest.importorskip("yamllint.config")
    from yamllint import linter  # type: ignore[import-untyped]

    rules = (
        "{extends: default, rules: {line-length: {max: 130}, document-start: disable, truthy: disable, "
        "comments: disable}}"
    )
    problems = linter.run(file.read_text(encoding="utf-8"), yamllint.YamlLintConfig(rules))
    assert [str(problem) for problem in problems] == []


def test_the_compose_file_fits_the_compose_specification() -> None:
    pytest.importorskip("check_jsonschema")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "check_jsonschema",
            "--builtin-schema",
            "vendor.compose-spec",
            DEPLOY / "compose.yaml",
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "file", [*MANIFESTS, PROXY / "proxy.yaml", INDEXING / "job.yaml"], ids=lambda file: file.name
)
def test_every_manifest_fits_the_schema_of_its_kind(file: Path) -> None:
    validate = pytest.importorskip("kubernetes_validate")
    for manifest in documents(file):
        # Those of Kustomize, the Gateway API and the Prometheus operator have schemas of their own.
        if not re.search(r"^(kustomize|gateway|monitoring)\.", manifest["apiVersion"]):
            validate.validate(manifest, "1.31", strict=True)


def test_the_kustomization_names_every_manifest() -> None:
    [kustomization] = documents(DEPLOY / "kubernetes" / "kustomization.yaml")
    named = {*kustomization["resources"]} - {"../haproxy"}
    assert named == {file.name for file in MANIFESTS} - {"kustomization.yaml"}
    [proxy] = documents(PROXY / "kustomization.yaml")
    assert proxy["resources"] == ["proxy.yaml"]
    [generated] = proxy["configMapGenerator"]
    assert all((PROXY / file.rpartition("=")[2]).exists() for file in generated["files"])


@pytest.mark.skipif(HAPROXY is None, reason="there is no haproxy here: apt-get install haproxy")
@pytest.mark.parametrize("replicas", ["replicas.cfg", "pods.cfg"])
def test_haproxy_takes_its_rules_without_a_warning(replicas: str) -> None:
    command = [str(HAPROXY), "-c", "-f", str(PROXY / "books.cfg"), "-f", str(PROXY / replicas)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr


def test_the_proxy_knows_every_reader_that_the_autoscaler_may_start() -> None:
    kinds = {one["kind"]: one for one in documents(DEPLOY / "kubernetes" / "readers.yaml")}
    readers = kinds["StatefulSet"]
    name, service = readers["metadata"]["name"], readers["spec"]["serviceName"]
    [kustomization] = documents(DEPLOY / "kubernetes" / "kustomization.yaml")
    domain = f"{service}.{kustomization['namespace']}.svc.cluster.local"
    wanted = [
        f"server reader-{pod} {name}-{pod}.{domain}:8000 id {pod + 1}"
        for pod in range(kinds["HorizontalPodAutoscaler"]["spec"]["maxReplicas"])
    ]
    assert re.findall(r"server reader-.*", (PROXY / "pods.cfg").read_text("utf-8")) == wanted


def test_pods_are_ready_only_when_warm_and_run_with_bounds_and_without_rights() -> None:
    files = [*MANIFESTS, PROXY / "proxy.yaml"]
    pods = [one for file in files for one in documents(file) if one["kind"] in ("Deployment", "StatefulSet")]
    assert len(pods) == 3
    for deployment in pods:
        spec = deployment["spec"]["template"]["spec"]
        [container] = spec["containers"]
        ready, alive = (container[probe]["httpGet"]["path"] for probe in ("readinessProbe", "livenessProbe"))
        assert (ready, alive) in (("/readyz", "/healthz"), ("/proxyz", "/proxyz"))
        assert container["resources"]["limits"]["memory"]
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert spec["securityContext"]["runAsNonRoot"] is True


def a_list(folder: Path) -> Path:
    """A list of six books and one that is not there."""
    names = [f"tale-{number}" for number in range(6)]
    for name in names:
        (folder / f"{name}.txt").write_text(f"The tale of {name}, who rowed to the ferry and back.")
    (folder / "books.csv").write_text(
        "\n".join(["path", *(f"{name}.txt" for name in [*names, "none"])]) + "\n"
    )
    return folder / "books.csv"


def test_the_parts_of_the_kubernetes_job_put_every_book_into_the_store(
    tmp_path: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_list(tmp_path)
    monkeypatch.setenv("STORYQA_STORE", str(tmp_path / "store"))
    [job] = documents(INDEXING / "job.yaml")
    [container] = job["spec"]["template"]["spec"]["containers"]
    assert f"$(JOB_COMPLETION_INDEX)/{job['spec']['completions']}" in container["args"]
    codes = []
    for index in range(3):
        moved = {"/data": str(tmp_path), "$(JOB_COMPLETION_INDEX)": str(index), "/100": "/3"}
        arguments = container["args"]
        for before, after in moved.items():
            arguments = [one.replace(before, after) for one in arguments]
        assert arguments[6] == "2"
        codes.append(run([*arguments[:6], "1", *arguments[7:], "--encoder", str(tiny_bert)]))
    assert IndexStore(tmp_path / "store").ids() == [f"tale-{number}" for number in range(6)]
    [bad] = job["spec"]["podFailurePolicy"]["rules"][0]["onExitCodes"]["values"]
    assert sorted(codes) == [0, 0, bad]
    assert len(list((tmp_path / "reports").iterdir())) == 3


@pytest.mark.processes
def test_the_parts_of_the_slurm_array_put_every_book_into_the_store(tmp_path: Path) -> None:
    script = INDEXING / "slurm.sh"
    options = dict(re.findall(r"^#SBATCH --([a-z-]+)(?:=(.*))?$", script.read_text("utf-8"), re.MULTILINE))
    assert options["array"] == "0-99"
    assert "SHARDS:-100" in script.read_text("utf-8")
    command = tmp_path / "storyqa"
    code = "from service.cli import main; main()"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$@"\n')
    command.chmod(0o755)
    codes = []
    for index in range(2):
        environment = os.environ | {
            "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "STORYQA_STORE": str(tmp_path / "store"),
            "MANIFEST": str(a_list(tmp_path)),
            "SHARDS": "2",
            "SLURM_ARRAY_TASK_ID": str(index),
            "SLURM_CPUS_PER_TASK": "1",
        }
        codes.append(subprocess.run(["bash", script], env=environment, cwd=tmp_path).returncode)
    assert sorted(codes) == [0, 3]
    assert IndexStore(tmp_path / "store").ids() == [f"tale-{number}" for number in range(6)]
    assert sorted(one.name for one in (tmp_path / "reports").iterdir()) == ["0.jsonl", "1.jsonl"]


def dockerfile() -> list[dict[str, str]]:
    """The instructions of the Dockerfile, in order."""
    parse = pytest.importorskip("dockerfile_parse")
    with (DEPLOY / "Dockerfile").open("rb") as file:
        return list(parse.DockerfileParser(fileobj=file).structure)


def test_the_image_runs_as_nobody_in_particular_tells_its_health_and_fetches_nothing_at_start() -> None:
    instructions = [(one["instruction"], one["value"]) for one in dockerfile()]
    assert [value.split()[0] for name, value in instructions if name == "USER"] == ["10001:10001"]
    assert any(name == "HEALTHCHECK" and "/readyz" in value for name, value in instructions)
    assert any(name == "ENV" and "HF_HUB_OFFLINE=1" in value for name, value in instructions)
    stages = [re.sub(r".* AS ", "", value) for name, value in instructions if name == "FROM"]
    assert stages == ["build", "runtime", "cpu", "cuda", "cpu"]


def commands(stage: str) -> list[str]:
    """What a stage of the Dockerfile runs, in order."""
    found: list[str] = []
    within = False
    for one in dockerfile():
        if one["instruction"] == "FROM":
            within = one["value"].endswith(f" AS {stage}")
        elif within and one["instruction"] == "RUN":
            found.append(one["value"])
    return found


def test_the_image_for_cpus_is_not_built_with_the_libraries_of_cuda() -> None:
    [check] = commands("cpu")
    refused = subprocess.run(["sh", "-c", check], env={"TORCH_INDEX": ""}, capture_output=True, text=True)
    assert refused.returncode != 0
    assert "--build-arg TORCH_INDEX=ADDRESS" in refused.stderr
    assert "--target cuda" in refused.stderr
    named = {"TORCH_INDEX": "https://wheels.example/cpu"}
    assert subprocess.run(["sh", "-c", check], env=named).returncode == 0
    assert commands("cuda") == []  # which wants no index, and has no such check


@pytest.mark.parametrize(("extras", "installed"), [("", "."), ("s3,redis", ".[s3,redis]")])
def test_the_image_has_the_extras_that_it_is_built_with(extras: str, installed: str) -> None:
    [install] = [one for one in commands("build") if "torch" not in one and "pip install" in one]
    shown = install.replace("/opt/storyqa/bin/pip", "echo")
    done = subprocess.run(["sh", "-c", shown], env={"EXTRAS": extras}, capture_output=True, text=True)
    assert done.stdout.split()[-1] == installed


def test_the_extras_that_are_named_for_the_image_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "operations.md").read_text("utf-8")
    table = page.partition("| extra |")[2].partition("\n\n")[0]
    listed = re.findall(r"`([a-z0-9-]+)`", re.sub(r"(?m)^(\|[^|]*\|).*", r"\1", table))
    files = [DEPLOY / "Dockerfile", INDEXING / "job.yaml", *(ROOT / "docs").glob("*.md")]
    given = re.findall(r"EXTRAS=([a-z0-9-]+(?:,[a-z0-9-]+)*)", " ".join(f.read_text("utf-8") for f in files))
    assert len(listed) > 5
    assert len(given) > 3
    assert {*listed, *",".join(given).split(",")} <= project["optional-dependencies"].keys()


def test_the_large_models_are_looked_for_where_the_image_keeps_its_books() -> None:
    values = [one["value"] for one in dockerfile() if one["instruction"] in ("ENV", "VOLUME")]
    [models] = re.findall(r"STORYQA_MODELS=(\S+)", " ".join(values))
    assert Path(models).parent in map(Path, values)


def test_compose_and_the_published_image_pass_on_what_the_dockerfile_takes() -> None:
    taken = {one["value"].partition("=")[0] for one in dockerfile() if one["instruction"] == "ARG"}
    taken.remove("PYTHON")
    [compose] = documents(DEPLOY / "compose.yaml")
    services = compose["services"]
    assert services["storyqa"]["build"]["args"].keys() == taken
    assert services["storyqa-gpu"]["build"]["args"].keys() == taken - {"TORCH_INDEX"}
    [workflow] = documents(ROOT / ".github" / "workflows" / "image.yml")
    steps = workflow["jobs"]["image"]["steps"]
    [given] = (step["with"]["build-args"] for step in steps if "build-args" in step.get("with", {}))
    assert set(re.findall(r"\b([A-Z_]+)=", given)) == taken


def test_the_image_is_built_from_every_package_and_nothing_that_is_not_there() -> None:
    copied = {
        source
        for one in dockerfile()
        if one["instruction"] == "COPY" and "--from" not in one["value"]
        for source in one["value"].split()[:-1]
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = {name.partition(".")[0] for name in project["tool"]["setuptools"]["packages"]}
    assert packages <= copied
    assert all((ROOT / source).exists() for source in copied)
    kept = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").split("\n")
    assert {line[1:] for line in kept if line.startswith("!")} == copied


def told(metrics: Metrics) -> set[str]:
    """The names that Prometheus finds at /metrics, once there was a request."""
    metrics.request("/answer", 200, 0.1)
    return set(re.findall(r"^\w+", metrics.exposition().decode(), re.MULTILINE))


def test_the_dashboard_and_the_alerts_ask_for_metrics_that_there_are() -> None:
    dashboard = json.loads((DEPLOY / "grafana" / "storyqa.json").read_text(encoding="utf-8"))
    [alerts] = documents(DEPLOY / "alerts.yml")
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked += [rule["expr"] for group in alerts["groups"] for rule in group["rules"]]
    names = {name for expression in asked for name in re.findall(r"\bstoryqa_\w+", expression)}
    assert len(names) > 8
    assert names <= told(Metrics())
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


def test_every_variable_that_is_set_in_deploy_is_one_that_the_readme_tells_of() -> None:
    files = [file for file in DEPLOY.rglob("*") if file.is_file() and file.suffix != ".pyc"]
    # Those in ${} are for compose alone.
    named = {
        name
        for file in files
        for name in re.findall(r"(?<!\$\{)\bSTORYQA_[A-Z_]+\b", file.read_text("utf-8"))
    }
    assert len(named) > 3
    assert named <= set(re.findall(r"`(STORYQA_[A-Z_]+)`", (ROOT / "README.md").read_text("utf-8")))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "storyqa.service"
    text = (DEPLOY / "storyqa.service").read_text(encoding="utf-8")
    unit.write_text(text.replace("/opt/storyqa/bin/storyqa", shutil.which("true") or "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "storyqa.service" not in done.stderr, done.stderr


@pytest.mark.parametrize(
    "file", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda file: file.name
)
def test_every_workflow_fits_the_schema_of_workflows(file: Path) -> None:
    pytest.importorskip("check_jsonschema")
    command = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        "vendor.github-workflows",
        str(file),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_published_image_is_built_from_targets_that_there_are() -> None:
    [workflow] = documents(ROOT / ".github" / "workflows" / "image.yml")
    job = workflow["jobs"]["image"]
    [build] = (step["with"] for step in job["steps"] if "docker/build-push-action" in step.get("uses", ""))
    stages = re.findall(r"^FROM \S+ AS (\w+)", (ROOT / build["file"]).read_text(), re.MULTILINE)
    targets = [one["target"] for one in job["strategy"]["matrix"]["include"]]
    assert targets
    assert set(targets) <= set(stages)
