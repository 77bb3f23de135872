"""Declare the options of commands: one dataclass per command, and the options that several share."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce, wraps
from importlib import import_module
from inspect import get_annotations
from pathlib import Path
from typing import Any, TypeVar, dataclass_transform, get_args

import click
from click.core import ParameterSource

from sounding.core import policies as names
from sounding.core.errors import FormatError
from sounding.core.files import refuse_unwritable
from sounding.render.tables import FORMATS

Command = Callable[..., Any]
Declaration = Callable[[Command], Command]  # a decorator that adds an option, or several, to a command
Kind = TypeVar("Kind")  # the dataclass that holds a command's options
Given = TypeVar("Given")

DEFAULT = names.DEFAULT_POLICIES


# Base classes for the options of commands. Each has the fields that a declaration below fills.


@dataclass(frozen=True, kw_only=True)
class PlainPolicyOptions:
    """The options of `plain_policies`, and a seed."""

    ties: names.Ties = DEFAULT.ties
    unjudged: names.Unjudged = DEFAULT.unjudged
    missing: names.Missing = DEFAULT.missing
    negative: names.Negative = DEFAULT.negative
    fractional: names.Fractional = DEFAULT.fractional
    duplicates: names.Duplicates = DEFAULT.duplicates
    compat: names.Compat = DEFAULT.compat
    seed: int = DEFAULT.seed


@dataclass(frozen=True, kw_only=True)
class PolicyOptions(PlainPolicyOptions):
    """The options of `policies`; an option that a command does not have keeps its default."""

    depth: int | None = DEFAULT.depth
    universe: str = DEFAULT.universe
    at_most: str | None = DEFAULT.at_most
    prior: str = DEFAULT.prior
    moments: names.Moments = DEFAULT.moments
    draws: int = DEFAULT.draws


@dataclass(frozen=True, kw_only=True)
class RankingOptions:
    """The options of `ranking`: the policies that decide which documents a run has, and in which order."""

    ties: names.Ties = DEFAULT.ties
    compat: names.Compat = DEFAULT.compat
    duplicates: names.Duplicates = DEFAULT.duplicates

    def policies(self) -> names.Policies:
        """Return them as policies that accept grades of any kind, since only the order matters."""
        return names.Policies(
            ties=self.ties, compat=self.compat, duplicates=self.duplicates, fractional="accept"
        )

    def named(self) -> dict[str, str]:
        """Return them by name, for outputs."""
        return {"ties": self.ties, "compat": self.compat, "duplicates": self.duplicates}


@dataclass(frozen=True, kw_only=True)
class RankingAndGradeOptions(RankingOptions):
    """The options of `ranking_and_grades`: what negative grades count as, too."""

    negative: names.Negative = DEFAULT.negative

    def policies(self) -> names.Policies:
        """Return them as policies that accept fractional grades."""
        return replace(super().policies(), negative=self.negative)


@dataclass(frozen=True, kw_only=True)
class PoolOptions:
    """The options of `pool`."""

    pool_depth: int | None
    info: tuple[str, ...]
    only: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class FormatOptions:
    """The options of `formats`."""

    qrels_format: str | None
    run_format: str | None


@dataclass(frozen=True, kw_only=True)
class WorkerOptions:
    """The options of `workers`."""

    jobs: int | None


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """The options of `output_options`."""

    format_name: str
    output: Path | None
    quiet: bool
    notes: bool = False


@dataclass(frozen=True, kw_only=True)
class FileOptions(FormatOptions, WorkerOptions, OutputOptions):
    """The options for reading runs and writing tables."""


@dataclass(frozen=True, kw_only=True)
class ReadingOptions(PoolOptions, FileOptions):
    """The options for reading runs and the judgments of a pool, and for writing tables."""


_DECLARED: dict[type, list[Declaration]] = {}  # class -> its options, in the order of --help


@dataclass_transform(frozen_default=True, kw_only_default=True)
def options(kind: type[Kind]) -> type[Kind]:
    """Make a dataclass of a command's options; each field has an option in place of a default.

    --help lists the options in the order of the fields. Class variables add the options of a base class.
    """
    types = get_annotations(kind)
    declared = {name: getattr(kind, name) for name in types if name in vars(kind)}
    for name in declared:
        delattr(kind, name)
    _DECLARED[kind] = [
        value if types[name].startswith("ClassVar") else value(name) for name, value in declared.items()
    ]
    return dataclass(frozen=True, kw_only=True)(kind)


def taking(kind: type[Kind]) -> Callable[[Callable[[Kind], Given]], Callable[..., Given]]:
    """Add the options of a class to a command, which then receives them as one object."""

    def take(command: Callable[[Kind], Given]) -> Callable[..., Given]:
        @wraps(command)
        def called(policy: Sequence[str] = (), **given: Any) -> Given:
            return command(kind(**given, **parse_policies(policy)))

        return joined(*_DECLARED[kind])(called)

    return take


def run_flow(options: Any) -> Any:
    """Hand a command's options to `run` in the `flow.py` beside it, and return its result.

    That file is loaded only now: it needs NumPy and the engine, which --help does without.
    """
    flow = import_module(f"{type(options).__module__.rpartition('.')[0]}.flow")
    with _qrels_first():
        return flow.run(options)


@contextmanager
def _qrels_first() -> Iterator[None]:
    """Add to an error in QRELS that QRELS comes before RUN, if it looks like a run or is a folder."""
    try:
        yield
    except FormatError as error:
        context = click.get_current_context()
        arguments = [one.name or "" for one in context.command.params if isinstance(one, click.Argument)]
        if not {"qrels", "runs"} <= {*arguments} or error.source != context.params["qrels"]:
            raise
        if "(this looks like a run)" not in error.problem and "this is a folder" not in error.problem:
            raise
        order = "QRELS RUN..." if arguments[0] == "qrels" else f"{arguments[0].upper()} QRELS RUN..."
        problem = f"{error.problem}; the order is sounding {context.info_name} {order}"
        raise FormatError(error.source, error.line, problem, error.more) from error


# Functions that declare one option. Its name is that of its field, such as --name, unless `spelled` gives
# another. They return a function from the name of the field to the declaration; its type is Any, because it
# replaces the default of fields of every type.


def option(*, spelled: str = "", **settings: Any) -> Any:
    """Declare an option as click does."""

    def named(field: str) -> Declaration:
        return click.option(*(spelled.split() or [f"--{field.replace('_', '-')}"]), field, **settings)

    return named


def argument(**settings: Any) -> Any:
    """Declare an argument as click does."""
    return lambda field: click.argument(field, **settings)


def text(about: str, *, metavar: str | None = None, default: str | None = None, spelled: str = "") -> Any:
    """Declare an option that takes a text."""
    return option(spelled=spelled, metavar=metavar, default=default, show_default=True, help=about)


def texts(about: str, *, metavar: str, default: tuple[str, ...] = (), spelled: str = "") -> Any:
    """Declare an option that takes a text and may be repeated."""
    return option(
        spelled=spelled, metavar=metavar, multiple=True, default=default, show_default=True, help=about
    )


def count(
    about: str, *, least: int = 1, default: int | None = None, metavar: str = "N", spelled: str = ""
) -> Any:
    """Declare an option that takes a whole number."""
    return option(
        spelled=spelled, type=click.IntRange(least), metavar=metavar, default=default, show_default=True,
        help=about,
    )  # fmt: skip


def number(about: str, *, default: float | None = None, metavar: str = "X", spelled: str = "") -> Any:
    """Declare an option that takes any number."""
    return option(
        spelled=spelled, type=float, metavar=metavar, default=default, show_default=True, help=about
    )


def choice(values: Sequence[str], about: str, *, default: str | None = None, spelled: str = "") -> Any:
    """Declare an option that takes one of a few words."""
    return option(spelled=spelled, type=click.Choice(values), default=default, show_default=True, help=about)


def flag(about: str, *, spelled: str = "") -> Any:
    """Declare an option that takes no value."""
    return option(spelled=spelled, is_flag=True, help=about)


def file(about: str) -> Any:
    """Declare an option that takes the name of a file to write."""
    return option(type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help=about)


def together(**named: Callable[[str], Declaration]) -> Declaration:
    """Declare several options by the names of their fields, in the order of --help."""
    return joined(*(option(name) for name, option in named.items()))


def joined(*declarations: Declaration) -> Declaration:
    """Return a decorator that applies several others; --help lists their options in this order."""

    def add(command: Command) -> Command:
        return reduce(lambda made, declare: declare(made), reversed(declarations), command)

    return add


# Options of several commands whose help text differs from command to command.


def measures(about: str, default: tuple[str, ...] = ()) -> Any:
    """Declare --measure, which may be repeated."""
    return texts(about, metavar="M", default=default, spelled="-m --measure")


def chart(about: str) -> Any:
    """Declare --chart; `about` says what it draws."""
    return file(f"{about} (.html, .svg, .png or .pdf).")


def seed(about: str = "Set the seed of all random draws.") -> Any:
    """Declare --seed."""
    return count(about, least=0, default=DEFAULT.seed)


def test(default: str, about: str) -> Any:
    """Declare --test."""
    return text(about, metavar="T", default=default)


def correction(otherwise: str) -> Any:
    """Declare --correction; `otherwise` is the default in words."""
    return text(
        f"Correct for multiple tests: none, bonferroni, holm, bh or max-t; default: {otherwise}.", metavar="C"
    )


def alpha(about: str = "Set the significance level.") -> Any:
    """Declare --alpha."""
    return number(about, default=0.05)


def collections(help_text: str) -> Any:
    """Declare the option that adds a collection, by its name, qrels and runs."""
    return option(nargs=3, multiple=True, metavar="NAME QRELS RUNS", help=help_text, spelled="--collection")


# Options of several commands with the same help text.

qrels = argument()
runs = argument(nargs=-1, required=True, metavar="RUN...")
baselines = texts("Compare the other runs with RUN; repeatable.", metavar="RUN", spelled="--baseline")
judges = texts(
    "Name the machine that made the labels of a file that does not say so, such as qrels; repeatable, in the"
    " order of the files.",
    metavar="NAME", spelled="--judge",
)  # fmt: skip
seconds = number("Estimate the work at this many seconds per document.", default=30)
quiet = flag("Hide the progress bar and all remarks.")
notes = flag("Show all notes, not only the first three.")
info = texts(
    "Read which runs were pooled (columns: run, group, kind, priority, pooled); repeatable.", metavar="FILE"
)
only = texts(
    "Report only runs that are pooled, unpooled, group=NAME or kind=NAME in --info; repeatable.",
    metavar="WHICH",
)
run_format = text("Set the format of the runs if it is not recognized.", metavar="F")

pool = together(
    pool_depth=count("Keep only the judgments that a pool of depth D would contain.", metavar="D"),
    info=info,
    only=only,
)
formats = together(
    qrels_format=text("Set the format of the qrels if it is not recognized.", metavar="F"),
    run_format=run_format,
)


def _use_cluster(context: click.Context, _: click.Parameter, address: str | None) -> None:
    """Run the work of the command on the cluster."""
    if address is None or context.resilient_parsing:
        return
    import logging

    from sounding.core.executors import run_on  # loads asyncio, which only a cluster needs

    # Our own one-line errors report lost workers; the cluster's log would repeat them at length.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    context.with_resource(run_on(address))


dask = click.option(
    "--dask", metavar="ADDRESS", expose_value=False, callback=_use_cluster,
    help="Run on the Dask cluster at ADDRESS, such as tcp://host:8786.",
)  # fmt: skip
workers = joined(
    together(jobs=count("Use this many processes; default: all cores if the files are large.")), dask
)


# Policies.


POLICIES: Mapping[str, Sequence[str]] = {  # the policies that --policy sets, and their values
    "ties": get_args(names.Ties),
    "missing": get_args(names.Missing),
    "negative": get_args(names.Negative),
    "fractional": get_args(names.Fractional),
    "duplicates": get_args(names.Duplicates),
    "compat": get_args(names.Compat),
    "moments": get_args(names.Moments),
}
_ONE_ORDER = {
    "ties": names.ORDERS
}  # for commands that need one order of the documents, so cannot average over ties
_OPTIONS: Mapping[str, Any] = {  # the policies that have an option of their own
    "depth": count("Cut each ranking at this depth.", spelled="-M --depth"),
    "universe": text(
        "Choose which unjudged documents may be relevant: the run's own (run), all runs' (runs), or its own"
        " and N more (+N).",
        metavar="U", default=DEFAULT.universe,
    ),
    "at_most": text(
        "Assume at most N new relevant documents per topic: a number, a multiple of the known ones (2x), or"
        " growth.",
        metavar="N",
    ),
    "prior": text(
        "Set the chance that an unjudged document is relevant: a number, a file, or one of rate, rank and"
        " runs.",
        metavar="P", default=DEFAULT.prior,
    ),
    "draws": count(
        "Draw this many completions of the judgments if there is no exact formula.", least=2,
        default=DEFAULT.draws,
    ),
    "seed": option(
        type=int, metavar="N", default=DEFAULT.seed, show_default=True,
        help="Set the seed of all random draws.",
    ),
    "unjudged": choice(
        get_args(names.Unjudged),
        "Count unjudged documents as nonrelevant, remove them (condensed), or add bounds or expected values.",
        default=DEFAULT.unjudged,
    ),
}  # fmt: skip
only_condensed = choice(
    ("nonrelevant", "condensed"),
    "Count unjudged documents as nonrelevant, or remove them (condensed).",
    default=DEFAULT.unjudged,
)


class PolicyValue(click.ParamType[str]):
    """The type of --policy: a text NAME=VALUE with the name and a value of a policy."""

    name = "policy"

    def __init__(self, offered: Mapping[str, Sequence[str]]) -> None:
        self.offered = offered

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text if the policy and its value exist."""
        name, equals, chosen = str(value).partition("=")
        if name not in self.offered:
            self.fail(f"{name!r} is not a policy here; choose one of {', '.join(self.offered)}", param, ctx)
        if chosen not in self.offered[name]:
            seen = f"{value!r}" if equals else f"{value!r} has no value"
            right = " or ".join(f"{name}={other}" for other in self.offered[name])
            self.fail(f"{seen}; write {right}", param, ctx)
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Return the policies and values that begin with the typed text."""
        from click.shell_completion import CompletionItem  # only shell completion needs it

        known = (f"{name}={value}" for name, values in self.offered.items() for value in values)
        return [CompletionItem(text) for text in known if text.startswith(incomplete)]


def policy(*offered: str, **narrowed: Sequence[str]) -> Declaration:
    """Declare --policy for some policies; `narrowed` lists the values of those that a command restricts."""
    values = {name: narrowed.get(name, POLICIES[name]) for name in offered}
    return option(
        type=PolicyValue(values), multiple=True, metavar="NAME=VALUE",
        help=f"Set a policy ({', '.join(values)}), such as {_example(values)}; repeatable.",
    )("policy")  # fmt: skip


def _example(values: Mapping[str, Sequence[str]]) -> str:
    """Return a policy with a value that is not its default, for the help text."""
    name = next(iter(values))
    return f"{name}={next(value for value in values[name] if value != getattr(DEFAULT, name))}"


def parse_policies(texts: Sequence[str]) -> dict[str, str]:
    """Return the values of --policy by name; the last value of a policy counts."""
    return {name: value for name, _, value in (text.partition("=") for text in texts)}


def typed(name: str) -> bool:
    """Return whether the command line sets an option or a policy; a default does not count."""
    context = click.get_current_context()
    if name in parse_policies(context.params.get("policy", ())):
        return True
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def spelling(name: str) -> str:
    """Return how an option or a policy is typed."""
    return f"--policy {name}" if name in POLICIES else "--" + name.replace("_", "-")


def policies(*, without: Sequence[str] = (), **narrowed: Sequence[str]) -> Declaration:
    """Declare the options of all policies except those in `without`."""
    own = {name: option for name, option in _OPTIONS.items() if name not in without}
    return joined(together(**own), policy(*(name for name in POLICIES if name not in without), **narrowed))


# The policies of commands that need one order of the documents and compute no bounds.
plain_policies = joined(
    together(unjudged=only_condensed),
    policy("ties", "missing", "negative", "fractional", "duplicates", "compat", **_ONE_ORDER),
)
# The policies that decide which documents a run has, and in which order.
ranking = policy("ties", "compat", "duplicates", **_ONE_ORDER)
ranking_and_grades = policy("ties", "compat", "duplicates", "negative", **_ONE_ORDER)


_SUFFIXES = {
    ".csv": "csv", ".json": "json", ".jsonl": "jsonl", ".md": "md", ".tex": "latex", ".parquet": "parquet",
}  # fmt: skip


_PLAIN = ("", ".txt")  # suffixes that imply no format


def by_suffix(
    output: Path | None, otherwise: str, suffixes: Mapping[str, str] = _SUFFIXES, option: str = "-o"
) -> str:
    """Return the format that the suffix of a file implies, or `otherwise` if it implies none."""
    suffix = output.suffix.lower() if output else ""
    if suffix in suffixes or suffix in _PLAIN:
        return suffixes.get(suffix, otherwise)
    named = ", or give the format with --format" if option == "-o" else ""
    raise click.UsageError(
        f"{option} {output}: no format has the suffix {suffix!r}; use {', '.join(suffixes)}{named}"
    )


def writable(_: click.Context, __: click.Parameter, value: Path | None) -> Path | None:
    """Return the file to write; raise an error before the work starts if it cannot be written.

    A dash means standard output, as None does.
    """
    if value is None or value == Path("-"):
        return None
    refuse_unwritable(value)
    return value


def keeping_inputs(command: Command) -> Command:
    """Make a command refuse to overwrite a file that it reads."""

    @wraps(command)
    def kept(*arguments: Any, **options: Any) -> Any:
        context = click.get_current_context()
        parameters = [parameter for parameter in context.command.params if parameter.name]
        outputs = [parameter for parameter in parameters if isinstance(parameter.type, click.Path)]
        inputs = [parameter for parameter in parameters if parameter not in outputs]
        for output in outputs:
            file = context.params.get(output.name or "")
            if isinstance(file, Path) and file.is_file():
                _refuse_to_overwrite(file, output, [context.params.get(each.name or "") for each in inputs])
        return command(*arguments, **options)

    return kept


def _refuse_to_overwrite(file: Path, option: click.Parameter, values: Sequence[Any]) -> None:
    """Raise a usage error if a value of a command names the file, its folder or a pattern for it."""
    texts = [text for value in values for text in (value if isinstance(value, tuple) else (value,))]
    for text in texts:
        if isinstance(text, str) and text and any(_is_file(place, file) for place in _files_named(text)):
            raise click.UsageError(
                f"{option.opts[-1]} {file} would overwrite an input file; name another file"
            )


def _files_named(text: str) -> Iterator[Path]:
    """Yield the files that a text names: a file, the files of a folder, or those that match a pattern."""
    try:
        path = Path(text)
        if path.is_dir():
            yield from path.iterdir()
        elif path.exists():
            yield path
        elif glob.has_magic(text):
            yield from map(Path, glob.glob(text, recursive=True))  # noqa: PTH207 - takes absolute patterns
    except (OSError, ValueError):  # the text cannot be a file name
        return


def _is_file(path: Path, file: Path) -> bool:
    try:
        return path.samefile(file)
    except OSError:
        return False


def output_options(*more_formats: str, otherwise: str = "a table") -> Callable[[Command], Command]:
    """Declare --format, --output, --notes and --quiet; `otherwise` is the default format in words.

    A command whose default is not a table handles unknown suffixes itself.
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
        output = click.option(
            "-o", "--output", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
            is_eager=True, callback=writable, help="Write to FILE; - means standard output.",
        )  # fmt: skip
        layout = click.option(
            "--format", "format_name", type=click.Choice(formats), callback=chosen,
            help=f"Set the output format; default: by the suffix of -o, otherwise {otherwise}.",
        )  # fmt: skip
        return layout(output(notes("notes")(quiet("quiet")(command))))

    return add


@dataclass(frozen=True, kw_only=True)
class SessionOptions(RankingOptions, ReadingOptions):
    """The options of `session`."""

    measure: str
    depth: int
    method: str | None
    prior: str
    selection: str
    confidence: str | None
    draws: int
    sure: float

    def check_session(self) -> None:
        """Refuse options that do not go together, before files are read."""
        if self.info and self.pool_depth is None and not self.only:
            raise click.UsageError("--info has an effect only with --pool-depth or --only; give one of them")
        if not 0.5 < self.sure <= 1:
            raise click.UsageError(f"--sure {self.sure:g}: expected a confidence above 0.5, at most 1")


def _only_one(_: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> str:
    """Return the only value of an option; raise an error if there are several, not to ignore any."""
    if len(values) > 1:
        raise click.UsageError(
            f"{parameter.opts[0]} {' '.join(values)}: runs are compared by one measure at a time; give one"
        )
    return values[0]


# The options of minimal test collections, and of reading files.
session = joined(
    together(
        measure=option(
            spelled="-m --measure", multiple=True, default=("AP",), show_default=True, metavar="M",
            callback=_only_one,
            help="Rank the runs by this measure: AP, P@k, R@k, nDCG@k, DCG@k, RBP, RR or ERR.",
        ),
        depth=count("Cut each ranking at this depth.", default=100),
        method=choice(
            ("paper",),
            "Use the settings of Carterette et al. (2006): prior 0.5, selection faithful, confidence paper.",
        ),
        prior=text(
            "Set the chance that an unjudged document is relevant: a number, a file, or one of rate, rank and"
            " runs.",
            metavar="P", default="runs",
        ),
        selection=text(
            "Weight documents by this rule: informed, variance, scaled or faithful (as published).",
            metavar="S", default="informed",
        ),
        confidence=text(
            "Compute confidence by draws, normal, paper or exact; default: draws with --prior runs, else"
            " normal.",
            metavar="C",
        ),
        draws=count("Draw this many completions of the judgments.", least=2, default=200),
        sure=number(
            "Call the order of two runs probable if its confidence is at least C.", default=0.95, metavar="C"
        ),
    ),
    ranking,
    formats,
    together(jobs=count("Use this many processes; default: all cores if that saves time.")),
    dask,
    pool,
)  # fmt: skip
