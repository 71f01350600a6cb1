"""Hugging Face models small enough for tests: real architectures and tokenizers, random weights."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from inspect import signature
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForQuestionAnswering,
    LlamaConfig,
    LlamaForCausalLM,
    MPNetConfig,
    MPNetModel,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

from encoders.adapters import file_hash
from encoders.backbone import LANGUAGE_MODELS, SMOLLM2, Backbone
from readers.default.answer_selector import Logistic
from readers.default.writer_prompt import REFUSAL

Model = TypeVar("Model", bound=PreTrainedModel)
LONGEST = 256  # tokens that each model reads

TEXT = """
The lamp maker of Orrin had three daughters and one blue lamp that never went out. Every autumn the
eldest, Maud, carried it over the hill to the ferry, because the ferryman could not see the far bank
without it. "Keep it dry," said her father, "and keep it out of the wind." One night it rained so
hard that the river took the landing. Where did Maud leave the lamp? Why did the ferryman laugh? She
hid it in a hollow oak, walked home in the dark, and found the door open. What had happened to her
sisters? They had gone after a white goose that spoke like a judge. Who answered the goose? Nobody
answered, for nobody knew the law. question: context: | 0 1 2 3 4 5 6 7 8 9
""".strip().splitlines()


def _words(change: Callable[[str], str] = str) -> list[str]:
    """The words and marks of ``TEXT``, each once, in order.

    Vocabularies are made of them, and weights come from NumPy, so that the models are the same in
    every process and on every processor: the trainers of WordPiece and Unigram depend on hash seeds,
    torch's normal deviates on the instruction set.
    """
    return list(dict.fromkeys(re.findall(r"\w+|[^\w\s]", change(" ".join(TEXT)))))


def _fill(model: Model, seed: int, scale: float) -> Model:
    """Normal deviates for every matrix, no biases."""
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                parameter.copy_(torch.from_numpy(rng.normal(0.0, scale, tuple(parameter.shape))))
            elif "bias" in name:
                parameter.zero_()
    return model


def save_bert(folder: Path) -> Path:
    """A question-answering BERT, WordPiece."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    characters = sorted({c for word in _words(str.lower) for c in word})
    pieces = [*special, *characters, *(f"##{c}" for c in characters), *_words(str.lower)]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.decoder = decoders.WordPiece()
    PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        model_max_length=LONGEST,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    ).save_pretrained(folder)
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=LONGEST,
    )
    # Far from uniform, so that answers differ from question to question.
    _fill(BertForQuestionAnswering(config), seed=4, scale=0.5).save_pretrained(folder)
    return folder


def save_mpnet(folder: Path, words: Sequence[str] = ()) -> Path:
    """An MPNet without a head, WordPiece: the architecture of the large backbone.

    It knows ``words``, ``[UNK]`` among them, where they are given.
    """
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    characters = sorted({c for word in _words(str.lower) for c in word})
    pieces = [*special, *(words or (*characters, *(f"##{c}" for c in characters), *_words(str.lower)))]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]" if words else "<unk>"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    folder.mkdir(parents=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = MPNetConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=514,
    )
    _fill(MPNetModel(config), seed=6, scale=0.2).save_pretrained(folder)
    return folder


def save_t5(folder: Path) -> Path:
    """A T5, unigram pieces."""
    special = ["<pad>", "</s>", "<unk>"]
    characters = sorted({c for word in _words() for c in word})
    pieces = [(piece, 0.0) for piece in special]
    pieces += [(piece, -9.0) for piece in ("▁", *characters)]
    pieces += [(f"▁{word}", -5.0) for word in _words()]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=2))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        model_max_length=LONGEST,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
    ).save_pretrained(folder)
    config = T5Config(  # type: ignore[call-arg]  # what decoding begins with is an option of every encoder-decoder
        vocab_size=tokenizer.get_vocab_size(),
        d_model=32,
        d_kv=16,
        d_ff=64,
        num_layers=2,
        num_heads=2,
        decoder_start_token_id=0,
    )
    _fill(T5ForConditionalGeneration(config), seed=2, scale=0.5).save_pretrained(folder)
    return folder


def save_bart(folder: Path) -> Path:
    """A BART, byte-level pieces, with the forced first token that published ones have."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        TEXT,
        trainers.BpeTrainer(
            vocab_size=400, special_tokens=special, show_progress=False, initial_alphabet=alphabet
        ),
    )
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        model_max_length=LONGEST,
        bos_token="<s>",
        cls_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        sep_token="</s>",
        unk_token="<unk>",
    ).save_pretrained(folder)
    config = BartConfig(
        vocab_size=tokenizer.get_vocab_size(),
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=LONGEST,
    )
    model = _fill(BartForConditionalGeneration(config), seed=3, scale=0.3)
    for piece, number in tokenizer.get_vocab().items():
        if not piece.isascii() or piece in special[:2]:  # single bytes write no text
            model.final_logits_bias[0, number] = -100.0
    # A summariser's habits, as published BARTs have them; an answer must not inherit them.
    model.generation_config.forced_bos_token_id = 0
    model.generation_config.min_length = 20
    model.generation_config.no_repeat_ngram_size = 3
    model.save_pretrained(folder)
    return folder


CHAT_REPLY = (
    "ANSWER:",
    " a hollow oak",
    "\nPASSAGE:",
    " 2",
    "\nQUOTE:",
    " she hid the lamp in a hollow oak.",
)
_CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|> {{ message.content }} {% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def save_chat(folder: Path) -> Path:
    """A Llama that was taught, by weights written by hand, to say ``CHAT_REPLY`` whatever it is asked."""
    special = ["<unk>", "<pad>", "</s>", "<|system|>", "<|user|>", "<|assistant|>"]
    pieces = list(dict.fromkeys([*special, *CHAT_REPLY, *_words()]))
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.decoder = decoders.Fuse()
    PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        unk_token="<unk>",
        pad_token="<pad>",
        eos_token="</s>",
        additional_special_tokens=special[3:],
        chat_template=_CHAT_TEMPLATE,
    ).save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=len(pieces),
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=16_384,
        tie_word_embeddings=False,
        pad_token_id=vocabulary["<pad>"],
        bos_token_id=None,
        eos_token_id=vocabulary["</s>"],
    )
    model = _fill(LlamaForCausalLM(config), seed=5, scale=0.02)
    _fill(model.model.embed_tokens, seed=6, scale=1.0)
    chain = [vocabulary[piece] for piece in ("<|assistant|>", *CHAT_REPLY, "</s>")]
    with torch.no_grad():
        for before, after in pairwise(chain):
            model.lm_head.weight[after] = model.model.embed_tokens.weight[before] / 4
    model.save_pretrained(folder)
    return folder


_WRITER_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] }}"
    "{{ '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def save_writer(folder: Path) -> Path:
    """A Llama of random weights with SmolLM2's chat template, which knows the words of two texts."""
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    known = [*_words(), *re.findall(r"\w+", REFUSAL)]
    words = [piece for word in known if word.isalpha() for piece in (word, f"\u0120{word}")]
    # Each word is put together from the left, letter by letter.
    merges = list(dict.fromkeys((word[:i], word[i]) for word in words for i in range(1, len(word))))
    pieces = dict.fromkeys([*special, *letters, *("".join(pair) for pair in merges)])
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|im_end|>",
        unk_token="<|endoftext|>",
        chat_template=_WRITER_TEMPLATE,
    ).save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2_048,
        tie_word_embeddings=True,
        pad_token_id=vocabulary["<|im_end|>"],
        bos_token_id=vocabulary["<|im_start|>"],
        eos_token_id=vocabulary["<|im_end|>"],
    )
    model = _fill(LlamaForCausalLM(config), seed=7, scale=0.4)
    _fill(model.model.embed_tokens, seed=8, scale=0.5)
    model.save_pretrained(folder)
    return folder


def writer_backbone(folder: Path) -> Backbone:
    """What ``save_writer`` left in a folder, as a backbone in the place of smollm2."""
    weights = "model.safetensors"
    beside = ("config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja")
    return replace(
        SMOLLM2, sha256=file_hash(folder / weights), width=64, weights=weights, archive=None, beside=beside
    )


@contextmanager
def writer_installed(folder: Path) -> Iterator[Backbone]:
    """``save_writer``'s model in the place of smollm2, in this folder of models."""
    backbone = writer_backbone(save_writer(folder / SMOLLM2.name))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STORYQA_MODELS", str(folder))
        patch.setitem(LANGUAGE_MODELS, SMOLLM2.name, backbone)
        yield backbone


def save_adapters(folder: Path, backbone: Backbone) -> Path:
    """Adapters of one linear map of ``save_writer``'s model, and a selector that always has them write."""
    rng = np.random.default_rng(9)
    name = "model.layers.1.mlp.down_proj"
    shapes = {f"{name}.lora_A": (2, 128), f"{name}.lora_B": (64, 2)}
    tensors = {one: torch.from_numpy(rng.normal(0.0, 0.5, shape)).half() for one, shape in shapes.items()}
    save_file(tensors, folder / "write.safetensors", metadata={"backbone": backbone.sha256})
    alike = asdict(Logistic(0.0, {"written": 1.0}))
    judge = dict.fromkeys(("worth", "right", "span_worth", "span_right", "writes"), alike)
    (folder / "judge-write.json").write_text(json.dumps({"judge": {**judge, "writes_from": 0.0}}))
    return folder


def save_paper(folder: Path) -> Path:
    """Every neural reader's model, which learnt nothing but its vocabulary, all in one folder."""
    from readers import READERS
    from readers.neural.checkpoint import Checkpoint
    from readers.neural.vocabulary import Vocabulary
    from text.registry import resolve
    from text.tokens import tokens

    torch.manual_seed(4)
    vocabulary = Vocabulary.learn((token.key for token in tokens(" ".join(TEXT))), 80)
    for name, spec in READERS.items():
        if spec.where.startswith("readers.neural.") and spec.ranks and not spec.cloze:
            make = resolve("reader", name, READERS).model
            sizes = {size: 16 for size in ("d", "hidden") if size in signature(make).parameters}
            weights = Checkpoint(sizes, vocabulary, make(len(vocabulary), **sizes).state_dict(), "nothing")
            weights.save(folder / f"{name}.safetensors", {})
    return folder


# The keywords of the readers' nets that say values of properties.
PROPERTY_SIZES = {
    "rnn-labeler": ("d", "hidden"),
    "wr-seq2seq": ("d", "hidden", "attention"),
    "wr-placeholder": ("d", "hidden", "attention"),
    "wr-char": ("d", "hidden"),
    "wr-char-lm": ("d", "hidden"),
    "wr-bow": ("values", "read", "asked"),
    "wr-average": ("values", "d"),
    "wr-paragraph": ("values", "d"),
    "wr-lstm": ("values", "d", "hidden"),
    "wr-attentive": ("values", "d", "hidden"),
    "wr-memory": ("values", "d", "stop"),
}
PROPERTY_VALUES = ("oak", "hollow oak", "goose", "the river", "lamp")


def save_properties(folder: Path) -> Path:
    """Every reader's model that says values of properties, which learnt nothing but some words and values."""
    from readers import READERS
    from readers.neural.checkpoint import Checkpoint
    from readers.neural.vocabulary import Vocabulary
    from text.registry import resolve

    torch.manual_seed(4)
    every = {
        "d": 16,
        "hidden": 16,
        "attention": 1,
        "values": len(PROPERTY_VALUES),
        "read": 20,
        "asked": 20,
        "stop": 3,
    }
    for name, sized in PROPERTY_SIZES.items():
        reader = resolve("reader", name, READERS)
        known = list(" ".join(TEXT)) if name.startswith("wr-char") else " ".join(TEXT).split()
        words = Vocabulary.learn(known, 60).words
        vocabulary = Vocabulary((*words, *(PROPERTY_VALUES if "values" in sized else ())))
        sizes = {size: every[size] for size in sized}
        net = reader.net(len(vocabulary), sizes)
        Checkpoint(sizes, vocabulary, net.state_dict(), "nothing").save(folder / f"{name}.safetensors", {})
    return folder
