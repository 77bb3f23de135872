"""The command line: finds the command and shows every error as one line, never as a traceback."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Sequence

import click

from sounding import __version__
from sounding.core.errors import ChoiceError, MissingPartError, SoundingError, UnknownNameError
from sounding.core.text import quote
from sounding.core.workers import Stopped, memory_error
from sounding.terminal.values import completing, guarded

# Command -> summary. A command's module is imported only when the command is used.
COMMANDS = {
    "evaluate": "Score runs, and show how much of each ranking was judged.",
    "compare": "Test which runs differ significantly, and how far to trust each result.",
    "audit": "Check whether a collection can evaluate its runs and new runs, and down to what depth.",
    "pool": "Choose which documents to judge, and see what that costs and covers.",
    "plan": "Choose which documents to judge next, and see how certain the ranking is.",
    "simulate": "Replay known judgments to see how soon each strategy ranks the runs correctly.",
    "calibrate": "Check how often sounding's confidence statements are right, by hiding judgments.",
    "label": "Ask a language model for labels of documents, within a budget.",
    "estimate": "Estimate values from few judgments by people and labels by machines.",
    "judge": "Run the server on which people judge documents.",
    "agree": "Measure how far assessors agree, and how that affects the ranking of runs.",
    "depth": "Check whether the outcome depends on the depth of evaluation or of the pool.",
    "track": "Keep values per commit, and see whether quality declines.",
    "report": "Write one page: who wins, whether to trust it, what is missing, what to do next.",
    "check": "List every problem in run, qrels and topics files, with line numbers.",
    "convert": "Convert runs and judgments to Parquet and back.",
    "measures": "List all measures, or explain some: names, parameters, definitions.",
    "sample": "Write a simulated collection in which the relevance of every document is known.",
    "demo": "Show a complete example on a small simulated collection.",
}
FOLDERS = {"measures": "explain"}  # commands whose folder has another name
# packages of the extra `judge`
JUDGING = (
    "argon2", "fastapi", "jinja2", "markdown_it", "multipart", "nh3", "python_multipart", "uvicorn",
)  # fmt: skip
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # errors that only writing raises
COMPLETING = "_SOUNDING_COMPLETE"  # set by a shell that asks for completions


class Commands(click.Group):
    """A group that knows the names of its commands and loads only the one that is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name, or None."""
        if cmd_name not in COMMANDS:
            return None
        folder = FOLDERS.get(cmd_name, cmd_name)
        module = importlib.import_module(f"sounding.{folder}.command")
        command: click.Command = module.command
        return completing(command) if COMPLETING in os.environ else guarded(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table above, without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command to run; suggest a similar name for an unknown one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(COMMANDS)}"
            raise click.UsageError(f"unknown command {args[0]!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="sounding")
def cli() -> None:
    """Find out how far you can trust a retrieval evaluation.

    Scores retrieval runs against relevance judgments as trec_eval does, and shows what the unjudged
    documents could change. `sounding COMMAND --help` explains a command.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; exit with 0: done; 1: bad input; 2: wrong usage."""
    # One thread is enough for our arrays; starting more costs more than it saves.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        status = cli.main(arguments, prog_name="sounding", standalone_mode=False)
        sys.exit(status if isinstance(status, int) else 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _exit_with("stopped", 130)
    except Stopped as signal:
        _exit_with("stopped", int(str(signal.code)))
    except SoundingError as error:
        _exit_with(f"Error: {error}", 2 if isinstance(error, ChoiceError | UnknownNameError) else 1)
    except BrokenPipeError:
        # The reader has seen enough; keep the interpreter from complaining as well.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except MemoryError as error:
        _exit_with(f"Error: {memory_error(error)}", 1)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        if not place and error.errno in NO_ROOM:
            place = "standard output cannot be written: "
        _exit_with(f"Error: {place}{error.strerror or error}", 1)
    except Exception as error:
        if os.environ.get("SOUNDING_DEBUG"):
            raise
        if isinstance(error, UnicodeEncodeError) and "surrogates" in error.reason:
            _exit_with(_encoding_error(error), 1)
        if isinstance(error, ModuleNotFoundError) and error.name in JUDGING:
            _exit_with(f"Error: {MissingPartError(error.name, 'the judging server', 'judge')}", 1)
        _exit_with(
            f"Error: unexpected {type(error).__name__}: {error}; this is a bug in sounding, please report"
            " it (SOUNDING_DEBUG=1 shows where)",
            1,
        )


def _encoding_error(error: UnicodeEncodeError) -> str:
    """Explain that frames, charts and JSON need UTF-8, although files may hold other bytes in their ids."""
    around = error.object[max(0, error.start - 20) : error.start + 20]
    only = "is not UTF-8, but this output can only hold UTF-8"
    return f"Error: {quote(around)} {only}; save the files as UTF-8"


def _exit_with(message: str, status: int) -> None:
    click.echo(" ".join(message.splitlines()), err=True)
    sys.exit(status)
