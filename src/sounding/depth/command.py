"""`sounding depth`: does the outcome depend on how deep one looks, and on how deep the pool was."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sounding.core.errors import DataError
from sounding.core.text import filled
from sounding.terminal.options import (
    NO_NOTES,
    PEOPLE,
    PIPED_WIDTH,
    Options,
    format_options,
    options_refused,
    output_options,
    policy_options,
    progress_bar,
    remark,
    taken_policies,
    typed_command,
    worker_options,
    write_tables,
)

if TYPE_CHECKING:
    from sounding.compare.comparing import Reading
    from sounding.core.policies import Policies
    from sounding.data.run_info import RunInfo
    from sounding.data.tables import Qrels
    from sounding.depth.findings import Finding
    from sounding.depth.intervals import PairOverDepth
    from sounding.depth.pools import PoolDepths
    from sounding.depth.stability import Stability
    from sounding.depth.subsets import JudgmentSubsets
    from sounding.depth.volatility import Agreeing
    from sounding.measures.regrading import Regrading
    from sounding.render.tables import Table
    from sounding.runs.retrieved import Retrieved
    from sounding.statistics.pairwise import Procedure
    from sounding.terminal.plan_file import Choices, Plan

VIEWS = ("pair", "each_run", "volatility", "agreement", "weights", "pools", "subsets")  # tables of their own
SHOWN_RUNS = 8  # that the repeated command names


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """All that was asked for."""

    stability: Stability
    findings: tuple[Finding, ...]
    pair: tuple[PairOverDepth, ...]
    pools: PoolDepths | None
    subsets: JudgmentSubsets | None


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the options say, taken together."""

    policies: Policies
    procedure: Procedure
    agreeing: Agreeing
    info: dict[str, RunInfo] | None
    plan: Plan | None
    typed: str  # the command


@click.command("depth", short_help="Whether the outcome depends on the depth of evaluation.")
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-m", "--measure", "measures", multiple=True, metavar="M", help="A measure without a cut-off: AP, P, RBP."
)
@click.option("--depths", metavar="K,K...", help="Depths to show; default: 5,10,30,100,500,1000.")
@click.option(
    "--reference",
    metavar="M@K",
    help="What every depth is held against: a depth, or one measure at a depth; default: the pool depth.",
)
@click.option(
    "--pool-depth", type=click.IntRange(1), metavar="D", help="Cut the judgments to this pool first."
)
@click.option(
    "--test", default="t", show_default=True, metavar="T", help="Any test of compare: docs/tests.md."
)
@click.option(
    "--correction", metavar="C", help="none, bonferroni, holm, bh or max-t; default: none, as Lu et al."
)
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Level of the test.")
@click.option(
    "--info", multiple=True, metavar="FILE", help="Which runs were pooled: run group kind priority pooled."
)
@click.option("--plan", metavar="FILE", help="Choices fixed beforehand: taken and checked.")
@click.option("--each-run", is_flag=True, help="Every run: means with comparison intervals, and assessment.")
@click.option(
    "--each-depth",
    is_flag=True,
    help="For programs: a row for every k; with --each-run of every run, with --pair of the two.",
)
@click.option("--pair", nargs=2, metavar="A B", help="Two runs over depth with the case at each.")
@click.option("--volatility", is_flag=True, help="How far the orderings at any two depths agree.")
@click.option(
    "--coefficient",
    default="tau_b",
    show_default=True,
    metavar="C",
    help="By which two depths agree: docs/agreement.md.",
)
@click.option(
    "--threshold", type=float, default=0.9, show_default=True, help="Above it orderings count as stable."
)
@click.option(
    "--rbo-p", "rbo_p", type=float, default=0.9, show_default=True, metavar="P", help="Persistence of RBO."
)
@click.option(
    "--agreement", is_flag=True, help="Orderings by every coefficient: reference, tie rule, other measures."
)
@click.option("--weights", is_flag=True, help="What each rank counts at the depths.")
@click.option("--pools", metavar="D,D...", help="Shallower pools against the whole one.")
@click.option("--subsets", is_flag=True, help="Random parts of the judgments, 100% to 1%.")
@click.option(
    "--chart",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Draw it all: .html, .svg, .png or .pdf.",
)
@format_options
@worker_options
@partial(policy_options, without=("universe", "at_most", "prior", "moments", "draws"))
@output_options()
@click.pass_context
def command(context: click.Context, /, qrels: str, runs: tuple[str, ...], **options: Any) -> None:
    """Look at RUNs deeper and deeper, and whether the outcome stays.

    By measure and depth: the pairs of runs that are told apart, how many of those of a reference depth
    are confirmed or turned round, how far the orderings agree, and what was not judged. Below stands from
    where on the ordering is stable, and what to heed.

    \b
    sounding depth qrels.txt runs/ -m AP -m 'RBP(p=0.95)' --info info.tsv
    sounding depth qrels.txt runs/ -m nDCG --pool-depth 10 --reference 10
    sounding depth qrels.txt runs/ -m AP --pair bm25 dense --chart depth.html
    """  # noqa: D301 - click wants the control character
    from sounding.data.run_info import read_run_info
    from sounding.depth.requests import DEFAULT_MEASURES, chosen_measures, parsed_reference
    from sounding.depth.volatility import Agreeing

    typed = typed_command(context, SHOWN_RUNS)
    plan = None if options["plan"] is None else _taken_plan(context, options)
    with options_refused():
        policies = taken_policies(options)
        procedure = _procedure(policies, options)
        for name in ("depths", "pools"):
            options[name] = _numbers(name, options[name])
        _check_views(context, options)
        options["measures"] = options["measures"] or DEFAULT_MEASURES
        chosen_measures(options["measures"], policies)
        parsed_reference(options["reference"])
        agreeing = Agreeing(
            coefficient=options["coefficient"], p=options["rbo_p"], threshold=options["threshold"]
        )
    info = dict(row for source in options["info"] for row in read_run_info(source).items()) or None
    asked = _Asked(policies, procedure, agreeing, info, plan, typed)
    found = _found(qrels, runs, asked, options)
    write_tables(_tables(found, options), options["format_name"], options["output"])
    if options["chart"] is not None:
        _draw(found, options["chart"])
        remark(f"chart: {options['chart']}", quiet=options["quiet"])
        if agreeing.is_distance:
            told = f"volatility is not drawn by {agreeing.coefficient}, a distance, which has no threshold"
            remark(told, quiet=options["quiet"])
    _remark_beside(found, options)


# -- what is asked for -----------------------------------------------------------------------------


def _taken_plan(context: click.Context, options: Options) -> Plan:
    """The plan; what it fixes and the command line does not say is put among the options."""
    from sounding.terminal.plan_file import read_plan

    plan = read_plan(options["plan"])
    for key, value in plan.choices.made().items():
        if key in options and context.get_parameter_source(key) is not ParameterSource.COMMANDLINE:
            options[key] = ",".join(map(str, value)) if key == "depths" else value
    return plan


def _procedure(policies: Policies, options: Options) -> Procedure:
    from sounding.statistics.pairwise import Procedure
    from sounding.statistics.testing import find_test

    correction = options["correction"]
    if correction is None and find_test(options["test"]).correction != "own":
        correction = "none"
    return Procedure(test=options["test"], correction=correction, alpha=options["alpha"], seed=policies.seed)


def _numbers(name: str, text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and int(word) for word in words):
        raise DataError(f"--{name} {text!r}: expected whole numbers from 1, such as 10,30,100")
    return tuple(int(word) for word in words)


def _check_views(context: click.Context, options: Options) -> None:
    """Refuse options that would change nothing, and two tables where there is room for one."""
    if options["chart"] is not None:
        from sounding.render.save import require_suffix

        require_suffix(options["chart"])
    if options["pools"] and options["pool_depth"]:
        raise DataError("--pools cuts the pool itself; leave --pool-depth out")
    if options["format_name"] in PEOPLE:
        if options["each_depth"]:
            raise DataError("--each-depth is for programs; give --format csv, json, jsonl or parquet as well")
        return
    views = [f"--{name.replace('_', '-')}" for name in _views(options)]
    if options["each_depth"] and views not in (["--each-run"], ["--pair"]):
        views += ["--each-depth"]
    if len(views) > 1 and (options["format_name"] != "json" or options["each_depth"]):
        raise DataError(f"{options['format_name']} holds one table; give one of {' and '.join(views)}")
    if options["format_name"] in NO_NOTES and options["chart"] is None:
        _refuse_idle(context, options)


def _refuse_idle(context: click.Context, options: Options) -> None:
    """Refuse what rows alone do not show: how orderings agree between depths, and what is stable."""
    idle = {"threshold": True, "coefficient": not options["volatility"]}
    for name in idle:
        if idle[name] and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            other = " --volatility or" if name == "coefficient" else ""
            raise DataError(
                f"--{name} changes nothing in {options['format_name']} without{other} --chart; json and"
                " tables say from where on the ordering is stable"
            )


def _views(options: Options) -> list[str]:
    """The tables of their own that were asked for."""
    return [name for name in VIEWS if options[name]]


# -- what is found ---------------------------------------------------------------------------------


def _found(qrels: str, runs: tuple[str, ...], asked: _Asked, options: Options) -> _Answer:
    from sounding.data.finding import find_runs
    from sounding.data.formats import read_qrels
    from sounding.data.reading import readable_again
    from sounding.depth.stability import stability

    files, policies, plan = find_runs(runs), asked.policies, asked.plan
    with _reading(len(files), "reading runs", options) as reading:
        sources = readable_again(files, policies, reading.run_format)
        judgments = read_qrels(
            qrels, format=options["qrels_format"], duplicates=policies.duplicates,
            fractional=policies.fractional,
        )  # fmt: skip
        lists = _lists(judgments, sources, asked, options)
        found = stability(
            judgments, sources, options["measures"], depths=options["depths"],
            reference=options["reference"], procedure=asked.procedure, agreeing=asked.agreeing,
            info=asked.info, pool_depth=options["pool_depth"], policies=policies, reading=reading,
            retrieved=lists,
        )  # fmt: skip
    deviations = [] if plan is None else plan.check(_used(found, options))
    pools, subsets = _with_fewer_judgments(judgments, lists, found, options)
    with options_refused():
        pair = found.pair(options["pair"]) if options["pair"] else ()
    return _Answer(
        stability=found,
        findings=found.findings(plan=plan, deviations=deviations, command=asked.typed),
        pair=pair,
        pools=pools,
        subsets=subsets,
    )


def _lists(judgments: Qrels, sources: Any, asked: _Asked, options: Options) -> Retrieved | None:
    """What the runs retrieved, read once for all that is asked of pools and parts; None: nothing is."""
    from sounding.depth.requests import chosen_measures, needs_pool_ranks, parsed_reference
    from sounding.depth.stability import read_lists

    measures = chosen_measures(options["measures"], asked.policies)
    ranked = needs_pool_ranks(measures, parsed_reference(options["reference"]))
    if not (options["pools"] or options["subsets"] or options["pool_depth"] or ranked):
        return None
    with _reading(len(sources), "reading lists", options) as reading:
        return read_lists(judgments, sources, asked.policies, reading)


@contextmanager
def _reading(count: int, label: str, options: Options) -> Iterator[Reading]:
    from sounding.compare.comparing import Reading

    with progress_bar(count, quiet=options["quiet"], label=label) as progress:
        yield Reading(
            qrels_format=options["qrels_format"], run_format=options["run_format"],
            jobs=options["jobs"], progress=progress,
        )  # fmt: skip


def _used(found: Stability, options: Options) -> Choices:
    """The choices that were made in the end, to be held against a plan."""
    from sounding.measures.cumulative import name_of
    from sounding.terminal.plan_file import Choices

    return Choices(
        measures=tuple(name_of(one.measure) for one in found.measures), depths=found.depths,
        test=options["test"], correction=found.procedure.correction, alpha=options["alpha"],
        policies=asdict(found.policies),
    )  # fmt: skip


def _with_fewer_judgments(
    judgments: Qrels, lists: Retrieved | None, found: Stability, options: Options
) -> tuple[PoolDepths | None, JudgmentSubsets | None]:
    """The measures at their reference depths under shallower pools, and under random parts."""
    if lists is None or not (options["pools"] or options["subsets"]):
        return None, None
    from sounding.measures.regrading import regraded

    pooled = lists.pick(found.pool.contributing).pool_ranks(judgments)
    known = found.pool.contributing.any() and judgments.pool_ranks is None
    ranked = replace(judgments, pool_ranks=pooled) if known else judgments
    regrading = regraded(ranked, lists, found.policies)
    pools = _pools(regrading, found, options) if options["pools"] else None
    return pools, _subsets(regrading, found, options) if options["subsets"] else None


def _pools(regrading: Regrading, found: Stability, options: Options) -> PoolDepths:
    from sounding.depth.pools import pool_depths

    if not found.pool.contributing.any():
        raise DataError("no run is known to have contributed to the pool; list the runs with --info")
    if max(options["pools"]) > found.pool.depth:
        raise DataError(
            f"--pools {max(options['pools'])}: the pool of these runs is {found.pool.depth} deep; cut it"
            " to at most that"
        )
    with _reading(1 + len(set(options["pools"])), "cutting pools", options) as reading:
        return pool_depths(
            regrading, found.reference_measures(), options["pools"],
            contributors=regrading.retrieved.pick(found.pool.contributing), procedure=found.procedure,
            progress=reading.progress,
        )  # fmt: skip


def _subsets(regrading: Regrading, found: Stability, options: Options) -> JudgmentSubsets:
    """With the measures of Buckley and Voorhees beside."""
    from sounding.depth.subsets import DRAWS, MEASURES, SHARES, judgment_subsets
    from sounding.measures import parse_measures

    measures = dict.fromkeys([*found.reference_measures(), *parse_measures(MEASURES)])
    with _reading(DRAWS * len(SHARES), "drawing judgments", options) as reading:
        return judgment_subsets(regrading, list(measures), jobs=reading.jobs, progress=reading.progress)


# -- what is shown ---------------------------------------------------------------------------------


def _tables(found: _Answer, options: Options) -> list[Table]:
    from sounding.depth import ordering_tables as orderings
    from sounding.depth import tables as made

    stability, names = found.stability, found.stability.names_at_reference()
    if options["format_name"] in PEOPLE:
        shown = [made.people_table(stability, () if options["quiet"] else found.findings)]
        shown += made.pair_tables(found.pair, stability.depths)
        shown += made.run_tables(stability) if options["each_run"] else []
        shown += made.volatility_tables(stability) if options["volatility"] else []
        shown += [orderings.ordering_table(stability)] if options["agreement"] else []
        shown += [orderings.weights_table(stability)] if options["weights"] else []
        shown += [made.pools_table(found.pools, names)] if found.pools is not None else []
        shown += [made.subsets_table(found.subsets, names)] if found.subsets is not None else []
        terminal = options["output"] is None and sys.stdout.isatty()
        return shown if terminal or options["format_name"] != "table" else [_filled(table) for table in shown]
    facts, views = made.facts(stability, found.findings), _views(options)
    if len(views) == 1:
        return [replace(_tidy(views[0], found, options), facts=facts)]
    for view in views:
        facts[view] = _tidy(view, found, options).rows()
    return [replace(made.tidy_table(stability, every_k=options["each_depth"]), facts=facts)]


def _tidy(view: str, found: _Answer, options: Options) -> Table:
    """The table of a view, as programs get it."""
    from sounding.depth import ordering_tables as orderings
    from sounding.depth import tables as made

    if view == "pools" and found.pools is not None:
        return made.tidy_pools(found.pools, found.stability.names_at_reference())
    if view == "subsets" and found.subsets is not None:
        return made.tidy_subsets(found.subsets, found.stability.names_at_reference())
    stability, every_k = found.stability, options["each_depth"]
    tables: dict[str, Callable[[], Table]] = {
        "pair": lambda: made.tidy_pair(found.pair, None if every_k else stability.depths),
        "each_run": lambda: made.tidy_runs(stability, every_k=every_k),
        "volatility": lambda: made.tidy_volatility(stability),
        "agreement": lambda: orderings.tidy_orderings(stability),
        "weights": lambda: orderings.tidy_weights(stability),
    }
    return tables[view]()


def _filled(table: Table) -> Table:
    """The table with its notes in lines that a pipe or a file shows whole."""
    return replace(table, notes=[filled(note, PIPED_WIDTH) for note in table.notes])


def _draw(found: _Answer, path: Path) -> None:
    """All charts that there is something to show in, as one file."""
    from sounding.render.save import save, together

    save(together(list(_charts(found))), path)


def _charts(found: _Answer) -> Iterator[Any]:
    import polars

    from sounding.depth import charts
    from sounding.depth.findings import EARLY
    from sounding.depth.tables import volatilities

    stability = found.stability
    pool = stability.pool.depth or None
    reference = stability.reference_depth
    yield charts.values_over_k(stability.values_frame, reference_k=reference, pool_depth=pool)
    named = ", ".join(dict.fromkeys(one.reference_name for one in stability.measures))
    yield charts.stability_over_k(stability.frame, reference=named, pool_depth=pool)
    residuals, weights = stability.residual_frame, stability.weights_frame
    if residuals is not None:
        yield charts.residuals_over_k(residuals, reference_k=reference, pool_depth=pool)
    if weights is not None:
        yield charts.rank_weights(weights)
    how = stability.agreeing
    if not how.is_distance:  # the chart has a threshold, above which orderings agree
        cells = [one.frame for one in volatilities(stability, how.coefficient, stability.ks_to_draw())]
        names = {"k": "k1", "other_k": "k2", "other_measure": "other"}
        yield charts.volatility(
            polars.concat(cells).rename(names), coefficient=how.coefficient, threshold=how.threshold,
            pool_depth=pool,
        )  # fmt: skip
    order = [stability.runs[run] for run in stability.order]
    named = f"by AP@{EARLY}, best first"
    yield charts.means_with_intervals(stability.interval_frame, order=order, ordered=named)
    for pair in found.pair:
        # Every depth carries its case, which needs room.
        chosen = pair.frame.filter(polars.col("k").is_in(stability.depths))
        yield charts.pair_over_depth(chosen, pool_depth=pool)
    if found.pools is not None:
        pools = found.pools.frame.drop_nulls("pool_depth").rename(
            {"pool_depth": "depth", "tau_b": "agreement"}
        )
        yield charts.agreement_by_pool_depth(pools)
    if found.subsets is not None:
        parts = found.subsets.summary_frame.filter(polars.col("coefficient") == "tau_b")
        yield charts.agreement_by_share_kept(
            parts.rename({"mean": "agreement", "least": "lower", "most": "upper"})
        )


def _remark_beside(found: _Answer, options: Options) -> None:
    """Beside formats that have no room for notes: what to beware of, and the policies."""
    if options["format_name"] not in NO_NOTES:
        return
    from sounding.depth.findings import heeded

    for text in [*found.stability.notes, *heeded(found.findings)]:
        remark(text, quiet=options["quiet"])
    remark(f"policies: {found.stability.policies.describe()}", quiet=options["quiet"])
