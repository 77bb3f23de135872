"""Run `sounding report`: read the files, compute what the sections need, write one page."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from sounding.core.errors import DataError
from sounding.core.workers import Progress
from sounding.data.finding import find_runs
from sounding.estimate.estimating import DEFAULT_MEASURES as ESTIMATED_MEASURES
from sounding.measures import parse_measures
from sounding.measures.summaries import check_comparable
from sounding.render.style import require_charts
from sounding.report.command import ReportOptions
from sounding.report.gather import check_about, fingerprints, known_sections, report
from sounding.report.page import render_report
from sounding.report.result import DEFAULT_MEASURES, LABEL_SECTIONS, SECTIONS
from sounding.runs.pool import parse_until
from sounding.statistics.pairwise import Procedure
from sounding.terminal.options import (
    names_refused,
    options_refused,
    plain_policies_of,
    progress_bar,
    read_info,
    remark,
    typed_command,
    write_bytes,
)


def run(options: ReportOptions) -> None:
    """Compute what the sections need, and write them as a page, as text for a paper, or as JSON."""
    page, output, quiet = options.format_name == "html", options.output, options.quiet
    if page and output is None and sys.stdout.isatty():
        raise click.UsageError("a page is not for a terminal; give a file with -o report.html")
    click.get_current_context().with_resource(fingerprints())  # of the files of --info as well
    with options_refused():  # whatever can be checked before files are read
        known = LABEL_SECTIONS if options.labels else SECTIONS
        words = tuple(known) if options.sections is None else options.sections.split(",")
        sections = known_sections([word.strip() for word in words], known)
        policies = plain_policies_of(options)
        usual = ESTIMATED_MEASURES if options.labels else DEFAULT_MEASURES
        measures = parse_measures(options.measures or usual)
        check_comparable(measures, policies)
        runs = find_runs(options.runs)
        info = read_info(options.info, options.only)
        parse_until(options.until, files=True)
        check_about(options.about, options.baselines)
        if options.labels:
            _check_labels(options)
        if options.sections is not None and "slices" in sections and options.by is None:
            raise DataError("--sections slices needs a file of topics and groups: --by FILE")
        procedure = Procedure(
            test=options.test, correction=options.correction, alpha=options.alpha, seed=options.seed
        )
    if page:
        for package in ("altair", "vl_convert", "jinja2"):
            require_charts(package, "writing a report")

    @contextmanager
    def bars(total: int, label: str) -> Iterator[Progress | None]:
        remark(label, quiet=quiet)
        with progress_bar(total, quiet=quiet, label=label) as progress:
            yield progress

    with names_refused():
        made = report(
            options.qrels, runs, measures, baselines=options.baselines, about=options.about, by=options.by,
            info=info, only=options.only, info_files=options.info,
            pool_depth=options.pool_depth, until=options.until, sections=sections, procedure=procedure,
            draws=options.draws, policies=policies, qrels_format=options.qrels_format,
            run_format=options.run_format, jobs=options.jobs, bars=bars,
            labels=options.labels, judges=options.judges,
            command=typed_command(click.get_current_context()),
        )  # fmt: skip
    remark("writing the report", quiet=quiet)
    text = render_report(made, options.format_name)
    # A page says that it is UTF-8: what is not has a mark in its place.
    write_bytes(text.encode("utf-8", "replace" if page else "surrogateescape"), output)
    if output is not None:
        size = output.stat().st_size
        shown = f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.0f} kB"
        remark(f"{output}: {shown}", quiet=quiet)


def _check_labels(options: ReportOptions) -> None:
    """Refuse options that a report with labels cannot take into account."""
    given = {
        "--for": options.about, "--baseline": options.baselines, "--by": options.by, "--only": options.only,
        "--pool-depth": options.pool_depth,
    }  # fmt: skip
    for name, value in given.items():
        if value:
            raise DataError(f"{name} and --labels do not go together; leave one out")
