"""What each line of the table of readers does, for people."""

from __future__ import annotations

from text.registry import About

_NARRATIVEQA = "Kočiský et al. 2018"

ABOUT: dict[str, About] = {
    "auto": About("the best answer of span and generate, which a judge chooses; auto:DIR for one's own"),
    "span": About("the best span in any of the passages; span:PATH_OR_NAME is any Hugging Face model"),
    "generate": About("text that a small decoder writes over all passages, copying where it can"),
    "seq2seq": About("text by any Hugging Face encoder-decoder, seq2seq:PATH_OR_NAME@beams=4"),
    "overlap": About("the sentence that holds most of the question's words, weighed by rarity"),
    "chat": About("a chat model behind an address, chat:BASE_URL@model=NAME, its quotation checked"),
    "ir-bleu1": About(
        "the span of most BLEU-1 with the query: @span=sentence, 4, 8 ...; query=answer is an oracle",
        _NARRATIVEQA,
        "4.1",
    ),
    "ir-rouge-l": About(
        "the span of most ROUGE-L with the query: @span=8, 4, sentence ...; query=answer is an oracle",
        _NARRATIVEQA,
        "4.1",
    ),
    "ir-cosine": About(
        "the span nearest the query by summed word vectors: ir-cosine:GLOVE@span=sentence, as above",
        _NARRATIVEQA,
        "4.1",
    ),
    "random-rank": About("a sentence by chance, and candidates ranked by chance", _NARRATIVEQA, "table 5"),
    "seq2seq-lstm": About(
        "text that an LSTM writes from the question alone, no context", _NARRATIVEQA, "4.2"
    ),
    "attention-sum": About(
        "text of words of the passages: AS Reader with an LSTM decoder; attention-sum:DIR for one's own",
        _NARRATIVEQA,
        "4.2",
    ),
    "bidaf": About("the span by a simplified BiDAF; bidaf:DIR for one's own", _NARRATIVEQA, "4.2"),
}
