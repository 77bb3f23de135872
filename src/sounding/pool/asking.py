"""What `sounding pool` is asked for: strategies and layout, and options that do not go together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from sounding.terminal.options import (
    Options,
    remark,
)

if TYPE_CHECKING:
    from sounding.selection.strategies import Kind

LINES = "lines"  # topic doc
QRELS = "qrels"  # topic 0 doc grade
SUFFIXES = {".tsv": "tsv", ".qrels": QRELS}  # beside those that all commands know
PLAIN = ("", ".txt", ".lines")  # suffixes of plain lines; a replay writes qrels there
WRITTEN = {LINES: "lines of topic and doc", QRELS: "TREC's qrels", "table": "a table"}  # by format


def strategies(options: Options) -> list[Kind]:
    """The strategies that are named; where none is, the plain pool, or by rank where not all is taken."""
    from sounding.selection.strategies import find_strategy

    given = options["strategy"]
    if given is None:
        some = [f"--{name}" for name in ("budget", "batches") if options[name]]
        if some:
            remark(f"strategy: rank, for {some[0]} takes the best ranks first", quiet=options["quiet"])
        given = "rank" if some else "depth"
    return [find_strategy(name.strip()) for name in given.split(",")]


def check_together(kinds: Sequence[Kind], options: Options) -> None:
    """Refuse what does not go together, before files are read."""
    ahead = [name for name in ("summary", "residual") if options[name] not in (None, False)]
    if len(ahead) > 1:
        raise click.UsageError("--residual and --summary do not go together; give one")
    if options["simulate"] and options["qrels"] is None:
        raise click.UsageError("--simulate replays judgments: give them with --qrels")
    if len(kinds) > 1 and not options["simulate"]:
        raise click.UsageError(
            "several strategies are compared on known judgments: add --qrels and --simulate"
        )
    idle = ["batches", "budget", "simulate", "strategy", *(["qrels"] if options["residual"] else [])]
    for name in idle:
        if ahead and options[name] not in (None, False, "depth"):
            raise click.UsageError(f"--{name} changes nothing with --{ahead[0]}; leave one out")
    for kind in kinds:
        _check_partial(kind, options)
    if options["chart"] is not None and not (options["summary"] or options["simulate"]):
        raise click.UsageError("--chart draws what --summary or --simulate shows; add one of them")


def _check_partial(kind: Kind, options: Options) -> None:
    """Refuse a budget or batches where a strategy has no order to take some first."""
    for name in ("budget", "batches"):
        if kind.name == "depth" and options[name] and not options["simulate"]:
            raise click.UsageError(
                f"--{name} takes the most promising documents first, and the strategy depth has them by"
                " doc id; use --strategy rank, rrf or move-to-front"
            )
    if kind.sampled and options["budget"]:
        raise click.UsageError("a sample is judged as a whole, so --budget has no place; lower its rate")
    if kind.sampled and options["batches"]:
        raise click.UsageError("a sample is drawn at random and judged as a whole; leave --batches out")


def check_use(context: click.Context, kinds: Sequence[Kind], options: Options) -> None:
    """Refuse options that would change nothing."""
    ahead = "summary" if options["summary"] else "residual" if options["residual"] is not None else None
    named = f"the strateg{'ies' if len(kinds) > 1 else 'y'} {', '.join(kind.name for kind in kinds)}"
    used = {name for kind in kinds for name in kind.parameters}
    used |= {"p"} if ahead else set()
    used |= {"level"} if options["simulate"] else set()
    for name, spelt in (("rate", "--rate"), ("strata", "--strata"), ("level", "--level"), ("p", "-p")):
        if options[name] is not None and name not in used:
            raise click.UsageError(f"{spelt} changes nothing with {named}")

    def typed(name: str) -> bool:
        return context.get_parameter_source(name) is ParameterSource.COMMANDLINE

    if typed("seed") and ahead:
        raise click.UsageError(f"--seed changes nothing with --{ahead}")
    if typed("seed") and not (options["batches"] or any(kind.drawn for kind in kinds)):
        raise click.UsageError(f"--seed changes nothing with {named}: nothing is drawn")
    if typed("depth") and options["residual"] is not None:
        raise click.UsageError("--residual finds the depth; leave --depth out")
    for name, spelt in (("qrels_format", "--qrels-format"), ("pool_depth", "--pool-depth")):
        if typed(name) and options["qrels"] is None:
            raise click.UsageError(f"{spelt} is about judgments: give them with --qrels")


def check_values(options: Options) -> None:
    """Refuse values that cannot be, before files are read."""
    from sounding.selection.samples import check_rate, parse_strata

    if options["seconds"] <= 0:
        raise click.UsageError(f"--seconds {options['seconds']:g}: expected more than 0")
    for name, dashes in (("p", "-p"), ("residual", "--residual")):
        if options[name] is not None and not 0 < options[name] < 1:
            raise click.UsageError(f"{dashes} {options[name]:g}: expected a number between 0 and 1")
    if options["rate"] is not None:
        check_rate(options["rate"])
    if options["strata"] is not None:
        parse_strata(options["strata"])
    if options["chart"] is not None:
        from sounding.render.save import require_suffix

        require_suffix(options["chart"])


def format_of(context: click.Context, options: Options) -> str:
    """The layout: lines unless a table was asked for; what the suffix of the output says where it does."""
    ahead = options["summary"] or options["residual"] is not None
    replayed = options["simulate"] and options["output"] is not None
    chosen: str = options["format_name"]
    if context.get_parameter_source("format_name") is not ParameterSource.COMMANDLINE and chosen == "table":
        suffix = "" if options["output"] is None else options["output"].suffix.lower()
        chosen = SUFFIXES.get(suffix, QRELS if replayed else LINES)
        if chosen == LINES and (ahead or options["simulate"]):
            chosen = "table"
        if suffix not in (*SUFFIXES, *PLAIN):
            told = f"{options['output']}: no format has the suffix {suffix}; written as {WRITTEN[chosen]}"
            remark(told, quiet=options["quiet"])
    if chosen == LINES and (ahead or options["simulate"]):
        raise click.UsageError("only what is to be judged is printed as lines; use another --format")
    if chosen == QRELS and ahead:
        raise click.UsageError("qrels hold documents, which a summary has none of; use another --format")
    return chosen
