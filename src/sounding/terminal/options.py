"""Options that several commands share: policies, output, progress."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click
from click.core import ParameterSource

from sounding.core import policies as names
from sounding.core.errors import DataError, FormatError, UnknownNameError
from sounding.core.files import refuse_unwritable, write_whole
from sounding.core.workers import Bars, Progress
from sounding.render.tables import FORMATS, Table, parquet, render

if TYPE_CHECKING:
    from sounding.data.run_info import RunInfo
    from sounding.runs.pool import Pool

Command = Callable[..., Any]
Kind = TypeVar("Kind")  # the dataclass that holds a command's options
Given = TypeVar("Given")


# A command's options are one dataclass, put together from these: each has what one decorator below adds.


@dataclass(frozen=True, kw_only=True)
class PlainPolicyOptions:
    """What `plain_policies` adds, and a seed."""

    ties: names.Ties = names.DEFAULT_POLICIES.ties
    unjudged: names.Unjudged = names.DEFAULT_POLICIES.unjudged
    missing: names.Missing = names.DEFAULT_POLICIES.missing
    negative: names.Negative = names.DEFAULT_POLICIES.negative
    fractional: names.Fractional = names.DEFAULT_POLICIES.fractional
    duplicates: names.Duplicates = names.DEFAULT_POLICIES.duplicates
    compat: names.Compat = names.DEFAULT_POLICIES.compat
    seed: int = names.DEFAULT_POLICIES.seed


@dataclass(frozen=True, kw_only=True)
class PolicyOptions(PlainPolicyOptions):
    """What `policy_options` adds; a command that leaves an option out has its default."""

    depth: int | None = names.DEFAULT_POLICIES.depth
    universe: str = names.DEFAULT_POLICIES.universe
    at_most: str | None = names.DEFAULT_POLICIES.at_most
    prior: str = names.DEFAULT_POLICIES.prior
    moments: names.Moments = names.DEFAULT_POLICIES.moments
    draws: int = names.DEFAULT_POLICIES.draws


@dataclass(frozen=True, kw_only=True)
class RankingOptions:
    """What `ranking_options` adds: the policies that decide which documents a run has, and in which order."""

    ties: names.Ties
    compat: names.Compat
    duplicates: names.Duplicates

    def policies(self) -> names.Policies:
        """Return them as policies; grades of any kind are taken, since only the order is asked for."""
        return names.Policies(
            ties=self.ties, compat=self.compat, duplicates=self.duplicates, fractional="accept"
        )

    def named(self) -> dict[str, str]:
        """Return them by name, as outputs repeat them."""
        return {"ties": self.ties, "compat": self.compat, "duplicates": self.duplicates}


@dataclass(frozen=True, kw_only=True)
class PoolOptions:
    """What `pool_options` adds."""

    pool_depth: int | None
    info: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class FormatOptions:
    """What `format_options` adds."""

    qrels_format: str | None
    run_format: str | None


@dataclass(frozen=True, kw_only=True)
class WorkerOptions:
    """What `worker_options` adds."""

    jobs: int | None


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """What `output_options` adds."""

    format_name: str
    output: Path | None
    quiet: bool


@dataclass(frozen=True, kw_only=True)
class ReadingOptions(PoolOptions, FormatOptions, WorkerOptions, OutputOptions):
    """What it takes to read judgments as a pool of some depth would have had them."""


def taking(kind: type[Kind]) -> Callable[[Callable[[Kind], Given]], Callable[..., Given]]:
    """Hand a command its options as one object instead of as keywords."""

    def take(command: Callable[[Kind], Given]) -> Callable[..., Given]:
        @wraps(command)
        def called(**given: Any) -> Given:
            return command(kind(**given))

        return called

    return take


PEOPLE = ("table", "md", "latex")  # formats that people read
NO_NOTES = ("csv", "jsonl", "parquet")  # formats that hold rows alone

PARAGRAPH_WIDTH = 88  # of prose
REFRESH = 0.1  # seconds between two looks at progress
PIPED_WIDTH = 110  # of tables that go into a pipe or a file, unless COLUMNS says otherwise

_POLICIES: Sequence[tuple[str, Any, str]] = (
    (
        "ties",
        names.Ties,
        "Order of documents with equal scores: by doc id (trec), by line (score-file), or averaged; file and"
        " rank: all documents by line, or by the rank column.",
    ),
    (
        "unjudged",
        names.Unjudged,
        "What an unjudged document counts; condensed: removed; bounds, expected: shown beside the value.",
    ),
    ("missing", names.Missing, "What a judged topic counts that a run lacks."),
    ("negative", names.Negative, "Negative grades: all unjudged (trec), only -1 (split), or non-relevant."),
    ("fractional", names.Fractional, "Grades such as 0.5."),
    ("duplicates", names.Duplicates, "A document listed twice for a topic."),
    ("moments", names.Moments, "How expected values are found: exact where known, drawn, or approximated."),
    ("compat", names.Compat, "Which trec_eval to agree with: 9 compares scores in single precision."),
)


_ONLY_WITH = {
    "universe": ("bounds", "expected"), "at_most": ("bounds",), "prior": ("expected",),
    "moments": ("expected",), "draws": ("expected",),
}  # fmt: skip


def policy_options(command: Command, *, without: Sequence[str] = ()) -> Command:
    """Add one option for every policy but those that a command has no use for."""
    for name, values, text in reversed(_POLICIES):
        if name in without:
            continue
        default = getattr(names.DEFAULT_POLICIES, name)
        option = click.option(
            f"--{name}", type=click.Choice(get_args(values)), default=default, show_default=True, help=text
        )
        command = option(command)
    defaults = names.DEFAULT_POLICIES
    others = {
        "seed": click.option(
            "--seed", type=int, default=defaults.seed, show_default=True, help="Of the draws."
        ),
        "draws": click.option(
            "--draws", type=click.IntRange(2), default=defaults.draws, show_default=True,
            help="Completions drawn where no exact expectation is known.",
        ),
        "prior": click.option(
            "--prior", metavar="P", default=defaults.prior, show_default=True,
            help="Chance that an unjudged document is relevant: a number, rate, rank, or a file.",
        ),
        "at_most": click.option(
            "--at-most", metavar="N", help="Most new relevant documents of a topic: N, 2x the known, growth."
        ),
        "universe": click.option(
            "--universe", metavar="U", default=defaults.universe, show_default=True,
            help="Unjudged documents that may be relevant: of this run, of all runs, or +N more.",
        ),
        "depth": click.option(
            "-M", "--depth", type=click.IntRange(1), help="Only the first so many documents of a topic count."
        ),
    }  # fmt: skip
    for name, option in others.items():
        command = command if name in without else option(command)
    return command


_PLAIN_CHOICES = {
    "ties": names.ORDERS, "unjudged": ("nonrelevant", "condensed"),
    "missing": get_args(names.Missing), "negative": get_args(names.Negative),
    "fractional": get_args(names.Fractional), "duplicates": get_args(names.Duplicates),
    "compat": get_args(names.Compat),
}  # fmt: skip


def plain_policies(command: Command) -> Command:
    """Add the policies that have a use where documents stand in one order and values need no bounds."""
    for name, values in reversed(_PLAIN_CHOICES.items()):
        default = getattr(names.DEFAULT_POLICIES, name)
        option = click.option(
            f"--{name}", type=click.Choice(values), default=default, show_default=True, help="As evaluate."
        )
        command = option(command)
    return command


def ranking_options(command: Command) -> Command:
    """Add --ties, --compat and --duplicates."""
    for name, values, text in (
        ("duplicates", get_args(names.Duplicates), "A document listed twice for a topic."),
        ("compat", get_args(names.Compat), "As evaluate."),
        ("ties", names.ORDERS, "As evaluate."),
    ):
        default = getattr(names.DEFAULT_POLICIES, name)
        option = click.option(
            f"--{name}", type=click.Choice(values), default=default, show_default=True, help=text
        )
        command = option(command)
    return command


def pool_options(command: Command) -> Command:
    """Add --pool-depth and --info."""
    depth = click.option(
        "--pool-depth", type=click.IntRange(1), metavar="D",
        help="Only judgments that a pool of this depth would have had.",
    )  # fmt: skip
    info = click.option(
        "--info", multiple=True, metavar="FILE",
        help="Which runs were pooled: run group kind priority pooled; may be repeated.",
    )  # fmt: skip
    return depth(info(command))


def format_options(command: Command) -> Command:
    """Add --qrels-format and --run-format."""
    qrels = click.option("--qrels-format", metavar="F", help="Format of QRELS, where it is not recognised.")
    runs = click.option("--run-format", metavar="F", help="Format of the runs, where it is not recognised.")
    return qrels(runs(command))


def worker_options(command: Command) -> Command:
    """Add --jobs and --dask; with the latter, all that the command maps is done by a cluster."""
    jobs = click.option(
        "--jobs", type=click.IntRange(1), help="Processes; default: all cores when the files are large."
    )
    return jobs(dask_option(command))


def dask_option(command: Command) -> Command:
    """Add --dask, for commands with a --jobs of their own."""
    option = click.option(
        "--dask", metavar="ADDRESS", expose_value=False, callback=_sent_to_cluster,
        help="Share the work over a Dask cluster, as tcp://host:8786.",
    )  # fmt: skip
    return option(command)


def _sent_to_cluster(context: click.Context, _: click.Parameter, address: str | None) -> None:
    """Put the cluster in force until the command is done."""
    if address is None or context.resilient_parsing:
        return
    import logging

    from sounding.core.executors import run_on

    # What the cluster has to say of lost workers is said by us, in one line, where it matters.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    context.with_resource(run_on(address))


def read_info(files: Sequence[str]) -> dict[str, RunInfo] | None:
    """Return what the files of --info list of the runs; None where none was given."""
    if not files:
        return None
    from sounding.data.run_info import read_run_info  # NumPy, which --help does without

    return dict(row for file in files for row in read_run_info(file).items()) or None


def pooled_judgments(
    qrels: Any,
    runs: Sequence[str],
    options: ReadingOptions,
    policies: names.Policies,
    info: Mapping[str, RunInfo] | None,
) -> tuple[Any, str | None, Pool | None]:
    """Return the judgments, cut where --pool-depth asks for it, a sentence that says so, and their pool."""
    if options.pool_depth is None:
        return qrels, None, None
    from sounding.data.formats import read_qrels  # NumPy, which --help does without
    from sounding.runs.pool import judgments_at_depth

    whole = read_qrels(
        qrels, format=options.qrels_format, duplicates=policies.duplicates, fractional=policies.fractional
    )
    with progress_bar(len(runs), quiet=options.quiet, label="cutting the pool") as progress:
        return judgments_at_depth(
            whole, runs, options.pool_depth, info=info, policies=policies, run_format=options.run_format,
            jobs=options.jobs, progress=progress,
        )  # fmt: skip


def typed_command(context: click.Context, most_runs: int | None = None) -> str:
    """The command as it was typed; of many runs, the first ones only where that is asked for."""
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
    """A word as one types it in a shell; measures hold single quotes, which double ones keep readable."""
    import shlex

    plain = "'" in word and not any(letter in word for letter in '"$`\\!')
    return f'"{word}"' if plain else shlex.quote(word)


_SUFFIXES = {
    ".csv": "csv", ".json": "json", ".jsonl": "jsonl", ".md": "md", ".tex": "latex", ".parquet": "parquet",
}  # fmt: skip


_PLAIN = ("", ".txt")  # suffixes that promise nothing


def by_suffix(
    output: Path | None, otherwise: str, suffixes: Mapping[str, str] = _SUFFIXES, option: str = "-o"
) -> str:
    """The format that the name of a file promises, or another where it promises none."""
    suffix = output.suffix.lower() if output else ""
    if suffix in suffixes or suffix in _PLAIN:
        return suffixes.get(suffix, otherwise)
    named = ", or name the format with --format" if option == "-o" else ""
    raise click.UsageError(
        f"{option} {output}: no format goes by {suffix!r}; use {', '.join(suffixes)}{named}"
    )


def writable(_: click.Context, __: click.Parameter, value: Path | None) -> Path | None:
    """The file to write, refused before the work where its folder is missing or it is write-protected.

    None: standard output, which a dash means as well.
    """
    if value is None or value == Path("-"):
        return None
    refuse_unwritable(value)
    return value


def keeping_inputs(command: Command) -> Command:
    """The command, refused where it would write over a file that it is to read."""

    @wraps(command)
    def kept(*arguments: Any, **options: Any) -> Any:
        context = click.get_current_context()
        written = [one for one in context.command.params if isinstance(one.type, click.Path) and one.name]
        read = [one for one in context.command.params if one not in written and one.name]
        for one in written:
            file = context.params.get(one.name or "")
            if isinstance(file, Path) and file.is_file():
                _refuse_to_write_over(file, one, [context.params.get(other.name or "") for other in read])
        return command(*arguments, **options)

    return kept


def _refuse_to_write_over(file: Path, option: click.Parameter, values: Sequence[Any]) -> None:
    """A usage error where one of a command's values names the file, its folder, or a pattern it fits."""
    texts = [text for value in values for text in (value if isinstance(value, tuple) else (value,))]
    for text in texts:
        if isinstance(text, str) and text and any(_is_file(place, file) for place in _files_named(text)):
            raise click.UsageError(
                f"{option.opts[-1]} {file} would overwrite what is read; name another file"
            )


def _files_named(text: str) -> Iterator[Path]:
    """The files that a text stands for, as a name, as a folder, or as a pattern."""
    import glob

    try:
        path = Path(text)
        if path.is_dir():
            yield from path.iterdir()
        elif path.exists():
            yield path
        elif glob.has_magic(text):
            yield from map(Path, glob.glob(text, recursive=True))  # noqa: PTH207 - takes absolute patterns
    except (OSError, ValueError):  # a text that can be no name of a file
        return


def _is_file(path: Path, file: Path) -> bool:
    try:
        return path.samefile(file)
    except OSError:
        return False


def output_options(*more_formats: str, otherwise: str = "a table") -> Callable[[Command], Command]:
    """Add --format, --output and --quiet; `otherwise` is what comes where nothing names a format.

    A command with something else than a table to give looks at suffixes that promise nothing itself.
    """
    formats = [*FORMATS, "parquet", *more_formats]
    suffixes = {**_SUFFIXES, **{f".{name}": name for name in more_formats}}

    def chosen(context: click.Context, _: click.Parameter, value: str | None) -> str:
        output = context.params.get("output")
        if otherwise != "a table":
            return value or _SUFFIXES.get(output.suffix.lower() if output else "", "table")
        return value or by_suffix(output, "table", suffixes)

    def add(command: Command) -> Command:
        command = keeping_inputs(command)
        quiet = click.option("--quiet", is_flag=True, help="No progress bar, no remarks.")
        output = click.option(
            "-o", "--output", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
            is_eager=True, callback=writable, help="Write to this file; -: to the screen.",
        )  # fmt: skip
        layout = click.option(
            "--format", "format_name", type=click.Choice(formats), callback=chosen,
            help=f"Layout of the output; default: by the suffix of -o, otherwise {otherwise}.",
        )  # fmt: skip
        return layout(output(quiet(command)))

    return add


def policies_of(options: PolicyOptions, *, always_bounds: bool = False) -> names.Policies:
    """Return the policies among a command's options; refuse an option that could change nothing.

    `always_bounds`: the command computes bounds whatever the policy for unjudged documents.
    """
    context = click.get_current_context()
    for name, needed in _ONLY_WITH.items():
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        idle = options.unjudged not in needed and not (always_bounds and "bounds" in needed)
        if given and idle:
            option = "--" + name.replace("_", "-")
            raise DataError(f"{option} changes nothing without --unjudged {' or '.join(needed)}")
    return names.Policies(**{field.name: getattr(options, field.name) for field in fields(names.Policies)})


def plain_policies_of(options: PlainPolicyOptions) -> names.Policies:
    """Return the policies that `plain_policies` and --seed set; the others have their defaults."""
    return names.Policies(
        **{field.name: getattr(options, field.name) for field in fields(PlainPolicyOptions)}
    )


def write_tables(tables: Sequence[Table], format_name: str, output: Path | None) -> None:
    """Print tables, or write them to a file; nothing is left half-written."""
    if format_name == "parquet":
        if output is None and sys.stdout.isatty():
            raise DataError("parquet is not for a terminal; give a file with -o FILE")
        write_bytes(parquet(tables), output)
        return
    terminal = output is None and sys.stdout.isatty()
    write_text(render(tables, format_name, width=table_width(output), marks=terminal), output)


def table_width(output: Path | None) -> int:
    """How wide tables for people may be: as the terminal, or as COLUMNS says, or 110."""
    if output is None and sys.stdout.isatty():
        return os.get_terminal_size().columns
    said = os.environ.get("COLUMNS", "")
    return int(said) if said.isdigit() and int(said) else PIPED_WIDTH


def write_text(text: str, output: Path | None) -> None:
    """Print text, or write it to a file; ids that are not UTF-8 come out as they came in."""
    write_bytes(text.encode("utf-8", "surrogateescape"), output)


def write_bytes(content: bytes, output: Path | None) -> None:
    """Print bytes, or write them to a file that appears whole or not at all."""
    if output is None:
        try:
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise DataError(f"standard output cannot be written: {error.strerror or error}") from error
        return
    write_whole(output, content)


@contextmanager
def qrels_first(qrels: str) -> Iterator[None]:
    """Say which file comes first where QRELS is not even begun like qrels: it may be a run."""
    try:
        yield
    except FormatError as error:
        if error.source != qrels or error.line not in (None, 1):
            raise
        problem = f"{error.problem}; QRELS comes first, then RUN..."
        raise FormatError(error.source, error.line, problem, error.more) from error


@contextmanager
def options_refused() -> Iterator[None]:
    """What is wrong with an option is said as such; what a file holds is another matter."""
    try:
        yield
    except FormatError:
        raise
    except (DataError, UnknownNameError) as error:
        raise click.UsageError(str(error)) from error


@contextmanager
def names_refused(qrels: str) -> Iterator[None]:
    """A run that does not exist is a wrong option; a first file that is no qrels may be a run."""
    with qrels_first(qrels):
        try:
            yield
        except UnknownNameError as error:
            raise click.UsageError(str(error)) from error


def remark(text: str, *, quiet: bool) -> None:
    """Say something beside the output: on stderr, and only where somebody wants to hear it."""
    if not quiet:
        click.echo(text, err=True)


def bars_for(options: OutputOptions) -> Bars:
    """Return what gives every step of some work its own progress bar."""
    return lambda total, label: progress_bar(total, quiet=options.quiet, label=label)


@contextmanager
def progress_bar(total: int | None, *, quiet: bool, label: str) -> Iterator[Progress | None]:
    """Count on stderr where that is a terminal, with the time left; nothing stays there. None: no total."""
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
        _rewrite(text)

    advance(0)
    try:
        yield advance
    finally:
        _rewrite("")


def _rewrite(text: str) -> None:
    """Write over the line on which the cursor stands; a line that is too long would not be wiped again."""
    import shutil  # with bz2 and lzma: slow, and only for who sees a bar

    sys.stderr.write(f"\r\x1b[K{text[: shutil.get_terminal_size().columns - 1]}")
    sys.stderr.flush()
