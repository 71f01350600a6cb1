"""What can be trained: one file a model, its settings its command line, and one record in this table."""

from __future__ import annotations

from dataclasses import dataclass

from text.registry import Spec, by_name


@dataclass(frozen=True, slots=True)
class ObjectiveSpec(Spec):
    """One line of ``OBJECTIVES``; ``name`` is that of its command, ``storyqa train NAME``.

    ``where`` is the ``"module:function"`` that is given an ``Invocation``, the settings, and what options
    it has besides; ``settings`` the dataclass that makes the command's other options, None for a fit that
    has none. ``model`` is what a card says of the model, and ``used_as`` where the weights go.
    ``official`` models learn NarrativeQA's own training split, the others half A of its valid; ``cloze`` ones
    the train split of a cloze data set, ``babi`` ones that of bAbI, ``properties`` ones that of
    WikiReading. One that ``resumes`` can be stopped, and gone on with. ``without`` are options of ``where``
    that mean nothing here.
    """

    settings: str | None = None
    used_as: str = ""
    model: str = ""
    official: bool = False
    cloze: bool = False
    babi: bool = False
    properties: bool = False
    resumes: bool = True
    without: tuple[str, ...] = ()


_NARRATIVEQA = "Kočiský et al. 2018"
_HERE = "training.objectives"


def _property(name: str, where: str, does: str, section: str) -> ObjectiveSpec:
    return ObjectiveSpec(
        name,
        f"{_HERE}.{where}",
        f"Train a system of the WikiReading paper: {does}.",
        "Hewlett et al. 2016",
        section,
        settings=f"{_HERE}.property_settings:PropertySettings",
        used_as=f"--reader {name}:DIR",
        properties=True,
    )


OBJECTIVES: dict[str, ObjectiveSpec] = by_name(
    ObjectiveSpec(
        "dense",
        f"{_HERE}.bi_encoder:train",
        "Train the encoder of the dense retriever: questions beside the windows that answer them.",
        settings=f"{_HERE}.bi_encoder:BiEncoderSettings",
        used_as="index --encoder DIR",
    ),
    ObjectiveSpec(
        "span",
        f"{_HERE}.cross_encoder:train",
        "Train the cross-encoder: spans, relevance and a decoder's answers together.",
        settings=f"{_HERE}.cross_encoder_settings:CrossEncoderSettings",
        used_as="--reader span:DIR, --reader generate:DIR",
    ),
    ObjectiveSpec(
        "large",
        f"{_HERE}.cross_encoder:train",
        "Train the large cross-encoder: spans and relevance, by adapters beside the backbone mpnet.",
        settings=f"{_HERE}.cross_encoder_settings:LargeSettings",
        used_as="--reader span:DIR",
    ),
    ObjectiveSpec(
        "rerank",
        f"{_HERE}.cross_encoder:train",
        "Train a cross-encoder for relevance alone.",
        settings=f"{_HERE}.cross_encoder_settings:RerankSettings",
        used_as="train span --start DIR",
    ),
    ObjectiveSpec(
        "average",
        f"{_HERE}.averaging:train",
        "Average several runs' cross-encoders and decoders, and score the mean on the held-out stories.",
        used_as="--reader span:DIR, --reader generate:DIR",
        resumes=False,
    ),
    ObjectiveSpec(
        "generate",
        f"{_HERE}.cross_encoder:train",
        "Train the decoder alone, on what the cross-encoder says of the passages.",
        settings=f"{_HERE}.cross_encoder_settings:GenerateSettings",
        used_as="--reader generate:DIR",
        without=("teacher",),  # says nothing of what to write
    ),
    ObjectiveSpec(
        "write",
        f"{_HERE}.writer:train",
        "Train adapters beside the language model smollm2: to write answers, or that passages do not tell.",
        settings=f"{_HERE}.writer:WriterSettings",
        used_as="--reader write:DIR",
    ),
    ObjectiveSpec(
        "seq2seq-lstm",
        f"{_HERE}.seq2seq_lstm:train",
        "Train the NarrativeQA paper's Seq2Seq: answers from the question alone.",
        _NARRATIVEQA,
        "4.2",
        settings=f"{_HERE}.seq2seq_lstm:Seq2SeqLstmSettings",
        used_as="--reader seq2seq-lstm:DIR",
        model="A bidirectional LSTM that reads the question, and an LSTM that writes the answer.",
        official=True,
    ),
    ObjectiveSpec(
        "attention-sum",
        f"{_HERE}.attention_sum:train",
        "Train the NarrativeQA paper's AS Reader: answers of words of the context.",
        _NARRATIVEQA,
        "4.2",
        settings=f"{_HERE}.attention_sum:AttentionSumSettings",
        used_as="--reader attention-sum:DIR",
        model="An Attention Sum Reader with an LSTM decoder that points at a word at each step.",
        official=True,
    ),
    ObjectiveSpec(
        "bidaf",
        f"{_HERE}.bidaf:train",
        "Train the NarrativeQA paper's span prediction on the oracle's spans.",
        _NARRATIVEQA,
        "4.2",
        settings=f"{_HERE}.bidaf:BidafSettings",
        used_as="--reader bidaf:DIR",
        model="BiDAF without characters, with learnt word vectors and one modelling layer.",
        official=True,
    ),
    ObjectiveSpec(
        "cbt",
        f"{_HERE}.cloze:train_cbt",
        "Train a system that fills blanks on the Children's Book Test, or on books.",
        "Hill et al. 2016",
        "4",
        settings=f"{_HERE}.cloze_settings:ClozeSettings",
        used_as="--reader SYSTEM:DIR, as in memn2n:DIR@self",
        cloze=True,
    ),
    ObjectiveSpec(
        "cnn",
        f"{_HERE}.cloze:train_cnn",
        "Train a system that fills blanks on the entity questions of CNN and Daily Mail, or of books.",
        "Hermann et al. 2015",
        "3",
        settings=f"{_HERE}.cloze_settings:ClozeSettings",
        used_as="--reader SYSTEM:DIR, as in attentive:DIR",
        cloze=True,
    ),
    ObjectiveSpec(
        "babi",
        f"{_HERE}.babi:train",
        "Train a system of the bAbI paper: a model a task, or one for all.",
        "Weston et al. 2015",
        "5",
        settings=f"{_HERE}.babi:BabiSettings",
        used_as="--reader SYSTEM:DIR/qaN, as in memnn:DIR/qa1@am,ng,nl",
        babi=True,
    ),
    _property("wr-bow", "value_classifiers:train_bow", "logistic regression on two sets of words", "3.1"),
    _property("wr-average", "value_classifiers:train_average", "averaged word vectors", "3.1"),
    _property("wr-paragraph", "value_classifiers:train_paragraph", "paragraph vectors (PV-DBOW)", "3.1"),
    _property("wr-lstm", "value_classifiers:train_lstm", "an LSTM over property and document", "3.1"),
    _property("wr-attentive", "value_classifiers:train_attentive", "the Attentive Reader", "3.1"),
    _property("wr-memory", "value_classifiers:train_memory", "a memory network of sentences", "3.1"),
    _property("rnn-labeler", "rnn_labeler:train", "which words of the document are a value", "3.2"),
    _property("wr-seq2seq", "property_seq2seq:train_words", "values written word by word", "3.3.1"),
    _property(
        "wr-placeholder",
        "property_seq2seq:train_placeholder",
        "values written word by word, unknown ones copied",
        "3.3.2",
    ),
    _property("wr-char", "char_seq2seq:train", "values written by character", "3.3.3"),
    _property(
        "wr-char-lm",
        "char_seq2seq:train_with_language_model",
        "values written by character, after a language model of the documents",
        "3.3.4",
    ),
    ObjectiveSpec(
        "feelings",
        f"{_HERE}.feelings:train",
        "Fit in which word the default reader says how somebody feels, over its cross-encoder's states.",
        used_as="--reader auto:DIR, --reader auto-write:DIR",
        resumes=False,
    ),
    ObjectiveSpec(
        "judge",
        f"{_HERE}.answer_selector:train",
        "Fit which answer the default reader gives, and its confidence, on held-out stories and on articles.",
        used_as="--reader auto:DIR, --reader auto-write:DIR",
    ),
    ObjectiveSpec(
        "ranges",
        f"{_HERE}.activation_ranges:train",
        "Measure what an encoder's linear maps are given, for 8-bit integers of fixed scales.",
        used_as="the folder of the encoder's weights, beside them",
        resumes=False,
    ),
    ObjectiveSpec(
        "recipe",
        f"{_HERE}.recipe:train",
        "Train in order all that the default readers and retrievers need, the small taught by the large.",
        used_as="--reader auto:DIR, span:DIR, generate:DIR, write:DIR, auto-write:DIR, "
        "auto:DIR/large-reader, span:DIR/large-reader, generate:DIR/large-reader, "
        "index --encoder DIR/retriever, DIR/retriever-large",
    ),
)
