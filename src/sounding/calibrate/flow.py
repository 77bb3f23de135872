"""Run `sounding calibrate`: hide judgments, count how often claims are right, write the answer."""

from __future__ import annotations

from sounding.calibrate.calibrating import calibrate
from sounding.calibrate.charts import reliability_diagram
from sounding.calibrate.claims import find_claim
from sounding.calibrate.command import CalibrateOptions
from sounding.calibrate.hiding import DEFAULT_SCENARIOS, DRAWS_TO_ESTIMATE, parse_scenario
from sounding.calibrate.sentences import FEWEST, chart_note, headline, notes
from sounding.calibrate.tables import calibration_tables, reliability_rows, tidy_calibration
from sounding.core.errors import DataError
from sounding.data.finding import find_runs
from sounding.estimate.estimating import DEFAULT_MEASURES
from sounding.measures import parse_measures
from sounding.render.save import require_suffix, save
from sounding.render.tables import Answer
from sounding.runs.pool import parse_until
from sounding.statistics.pairwise import Procedure
from sounding.terminal.declare import typed
from sounding.terminal.options import (
    PEOPLE,
    options_refused,
    policies_of,
    progress_bar,
    read_info,
    remark,
    suggest,
    write_answer,
)


def run(options: CalibrateOptions) -> None:
    """Hide judgments, write how often each claim was right, and draw it if asked to."""
    drawn = bool(options.labels) or set(options.claims) == {"estimate"}
    scenarios = options.scenarios or (DRAWS_TO_ESTIMATE if drawn else DEFAULT_SCENARIOS)
    claims = options.claims or (("estimate",) if options.labels else None)
    measures = DEFAULT_MEASURES if drawn and not typed("measures") else options.measures
    until = "runs:100" if drawn and not typed("until") else options.until  # estimates ask for no pool
    with options_refused():  # before files are read
        parse_measures(measures)
        parse_until(until)
        procedure = Procedure(test=options.test, correction="none", alpha=options.alpha, seed=options.seed)
        parsed = [parse_scenario(text) for text in dict.fromkeys(scenarios)]
        for name in claims or ():
            find_claim(name)
        if options.chart is not None:
            require_suffix(options.chart)
    policies, files = policies_of(options), find_runs(options.runs)
    steps = sum(options.repeats if scenario.drawn else 1 for scenario in parsed)
    bar = progress_bar(steps, quiet=options.quiet, label="hiding judgments")
    with bar as progress:
        calibration = calibrate(
            options.qrels, files, measures, scenarios=scenarios, claims=claims, until=until,
            labels=list(options.labels) or None, judges=options.judges,
            info=read_info(options.info, options.only), only=options.only, procedure=procedure,
            repeats=options.repeats, draws=options.completions, resamples=options.resamples,
            policies=policies, qrels_format=options.qrels_format, run_format=options.run_format,
            jobs=options.jobs, progress=progress,
        )  # fmt: skip
    people = options.format_name in PEOPLE
    tables = calibration_tables(calibration) if people else [tidy_calibration(calibration)]
    following = suggest("plan", keep=("info", "only", "qrels_format", "run_format"))
    write_answer(Answer(headline(calibration), tables, notes(calibration), following), options)
    if options.chart is not None:
        rows = reliability_rows(calibration)
        if rows.is_empty():
            raise DataError(
                f"none of these claims gives chances for {FEWEST} pairs or more: there is nothing to draw;"
                " add --claim holds, or give more runs"
            )
        save(reliability_diagram(rows), options.chart)
        remark(chart_note(options.chart), quiet=options.quiet)
