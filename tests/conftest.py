"""What all tests share: tiny models, the user's copy of the data sets, and no model hub."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from indexing.store import IndexStore

# Before anything imports huggingface_hub, which reads it once: tests never reach for the hub.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# Before anything imports torch: one arithmetic on every processor, fp32 wherever it may be bf16, for tests
# compare numbers. test_instruction_sets runs all that the machine has, in processes of their own.
os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"

# Whatever is installed here: the tests of the large models ask for them.
os.environ["STORYQA_SIZE"] = "small"

# How long an example takes is the machine's affair: a busy one must not fail a test.
settings.register_profile("storyqa", deadline=None)
settings.register_profile("fuzz", deadline=None, max_examples=3000, suppress_health_check=list(HealthCheck))
settings.load_profile("storyqa")

DATA = os.environ.get("STORYQA_DATA")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if DATA is None:
        absent = pytest.mark.skip(reason="STORYQA_DATA names no folder with the data sets")
        for item in items:
            if item.get_closest_marker("data"):
                item.add_marker(absent)
    from encoders.backbone import MPNET

    if not MPNET.is_installed:
        small = pytest.mark.skip(reason="the large backbone is not here: storyqa models fetch mpnet")
        for item in items:
            if item.get_closest_marker("large"):
                item.add_marker(small)
    if shutil.which("chromium") is None:
        blind = pytest.mark.skip(reason="there is no chromium here: apt-get install chromium")
        for item in items:
            if item.get_closest_marker("browser"):
                item.add_marker(blind)


@pytest.fixture
def all_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that a test starts are not held to older instructions, which OpenVINO refuses in part."""
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the data sets as their publishers lay them out; for tests marked ``data``."""
    assert DATA is not None, "a test that uses data_folder must be marked data"
    return Path(DATA)


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny question-answering model."""
    import tiny_models  # here: importing torch takes seconds that most test files need not spend

    return tiny_models.save_bert(tmp_path_factory.mktemp("models") / "bert")


@pytest.fixture(scope="session")
def tiny_t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny encoder-decoder with relative positions."""
    import tiny_models

    return tiny_models.save_t5(tmp_path_factory.mktemp("models") / "t5")


@pytest.fixture(scope="session")
def tiny_bart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny encoder-decoder with absolute positions and a forced first token."""
    import tiny_models

    return tiny_models.save_bart(tmp_path_factory.mktemp("models") / "bart")


@pytest.fixture(scope="session")
def tiny_chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny chat model that always replies with ``tiny_models.CHAT_REPLY``."""
    import tiny_models

    return tiny_models.save_chat(tmp_path_factory.mktemp("models") / "chat")


@pytest.fixture(scope="session")
def tiny_write(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of tiny adapters beside a tiny language model, gone by now: its readers are open."""
    import tiny_models

    from readers import open_reader

    folder = tmp_path_factory.mktemp("write")
    with tiny_models.writer_installed(tmp_path_factory.mktemp("models")) as backbone:
        tiny_models.save_adapters(folder, backbone)
        for name in ("write", "auto-write"):
            open_reader(f"{name}:{folder}")
    return folder


@pytest.fixture(scope="session")
def tiny_paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of tiny models of the NarrativeQA paper, all three."""
    import tiny_models

    return tiny_models.save_paper(tmp_path_factory.mktemp("models") / "paper")


@pytest.fixture(scope="session")
def tiny_properties(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of tiny models of the WikiReading paper, all eleven."""
    import tiny_models

    return tiny_models.save_properties(tmp_path_factory.mktemp("models") / "properties")


@pytest.fixture(scope="session")
def tiny_counts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of what was counted in a few sentences: n-grams, and words."""
    from readers.baselines.frequency import WordCounts
    from training.objectives.kneser_ney import estimate

    sentences = [
        line.split() for line in ("Maud hid the lamp .", "the goose saw Maud .", "Maud saw the oak .")
    ]
    folder = tmp_path_factory.mktemp("counts")
    estimate(sentences, trained_on="tales").as_file().save(folder / "kneser-ney.safetensors")
    keys = (word.lower() for sentence in sentences for word in sentence)
    WordCounts.count(keys, "tales").as_file().save(folder / "cloze-frequency-corpus.safetensors")
    return folder


@pytest.fixture(scope="session")
def tiny_glove(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of word vectors in GloVe's format."""
    path = tmp_path_factory.mktemp("glove") / "tiny.txt"
    words = ("maud", "lamp", "ferryman", "oak", "judge", "river", "the", "goose", "hid", "where")
    lines = (f"{word} {n % 3 - 1} {n % 4 / 2} {0.1 * n:.2f}\n" for n, word in enumerate(words, 1))
    path.write_text("".join(lines), "utf-8")
    return path


@pytest.fixture(scope="session")
def chat_url() -> Iterator[str]:
    """The address of a chat endpoint that behaves well: ``chat_server.parrot``."""
    from chat_server import chatting, parrot

    with chatting(parrot) as server:
        yield server.url


@pytest.fixture(scope="session")
def s3_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of SeaweedFS, which speaks the protocol of S3; for tests marked ``processes``."""
    pytest.importorskip("obstore", reason="the extra s3 is not installed: pip install '.[s3]'")
    from object_servers import seaweed_server

    with seaweed_server(tmp_path_factory.mktemp("seaweed")) as url:
        yield url


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser; for tests marked ``browser``."""
    browsing = pytest.importorskip("browsing", reason="playwright is not installed: pip install '.[dev]'")
    with browsing.chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def shelf_store(tmp_path_factory: pytest.TempPathFactory) -> IndexStore:
    """A store that holds the tiny books of ``shelf``; tests must leave it as it is."""
    import shelf

    return shelf.stock(tmp_path_factory.mktemp("shelf"))
