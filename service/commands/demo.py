"""``storyqa demo``: the bundled story indexed, and five questions about it answered."""

from __future__ import annotations

import json
import shlex
from importlib import resources

from service.commands.options import AsJson, Store
from terminal.output import console, print_json
from terminal.progress import ProgressBars

_STORY = "weigher-of-sandry-quay"


def demo(store: Store = None, as_json: AsJson = False) -> None:
    """Index the bundled story and answer five questions about it."""
    with ProgressBars("indexing and answering"):
        from answering.book_qa import Ask, BookQA
        from indexing.build import BuildSettings, IdTaken, build_book
        from indexing.formats.read import read_book
        from indexing.sources.locate import find
        from service.schemas import AnswerResponse
        from service.settings import load_settings
        from service.terminal_views import answer_panel

        settings = load_settings(store)
        qa = BookQA.of(settings.configuration())
        sample = resources.files("evaluation") / "sample"
        with resources.as_file(sample / f"{_STORY}.txt") as path:
            [source] = find(str(path), settings)
            book = read_book(source, _STORY)
            try:
                outcome = build_book(book, BuildSettings(), qa.store)
            except IdTaken:  # by another checkout's sample, whose text is another
                outcome = build_book(book, BuildSettings(), qa.store, force=True)
        lines = (sample / "questions.jsonl").read_text(encoding="utf-8").splitlines()
        questions = [record["question"] for record in map(json.loads, lines) if record["demo"]]
        asks = [
            Ask(_STORY, question, retriever=settings.retriever, reader=settings.reader, n_best=1)
            for question in questions
        ]
        cited = qa.answer_many(asks)
    if as_json:
        answers = [AnswerResponse.of(one).model_dump() for one in cited]
        print_json([{"question": q, **answer} for q, answer in zip(questions, answers, strict=True)])
        return
    out = console()
    manifest = outcome.manifest
    assert manifest is not None, "build_book raises where it fails"
    out.print(
        f"{manifest.title}: {manifest.counts.words:,} words, {len(manifest.chapters)} chapters, "
        f"{manifest.counts.passages:,} passages, indexed in {settings.store}\n",
        markup=False,
        soft_wrap=True,
    )
    for question, one in zip(questions, cited, strict=True):
        out.print(answer_panel(question, one, plain=not out.is_terminal))
    where = "" if store is None else f" --store {shlex.quote(str(store))}"
    hint = f'storyqa ask {_STORY} "How far inside the bound stone did the wreck lie?"{where}'
    out.print(f"\nAsk your own: {hint}", markup=False, soft_wrap=True)
