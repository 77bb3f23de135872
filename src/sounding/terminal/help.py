"""Format --help: the common options in groups; --help-all shows every option."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import click

# Group -> its options, by field name. Options in no group belong to one command and come first, under
# "Options".
GROUPS: Mapping[str, Collection[str]] = {
    "Input": (
        "info", "only", "qrels", "by", "assessors", "words", "topics", "corpus", "pool_depth", "residual",
        "max_residual", "preregistered", "collections", "collection_info", "qrels_format", "run_format",
    ),
    "Measures": (
        "measures", "measure", "level", "depth", "depths", "reference", "z_scores", "judgment_groups",
    ),
    "Statistics": (
        "baselines", "baseline", "test", "correction", "assessment", "alpha", "margin", "permutations",
        "design", "tau", "samples", "resamples", "seed", "draws",
    ),
    "Unjudged documents": ("unjudged", "holds", "until", "universe", "at_most", "prior"),
    "Output": (
        "per_topic", "stats", "top", "sections", "chosen", "every", "everything", "view", "matrix",
        "each_pair", "each_run", "each_depth", "notes", "chart", "chart_format", "documents", "fail_on",
        "into", "participant_files", "format_name", "output", "quiet",
    ),
    "Policies": ("policy",),
    "Work": ("jobs", "dask"),
}  # fmt: skip
WIDEST = 30  # longer options have their text on the next line
ALWAYS = ("measures", "measure", "info", "chart", "notes", "format_name", "output", "quiet")

# Command -> the options that --help shows in addition to ALWAYS; commands not listed show all options.
COMMON: Mapping[str, Collection[str]] = {
    "evaluate": ("level", "per_topic", "stats", "top", "by", "unjudged", "baseline"),
    "compare": ("baselines", "pair", "focus", "against", "by", "test", "alpha", "top", "fail_on"),
    "depth": ("depths", "reference", "test", "alpha", "pair", "pools", "subsets"),
    "audit": ("new", "pool_depth", "chosen", "every", "top"),
    "pool": ("depth", "strategy", "budget", "qrels", "summary", "seconds", "seed"),
    "plan": ("count", "budget", "topics", "pair", "baseline", "top", "wanted", "seconds", "view"),
    "label": (
        "corpus", "topics", "endpoint", "model", "prompt", "repeat", "max_requests", "max_cost", "prices",
        "log", "batch_out", "batch_in",
    ),
    "track": ("commit", "time", "since", "alpha"),
    "simulate": ("strategies", "judgments", "seeds", "leave_out", "topic", "view"),
    "calibrate": ("scenarios", "claims", "until", "repeats", "seed"),
    "agree": ("runs", "level", "assessors", "words", "tau", "sections", "everything", "combinations"),
    "report": ("baselines", "sections", "until", "test", "correction", "alpha"),
}  # fmt: skip


class GroupedCommand(click.Command):
    """A command whose --help shows the common options in groups, and --help-all every option."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        if self.name in COMMON:
            self.params.append(
                click.Option(
                    ["--help-all"], is_flag=True, is_eager=True, expose_value=False, hidden=True,
                    callback=_show_all,
                )
            )  # fmt: skip

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options group by group."""
        wanted = None if ctx.meta.get(GroupedCommand.__name__) else COMMON.get(str(self.name))
        rows: dict[str, list[tuple[str, str]]] = {group: [] for group in ("Options", *GROUPS)}
        group_of = {name: group for group, names in GROUPS.items() for name in names}
        for parameter in self.get_params(ctx):
            if not isinstance(parameter, click.Option):  # the usage line names the arguments
                continue
            row = parameter.get_help_record(ctx)
            common = wanted is None or parameter.name in (*ALWAYS, *wanted)
            if row is not None and common and "--help" not in parameter.opts:
                rows[group_of.get(str(parameter.name), "Options")].append(row)
        widest = min(WIDEST, max(len(spelled) for own in rows.values() for spelled, _ in own))
        for group, own in rows.items():
            if own:
                with formatter.section(group):
                    formatter.write_dl([(spelled.ljust(widest), about) for spelled, about in own])
        if wanted is not None:
            formatter.write_paragraph()
            formatter.write_text(f"More options: {ctx.command_path} --help-all")


def _show_all(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    """Print the help with every option and exit."""
    if value and not ctx.resilient_parsing:
        ctx.meta[GroupedCommand.__name__] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()
