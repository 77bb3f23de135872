"""`sounding simulate`: judging replayed from known judgments, by this strategy and by that."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sounding.core.errors import DataError, UnknownNameError
from sounding.terminal.mtc_options import (
    read_judgments,
    read_lists,
    require_chart,
    session_options,
    taken_parameters,
    worth_sharing,
)
from sounding.terminal.options import (
    PEOPLE,
    Options,
    options_refused,
    output_options,
    progress_bar,
    remark,
    write_tables,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sounding.render.tables import Table
    from sounding.runs.retrieved import Retrieved
    from sounding.selection.mtc import Confidence
    from sounding.selection.mtc.session import Parameters
    from sounding.simulate.list_pairs import ListPair, Normality
    from sounding.simulate.reuse import Reuse
    from sounding.simulate.simulation import Row, Truth

MTC = "mtc"
ALSO_CALLED = {"pooling": "rank"}  # the paper's word for a pool that is deepened rank by rank
VIEWS = ("curves", "values", "topics", "documents", "differences", "pairs", "leave-out", "histogram")
HISTOGRAM_DRAWS = 5000  # as in the paper


@dataclass(frozen=True, slots=True, eq=False)
class Replayed:
    """What one strategy did with one seed."""

    rows: list[Row]
    documents: list[int]  # in the order in which they were judged
    confidence: Confidence  # in the end


@click.command("simulate", short_help="Judging replayed from known judgments.")
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--strategy", "strategies", multiple=True, default=("mtc,rank",), show_default=True, metavar="S,S...",
    help="Who chooses: mtc, and any strategy of pool; pooling is another word for rank. May be repeated.",
)  # fmt: skip
@click.option(
    "--judgments", type=click.IntRange(1), default=1024, show_default=True, metavar="N",
    help="How many are made.",
)  # fmt: skip
@click.option("--at", metavar="N,N...", help="When to look; default: 1, 2, 4, ... and at the end.")
@click.option(
    "--seeds",
    default="0",
    show_default=True,
    metavar="S,S...",
    help="Each is a replay of its own, and a draw of its own for --pairs, --leave-out and --histogram.",
)
@click.option("--tables", is_flag=True, help="Values, topics and pairs at the end of the first replay.")
@click.option("--sets", type=click.IntRange(1), metavar="N", help="True values on N sets of topics as well.")
@click.option(
    "--pairs", type=click.IntRange(1), metavar="N",
    help="Judgments that tell two lists of a topic apart, for N pairs of lists drawn at random.",
)  # fmt: skip
@click.option("--leave-out", is_flag=True, help="Each run left out in turn, and put back in the end.")
@click.option("--histogram", nargs=2, metavar="A B", help="Whether the difference of two runs is normal.")
@click.option("--topic", metavar="T", help="Of --histogram: on this topic alone.")
@click.option("--view", type=click.Choice(VIEWS), help="One table alone; files hold curves by default.")
@click.option(
    "--chart", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Draw it all: .html, .svg, .png or .pdf.",
)  # fmt: skip
@session_options
@output_options()
def command(qrels: str, runs: tuple[str, ...], **options: Any) -> None:
    """Replay the judging of RUNs as if QRELS were not known, and see how soon their order is right.

    After every so many judgments: how sure the order is, and how far it agrees with that by all judgments,
    for expected values, plain ones and bpref. What nobody judged is not relevant.

    \b
    sounding simulate qrels.txt runs/ --strategy mtc,pooling,move-to-front --seeds 1,2,3
    sounding simulate qrels.txt runs/ --prior 0.5 --selection faithful --judgments 2200 --tables
    sounding simulate qrels.txt runs/ --judgments 2000 --leave-out
    """  # noqa: D301 - click wants the control character
    parameters = _checked(options)
    judgments, cut = read_judgments(qrels, runs, options)
    retrieved = read_lists(runs, judgments.topics, options)
    truth = _truth(retrieved, judgments, parameters)
    found = _Found(retrieved, truth, parameters, cut, options)
    write_tables(_tables(found), options["format_name"], options["output"])
    if options["chart"] is not None:
        _draw(found)
        remark(f"chart: {options['chart']}", quiet=options["quiet"])
    if options["format_name"] not in PEOPLE:
        from sounding.simulate.tables import replayed_truth_note

        for note in (replayed_truth_note(parameters, retrieved, truth), *found.cut):
            remark(note, quiet=options["quiet"])


# -- what is asked for -----------------------------------------------------------------------------


def _checked(options: Options) -> Parameters:
    """What sessions are asked for; options that cannot be are refused before files are read."""
    from sounding.selection.strategies import find_strategy

    view = options["view"]
    asked = [name.strip() for text in options["strategies"] for name in text.split(",")]
    options["strategies"] = list(dict.fromkeys(asked))
    for name in options["strategies"]:
        if name != MTC:
            with options_refused():
                find_strategy(ALSO_CALLED.get(name, name))
    options["seeds"] = _numbers("seeds", options["seeds"], least=0)
    options["at"] = _checkpoints(options)
    if options["sets"] is not None and not options["tables"] and view != "values":
        raise click.UsageError(
            "--sets belongs to the table of values: give --tables or --view values as well"
        )
    if view == "pairs" and options["pairs"] is None:
        raise click.UsageError("--view pairs: say how many pairs of lists with --pairs, such as --pairs 500")
    if view == "histogram" and not options["histogram"]:
        raise click.UsageError("--view histogram: name two runs with --histogram A B")
    if options["topic"] is not None and not options["histogram"]:
        raise click.UsageError("--topic belongs to --histogram A B")
    if options["chart"] is not None:
        require_chart(options["chart"])
    options["leave_out"] = options["leave_out"] or view == "leave-out"
    return taken_parameters(options)


def _numbers(name: str, text: str, *, least: int) -> list[int]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and int(word) >= least for word in words):
        raise click.UsageError(f"--{name} {text!r}: expected whole numbers from {least}, such as 1,2,3")
    return list(dict.fromkeys(int(word) for word in words))


def _checkpoints(options: Options) -> list[int]:
    from sounding.simulate.simulation import doublings

    if options["at"] is None:
        return doublings(options["judgments"])
    asked = sorted(_numbers("at", options["at"], least=1))
    if asked[-1] > options["judgments"]:
        raise click.UsageError(f"--at {asked[-1]}: only {options['judgments']} are made; raise --judgments")
    return asked


def _truth(retrieved: Retrieved, judgments: Any, parameters: Parameters) -> Truth:
    from sounding.measures.forms import form_of
    from sounding.simulate.simulation import Truth

    truth = Truth.of(
        retrieved, judgments, form_of(parameters.measure, parameters.depth, retrieved.lists.shape[2])
    )
    if not len(truth.pool):
        raise DataError("the runs have no documents for the topics of the qrels: there is nothing to judge")
    if not truth.relevant.any():
        raise DataError(f"{judgments.source}: no document is relevant, so no run is better than another")
    if not truth.values.any():
        raise DataError(
            f"{judgments.source}: no relevant document is among the first {parameters.depth} of any run:"
            " all have 0"
        )
    return truth


# -- what is found ---------------------------------------------------------------------------------


class _Found:
    """All that was asked for, each part worked out when it is first used."""

    def __init__(
        self, retrieved: Retrieved, truth: Truth, parameters: Parameters, cut: str | None, options: Options
    ) -> None:
        self.retrieved, self.truth, self.parameters, self.options = retrieved, truth, parameters, options
        self.cut = [] if cut is None else [cut]  # how the pool was cut
        self._kept: dict[str, Any] = {}

    @property
    def replays(self) -> list[Replayed]:
        """One for every strategy and seed."""
        return self._once("replays", _replays)

    @property
    def rows(self) -> list[Row]:
        """Those of all replays."""
        return [row for replay in self.replays for row in replay.rows]

    @property
    def pairs(self) -> list[ListPair]:
        """Pairs of lists with the judgments that tell them apart."""
        return self._once("pairs", _list_pairs)

    @property
    def reused(self) -> list[Reuse]:
        """Each run left out."""
        return self._once("reused", _reused)

    @property
    def normality(self) -> Normality:
        """Of the difference of two runs."""
        return self._once("normality", _normality)

    def _once(self, name: str, work: Any) -> Any:
        if name not in self._kept:
            self._kept[name] = work(self)
        return self._kept[name]


def _replays(found: _Found) -> list[Replayed]:
    from sounding.core.workers import map_items

    options = found.options
    items = [(name, seed) for name in options["strategies"] for seed in options["seeds"]]
    processes = worth_sharing(len(items), options["jobs"])
    alone = processes == 1
    total = len(items) * (min(options["judgments"], len(found.truth.pool)) if alone else 1)
    with progress_bar(total, quiet=options["quiet"], label="judging") as progress:
        each = progress if alone else None  # a bar cannot be sent to another process
        return map_items(
            lambda item: _replayed(found, *item, each),
            items, processes=processes, progress=None if alone else progress,
        )  # fmt: skip


def _replayed(found: _Found, name: str, seed: int, progress: Any) -> Replayed:
    from sounding.selection.mtc import Session
    from sounding.selection.strategies import find_strategy, make_strategy
    from sounding.simulate.simulation import simulate

    session = Session(found.retrieved, seed=seed, **asdict(found.parameters))
    strategy = None
    if name != MTC:
        kind = find_strategy(ALSO_CALLED.get(name, name))
        level = {"level": session.form.level} if "level" in kind.parameters else {}
        strategy = make_strategy(kind.name, found.retrieved, seed=seed, **level)
    rows = simulate(
        session, found.truth, [*found.options["at"], found.options["judgments"]], name=name,
        strategy=strategy, sure=found.options["sure"], progress=progress,
    )  # fmt: skip
    documents = [document for document, _ in session.state()["judgments"]]
    return Replayed(rows, documents, session.up_to_date().confidence())


def _list_pairs(found: _Found) -> list[ListPair]:
    from sounding.simulate.list_pairs import list_pairs

    options = found.options
    with progress_bar(
        options["pairs"] * len(options["seeds"]), quiet=options["quiet"], label="pairs of lists"
    ) as progress:
        return list_pairs(
            found.retrieved, found.truth, found.parameters, sure=options["sure"], most=options["pairs"],
            seeds=options["seeds"], processes=worth_sharing(options["pairs"], options["jobs"]),
            progress=progress,
        )  # fmt: skip


def _reused(found: _Found) -> list[Reuse]:
    from sounding.simulate.reuse import reuse

    options, runs = found.options, len(found.retrieved.runs)
    if runs < 3:
        raise DataError("--leave-out needs three runs or more: one alone is no ranking")
    last = options["judgments"]
    quarters = sorted({max(1, last * quarter // 4) for quarter in range(1, 5)})
    with progress_bar(runs * len(options["seeds"]), quiet=options["quiet"], label="leaving out") as progress:
        rows = reuse(
            found.retrieved, found.truth, found.parameters, quarters, seeds=options["seeds"],
            processes=worth_sharing(runs, options["jobs"]), progress=progress,
        )  # fmt: skip
    if not rows:
        raise DataError(f"fewer than {quarters[0]} documents can be judged; lower --judgments")
    return rows


def _normality(found: _Found) -> Normality:
    import numpy as np

    from sounding.data.finding import RunIndex
    from sounding.selection.mtc import Session
    from sounding.simulate.list_pairs import normality

    index, options = RunIndex(found.retrieved.runs, found.retrieved.tags), found.options
    places = [index.place(name) for name in options["histogram"]]
    topics = found.retrieved.topics
    if options["topic"] is not None and options["topic"] not in topics:
        raise UnknownNameError("topic", options["topic"], topics)
    two = found.retrieved.pick(places)
    asked = asdict(replace(found.parameters, draws=HISTOGRAM_DRAWS))
    chosen = slice(None) if options["topic"] is None else [topics.index(options["topic"])]
    gaps = []
    for seed in options["seeds"]:
        values = Session(two, seed=seed, **asked).drawn_values()[chosen]
        gaps.append((values[:, 0] - values[:, 1]).mean(axis=0, dtype=float))
    result = normality(np.concatenate(gaps))
    if result is None:
        raise DataError(
            f"{two.runs[0]} and {two.runs[1]} differ by the same in every completion: nothing varies"
        )
    return result


# -- what is shown ---------------------------------------------------------------------------------


def _tables(found: _Found) -> list[Table]:
    """All that was asked for, for people and in json; one table in other formats for programs."""
    options, view = found.options, found.options["view"]
    layout = options["format_name"]
    wanted = ["curves", *_more(options)] if view is None else [view]
    if layout in PEOPLE:
        return [table for name in wanted for table in _view(found, name, for_people=True)]
    first, *others = ((name, _view(found, name, for_people=False)) for name in _in_file(wanted, layout))
    parts = {name: [row for table in tables for row in table.rows()] for name, tables in others}
    if len(wanted) > 1 and layout != "json":
        remark(
            f"{layout} holds the curves alone, not {', '.join(wanted[1:])}: each comes with --view, and json"
            " holds all",
            quiet=options["quiet"],
        )
    return [replace(first[1][0], facts={**first[1][0].facts, **parts}), *first[1][1:]]


def _more(options: Options) -> list[str]:
    """The tables that are asked for beside the curves."""
    asked = ["values", "topics", "differences"] if options["tables"] else []
    return asked + [name for name in ("pairs", "leave-out", "histogram") if options[name.replace("-", "_")]]


def _in_file(wanted: list[str], layout: str) -> list[str]:
    """Those of the tables that a format for programs has room for: json for all, others for one."""
    return wanted if layout == "json" else wanted[:1]


def _view(found: _Found, name: str, for_people: bool) -> list[Table]:
    from sounding.simulate import tables as made
    from sounding.simulate.list_pairs import correlations
    from sounding.simulate.reuse import prior_when_back

    options, parameters = found.options, found.parameters
    if name == "curves":
        return [_curves(found, for_people)]
    if name in ("values", "topics", "documents", "differences"):
        return [_at_the_end(found, name, for_people)]
    if name == "pairs":
        related = correlations(found.pairs)
        return [made.list_pairs_table(found.pairs, related, options["sure"], brief=for_people)]
    if name == "leave-out":
        return made.reuse_tables(found.reused, prior_when_back(parameters.prior), brief=for_people)
    where = "all topics" if options["topic"] is None else f"topic {options['topic']}"
    return [made.normality_table(found.normality, options["histogram"], where, parameters.prior)]


def _at_the_end(found: _Found, name: str, for_people: bool) -> Table:
    """A table of how things stood when the first replay had ended."""
    from sounding.simulate import tables as made

    options, truth, parameters, first = found.options, found.truth, found.parameters, found.replays[0]
    who = f"{options['strategies'][0]}, seed {options['seeds'][0]}"
    if name == "values":
        return made.values_table(first.confidence, truth, parameters.measure, _sets(found), who)
    if name == "topics":
        return made.topics_table(found.retrieved, truth, first.documents, _level(parameters), who)
    if name == "documents":
        return made.documents_table(found.retrieved, truth, first.documents, who)
    return made.differences_table(first.confidence, truth, options["sure"], who, brief=for_people)


def _curves(found: _Found, for_people: bool) -> Table:
    from sounding.plan import tables as mtc_tables
    from sounding.simulate import tables as made

    options, rows = found.options, found.rows
    facts = {
        "truth": made.replayed_truth_note(found.parameters, found.retrieved, found.truth),
        "parameters": asdict(found.parameters), "pool": len(found.truth.pool), "sure": options["sure"],
        "policies": {name: options[name] for name in ("ties", "compat", "duplicates")},
    }  # fmt: skip
    if not for_people:
        return replace(made.curve_table(rows, []), facts=facts)
    notes = [
        *made.cost_notes(rows, len(found.truth.pool), options["sure"]),
        made.replayed_truth_note(found.parameters, found.retrieved, found.truth),
        *found.cut,
        *made.topic_notes(found.retrieved, found.truth),
        *mtc_tables.missing_notes(found.retrieved),
        mtc_tables.how_note(found.parameters),
        *made.curve_notes(len(options["seeds"]), options["sure"], found.truth),
    ]
    return made.mean_curve_table(rows, notes)


def _sets(found: _Found) -> Sequence[Any]:
    """Topics in so many sets of neighbours."""
    import numpy as np

    topics, number = len(found.retrieved.topics), found.options["sets"]
    if number is None:
        return []
    if number > topics:
        raise DataError(f"--sets {number}: there are only {topics} topics")
    return np.array_split(np.arange(topics), number)


def _level(parameters: Parameters) -> float:
    from sounding.measures.forms import form_of

    return form_of(parameters.measure, parameters.depth, 1).level


def _draw(found: _Found) -> None:
    """The charts of all that was asked for, under each other."""
    import polars

    from sounding.plan.charts import expected_values
    from sounding.render.save import save, together
    from sounding.simulate import charts
    from sounding.simulate.tables import agreement_rows, mean_rows, true_rows

    options = found.options
    drawn: list[Any] = []
    if options["view"] in (None, "curves"):
        means = polars.DataFrame(mean_rows(found.rows))
        if len(options["seeds"]) > 1:
            means = means.rename({"lowest": "lower", "highest": "upper"})
        drawn.append(charts.confidence_by_judgments(means, wanted=options["sure"]))
        drawn.append(charts.agreement_by_judgments(polars.DataFrame(agreement_rows(found.rows))))
    if options["tables"] or options["view"] == "values":
        first = found.replays[0].confidence
        frame = polars.DataFrame(true_rows(first, found.truth))
        drawn.append(expected_values(frame, measure=found.parameters.measure))
    if options["leave_out"]:
        drawn += _reuse_charts(found)
    if options["pairs"] is not None:
        drawn.append(charts.judgments_by_difference(polars.DataFrame(found.pairs)))
    if options["histogram"]:
        frame = polars.DataFrame({"deviations": found.normality.standardised})
        drawn.append(charts.difference_histogram(frame, p=found.normality.p))
    if not drawn:
        raise DataError(f"--view {options['view']} has no chart; leave --chart out, or --view")
    save(together(drawn), options["chart"])


def _reuse_charts(found: _Found) -> list[Any]:
    import polars

    from sounding.simulate import charts
    from sounding.simulate.tables import reuse_rows

    confidence, agreement = (polars.DataFrame(rows) for rows in reuse_rows(found.reused))
    title = "{0} when each run is left out and put back"
    return [
        charts.confidence_by_judgments(
            confidence, wanted=found.options["sure"], title=title.format("Confidence")
        ),
        charts.agreement_by_judgments(agreement, title=title.format("Agreement with the true order")),
    ]
