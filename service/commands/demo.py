"""``storyqa demo``: the bundled story indexed, and five questions about it answered."""

from __future__ import annotations

from service.commands.options import AsJson, Store, same_store
from terminal.output import console, marks_by_style, print_json
from terminal.progress import ProgressBars


def demo(store: Store = None, as_json: AsJson = False) -> None:
    """Index the bundled story and answer five questions about it."""
    with ProgressBars("indexing and answering"):
        from answering.book_qa import Ask, BookQA
        from indexing.build import BuildSettings, IdTaken, build_book
        from indexing.formats.read import read_book
        from indexing.sources.locate import find
        from service.sample_story import BOOK_ID, story, suggested_questions
        from service.schemas import AnswerResponse
        from service.settings import load_settings
        from service.terminal_views import answer_panel

        settings = load_settings(store)
        qa = BookQA.of(settings.configuration())
        [source] = find(str(story()), settings)
        book = read_book(source, BOOK_ID)
        try:
            outcome = build_book(book, BuildSettings(), qa.store)
        except IdTaken:  # by the sample of another storyqa on this machine, with another text or settings
            outcome = build_book(book, BuildSettings(), qa.store, force=True)
        questions = suggested_questions()
        asks = [
            Ask(BOOK_ID, question, retriever=settings.retriever, reader=settings.reader, n_best=1)
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
        out.print(answer_panel(question, one, plain=not marks_by_style(out)))
    where = same_store(store)
    hint = f'storyqa ask {BOOK_ID} "How far inside the bound stone did the wreck lie?"{where}'
    out.print(f"\nAsk your own: {hint}", markup=False, soft_wrap=True)
