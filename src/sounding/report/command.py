"""`sounding report`: one page with all that is known of a collection and its runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sounding.terminal.options import (
    Options,
    PlainPolicyOptions,
    by_suffix,
    format_options,
    keeping_inputs,
    names_refused,
    options_refused,
    plain_policies,
    plain_policies_of,
    pool_options,
    progress_bar,
    remark,
    taken_info,
    typed_command,
    worker_options,
    writable,
    write_bytes,
)

if TYPE_CHECKING:
    from sounding.core.workers import Progress
    from sounding.report.gather import Request

FORMATS = {".html": "html", ".htm": "html", ".md": "md", ".tex": "latex", ".json": "json"}  # by suffix


def _by_suffix(context: click.Context, _: click.Parameter, value: str | None) -> str:
    return value or by_suffix(context.params.get("output"), "html", FORMATS)


@click.command("report", short_help="One page with all of it.")
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="M",
    help="A measure: AP, P@10. The first puts runs in order.",
)
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="RUN",
    help="Compare the other runs with this one; may be repeated.",
)
@pool_options
@click.option(
    "--until",
    default="runs:100",
    show_default=True,
    metavar="U",
    help="What full judging means, for chances that a conclusion holds: runs:D, or pool:D of pooled runs.",
)
@click.option(
    "--sections",
    metavar="A,B...",
    help="Only these: summary, scoreboard, pairs, assessment, depth, audit, methods, reproduce.",
)
@click.option(
    "--test", default="randomisation", show_default=True, metavar="T", help="Of the pairs; see docs/tests.md."
)
@click.option(
    "--correction",
    metavar="C",
    help="none, bonferroni, holm, bh or max-t; default: max-t, or what belongs to the test.",
)
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Level of both tests.")
@click.option(
    "--draws", type=click.IntRange(1), default=50, show_default=True, help="Pseudo-judgments of the audit."
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of everything drawn at random."
)
@format_options
@worker_options
@plain_policies
@click.option("--quiet", is_flag=True, help="No progress, no remarks.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    is_eager=True,
    callback=writable,
    help="Write to this file.",
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(("html", "md", "latex", "json")),
    callback=_by_suffix,
    help="Layout of the output; default: by the suffix of -o, otherwise html.",
)
@keeping_inputs
@click.pass_context  # fmt: skip
def command(context: click.Context, /, qrels: str, runs: tuple[str, ...], **options: Any) -> None:
    """Write one page with all that QRELS and RUNs tell.

    First a summary in plain sentences: who is best, which differences can be trusted and which cannot, how
    deep the collection can be used, what to do next. Then all values, pairs, depths and the audit of the
    collection, with charts and their data. The page is one file and needs no network.

    \b
    sounding report qrels.txt runs/ --info info.tsv -o report.html
    sounding report qrels.txt runs/ --baseline bm25 -m nDCG@10 -o report.html
    sounding report qrels.txt runs/ --sections summary,pairs -o report.md
    """  # noqa: D301 - click wants the control character
    from sounding.report.gather import gather
    from sounding.report.page import render_report
    from sounding.report.parts import chosen_sections, parts_for, report_of

    page, output, quiet = options["format_name"] == "html", options["output"], options["quiet"]
    if page and output is None and sys.stdout.isatty():
        raise click.UsageError("a page is not for a terminal; give a file with -o report.html")
    with options_refused():
        sections = chosen_sections(options["sections"])
        request = _request(context, qrels, runs, options)
    if page:
        _require_charts()

    @contextmanager
    def bars(total: int, label: str) -> Iterator[Progress | None]:
        remark(label, quiet=quiet)
        with progress_bar(total, quiet=quiet, label=label) as progress:
            yield progress

    with names_refused(qrels):
        found = gather(request, bars, parts_for(sections))
    remark("writing the report", quiet=quiet)
    text = render_report(report_of(found, sections), options["format_name"])
    # A page says that it is UTF-8: what is not has a mark in its place.
    write_bytes(text.encode("utf-8", "replace" if page else "surrogateescape"), output)
    if output is not None:
        remark(f"{output}: {output.stat().st_size / 1e6:.1f} MB", quiet=quiet)


def _request(context: click.Context, qrels: str, runs: tuple[str, ...], options: Options) -> Request:
    """What is asked, with everything checked that can be before files are read."""
    from sounding.data.finding import find_runs
    from sounding.measures import parse_measures
    from sounding.measures.summaries import check_comparable
    from sounding.report.gather import DEFAULT_MEASURES, Request
    from sounding.runs.until import parse_until
    from sounding.statistics.pairwise import Procedure

    policies = plain_policies_of(
        PlainPolicyOptions(**{field.name: options[field.name] for field in fields(PlainPolicyOptions)})
    )
    measures = parse_measures(options["measures"] or DEFAULT_MEASURES)
    check_comparable(measures, policies)
    return Request(
        qrels=qrels, runs=tuple(find_runs(runs)), measures=measures, baselines=options["baselines"],
        info_files=options["info"], info=taken_info(options), pool_depth=options["pool_depth"],
        until=str(parse_until(options["until"])),
        policies=policies,
        procedure=Procedure(
            test=options["test"], correction=options["correction"], alpha=options["alpha"],
            seed=options["seed"],
        ),
        draws=options["draws"], qrels_format=options["qrels_format"], run_format=options["run_format"],
        jobs=options["jobs"], command=typed_command(context),
    )  # fmt: skip


def _require_charts() -> None:
    """Refuse before the work what could not be written after it."""
    from sounding.render.style import require_charts

    for package in ("altair", "vl_convert", "jinja2"):
        require_charts(package, "writing a report")
