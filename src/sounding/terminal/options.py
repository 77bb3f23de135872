"""Work that commands share: read policies and files, write answers, show progress."""

from __future__ import annotations

import glob
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from fnmatch import fnmatchcase
from itertools import groupby
from os.path import commonprefix
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from sounding.core import policies as names
from sounding.core.errors import DataError, FormatError, UnknownNameError
from sounding.core.files import write_file
from sounding.core.text import fill_paragraph
from sounding.core.workers import Bars, Progress
from sounding.data.formats import read_qrels
from sounding.data.run_info import RunInfo, read_run_info, split_condition
from sounding.render.tables import (
    SCHEMA_VERSION,
    Answer,
    Table,
    parquet,
    render,
    render_answer,
    shown_notes,
)
from sounding.terminal.declare import (
    OutputOptions,
    PlainPolicyOptions,
    PolicyOptions,
    ReadingOptions,
    SessionOptions,
    spelling,
    typed,
)

if TYPE_CHECKING:
    from sounding.runs.pool import Pool

PEOPLE = ("table", "md", "latex")  # formats that people read
NO_NOTES = ("csv", "jsonl", "parquet")  # formats that hold only rows

PARAGRAPH_WIDTH = 88  # of prose
REFRESH = 0.1  # seconds between two updates of the progress bar
UNKNOWN_WIDTH = 80  # of a terminal that does not know its own
PIPED_WIDTH = 110  # of prose in a pipe or a file, unless COLUMNS is set
MOST_TYPED = 4  # runs that a suggested command names

_ONLY_WITH = {
    "universe": ("bounds", "expected"), "at_most": ("bounds",), "prior": ("expected",),
    "moments": ("expected",), "draws": ("expected",),
}  # fmt: skip


def read_info(files: Sequence[str], only: Sequence[str] = ()) -> dict[str, RunInfo] | None:
    """Return what the --info files say about the runs; None without such files.

    `only` are conditions on the runs, which are checked before any file is read.
    """
    check_only(files, only)
    return dict(row for file in files for row in read_run_info(file).items()) or None


def check_only(files: Sequence[str], only: Sequence[str]) -> None:
    """Refuse conditions on the runs that cannot be understood, or that no --info file answers."""
    with options_refused():
        for condition in only:
            split_condition(condition)
    if only and not files:
        raise click.UsageError(f"--only {only[0]}: --info FILE says which runs these are; give it as well")


def pooled_judgments(
    qrels: Any,
    runs: Sequence[Any],
    options: ReadingOptions,
    policies: names.Policies,
    info: Mapping[str, RunInfo] | None,
) -> tuple[Any, str | None, Pool | None]:
    """Return the judgments, a sentence about them and their pool if --pool-depth cuts them."""
    if options.pool_depth is None:
        return qrels, None, None
    from sounding.runs.pool import (
        judgments_at_depth,
    )  # takes a twentieth of the start-up time of most commands

    whole = read_qrels(
        qrels, format=options.qrels_format, duplicates=policies.duplicates, fractional=policies.fractional
    )
    with progress_bar(len(runs), quiet=options.quiet, label="cutting the pool") as progress:
        return judgments_at_depth(
            whole, runs, options.pool_depth, info=info, policies=policies, run_format=options.run_format,
            jobs=options.jobs, progress=progress,
        )  # fmt: skip


def typed_command(context: click.Context, most_runs: int | None = None) -> str:
    """Return the command as it was typed, with at most `most_runs` runs."""
    words = ["sounding", context.info_name or ""]
    for parameter in context.command.params:
        name = parameter.name or ""
        value: Any = context.params.get(name)
        if value is None or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        if isinstance(parameter, click.Argument):
            runs = [value] if parameter.nargs == 1 else list(value or ())
            words += runs if most_runs is None or len(runs) <= most_runs else [*runs[:most_runs], "..."]
        elif isinstance(parameter, click.Option) and parameter.is_flag:
            words.append(parameter.opts[-1])
        elif isinstance(parameter, click.Option):
            for one in value if parameter.multiple else [value]:
                words += [parameter.opts[0], *(one if isinstance(one, tuple) else [one])]
    return " ".join(_quoted(str(word)) for word in words)


def _quoted(word: str) -> str:
    """Quote a word for a shell; in double quotes if it has single ones, as some measures do."""
    plain = "'" in word and not any(letter in word for letter in '"$`\\!')
    return f'"{word}"' if plain else shlex.quote(word)


def policies_of(options: PolicyOptions, *, always_bounds: bool = False) -> names.Policies:
    """Return the policies among a command's options; raise an error for an option without effect.

    `always_bounds`: the command computes bounds under every policy for unjudged documents.
    """
    for name, needed in _ONLY_WITH.items():
        idle = options.unjudged not in needed and not (always_bounds and "bounds" in needed)
        if typed(name) and idle:
            needs = " or ".join(needed)
            raise click.UsageError(f"{spelling(name)} changes nothing without --unjudged {needs}")
    return names.Policies(**{field.name: getattr(options, field.name) for field in fields(names.Policies)})


def plain_policies_of(options: PlainPolicyOptions) -> names.Policies:
    """Return the policies that `plain_policies` and --seed set; the others have their defaults."""
    return names.Policies(
        **{field.name: getattr(options, field.name) for field in fields(PlainPolicyOptions)}
    )


def write_tables(tables: Sequence[Table], format_name: str, output: Path | None) -> None:
    """Print tables, or write them to a file, completely or not at all."""
    if format_name == "parquet":
        if output is None and sys.stdout.isatty():
            raise DataError("parquet cannot be shown on a terminal; write it to a file with -o FILE")
        write_bytes(parquet(tables), output)
        return
    text = render(
        _with_schema(tables, format_name), format_name, width=table_width(output), prose=prose_width(output),
        marks=uses_color(output),
    )  # fmt: skip
    write_text(text, output)


def write_answer(answer: Answer, options: OutputOptions) -> None:
    """Print an answer, or write it to a file: for people with its headline, notes and next step.

    In formats that hold only rows these go to stderr instead.
    """
    format_name, output = options.format_name, options.output
    if format_name in NO_NOTES:
        write_tables(answer.tables, format_name, output)
        for text in [answer.headline, *shown_notes(answer.notes, all_notes=options.notes)]:
            remark(text, quiet=options.quiet)
        return
    with_schema = replace(answer, tables=_with_schema(answer.tables, format_name))
    write_text(_rendered(with_schema, options), output)


def _rendered(answer: Answer, options: OutputOptions) -> str:
    output = options.output
    return render_answer(
        answer, options.format_name, all_notes=options.notes, width=table_width(output),
        prose=prose_width(output), marks=uses_color(output),
    )  # fmt: skip


def write_beginning(answer: Answer, options: OutputOptions) -> bool:
    """Print the headline and the first tables of an answer before the rest is known.

    False: the output is a file, or is written in one piece. `write_rest` prints what follows.
    """
    if options.format_name != "table" or options.output is not None:
        return False
    write_text(_rendered(answer, options), None)
    return True


def write_rest(answer: Answer, options: OutputOptions) -> None:
    """Print the other tables of an answer that has begun, its notes and the next step."""
    write_text("\n" + _rendered(replace(answer, headline=""), options), None)


def say_answer(answer: Answer, options: OutputOptions) -> None:
    """Write an answer to stderr, for a command whose output is a list of documents."""
    notes = shown_notes(answer.notes, all_notes=options.notes)
    following = [f"Next: {answer.next_command}"] if answer.next_command else []
    for text in [answer.headline, *notes, *following]:
        remark(text, quiet=options.quiet)


def _with_schema(tables: Sequence[Table], format_name: str) -> Sequence[Table]:
    """Add the name and version of the JSON schema to the tables; docs/schemas describes each."""
    context = click.get_current_context(silent=True)
    if format_name != "json" or context is None or not tables:
        return tables
    command = context.command_path.partition(" ")[2].replace(" ", "-") or context.info_name
    first, *others = tables
    return [replace(first, facts={"schema": f"sounding/{command}/{SCHEMA_VERSION}", **first.facts}), *others]


def uses_color(output: Path | None) -> bool:
    """Return whether to use color and bold type: on a terminal, unless NO_COLOR is set."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return output is None and sys.stdout.isatty() and not plain


def table_width(output: Path | None) -> int | None:
    """Return the largest width of a table: that of the terminal, or COLUMNS; None in a file or a pipe."""
    known = os.environ.get("COLUMNS", "")
    wanted = int(known) if known.isdigit() and int(known) else None
    if output is None and sys.stdout.isatty():
        return os.get_terminal_size().columns or wanted or UNKNOWN_WIDTH
    return wanted


def prose_width(output: Path | None) -> int:
    """Return the largest width of prose: that of a table, or 110 if tables have no limit."""
    return table_width(output) or PIPED_WIDTH


def suggest(verb: str, *words: str, keep: Sequence[str] = (), first: Sequence[str] = ()) -> str:
    """Return a command to type next about the same files, such as `sounding compare QRELS RUNS --pair a b`.

    `keep` names options of the current command, such as info, that the next one needs as well. `first`
    are arguments of the next command that come before the files of the current one.
    """
    context = click.get_current_context()
    parts = ["sounding", verb, *first]
    for parameter in context.command.params:
        name = parameter.name or ""
        if isinstance(parameter, click.Argument):
            value = context.params[name]
            files = list(map(str, value)) if isinstance(value, tuple) else [str(value)] if value else []
            parts += _short_runs(files) if name == "runs" else files
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in keep and typed(name):
            value = context.params[name]
            for part in value if isinstance(value, tuple) else (value,):
                parts += [parameter.opts[0], str(part)]
    return " ".join(map(_quoted, [*parts, *words]))


def _short_runs(runs: Sequence[str]) -> list[str]:
    """Return the runs as a person types them: a folder, or a pattern, in place of many of its files."""
    if len(runs) <= MOST_TYPED:
        return [*runs]
    short: list[str] = []
    for folder, group in groupby(map(Path, runs), key=lambda run: run.parent):
        names = [run.name for run in group]
        short += _short_names(folder, names) if folder.is_dir() else [str(folder / name) for name in names]
    return short


def _short_names(folder: Path, names: Sequence[str]) -> list[str]:
    """Return what stands for exactly these files of a folder: the folder, a pattern, or their names."""
    listed = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    if listed == set(names):
        return [f"{folder}/"]
    begin = commonprefix(names)  # noqa: RUF071 - letters are meant
    end = commonprefix([name[::-1] for name in names])[::-1]  # noqa: RUF071
    for pattern in (f"*{Path(names[0]).suffix}", f"{glob.escape(begin)}*{glob.escape(end)}"):
        if {name for name in listed if fnmatchcase(name, pattern)} == set(names):
            return [f"{folder}/{pattern}"]
    return [str(folder / name) for name in names]


def write_text(text: str, output: Path | None) -> None:
    """Print text, or write it to a file; ids that are not UTF-8 keep their bytes."""
    write_bytes(text.encode("utf-8", "surrogateescape"), output)


def write_bytes(content: bytes, output: Path | None) -> None:
    """Print bytes, or write them to a file, completely or not at all."""
    if output is None:
        try:
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise DataError(f"standard output cannot be written: {error.strerror or error}") from error
        return
    write_file(output, content)


@contextmanager
def options_refused() -> Iterator[None]:
    """Turn errors in the values of options into usage errors; errors in files stay as they are."""
    try:
        yield
    except FormatError:
        raise
    except (DataError, UnknownNameError) as error:
        raise click.UsageError(str(error)) from error


@contextmanager
def names_refused() -> Iterator[None]:
    """Turn the unknown name of a run into a usage error."""
    try:
        yield
    except UnknownNameError as error:
        raise click.UsageError(str(error)) from error


def remark(text: str, *, quiet: bool) -> None:
    """Print a remark to stderr, unless --quiet is set."""
    if not quiet:
        width = table_width(None)
        if width is not None and "\n" not in text:
            text = fill_paragraph(text, width)
        click.echo(text.encode("utf-8", "backslashreplace").decode(), err=True)  # ids that are not UTF-8


def bars_for(options: OutputOptions) -> Bars:
    """Return a function that gives each step of the work its own progress bar."""
    return lambda total, label: progress_bar(total, quiet=options.quiet, label=label)


@contextmanager
def progress_bar(
    total: int | None, *, quiet: bool, label: str, more: Callable[[], str] | None = None
) -> Iterator[Progress | None]:
    """Show progress and the time left on stderr if that is a terminal; clear it at the end.

    A total of None means that it is unknown. `more` returns what else the line says.
    """
    few = total is not None and total < 2
    if quiet or few or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    count, begin, shown = 0, time.monotonic(), 0.0

    def advance(done: int) -> None:
        nonlocal count, shown
        count, now = count + done, time.monotonic()
        if now - shown < REFRESH and count != total:
            return
        shown, text = now, f"{label} {count:,}"
        if total is not None:
            left = round((now - begin) * (total - count) / max(count, 1)) if count else 0
            text += f"/{total:,}" + (f", {left // 60}:{left % 60:02} left" if left else "")
        _rewrite(text + (more() if more is not None else ""))

    advance(0)
    try:
        yield advance
    finally:
        _rewrite("")


def _rewrite(text: str) -> None:
    """Overwrite the current line; it is cut to the width, since a wrapped line could not be cleared."""
    import shutil  # loads bz2 and lzma, which takes long

    sys.stderr.write(f"\r\x1b[K{text[: shutil.get_terminal_size().columns - 1]}")
    sys.stderr.flush()


Chosen = TypeVar("Chosen", bound=SessionOptions)


def with_method(options: Chosen) -> Chosen:
    """Return the options of a session with the parameters of --method, which no other option may set."""
    if options.method is None:
        return options
    from sounding.selection.mtc.session import METHODS  # NumPy and the engine, which few commands need

    preset = METHODS[options.method]
    for name in preset:
        if typed(name):
            raise click.UsageError(f"--method {options.method} sets --{name} {preset[name]}; leave one out")
    return replace(options, **preset)
