"""The command ``storyqa``: its commands, and what becomes of their errors."""

from __future__ import annotations

import functools
import gc
import io
import logging
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from service.commands import (
    assistant,
    demo,
    facts,
    index,
    keys,
    library,
    listing,
    maintenance,
    models,
    overviews,
    questions,
    serving,
    shelves,
)
from service.open_files import raise_open_files
from text.errors import Stopped, StoryQAError
from text.output_files import is_full
from text.registry import import_object

if TYPE_CHECKING:
    from answering.configuration import Configuration
    from service.lent_books import BookLender

_OPEN_FILES = 2**16  # a book that is open takes some seven, and many systems allow 1,024 unless asked

# Commands of other packages, imported only when they are run.
COMMANDS = {
    "evaluate": "evaluation.commands.evaluate:app",
    "reproduce": "evaluation.commands.reproduce:app",
    "cloze": "evaluation.commands.cloze:app",
    "probe": "evaluation.commands.probe:app",
    "prepare": "evaluation.commands.prepare:app",
    "worlds": "evaluation.commands.worlds:app",
    "train": "training.commands:app",
}
_HELP = {
    "evaluate": "Score the system on a benchmark.",
    "reproduce": "Print a paper's tables with our figures beside its own.",
    "cloze": "Make questions with a blank of books.",
    "probe": "Tell which reasoning a reader or a service can do.",
    "prepare": "Check a data set's downloaded stories and index them, or build a set of articles.",
    "worlds": "Simulate the bAbI tasks.",
    "train": "Train a model.",
}

app = typer.Typer(
    name="storyqa",
    help="Answers questions about whole books and cites the exact place.",
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --version: as GET /version gives it, with the runtime.")
    ] = False,
) -> None:
    if version:
        from service.settings import load_settings
        from service.version import installed_version, running_version

        told = running_version(load_settings()).model_dump_json() if as_json else None
        typer.echo(told or f"storyqa {installed_version()}")
        raise typer.Exit
    if as_json:
        command = context.invoked_subcommand or "COMMAND"
        raise StoryQAError(f"--json stands behind what it is for: storyqa {command} --json")
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


class _Surroundings:
    """What commands of other packages find in ``typer.Context.obj``; read when they run.

    So ``--help`` works where the environment is wrong.
    """

    def __call__(self) -> Configuration:
        """What this process is configured to answer with; raises ``BadSetting``."""
        from service.settings import load_settings

        return load_settings().configuration()

    def run(self, arguments: Sequence[str]) -> None:
        """Run another command; raises what it raises, and ``typer.Exit`` where its code is not 0."""
        code = app(arguments, prog_name="storyqa", standalone_mode=False)
        if isinstance(code, int) and code:
            raise typer.Exit(code)

    def service(self, url: str) -> BookLender:
        """The service at ``url``, as a client that lends it books."""
        from service.lent_books import BookLender
        from service.settings import load_settings

        key = load_settings().service_key
        return BookLender(url, None if key is None else key.get_secret_value())


def _passing_on(name: str) -> Callable[[typer.Context], None]:
    """A command that imports the real one and hands it every argument as it came, and the surroundings."""

    def run(context: typer.Context) -> None:
        code = import_object(COMMANDS[name])(
            context.args, prog_name=f"storyqa {name}", standalone_mode=False, obj=_Surroundings()
        )
        if isinstance(code, int):
            raise typer.Exit(code)

    return run


def _of_one_question(command: Callable[..., None]) -> Callable[..., None]:
    """The command without garbage collection, which takes a tenth of a process that ends with its answer."""

    @functools.wraps(command)
    def run(*args: object, **kwargs: object) -> None:
        gc.disable()
        try:
            command(*args, **kwargs)
        finally:
            gc.enable()

    return run


for _command in (
    index.index,
    library.books,
    library.show,
    library.remove,
    library.verify,
    maintenance.copy,
    maintenance.gc,
    maintenance.catalogue,
    _of_one_question(questions.search),
    _of_one_question(questions.ask),
    _of_one_question(overviews.characters),
    _of_one_question(overviews.who),
    _of_one_question(overviews.recap),
    _of_one_question(facts.facts),
    listing.readers,
    listing.retrievers,
    serving.serve,
    assistant.mcp,
    demo.demo,
):
    app.command()(_command)
app.add_typer(shelves.app)
app.add_typer(keys.app)
app.add_typer(models.app)
for _name, _help in _HELP.items():
    app.command(
        _name,
        help=_help,
        add_help_option=False,
        context_settings={
            "ignore_unknown_options": True,
            "allow_extra_args": True,
            "allow_interspersed_args": False,
        },
    )(_passing_on(_name))


def main() -> None:
    """The command line of this process, to its end."""
    _open_closed_streams()
    logging.basicConfig(format="storyqa: %(message)s")  # warnings are lines as errors are
    if "_STORYQA_COMPLETE" in os.environ:
        _take_in_what_is_completed()
    raise_open_files(_OPEN_FILES)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a book may hold what the terminal cannot show
    code = run(sys.argv[1:])
    gc.freeze()  # Python would look for garbage once more before it ends
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has gone; Python must not say so once more on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _take_in_what_is_completed() -> None:
    """Have the real command stand where one is only passed on to, if a shell completes what is behind it."""
    typed = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""  # zsh has the latter
    [name] = typed.split()[1:2] or [""]
    if name not in COMMANDS:
        return
    real: typer.Typer = import_object(COMMANDS[name])
    app.registered_commands = [one for one in app.registered_commands if one.name != name]
    if real.registered_callback is None and len(real.registered_commands) == 1:
        app.registered_commands += real.registered_commands
    else:
        app.add_typer(real, name=name)


def _open_closed_streams() -> None:
    """Have what is written to a stream that nobody has opened (``storyqa serve >&-``) go nowhere.

    Python has None for it, and the next file or socket would get its number, and what C libraries print.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # each gets the lowest free number
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(descriptor, True)  # as those of every process are
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8"))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; every error is one line on standard error.

    2 for what the user gave, 130 for Ctrl-C, 1 for what storyqa did.
    """
    try:
        code = app(arguments, prog_name="storyqa", standalone_mode=False)
    except StoryQAError as error:
        return _fail(str(error), 2)
    except Stopped as stopped:
        return _fail(f"stopped; {stopped}", Stopped.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        code = Stopped.exit_code  # which newer versions of Typer return
    except BrokenPipeError:
        return 1
    except Exception as error:
        # Usage errors: Typer gives their class another name from version to version.
        describe = getattr(error, "format_message", None)
        if describe is not None:
            message = describe().rstrip(".").replace(": Value error, ", ": ")  # which pydantic begins with
            if not message:  # the command's help has been printed already
                return 2
            see = "? See" if message.endswith("?") else "; see"
            return _fail(f"{message.rstrip('?')}{see} {_command_of(error)} --help", 2)
        if is_full(error):
            return _fail(f"the disk is full ({error}); make room and run the same command again", 1)
        return _unexpected(error)
    if code == Stopped.exit_code:
        return _fail("stopped", Stopped.exit_code)
    return code if isinstance(code, int) else 0


def _command_of(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return "storyqa" if context is None else str(context.command_path)


def _unexpected(error: Exception) -> int:
    from service.settings import BadSetting, read_settings

    try:
        debug = read_settings().debug
    except BadSetting:
        debug = False
    if debug:
        import traceback

        traceback.print_exception(error)
    hint = "" if debug else "; STORYQA_DEBUG=1 shows where"
    return _fail(f"unexpected {type(error).__name__}: {error}{hint}", 1)


def _fail(message: str, code: int) -> int:
    print(f"storyqa: {' '.join(message.split())}", file=sys.stderr)
    return code
