"""The systems of WikiReading: their parts beside arithmetic by hand, and what they learn by heart."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch
from gazetteer import instances, write_gazetteer
from safetensors.torch import load_file
from tiny_models import PROPERTY_SIZES

from readers import open_reader
from readers.neural.char_seq2seq import CharReader, CharSeq2Seq
from readers.neural.document_reader import DocumentBatch
from readers.neural.property_example import encode_property, places
from readers.neural.property_seq2seq import PlaceholderReader, PropertySeq2Seq, numbered
from readers.neural.rnn_labeler import RnnLabeler
from readers.neural.value_bags import SHORTER, WordSets, paragraph_loss, paragraph_vectors, word_set
from readers.neural.value_memory import SentenceMemories
from readers.neural.vocabulary import UNKNOWN, Vocabulary
from readers.reading import Reading
from service.cli import run
from training.objectives.char_seq2seq import CharObjective
from training.objectives.property_seq2seq import Seq2SeqObjective
from training.objectives.property_settings import PropertyNetwork, PropertySettings, resolved
from training.objectives.value_classifiers import MOST_VALUES, WORD_SETS

BORN = "Orla Vance was born on July 4, 1851 in Tarrow. On 4 July 1851 it rained; Tarrow lies low."


def test_an_answer_stands_wherever_its_words_do_and_a_day_however_it_is_written() -> None:
    example = encode_property("date of birth", BORN)
    texts = [example.text(first, last) for first, last in places(example, ["4 July 1851"])]
    assert texts == ["July 4, 1851", "4 July 1851"]
    found = places(encode_property("place", BORN), ["Tarrow"])
    assert [example.text(*place) for place in found] == ["Tarrow", "Tarrow"]
    assert places(example, ["Skelby", "tarrow"]) == []


def test_words_keep_their_place_in_the_document() -> None:
    example = encode_property("x", BORN)
    for word, start, end in zip(example.words, example.starts, example.ends, strict=True):
        assert BORN[start:end] == word
    assert example.place_of(("July", "4", ",")) == (5, 7)
    assert example.place_of(("July", "1851", "in")) is None
    assert example.place_of(()) is None


def test_no_two_occurrences_share_a_placeholder_and_an_answer_has_that_of_its_first() -> None:
    vocabulary = Vocabulary(("was", "born", "on", "in", "4", "1851"))
    example = encode_property("place", BORN)
    seen = numbered(example, vocabulary, random.Random(1))
    unknown = [place for place, id in enumerate(vocabulary.ids(example.words)) if id == UNKNOWN]
    assert sorted(seen.occurrences.values()) == unknown
    assert UNKNOWN not in seen.ids[2:]
    first = example.words.index("Tarrow")
    [target] = seen.target(["Tarrow"], example, vocabulary)
    assert seen.occurrences[target] == first
    assert seen.target(["Skelby", "in"], example, vocabulary) == [UNKNOWN, *vocabulary.ids(["in"])]
    other = numbered(example, vocabulary, random.Random(2))
    assert other.occurrences != seen.occurrences
    assert numbered(example, vocabulary).occurrences == {}


def batch(document: list[list[int]], query: list[list[int]]) -> DocumentBatch:
    def padded(rows: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        longest = max(map(len, rows))
        ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
        return ids, torch.tensor([len(row) for row in rows])

    return DocumentBatch(*padded(document), *padded(query))


def test_memories_are_sentences_encoded_by_place_as_by_hand() -> None:
    torch.manual_seed(1)
    stop, d = 9, 5
    net = SentenceMemories(20, 4, d, stop).eval()
    sentences, asked = [[1, 2, 3, stop], [4, stop], [5, 6]], [7, 8]
    with torch.no_grad():
        logits, log_p = net.attend(
            batch([[word for one in sentences for word in one], [1, stop]], [asked, [7]])
        )
        q = net.u.table.weight[asked].sum(0)
        memories = []
        for table in (net.m.table.weight, net.c.table.weight):
            rows = []
            for sentence in sentences:
                total = torch.zeros(d)
                for j, word in enumerate(sentence, 1):
                    for k in range(1, d + 1):
                        share = j / len(sentence)
                        total[k - 1] += ((1 - share) - k / d * (1 - 2 * share)) * table[word][k - 1]
                rows.append(total)
            memories.append(torch.stack(rows))
        p = (memories[0] @ q).softmax(0)
        y = q + p @ memories[1]
    assert torch.allclose(log_p[0].exp(), p, atol=1e-6)
    assert torch.allclose(logits[0], net.a(y), atol=1e-5)
    assert log_p[1].exp()[1:].sum() == pytest.approx(0.0, abs=1e-6)  # the shorter document has one sentence


def test_a_paragraph_vector_is_where_the_loss_no_longer_falls() -> None:
    torch.manual_seed(2)
    u = torch.randn(12, 3)
    seen = torch.zeros(2, 12)
    seen[0, [1, 4]] = 0.5
    seen[1, 7] = 1.0
    v = paragraph_vectors(u, seen).requires_grad_()
    [gradient] = torch.autograd.grad(paragraph_loss(u, v, seen).sum(), v)
    [at_first] = torch.autograd.grad(
        paragraph_loss(u, zero := torch.zeros_like(v, requires_grad=True), seen).sum(), zero
    )
    assert gradient.norm() < 0.1 * at_first.norm()
    assert SHORTER > 0  # else a document of one word would have no best vector


def test_a_set_of_words_has_each_once_and_none_of_padding_or_beyond_what_is_read() -> None:
    found = word_set(torch.tensor([[3, 3, 5, 0], [1, 0, 0, 0]]), torch.tensor([3, 1]), words=5)
    assert found.tolist() == [[0, 0, 0, 1, 0], [0, 1, 0, 0, 0]]


@pytest.mark.parametrize("kind", ["labels", "words", "characters"])
def test_padding_changes_nothing(kind: str) -> None:
    short, long = [3, 4, 5], [6, 7, 8, 9, 10, 11]
    together = torch.tensor([[*short, 0, 0, 0], long]), torch.tensor([3, 6])
    alone = torch.tensor([short]), torch.tensor([3])
    found = []
    for read in (together, alone):
        torch.manual_seed(3)  # one net for both
        with torch.no_grad():
            if kind == "labels":
                found.append(RnnLabeler(30, 6, 4)(*read)[0, :3])
            elif kind == "words":
                net = PropertySeq2Seq(30, 6, 4)
                memory = net.encode(*read)
                found.append(net(torch.tensor([[1, 2]] * len(memory.last)), memory.last[None], memory)[0][0])
            else:
                found.append(CharSeq2Seq(30, 6, 4).encode(*read, *read)[0, 0])
    assert torch.allclose(found[0], found[1], atol=1e-6)


# By character it takes minutes; the net of wr-seq2seq is that of wr-placeholder.
BY_HEART = [name for name in PROPERTY_SIZES if name not in ("wr-seq2seq", "wr-char", "wr-char-lm")]


@pytest.mark.training
@pytest.mark.parametrize("name", BY_HEART)
def test_each_system_learns_by_heart_what_it_can_say(name: str, tmp_path: Path) -> None:
    data = write_gazetteer(tmp_path / "data", copies=2)
    out = tmp_path / name
    arguments = ["train", name, "--data", str(data), "--out", str(out)]
    if name != "wr-bow":
        arguments += ["--width", "32", "--dropout", "0"]
    if "hidden" in PROPERTY_SIZES[name]:
        arguments += ["--hidden", "48"]
    epochs = {"rnn-labeler": 150, "wr-lstm": 400}.get(name, 80)
    more = ["--epochs", str(epochs), "--rate", "0.01", "--batch", "16"]
    assert run([*arguments, *more]) == 0
    reader = open_reader(f"{name}:{out}")
    told = instances()
    if name == "rnn-labeler":  # what does not stand in the document it cannot say
        told = [one for one in told if one["property"] != "instance of"]
    answers = reader.read([Reading(str(one["property"]), (str(one["document"]),)) for one in told])
    right = [
        found[:1] and [found[0].text] == one["answers"] for found, one in zip(answers, told, strict=True)
    ]
    assert sum(map(bool, right)) > 0.95 * len(told)


@pytest.mark.training
@pytest.mark.parametrize(("name", "first"), [("wr-char-lm", "lm"), ("wr-paragraph", "vectors")])
def test_a_system_of_two_stages_leaves_both_and_is_gone_on_with(
    name: str, first: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_gazetteer(tmp_path / "data")
    arguments = ["train", name, "--data", str(data), "--out", str(tmp_path / "out"), "--width", "8"]
    arguments += ["--epochs", "1"]
    if "hidden" in PROPERTY_SIZES[name]:
        arguments += ["--hidden", "8"]
    assert run(arguments) == 0
    weights = tmp_path / "out" / f"{name}.safetensors"
    written = load_file(weights)
    assert (tmp_path / "out" / first / "checkpoint.safetensors").is_file()
    assert run(arguments) == 2
    assert "--resume" in capsys.readouterr().err
    assert run([*arguments, "--resume"]) == 0
    again = load_file(weights)
    assert all(torch.equal(tensor, written[part]) for part, tensor in again.items())


def test_of_the_papers_sizes_a_system_has_the_papers_parameters() -> None:
    def sizes(network: PropertyNetwork) -> PropertyNetwork:
        return resolved(PropertySettings(paper=True), network)

    def count(net: torch.nn.Module) -> int:
        return sum(parameter.numel() for parameter in net.parameters())

    by_character, by_word = sizes(CharObjective(CharReader).network), sizes(WORD_SETS)
    with torch.device("meta"):
        characters = CharSeq2Seq(by_character.words, by_character.width, by_character.hidden or 0)
        sets = WordSets(by_word.words, MOST_VALUES, **by_word.sizes)
    # Table 3 of Hewlett et al. 2016: 4.1 M and 500.5 M.
    assert count(characters) == pytest.approx(4.1e6, rel=0.01)
    assert count(sets) == pytest.approx(500.5e6, rel=0.05)
    writing = sizes(Seq2SeqObjective(PlaceholderReader, PropertyNetwork(words=5_000)).network)
    assert (writing.words, writing.width, writing.hidden) == (100_000, 300, 1_024)
    assert writing.sizes == {"attention": 0}


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")  # a net of no values
def test_data_without_a_frequent_value_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = write_gazetteer(tmp_path / "data"), tmp_path / "out"
    assert run(["train", "wr-bow", "--data", str(data), "--out", str(out), "--count", "1"]) == 2
    assert "nothing to learn of wikireading" in capsys.readouterr().err
    assert not out.exists()
