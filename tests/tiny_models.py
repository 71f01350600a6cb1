"""Hugging Face models small enough for tests: real architectures and tokenizers, random weights."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForQuestionAnswering,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

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


def save_bert(folder: Path) -> Path:
    """A question-answering BERT, WordPiece."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(
        TEXT, trainers.WordPieceTrainer(vocab_size=300, special_tokens=special, show_progress=False)
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.decoder = decoders.WordPiece()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=LONGEST,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    ).save_pretrained(folder)
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=LONGEST,
        initializer_range=0.5,  # far from uniform, so that answers differ from question to question
    )
    BertForQuestionAnswering(config).save_pretrained(folder)
    return folder


def save_t5(folder: Path) -> Path:
    """A T5, unigram pieces."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    special = ["<pad>", "</s>", "<unk>"]
    tokenizer.train_from_iterator(
        TEXT,
        trainers.UnigramTrainer(
            vocab_size=200, special_tokens=special, show_progress=False, unk_token="<unk>"
        ),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=LONGEST,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
    ).save_pretrained(folder)
    torch.manual_seed(2)
    config = T5Config(
        vocab_size=tokenizer.get_vocab_size(),
        d_model=32,
        d_kv=16,
        d_ff=64,
        num_layers=2,
        num_heads=2,
        decoder_start_token_id=0,
        initializer_factor=2.0,
    )
    T5ForConditionalGeneration(config).save_pretrained(folder)
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
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=LONGEST,
        bos_token="<s>",
        cls_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        sep_token="</s>",
        unk_token="<unk>",
    ).save_pretrained(folder)
    torch.manual_seed(3)
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
        init_std=0.3,
    )
    model = BartForConditionalGeneration(config)
    # A summariser's habits, as published BARTs have them; an answer must not inherit them.
    model.generation_config.forced_bos_token_id = 0
    model.generation_config.min_length = 20
    model.generation_config.no_repeat_ngram_size = 3
    model.save_pretrained(folder)
    return folder
