"""Arrange a report as sections of tables, charts and sentences."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from sounding import __version__
from sounding.audit import tables as audit_tables
from sounding.audit.charts import audit_charts
from sounding.audit.result import Audit
from sounding.audit.tables import Extras
from sounding.compare import sentences as comparison_notes
from sounding.compare import tables as comparison_tables
from sounding.compare.result import Comparison
from sounding.core.lazy import polars
from sounding.core.text import plural
from sounding.depth import charts as depth_charts
from sounding.depth import tables as stability_tables
from sounding.depth.result import DepthStudy
from sounding.depth.sentences import cautions, other_findings
from sounding.estimate import tables as estimate_tables
from sounding.evaluate import charts as evaluate_charts
from sounding.evaluate import tables as score_tables
from sounding.evaluate.result import FEW_RUNS
from sounding.evaluate.sentences import notes_on
from sounding.render.html import ungrouped
from sounding.render.tables import UNKNOWN, Cell, Column, Table, columns_of, with_notes
from sounding.report import sentences
from sounding.report.estimated import estimated_screens, label_sentences, label_tables
from sounding.report.first_screen import FirstScreen, first_screens
from sounding.report.result import LABEL_SECTIONS, SECTIONS, MissingPart, Report
from sounding.report.topic_values import explorer_data, slice_table, topic_table

if TYPE_CHECKING:
    from sounding.render.style import Chart

ROWS_AT_FIRST = 50  # of a table of thousands; the script and the download have the others
ROWS_SHOWN = 20  # rows shown of the audit's long tables
ALL_ROWS = 1_000_000_000
CHARTS_OF = {
    "runs": ("judged-by-depth", "judged-shares"), "growth": ("growth",), "unique": ("unique-relevant",),
    "leave-out": ("leave-out",), "reinforcement": ("reinforcement",), "added": ("added",),
    "beyond": ("beyond",), "assessment": ("assessment",),
}  # fmt: skip
CORRELATIONS = ("assessment", "reinforcement")  # parts of an audit
PARTS_SHOWN = {
    "pairs": "comparison",
    "depth": "stability",
    "collection": "audit",
    "labels": "fitness",
}  # by section
PACKAGES = ("numpy", "scipy", "polars", "altair")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Shown:
    """A table for people, and the rows for programs behind it."""

    name: str
    table: Table
    data: Table
    whole: Table | None = None  # all rows for people, if `table` has only the first


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Drawn:
    """A chart that is drawn on demand, and its rows."""

    name: str
    make: Callable[[], Chart]
    data: Table


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ReportSection:
    """One section, with the reasons for what is missing."""

    name: str
    title: str
    lead: str
    sentences: Sequence[str]
    blocks: Sequence[Shown | Drawn]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ReportPage:
    """Everything that a report says, independent of its format."""

    title: str
    screens: Sequence[FirstScreen]  # one for each measure; empty: the summary was not asked for
    fitness: Sequence[tuple[str, str]]  # (question, answer) about what the judgments can be used for
    sections: Sequence[ReportSection]
    command: str
    explorer: Mapping[str, Any] | None = None  # the data behind the choice of two runs
    facts: Mapping[str, Any] = field(default_factory=dict)


def page_of(report: Report, sections: Sequence[str] | None = None) -> ReportPage:
    """Arrange a report as a page with these sections; None: those that the report was made for."""
    sections = report.request.sections if sections is None else sections
    estimation = report.estimation
    runs, topics = len(report.scores.runs), len((estimation or report.scores).topics)
    return ReportPage(
        title=sentences.title(runs, topics, report.request.about),
        screens=_screens(report) if "summary" in sections else (),
        fitness=[(one.claim, one.answer) for one in report.statements if one.answer != "note"],
        sections=[
            _section(report, name)
            for name in BLOCKS
            if name in sections and (name != "slices" or report.slices)
        ],
        command=report.request.command,
        explorer=explorer_data(report) if "pairs" in sections else None,
        facts={
            "sounding": __version__,
            "command": report.request.command,
            "runs": list(report.scores.runs),
            "topics": topics,
            "measures": [str(measure) for measure in report.scores.measures],
            "policies": report.request.policies.in_force(),
            "seed": report.request.policies.seed,
            **({} if estimation is None else {"estimates": estimate_tables.facts(estimation)}),
        },
    )


def _screens(report: Report) -> list[FirstScreen]:
    if report.estimation is None:
        return first_screens(report)
    return estimated_screens(report, report.estimation)


def _section(report: Report, name: str) -> ReportSection:
    part = getattr(report, PARTS_SHOWN[name]) if name in PARTS_SHOWN else None
    missing = [part.reason] if isinstance(part, MissingPart) else []
    if isinstance(part, Audit) and not part.has_pool:
        missing = [sentences.NO_POOL]
    said = label_sentences(report) if name == "labels" else list(_sentences(part))
    return ReportSection(
        name=name, title={**SECTIONS, **LABEL_SECTIONS}[name], lead=sentences.LEADS[name], sentences=said,
        blocks=list(BLOCKS[name](report)), missing=tuple(missing),
    )  # fmt: skip


def _sentences(part: object) -> Iterator[str]:
    """Yield the sentences at the head of a section."""
    if isinstance(part, Comparison):
        yield from sentences.pairs(part)
    elif isinstance(part, DepthStudy):
        yield sentences.stable(part)
        yield from sentences.below_the_pool(part)


def table_of(frame: polars.DataFrame) -> Table:
    """Return a frame as a table for programs."""
    return Table([Column(name, frame[name].to_list()) for name in frame.columns])


# -- values and pairs ------------------------------------------------------------------------------


def _measures(report: Report) -> Iterator[Shown | Drawn]:
    """Yield the values of every run and, for measures that are means, their bounds."""
    scores, layout, order = report.scores, score_tables.Layout(), report.scores.order()
    title = f"Every run, the best by {report.leading} first"
    table = with_notes(score_tables.wide_table(scores, layout, title, order), notes_on(scores))
    yield Shown(name="measures", table=table, data=score_tables.tidy_table(scores, layout))
    frame = score_tables.board_frame(scores, order)
    if frame.height:
        draw = partial(evaluate_charts.values_with_bounds, frame)
        yield Drawn(name="bounds", data=table_of(frame), make=draw)


def _topics(report: Report) -> Iterator[Shown]:
    relevant = None
    if not isinstance(report.audit, MissingPart) and report.audit.runs.topics == report.scores.topics:
        relevant = report.audit.runs.judgments.relevant(report.audit.runs.level).tolist()
    for number, measure in enumerate(report.scores.measures):
        if measure.definition.aggregate == "mean":
            table = topic_table(report.scores, number, relevant)
            yield Shown(name=f"topics-{measure}", table=_first_rows(table), data=table, whole=table)


def _slices(report: Report) -> Iterator[Shown]:
    """Yield a table for each measure: values of the runs in every group of topics."""
    for number, measure in enumerate(report.scores.measures):
        if measure.definition.aggregate == "mean":
            table = slice_table(report.scores, report.slices, number)
            yield Shown(name=f"slices-{measure}", table=_first_rows(table), data=table, whole=table)


def _pairs(report: Report) -> Iterator[Shown]:
    comparison = report.comparison
    if isinstance(comparison, MissingPart):
        return
    found = comparison.columns(comparison.by_rank())
    whole = ungrouped(_paired(comparison_tables.people_pairs(comparison, ALL_ROWS, found=found)))
    whole = replace(whole, columns=[column for column in whole.columns if not _is_unknown(column)])
    whole = replace(whole, title=f"{plural(whole.height, 'row')}: a pair and a measure each")
    data = comparison_tables.tidy_pairs(comparison, found=found)
    yield Shown(name="pairs", table=_first_rows(whole), data=data, whole=whole)


def _is_unknown(column: Column) -> bool:
    """Return whether no cell of a column is known, such as chances that need more runs."""
    return bool(column.cells) and all(
        cell is None or cell == UNKNOWN or cell != cell for cell in column.cells
    )


def _first_rows(table: Table) -> Table:
    """Return the table with its first rows; a script shows the others."""
    columns = [replace(column, cells=column.cells[:ROWS_AT_FIRST]) for column in table.columns]
    return replace(table, columns=columns)


def _paired(table: Table) -> Table:
    """Return the table with both runs in the first column, which stays visible on a small screen."""
    first, second, *rest = table.columns
    # The leaderboard has the means; without them the page of 129 runs stays below 3 MB.
    others = [column for column in rest if column.name not in ("mean_a", "mean_b")]
    names = [f"{a} − {b}" for a, b in zip(first.cells, second.cells, strict=True)]
    return replace(table, columns=[Column("pair", names), *others], keys=table.keys - 1)


# -- depth -----------------------------------------------------------------------------------------


def _leaders(report: Report) -> Iterator[Shown | Drawn]:
    """Yield the two best runs over depth, with the case at each."""
    if isinstance(report.stability, MissingPart):
        return
    depths, pool = report.stability.depths, report.stability.pool.depth or None
    tables = stability_tables.pair_tables(report.leaders, depths)
    for pair, table in zip(report.leaders, tables, strict=True):
        frame = pair.frame.filter(polars.col("k").is_in(depths))
        draw = partial(depth_charts.pair_over_depth, frame, pool_depth=pool)
        data, name = stability_tables.tidy_pair([pair], None), f"leaders-{pair.measure}"
        yield Drawn(name=f"{name}-chart", data=data, make=draw)
        yield Shown(name=name, table=table, data=data)


def _depth(report: Report) -> Iterator[Shown | Drawn]:
    stable = report.stability
    if isinstance(stable, MissingPart):
        return
    table = ungrouped(stability_tables.people_table(stable))
    every_row = replace(table.columns[0], cells=stable.columns()["measure"])  # repeat names in every row
    notes = [*table.notes, *cautions(report.findings), *other_findings(report.findings)]
    table = replace(table, columns=[every_row, *table.columns[1:]], title="Measures by depth", notes=notes)
    yield Shown(name="depth", table=table, data=stability_tables.tidy_table(stable, every_k=False))
    yield from _depth_charts(stable)
    yield from _leaders(report)


def _depth_charts(stable: DepthStudy) -> Iterator[Drawn]:
    pool, reference, ks = stable.pool.depth or None, stable.reference_depth, stable.ks_to_draw()
    drawn = sorted({*ks, reference, *([pool] if pool else [])})
    at_depths = polars.col("k").is_in(drawn)
    values = stable.values_frame.filter(at_depths)
    yield Drawn(
        name="values", data=table_of(values),
        make=lambda: depth_charts.values_over_k(values, reference_k=reference, pool_depth=pool),
    )  # fmt: skip
    few = len(stable.runs) < FEW_RUNS  # too few to compare their order
    named = ", ".join(dict.fromkeys(one.reference_name for one in stable.measures))
    steady = stable.frame
    if not few:
        yield Drawn(
            name="stability", data=table_of(steady.filter(at_depths)),
            make=lambda: depth_charts.stability_over_k(steady, reference=named, pool_depth=pool),
        )  # fmt: skip
    residuals = stable.residual_frame
    if residuals is not None:
        shown = residuals.filter(at_depths)
        yield Drawn(
            name="residuals", data=table_of(shown),
            make=lambda: depth_charts.residuals_over_k(shown, reference_k=reference, pool_depth=pool),
        )  # fmt: skip
    order = [stable.runs[run] for run in stable.order]
    first = polars.col("measure").is_in([stable.measures[0].name, "A_p"])
    intervals = stable.interval_frame.filter(first)
    yield Drawn(
        name="intervals", data=table_of(intervals),
        make=lambda: depth_charts.means_with_intervals(intervals, order=order),
    )  # fmt: skip
    if few:
        return
    tables = stability_tables.volatilities(stable, "tau_b", ks)[: len(stable.measures)]
    names = {"k": "k1", "other_k": "k2", "other_measure": "other"}
    cells = polars.concat([one.frame for one in tables]).rename(names)
    yield Drawn(
        name="volatility", data=table_of(cells), make=lambda: depth_charts.volatility(cells, pool_depth=pool)
    )


# -- the collection --------------------------------------------------------------------------------


def _collection(report: Report) -> Iterator[Shown | Drawn]:
    audited = report.audit
    if isinstance(audited, MissingPart):
        return
    verdict = audit_tables.verdict_table(audited, report.statements)
    yield Shown(name="verdict", table=_for_people(verdict), data=verdict)
    yield from _audit_blocks(audited)


def _for_people(verdict: Table) -> Table:
    """Return the verdict without the columns that only programs read."""
    kept = [column for column in verdict.columns if column.name in ("answer", "claim", "why")]
    return replace(verdict, columns=kept, keys=1)


def _audit_blocks(audited: Audit) -> Iterator[Shown | Drawn]:
    """Yield the charts and tables of every section of an audit."""
    extras = Extras()
    makers = dict(audit_charts(audited, extras))
    for name, build in audit_tables.sections(audited, extras).items():
        if name in _left_out(audited):
            continue
        long = name in ("runs", "topics")
        section = build(audited, extras, ALL_ROWS if long else ROWS_SHOWN)
        data = table_of(section.frame)
        for chart in CHARTS_OF.get(name, ()):
            if chart in makers:
                yield Drawn(name=chart, make=makers[chart], data=data)
        for place, table in enumerate(section.with_headline()):
            yield Shown(name=name if not place else f"{name}-{place + 1}", table=_here(table), data=data)


def _left_out(audited: Audit) -> set[str]:
    """Return the parts that say nothing here: correlations over few runs, and ties if there are none."""
    few = set(CORRELATIONS) if len(audited.runs.runs) < FEW_RUNS else set()
    return few if audited.ties().with_ties() else {*few, "ties"}


def _here(table: Table) -> Table:
    """Return the table with notes about this page in place of notes about options of the command."""
    return replace(table, notes=[note.replace(": --section topics)", ")") for note in table.notes])


# -- how it was done -------------------------------------------------------------------------------

METHODS = (
    (
        "Values of measures, with documents ordered as by trec_eval",
        "trec_eval 10; Voorhees & Harman, TREC: Experiment and Evaluation, 2005",
    ),
    (
        "Bounds: the lowest and the highest possible value",
        "Moffat & Zobel, ACM TOIS 27(1), 2008, for residuals; the exact bounds are sounding's own",
    ),
    (
        "Test of a difference, and correction for many pairs",
        "Smucker, Allan & Carterette, CIKM 2007; Westfall & Young, Resampling-Based Multiple Testing, 1993;"
        " Holm, Scandinavian Journal of Statistics 6, 1979",
    ),
    (
        "Case: performance and assessment tested side by side",
        "Baillie, Azzopardi & Ruthven, Information Processing & Management 44(2), 2008",
    ),
    (
        "Stability over depth: discrimination, coverage, inversions, volatility, cautions",
        "Lu, Moffat & Culpepper, Information Retrieval Journal 19(4), 2016",
    ),
    ("Leaving out runs and groups, and growth beyond the pool", "Zobel, SIGIR 1998"),
    (
        "Unique relevant documents, and what a reusable collection needs",
        "Voorhees, CLEF 2001, LNCS 2406, 2002",
    ),
    ("Rankings that need no judgments", "Soboroff, Nicholas & Cahan, SIGIR 2001; Aslam & Savell, SIGIR 2003"),
    (
        "Agreement of rankings: tau, tau_ap, RBO",
        "Kendall, Biometrika 30, 1938; Yilmaz, Aslam & Robertson, SIGIR 2008; Webber, Moffat & Zobel, ACM"
        " TOIS 28(4), 2010",
    ),
)


def _methods(report: Report) -> Iterator[Shown]:
    scores, comparison = report.scores, report.comparison
    measures = [(str(measure), measure.definition.summary) for measure in scores.measures]
    yield _listing("measures", "Measures", ("measure", "definition"), measures)
    chosen = [(name.replace("_", " "), str(value)) for name, value in scores.policies.in_force().items()]
    title = "Policies"
    notes = [] if scores.bounds is None else [sentences.BOUNDED]
    yield _listing("policies", title, ("policy", "chosen"), chosen, notes)
    title = "Methods and their sources"
    notes = [] if isinstance(comparison, MissingPart) else comparison_notes.notes(comparison)
    yield _listing("methods", title, ("method", "source"), METHODS, notes)
    rows = [(file.name, file.role, file.size, file.sha256) for file in report.inputs]
    yield _listing("files", "Files", ("file name", "used as", "bytes", "sha256"), rows)
    versions = {"sounding": __version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in PACKAGES}
    notes = [f"Random seed: {report.request.policies.seed}."]
    yield _listing("versions", "Versions", ("what", "version"), list(versions.items()), notes)


def _listing(
    name: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], notes: Sequence[str] = ()
) -> Shown:
    """Return a table that is the same for people and programs."""
    table = Table(columns_of(columns, rows), title=title, notes=list(notes))
    return Shown(name=name, table=table, data=table)


def _labels(report: Report) -> Iterator[Shown]:
    for name, table, data in label_tables(report):
        yield Shown(name=name, table=_first_rows(table), data=data, whole=table)


BLOCKS: Mapping[str, Callable[[Report], Iterator[Shown | Drawn]]] = {
    "labels": _labels,
    "pairs": _pairs, "topics": _topics, "slices": _slices, "measures": _measures, "depth": _depth,
    "collection": _collection, "methods": _methods,
}  # fmt: skip
