"""What `sounding pool` is asked for: strategies and layout, and options that do not go together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sounding.commands.options import remark

if TYPE_CHECKING:
    from sounding.collection.strategy import Kind

LINES = "lines"  # topic doc
QRELS = "qrels"  # topic 0 doc grade
SUFFIXES = {".tsv": "tsv", ".qrels": QRELS}  # beside those that all commands know
PLAIN = ("", ".txt", ".lines")  # suffixes of plain lines; a replay writes qrels there
WRITTEN = {LINES: "lines of topic and doc", QRELS: "TREC's qrels", "table": "a table"}  # by format

Options = dict[str, Any]


def strategies(options: Options) -> list[Kind]:
    """The strategies that are named; where none is, the plain pool, or by rank where not all is taken."""
    from sounding.collection.strategies import find_strategy

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
    if any(kind.name == "depth" for kind in kinds) and not options["simulate"]:
        for name in ("budget", "batches"):
            if options[name]:
                raise click.UsageError(
                    f"--{name} takes the most promising documents first, and the strategy depth has them by"
                    " doc id; use --strategy rank, rrf or move-to-front"
                )
    if any(kind.sampled for kind in kinds):
        if options["budget"]:
            raise click.UsageError("a sample is judged as a whole, so --budget has no place; lower its rate")
        if options["batches"]:
            raise click.UsageError("a sample is drawn at random and judged as a whole; leave --batches out")
    if options["chart"] is not None and not (options["summary"] or options["simulate"]):
        raise click.UsageError("--chart draws what --summary or --simulate shows; add one of them")


def check_use(context: click.Context, kinds: Sequence[Kind], options: Options) -> None:
    """Refuse options that would change nothing."""
    ahead = options["summary"] or options["residual"] is not None
    named = f"the strateg{'ies' if len(kinds) > 1 else 'y'} {', '.join(kind.name for kind in kinds)}"
    for name in ("rate", "strata", "level", "p"):
        used = any(name in kind.parameters for kind in kinds)
        used |= (name == "p" and ahead) or (name == "level" and options["simulate"])
        if options[name] is not None and not used:
            raise click.UsageError(f"{'-' if name == 'p' else '--'}{name} changes nothing with {named}")
    typed = [
        name
        for name in ("seed", "depth", "qrels_format", "pool_depth")
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    drawn = options["batches"] or any(kind.drawn for kind in kinds)
    if "seed" in typed and (ahead or not drawn):
        raise click.UsageError(
            f"--seed changes nothing with --{'summary' if options['summary'] else 'residual'}" if ahead
            else f"--seed changes nothing with {named}: nothing is drawn"
        )  # fmt: skip
    if "depth" in typed and options["residual"] is not None:
        raise click.UsageError("--residual finds the depth; leave --depth out")
    for name in ("qrels_format", "pool_depth"):
        if name in typed and options["qrels"] is None:
            raise click.UsageError(f"--{name.replace('_', '-')} is about judgments: give them with --qrels")


def check_values(options: Options) -> None:
    """Refuse values that cannot be, before files are read."""
    from sounding.collection.strategies.samples import check_rate, parse_strata

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
        from sounding.report.charts import require_suffix

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
