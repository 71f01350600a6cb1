"""``storyqa worlds``: stories of the bAbI tasks, simulated and written as the publishers' files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evaluation.commands.options import AsJson
from evaluation.worlds.cast import OPTIONS, listed

if TYPE_CHECKING:
    from evaluation.worlds.stories import Story

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
LANGUAGES = ("en", "shuffled")


def _tasks(option: str) -> str:
    return f"In tasks {listed(OPTIONS[option])}; the others stay as they are."


@app.command(name="worlds")
def worlds(
    out: Annotated[Path, typer.Option("--out", help="The folder to write into.", show_default=False)],
    task: Annotated[str, typer.Option("--task", help="Which tasks: 1-20, or such as 1,3,7-9.")] = "1-20",
    questions: Annotated[
        int, typer.Option("--questions", help="How many questions of each task to train on, and to test.")
    ] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="Equal seeds give equal files.")] = 0,
    lang: Annotated[
        str,
        typer.Option(
            "--lang",
            metavar="|".join(LANGUAGES),
            help="shuffled: a language in which every letter of the alphabet stands for another.",
        ),
    ] = LANGUAGES[0],
    actors: Annotated[
        int | None,
        typer.Option("--actors", help=f"How many people there are. {_tasks('actors')}", show_default=False),
    ] = None,
    places: Annotated[
        int | None,
        typer.Option("--places", help=f"How many places there are. {_tasks('places')}", show_default=False),
    ] = None,
    distance: Annotated[
        int | None,
        typer.Option(
            "--distance",
            help="How many facts at least, about others, are told between the last fact that supports an "
            f"answer and its question. {_tasks('distance')}",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Simulate the bAbI tasks: qaN_NAME_train.txt and qaN_NAME_test.txt, without a common story.

    storyqa evaluate babi --data FOLDER and storyqa train babi --data FOLDER read them.
    """
    from evaluation.worlds.shuffled import shuffled
    from evaluation.worlds.simulator import train_and_test
    from evaluation.worlds.stories import task_numbers
    from terminal.output import console, counted, print_json
    from terminal.progress import ProgressBars
    from text.registry import check_name

    check_name("language", lang, LANGUAGES)
    tasks = task_numbers(task)
    given = {"actors": actors, "places": places, "distance": distance}
    sets: dict[int, dict[str, list[Story]]] = {}
    with ProgressBars("simulating") as progress:
        for done, number in enumerate(tasks, 1):
            # An option that no task has is refused by the first one; else it is for those that have it.
            has = {
                name: value
                for name, value in given.items()
                if number in OPTIONS[name] or not set(tasks) & set(OPTIONS[name])
            }
            sets[number] = train_and_test(number, questions, seed, **has)
            if lang == "shuffled":
                sets[number] = {
                    split: [shuffled(story) for story in stories] for split, stories in sets[number].items()
                }
            progress("simulating", done, len(tasks))
    files = [_written(out, number, split, one) for number in tasks for split, one in sets[number].items()]
    if as_json:
        print_json({"out": str(out), "seed": seed, "language": lang, **given, "files": files})
        return
    total = sum(file["questions"] for file in files)
    console().print(
        f"{counted(total, 'question')} of {counted(len(tasks), 'task')} in {out}, half to train on, half to "
        "test",
        markup=False,
        soft_wrap=True,
    )


def _written(out: Path, task: int, split: str, stories: list[Story]) -> dict[str, Any]:
    """Write one file and say what is in it; raises ``StoryQAError`` where it cannot be written."""
    from evaluation.worlds.stories import NAMES, write_stories
    from text.output_files import writing

    path = out / f"qa{task}_{NAMES[task]}_{split}.txt"
    with writing(path):
        out.mkdir(parents=True, exist_ok=True)
        path.write_text(write_stories(stories, task), encoding="utf-8", newline="\n")
    return {
        "task": task,
        "split": split,
        "file": path.name,
        "stories": len(stories),
        "facts": sum(len(story.facts) for story in stories),
        "questions": sum(len(story.asked) for story in stories),
    }
