"""Training of ``wr-char`` and ``wr-char-lm``: a value's characters (Hewlett et al. 2016, 3.3.3, 3.3.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch.nn.functional import cross_entropy

from readers.neural.char_seq2seq import LONGEST, CharLmReader, CharReader, CharSeq2Seq, char_ids
from readers.neural.layers import pad_sequences
from readers.neural.property_example import encode_property
from readers.neural.vocabulary import BEGIN, END, Vocabulary
from terminal.progress import ProgressBars
from training.corpora import wikireading
from training.corpora.wikireading import PropertyCorpus
from training.export import Trained
from training.invocation import Invocation
from training.objectives.property_seq2seq import Valued
from training.objectives.property_settings import PropertyNetwork, PropertySettings
from training.objectives.property_values import FirstStage, Moment, PropertyTask, export, train_property

SYMBOLS = 76
RUN = 200  # characters that the language model predicts in a row
# Hewlett et al. 2016, table 4. GRUs of 512 make the 4.1 M parameters of table 3; of 1,024, as its section 4.1
# has of all that write, it were 16 M.
_NETWORK = PropertyNetwork(
    words=SYMBOLS,
    width=30,
    dropout=0.1,
    rate=3e-3,
    in_paper={"words": SYMBOLS, "width": 30, "hidden": 512},
)


class CharObjective:
    """-log p of the characters of a value and its end; of several values one is drawn each time."""

    network = _NETWORK

    def __init__(self, reader: type[CharReader]) -> None:
        self.reader = reader

    def vocabulary(self, corpus: PropertyCorpus, words: int) -> Vocabulary:
        """See ``Objective.vocabulary``: the most frequent characters."""
        counts: Counter[str] = Counter()
        for document in corpus.documents().values():
            counts.update(document)
        for one in corpus.train:
            counts.update(one.property)
            counts.update("".join(one.answers))
        return Vocabulary.learn(counts.elements(), words)

    def sizes(
        self, network: PropertyNetwork, corpus: PropertyCorpus, vocabulary: Vocabulary
    ) -> dict[str, int]:
        """See ``Objective.sizes``."""
        return {"d": network.width, "hidden": network.hidden or network.width}

    def examples(self, corpus: PropertyCorpus, vocabulary: Vocabulary) -> list[Valued]:
        """See ``Objective.examples``."""
        return [
            Valued(encode_property(one.property, one.document), [answer[:LONGEST] for answer in one.answers])
            for one in corpus.train
        ]

    def loss(
        self, net: CharSeq2Seq, batch: Sequence[Valued], vocabulary: Vocabulary, moment: Moment
    ) -> torch.Tensor:
        """See ``Objective.loss``: the mean over all characters that are written."""
        device = net.w.weight.device
        h = net.encode(*char_ids([one.example for one in batch], vocabulary, device))
        return written_loss(net, h, [vocabulary.ids(moment.rng.choice(one.values)) for one in batch])


class CharLmObjective(CharObjective):
    """-log p of each character of the documents, by the decoder alone."""

    def examples(self, corpus: PropertyCorpus, vocabulary: Vocabulary) -> list[Valued]:
        """See ``Objective.examples``: a run of characters each."""
        nothing = encode_property("", "")
        return [
            Valued(nothing, [document[start : start + RUN]])
            for document in corpus.documents().values()
            for start in range(0, len(document), RUN)
        ]

    def loss(
        self, net: CharSeq2Seq, batch: Sequence[Valued], vocabulary: Vocabulary, moment: Moment
    ) -> torch.Tensor:
        """See ``Objective.loss``."""
        h = torch.zeros(1, len(batch), net.decoder.hidden_size, device=net.w.weight.device)
        return written_loss(net, h, [vocabulary.ids(one.values[0]) for one in batch])


def written_loss(net: CharSeq2Seq, h: torch.Tensor, targets: Sequence[Sequence[int]]) -> torch.Tensor:
    """-log p of the targets and their ends, after the states ``h`` (1, rows, hidden), in the mean."""
    device = h.device
    before, _ = pad_sequences([[BEGIN, *target] for target in targets], device)
    logits, _ = net(before, h)
    written = [row[: len(target) + 1] for row, target in zip(logits, targets, strict=True)]
    wanted = torch.tensor([id for target in targets for id in (*target, END)], device=device)
    return cross_entropy(torch.cat(written), wanted)


def train(run: Invocation, settings: PropertySettings) -> Trained:
    """See ``storyqa train wr-char``."""
    return train_property(CharObjective(CharReader), run, settings)


def train_with_language_model(run: Invocation, settings: PropertySettings) -> Trained:
    """See ``storyqa train wr-char-lm``: the language model in OUT/lm first."""
    with ProgressBars("reading the instances"):
        corpus = wikireading.load(run.data, settings.count)
        first = FirstStage(CharLmObjective(CharLmReader), settings, corpus)
    replace(run, out=run.out / "lm").train(first)
    weights = first.model.state_dict()
    for name in list(weights):
        if name.startswith("decoder."):
            weights[name.replace("decoder.", "first.")] = weights[name].clone()
    task = PropertyTask(CharObjective(CharLmReader), settings, corpus, weights)
    return export(run.train(task, validations=task.network.epochs), run.command)
