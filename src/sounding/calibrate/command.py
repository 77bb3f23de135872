"""`sounding calibrate`: how often what is said for certain is right, on a collection of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sounding.core.errors import DataError
from sounding.terminal.options import (
    PEOPLE,
    Options,
    format_options,
    options_refused,
    output_options,
    policy_options,
    progress_bar,
    qrels_first,
    remark,
    taken_info,
    taken_policies,
    worker_options,
    write_tables,
)

if TYPE_CHECKING:
    from sounding.calibrate.calibrating import Calibration

NO_USE = ("prior", "moments", "universe", "at_most", "draws", "unjudged")  # policies that change nothing here


def _policies(function: Any) -> Any:
    return policy_options(function, without=NO_USE)


@click.command("calibrate", short_help="How often what is said for certain is right.")
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-m", "--measure", "measures", multiple=True, default=("AP",), show_default=True, metavar="M",
    help="A measure; may be repeated.",
)  # fmt: skip
@click.option(
    "--hide", "scenarios", multiple=True, metavar="H",
    help="How judgments are hidden: pool:10, groups:0.5, sample:0.1, mtc:512, rank:512, runs:20, or several"
    " with +; may be repeated. Default: pool:10, pool:5, pool:10+groups:0.5, sample:0.1.",
)  # fmt: skip
@click.option(
    "--claim", "claims", multiple=True, metavar="C",
    help="Only this claim, such as holds, sign, strong, p-value, settled or mtc; may be repeated.",
)  # fmt: skip
@click.option(
    "--until", default="pool:100", show_default=True, metavar="U",
    help="What full judging means: the first D documents of contributing runs (pool:D) or of all (runs:D).",
)  # fmt: skip
@click.option(
    "--info", multiple=True, metavar="FILE",
    help="Which runs were pooled: run group kind priority pooled; may be repeated.",
)  # fmt: skip
@click.option("--test", default="t", show_default=True, metavar="T", help="The test behind conclusions.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Its level, each pair by itself.")
@click.option(
    "--repeats", type=click.IntRange(1), default=3, show_default=True, metavar="N",
    help="Of ways of hiding that chance has a part in.",
)  # fmt: skip
@click.option(
    "--draws", "completions", type=click.IntRange(2), default=100, show_default=True, metavar="N",
    help="Draws of complete judgments.",
)  # fmt: skip
@click.option(
    "--resamples", type=click.IntRange(0), default=200, show_default=True, metavar="N",
    help="Of the runs, for intervals.",
)  # fmt: skip
@click.option(
    "--chart", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Draw the reliability diagram: .html, .svg, .png or .pdf.",
)  # fmt: skip
@_policies
@format_options
@worker_options
@output_options()
def command(qrels: str, runs: tuple[str, ...], **options: Any) -> None:
    """Hide judgments of QRELS, ask what is certain about RUNs without them, and count how often it is right.

    Asked are the chance that a conclusion holds, that of the sign, strong and weak, p-values, settled pairs,
    intervals, bounds and the confidence of `plan`. The judgments should be deep: they are the truth.

    \b
    sounding calibrate qrels.txt runs/ --info info.tsv
    sounding calibrate qrels.txt runs/ -m nDCG@20 --hide pool:10 --hide mtc:1000 --chart reliability.html
    """  # noqa: D301 - click wants the control character
    found = _found(qrels, runs, options)
    from sounding.calibrate.tables import calibration_tables, notes, tidy_calibration

    people = options["format_name"] in PEOPLE
    tables = calibration_tables(found) if people else [tidy_calibration(found)]
    write_tables(tables, options["format_name"], options["output"])
    if options["chart"] is not None:
        _draw(found, options)
    if not people:
        for note in (note for note in notes(found) if note.startswith(("Truth:", "Beware:"))):
            remark(note, quiet=options["quiet"])


def _found(qrels: str, runs: tuple[str, ...], options: Options) -> Calibration:
    from sounding.calibrate.calibrating import calibrate
    from sounding.calibrate.hiding import DEFAULT_SCENARIOS
    from sounding.data.finding import find_runs
    from sounding.statistics.pairwise import Procedure

    scenarios = options["scenarios"] or DEFAULT_SCENARIOS
    _check(options, scenarios)
    policies = taken_policies(options)
    files = find_runs(runs)
    repeats = _repeats(scenarios, options["repeats"])
    bar = progress_bar(repeats, quiet=options["quiet"], label="hiding judgments")
    with qrels_first(qrels), bar as progress:
        return calibrate(
            qrels, files, options["measures"], scenarios=scenarios, claims=options["claims"] or None,
            until=options["until"], info=taken_info(options),
            procedure=Procedure(
                test=options["test"], correction="none", alpha=options["alpha"], seed=policies.seed
            ),
            repeats=options["repeats"], draws=options["completions"], resamples=options["resamples"],
            policies=policies, qrels_format=options["qrels_format"], run_format=options["run_format"],
            jobs=options["jobs"], progress=progress,
        )  # fmt: skip


def _check(options: Options, scenarios: tuple[str, ...]) -> None:
    """Refuse before files are read what cannot be done."""
    from sounding.calibrate.claims import find_claim
    from sounding.calibrate.hiding import parse_scenario
    from sounding.compare.holds import parse_until
    from sounding.measures import parse_measures
    from sounding.statistics.pairwise import Procedure

    with options_refused():
        parse_measures(options["measures"])
        parse_until(options["until"])
        Procedure(test=options["test"], correction="none", alpha=options["alpha"])
        for text in scenarios:
            parse_scenario(text)
        for name in options["claims"]:
            find_claim(name)
        if options["chart"] is not None:
            from sounding.render.save import require_suffix

            require_suffix(options["chart"])


def _repeats(scenarios: tuple[str, ...], repeats: int) -> int:
    from sounding.calibrate.hiding import parse_scenario

    return sum(repeats if parse_scenario(text).drawn else 1 for text in dict.fromkeys(scenarios))


def _draw(found: Calibration, options: Options) -> None:
    from sounding.calibrate.charts import reliability_diagram
    from sounding.calibrate.tables import FEWEST, reliability_rows
    from sounding.render.save import save

    rows = reliability_rows(found)
    if rows.is_empty():
        raise DataError(
            f"none of these claims gives chances for {FEWEST} pairs or more: there is nothing to draw; add"
            " --claim holds, or give more runs"
        )
    save(reliability_diagram(rows), options["chart"])
    note = f"chart: {options['chart']} (bins of fewer than {FEWEST} pairs are left out)"
    remark(note, quiet=options["quiet"])
