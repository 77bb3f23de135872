"""Run `sounding compare`: check what was asked for, compare the runs, write what was found."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import NamedTuple

import click

from sounding.compare import headlines, sentences, tables
from sounding.compare.advice import advise
from sounding.compare.charts import chart_of
from sounding.compare.command import CompareOptions
from sounding.compare.comparison import DEFAULT_MEASURES, compare
from sounding.compare.depth_tables import case_tables, depth_tables, tidy_cases
from sounding.compare.depths import at_depths
from sounding.compare.designs import design_runs
from sounding.compare.gate import check_thresholds, gate_comparison, parse_conditions
from sounding.compare.holds import DEFAULT_UNTIL
from sounding.compare.pair_account import explain, explain_in_markdown
from sounding.compare.result import Comparison
from sounding.compare.slices import SlicedPairs, slice_comparison
from sounding.core.errors import DataError, FormatError, UnknownNameError
from sounding.core.policies import Policies
from sounding.core.text import fill_paragraph, sentence
from sounding.core.workers import Progress
from sounding.data.formats import run_sources
from sounding.data.run_info import RunInfo
from sounding.data.sources import STDIN, plain_name
from sounding.measures import Measure, parse_measures
from sounding.measures.assessed import chosen_assessment
from sounding.measures.summaries import check_comparable, comparable
from sounding.render.save import require_suffix, save
from sounding.render.style import require_charts
from sounding.render.tables import BOLD, PLAIN, Answer, Table, markdown_text, shown_notes
from sounding.statistics.pairwise import OWN, Procedure, find_test
from sounding.terminal.declare import by_suffix, typed
from sounding.terminal.options import (
    NO_NOTES,
    PEOPLE,
    names_refused,
    options_refused,
    policies_of,
    pooled_judgments,
    progress_bar,
    prose_width,
    read_info,
    remark,
    suggest,
    uses_color,
    write_answer,
    write_tables,
    write_text,
)
from sounding.terminal.plan_file import Plan, PlanChoices, planned_judgments, read_plan

DEFAULT_FAMILIES = ("P", "AP")  # with --depths

# Views, and the options that each has no use for.
VIEWS = {
    "matrix": (
        "pair", "focus", "by", "design", "each_pair", "top", "baselines", "margin", "info", "chart", "holds",
    ),
    "design": (
        "only", "focus", "by", "each_pair", "top", "margin", "permutations", "fail_on", "info", "chart",
        "holds", "assessment",
    ),
    "pair": ("focus", "each_pair", "baselines", "only"),
    "focus": ("baselines", "depths", "fail_on"),
    "by": ("depths", "holds", "margin", "fail_on", "chart", "documents"),
}  # fmt: skip
SPELLINGS = {
    "baselines": "--baseline", "measures": "--measure", "collections": "--collection", "focus": "--for",
}  # fmt: skip
KEPT = (  # options of this command that the next one repeats
    "measures", "info", "only", "test", "correction", "assessment", "alpha", "permutations", "pool_depth",
    "qrels_format", "run_format", "policy", "unjudged", "universe", "at_most", "depth", "seed",
)  # fmt: skip
FOR_A_PAIR = tuple(name for name in KEPT if name != "only")


class Source(NamedTuple):
    """Locations of a collection's judgments and runs."""

    name: str
    qrels: str
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRequest:
    """Request that is applied to every collection."""

    options: CompareOptions
    collections: Sequence[Source]
    depths: tuple[int, ...]
    measures: tuple[Measure, ...]
    dropped: tuple[Measure, ...]  # of those that were named, by which nothing can be compared
    policies: Policies
    procedure: Procedure
    plan: Plan | None

    @property
    def people(self) -> bool:
        """Return whether people read the output."""
        return self.options.format_name in PEOPLE

    @property
    def counts_only(self) -> bool:
        """Return whether cases are counted by depth, and no pair is shown."""
        options = self.options
        return bool(self.depths) and not (options.each_pair or options.pair or options.matrix)

    def choices(self, correction: str) -> PlanChoices:
        """Return the final choices, for comparison with a plan."""
        options = self.options
        return PlanChoices(
            measures=_named_measures(options), depths=self.depths or None, test=self.procedure.test,
            correction=None if correction == OWN else correction, alpha=options.alpha, margin=options.margin,
            baseline=options.baselines or None, policies=asdict(self.policies),
            judgments=planned_judgments(
                self.plan, self.collections[0].qrels, options.qrels_format, self.policies
            ),
        )  # fmt: skip

    def bar(self, total: int, label: str) -> AbstractContextManager[Progress | None]:
        """Show the progress of one step."""
        return progress_bar(total, quiet=self.options.quiet, label=label)


Results = Sequence[tuple[str, Comparison]]  # by the name of the collection


def run(options: CompareOptions) -> int:
    """Compare the runs and print what was found; the exit status says what --fail-on found."""
    request = make_request(options)
    if options.design:
        _run_design(request)
        return 0
    options = request.options
    info = read_info(options.info, options.only)
    # Runs of other collections may have the same names, and were pooled elsewhere.
    found = [
        (one.name, _compare(one, request, None if place else info))
        for place, one in enumerate(request.collections)
    ]
    first = found[0][1]
    echo = Echo.of(request, first.performance_tests[0].correction)
    _write(found, request, echo)
    _write_files(first, options)
    _write_deviations(request, echo)
    if not options.fail_on:
        return 0
    verdict = gate_comparison(first, options.fail_on)
    click.echo(str(verdict), err=True)
    return verdict.exit_code


# -- what is asked for -----------------------------------------------------------------------------


def make_request(options: CompareOptions) -> CompareRequest:
    """Return what is asked for; all that can be refused before files are read is."""
    # What a plan fixes is no mistake of the call.
    names = (field.name for field in fields(options))
    given = {name for name in names if typed(name)}
    plan = None if options.preregistered is None else read_plan(options.preregistered)
    if plan is not None:
        options = _with_choices(options, plan.choices, given)
    with options_refused():
        policies = policies_of(options, always_bounds=True)
        procedure = Procedure(
            test=options.test, correction=options.correction, alpha=options.alpha, margin=options.margin,
            permutations=options.permutations, seed=policies.seed,
        )  # fmt: skip
    depths = _parse_depths(options.depths)
    collections = _collections(options, depths)
    options = replace(options, against=_split(options.against), pair=options.pair or _only_pair(options))
    request = CompareRequest(
        options=options, collections=collections, depths=depths, measures=(), dropped=(), policies=policies,
        procedure=procedure, plan=plan,
    )  # fmt: skip
    _check_view(request, given)
    with options_refused():
        parse_conditions(options.fail_on)
    if options.fail_on and not (options.baselines or typed("pair")):
        raise click.UsageError("--fail-on looks at runs against a baseline; give --baseline or --pair")
    if options.against and options.focus is None:
        raise click.UsageError("--against names the runs that --for is compared with; give --for RUN as well")
    with options_refused():
        measures, dropped = _measures(request)
        for measure in measures:
            chosen_assessment(measure, options.assessment)
        check_thresholds(options.fail_on, measures)
    return replace(request, measures=measures, dropped=dropped)


def _split(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the names of runs in texts that separate them by commas."""
    return tuple(name for text in texts for name in (part.strip() for part in text.split(",")) if name)


def _only_pair(options: CompareOptions) -> tuple[str, str] | None:
    """Return the two runs where there are no others and no other view is asked for; None: otherwise."""
    others = ("baselines", "depths", "matrix", "design", "focus", "by", "collections", "only")
    if any(getattr(options, name) for name in others):
        return None
    sources = [place.source for place in run_sources(options.runs)]
    if len(sources) != 2 or not all(isinstance(one, str | Path) and str(one) != STDIN for one in sources):
        return None
    a, b = map(str, sources)
    return None if a == b else (a, b)


def _with_choices(options: CompareOptions, choices: PlanChoices, given: Collection[str]) -> CompareOptions:
    """Return the options with what a plan fixes and the command line does not say."""
    fixed = choices.made()
    fixed.pop("judgments", None)  # of the qrels, not of the call
    if "depths" in fixed:
        fixed["depths"] = (",".join(map(str, fixed["depths"])),)
    if "baseline" in fixed:
        baselines = fixed.pop("baseline")
        if not (options.pair or options.matrix):  # one pair, or all: a deviation, which is named
            fixed["baselines"] = baselines
    return replace(options, **{name: value for name, value in fixed.items() if name not in given})


def _collections(options: CompareOptions, depths: Sequence[int]) -> list[Source]:
    """Return all collections by the names of their qrels, the one of the arguments first."""
    qrels, runs = options.qrels, options.runs
    stray = [name for name in (qrels, *runs) if name and name.isdigit() and not Path(name).exists()]
    if depths and stray:
        given = ",".join(map(str, (*depths, *stray)))
        raise click.UsageError(f"no file {stray[0]!r}; depths are one text with commas: --depths {given}")
    others = [Source(name, source, (files,)) for name, source, files in options.collections]
    if qrels is None and not others:
        raise click.UsageError("missing QRELS and RUN...: give them, or collections with --collection")
    if qrels is not None and not runs:
        raise click.UsageError("missing RUN...: give the runs to compare")
    if others and not depths:
        raise click.UsageError("--collection counts decisions by depth; give --depths as well")
    single = [name for name in ("pair", "matrix", "design", "fail_on", "only") if getattr(options, name)]
    if others and single:
        raise click.UsageError(f"{_spelt(single[0])} is for one collection; leave --collection out")
    first = [] if qrels is None else [Source(plain_name(qrels), qrels, runs)]
    names = [one.name for one in (*first, *others)]
    if len(set(names)) < len(names):
        raise click.UsageError(f"two collections are called {max(names, key=names.count)!r}")
    return [*first, *others]


def _measures(request: CompareRequest) -> tuple[tuple[Measure, ...], tuple[Measure, ...]]:
    """The measures that runs are compared by, with the depths put to them; and those that were dropped.

    A name that stands for many measures, such as `official`, may hold some that nothing is compared by.
    """
    named = _named_measures(request.options)
    kept = list(named)
    dropped: list[Measure] = []
    for name in () if request.depths else named:
        part = parse_measures([name])
        if len(part) > 1:
            good, others = comparable(part)
            place = kept.index(name)
            kept[place : place + 1] = map(str, good)
            dropped += others
    measures = at_depths(kept, request.depths) if request.depths else parse_measures(kept)
    check_comparable(measures, request.policies)
    return measures, tuple(dropped)


def _named_measures(options: CompareOptions) -> tuple[str, ...]:
    """The measures, before depths are put to them."""
    return options.measures or (DEFAULT_FAMILIES if options.depths else DEFAULT_MEASURES)


def _parse_depths(texts: Sequence[str]) -> tuple[int, ...]:
    """The depths that were given, each once."""
    if not texts:
        return ()
    text = ",".join(texts)
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and int(word) for word in words):
        raise click.UsageError(f"--depths {text!r}: expected whole numbers from 1, such as 10,30,100")
    return tuple(dict.fromkeys(int(word) for word in words))


def _check_view(request: CompareRequest, given: Collection[str]) -> None:
    """Refuse options that would change nothing, so that nobody believes that they did."""
    options, test = request.options, request.procedure.test
    for view, others in VIEWS.items():
        for other in others:
            if other == "info" and (options.pool_depth or options.only):
                continue  # it says which runs made the pool that is cut, or are compared
            if getattr(options, view) and getattr(options, other) and other in given:
                named = ": --pair names the runs" * ((view, other) == ("pair", "only"))
                both = f"{_spelt(view)} and {_spelt(other)}"
                raise click.UsageError(f"{both} do not go together{named}; give one")
    if options.pair and options.pair[0] == options.pair[1]:
        a, b = options.pair
        raise click.UsageError(f"--pair {a} {b}: a run against itself; name two different runs")
    if options.documents is not None and (not options.pair or options.design):
        raise click.UsageError("--documents lists what would settle one pair; give --pair A B as well")
    by_suffix(options.documents, "csv", option="--documents")
    if options.chart is not None:
        _check_chart(options, options.chart)
    if options.each_pair and not request.depths:
        raise click.UsageError("--each-pair changes nothing without --depths; every pair is shown anyway")
    if "permutations" in given and not find_test(test).draws:
        raise click.UsageError(f"--permutations changes nothing with --test {test}, which makes no draws")
    if options.until is not None and not (options.holds or options.focus):
        raise click.UsageError("--until says what --holds is about; give --holds as well")
    if request.counts_only:
        _check_counts(options, given)


def _check_counts(options: CompareOptions, given: Collection[str]) -> None:
    """Refuse what is about pairs where they are only counted."""
    if options.holds:
        raise click.UsageError("--holds is about pairs, and --depths counts them; give --each-pair as well")
    if options.top and options.format_name in NO_NOTES:
        raise click.UsageError(
            f"--top shortens the list of pairs that move, which {options.format_name} does not have;"
            " use --format json, or --each-pair"
        )
    if "margin" in given and not options.fail_on and not options.design:
        raise click.UsageError("--margin changes no case; give --each-pair to see it beside every pair")


def _check_chart(options: CompareOptions, chart: Path) -> None:
    """Refuse before files are read what could not be drawn after."""
    if options.depths and not (options.each_pair or options.pair):
        raise click.UsageError("--chart draws pairs, not counts of cases; give --each-pair or --pair as well")
    if options.collections:
        raise click.UsageError("--chart is for one collection; leave --collection out")
    require_suffix(chart)
    require_charts("altair", "drawing a chart")


def _spelt(name: str) -> str:
    return SPELLINGS.get(name, f"--{name.replace('_', '-')}")


# -- plans -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Echo:
    """A plan, and what was done."""

    plan: Plan
    choices: PlanChoices

    @staticmethod
    def of(request: CompareRequest, correction: str) -> Echo | None:
        """Return what was planned and what was done; None where there was no plan."""
        return None if request.plan is None else Echo(request.plan, request.choices(correction))

    def notes(self) -> list[str]:
        """Return the plan and every choice that deviates from it, as sentences for people."""
        deviations = [sentences.deviates(deviation) for deviation in self.plan.check(self.choices)]
        return [sentence(self.plan.describe()), *(deviations or [sentences.PLAN_FOLLOWED])]


def _with_plan(shown: Sequence[Table], echo: Echo | None, *, people: bool) -> Sequence[Table]:
    """The tables for programs with the plan and all deviations from it as facts."""
    if echo is None or people:
        return shown
    first, *others = shown
    return [replace(first, facts={"plan": echo.plan.facts(echo.choices), **first.facts}), *others]


@contextmanager
def _plan_blamed(plan: Plan | None) -> Iterator[None]:
    """A baseline that the plan names wrongly is said with the line of the plan."""
    try:
        yield
    except UnknownNameError as error:
        planned = () if plan is None else plan.choices.baseline or ()
        if plan is None or error.kind != "run" or error.name not in planned:
            raise
        raise FormatError(plan.source, plan.lines["baseline"], f"baseline: {error}") from error


# -- computing -------------------------------------------------------------------------------------


def _compare(collection: Source, request: CompareRequest, info: dict[str, RunInfo] | None) -> Comparison:
    """Compare the runs of one collection; `info` lists those that were pooled."""
    options, procedure = request.options, request.procedure
    counts = request.counts_only or options.matrix
    with names_refused(), _plan_blamed(request.plan):
        found = compare(
            collection.qrels, collection.runs, request.measures, baselines=options.baselines,
            pair=options.pair, focus=options.focus, against=options.against, only=options.only,
            procedure=procedure,
            assessment=options.assessment, settled=not counts or bool(options.fail_on),
            until=options.until or (DEFAULT_UNTIL if options.holds else None),
            pool_depth=options.pool_depth, info=info, policies=request.policies,
            qrels_format=options.qrels_format, run_format=options.run_format, jobs=options.jobs,
            bars=request.bar,
        )  # fmt: skip
    if request.counts_only and found.only_relevant:
        raise DataError(
            f"{collection.qrels}: lists only relevant documents, so no pair has a case that --depths could"
            " count; sounding depth shows how many pairs differ at each depth"
        )
    more = []
    if request.dropped:
        more.append(sentences.left_out(request.dropped))
    if request.counts_only and procedure.margin is not None and not options.fail_on:
        more.append(sentences.margin_without_use(procedure.margin))
    return replace(found, notes=(*found.notes, *more))


def _run_design(request: CompareRequest) -> None:
    """Show what the topics at hand can tell; nothing is compared for it."""
    options, collection = request.options, request.collections[0]
    with names_refused(), _plan_blamed(request.plan):
        judgments, cut, _ = pooled_judgments(
            collection.qrels, collection.runs, options, request.policies, read_info(options.info)
        )
        found = design_runs(
            judgments, collection.runs, request.measures, baselines=options.baselines, pair=options.pair,
            policies=request.policies, procedure=request.procedure, qrels_format=options.qrels_format,
            run_format=options.run_format, jobs=options.jobs, bars=request.bar,
        )  # fmt: skip
    echo = Echo.of(request, found.correction)
    made = tables.people_designs(found) if request.people else [tables.tidy_designs(found)]
    notes = [
        *([] if echo is None else echo.notes()),
        *([] if cut is None else [sentence(cut)]),
        *([sentences.left_out(request.dropped)] if request.dropped else []),
        *headlines.design_notes(found, every=options.notes),
    ]
    following = suggest("compare", *_pair_words(request), keep=KEPT)
    shown = _with_plan(made, echo, people=request.people)
    write_answer(Answer(headlines.design_headline(found), shown, notes, following), options)
    _write_deviations(request, echo)


# -- writing ---------------------------------------------------------------------------------------


def _write(found: Results, request: CompareRequest, echo: Echo | None) -> None:
    """Print or write what was found."""
    options, comparison = request.options, found[0][1]
    if options.by is not None:
        answer = _slices_answer(slice_comparison(comparison, options.by), request)
    else:
        answer = Answer(
            _headline(found, request), _tables(found, request), _notes(found, request), _next(found, request)
        )
    if echo is not None:
        answer = replace(answer, notes=[*echo.notes(), *answer.notes])
    if options.pair and not options.by and options.format_name in ("table", "md"):
        write_text(_explained(comparison, answer, options), options.output)
        return
    write_answer(replace(answer, tables=_with_plan(answer.tables, echo, people=request.people)), options)


def _explained(comparison: Comparison, answer: Answer, options: CompareOptions) -> str:
    """Return the account of one pair between the headline and the notes."""
    notes = shown_notes(answer.notes, all_notes=options.notes)
    if options.format_name == "md":
        parts = [markdown_text(answer.headline), explain_in_markdown(comparison, top=options.top)]
        parts.append("\n".join(f"- {markdown_text(note)}" for note in notes))
        parts += [f"Next: `{answer.next_command}`"] if answer.next_command else []
    else:
        width = prose_width(options.output)
        headline = fill_paragraph(answer.headline, width)
        parts = [f"{BOLD}{headline}{PLAIN}" if uses_color(options.output) else headline]
        parts.append(explain(comparison, width=width, top=options.top))
        parts.append("\n".join(fill_paragraph(note, width) for note in notes))
        parts += [f"Next: {answer.next_command}"] if answer.next_command else []
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def _headline(found: Results, request: CompareRequest) -> str:
    """Return the sentence that answers what was asked."""
    options, comparison = request.options, found[0][1]
    if request.counts_only:
        return headlines.depth_headline(found)
    if options.matrix:
        return headlines.matrix_headline(comparison)
    if options.pair:
        return headlines.pair_headline(comparison)
    if options.focus is not None:
        return headlines.focus_headline(comparison, tables.ranks_of(comparison))
    if options.baselines:
        return headlines.baseline_headline(comparison)
    texts = [headlines.pairs_headline(one) for _, one in found]
    if len(found) == 1:
        return texts[0]
    return " ".join(f"{name}: {text}" for (name, _), text in zip(found, texts, strict=True))


def _notes(found: Results, request: CompareRequest) -> list[str]:
    """Return what a reader should know, the most important first."""
    shown, every = not (request.counts_only or request.options.matrix), request.options.notes
    if len(found) == 1:
        chances = request.options.holds or every  # with --for they are there without having been asked for
        comparison = found[0][1] if chances else replace(found[0][1], holds=None)
        return sentences.notes(comparison, intervals=shown, every=every)
    own = [f"{name}: {note}" for name, one in found for note in (*one.limits, *one.notes)]
    return [*own, *sentences.notes(replace(found[0][1], notes=()), intervals=shown, every=every)]


def _next(found: Results, request: CompareRequest) -> str | None:
    """Return the command to type next."""
    options, comparison = request.options, found[0][1]
    if len(found) > 1 or options.qrels is None:
        return None
    if request.counts_only:
        return suggest("compare", "--depths", ",".join(map(str, request.depths)), "--each-pair", keep=KEPT)
    if options.pair:
        return _next_for_pair(comparison)
    if options.matrix:
        return suggest("compare", "--for", tables.best_run(comparison), keep=KEPT)
    _, pair = _most_doubtful(comparison)
    return suggest("compare", "--pair", *comparison.names(pair), keep=FOR_A_PAIR)


def _most_doubtful(comparison: Comparison) -> tuple[int, int]:
    """Return the row to look at: significant but weak or unsettled, or else the first with a difference."""
    rows = comparison.by_rank()
    for row in rows:
        if comparison.significant[row] and (comparison.cases[row] == 4 or comparison.settled(*row) is False):
            return row
    gaps = [comparison.performance_tests[number].difference[pair] for number, pair in rows]
    return next((row for row, gap in zip(rows, gaps, strict=True) if abs(gap) > 0), rows[0])


def _next_for_pair(comparison: Comparison) -> str:
    """Return what follows the account of a pair: a list of documents, topics needed, or a report."""
    pair = ("--pair", *comparison.names(0))
    (situation,) = comparison.situations([(0, 0)])
    action = advise(situation).action
    if action == "add topics":
        return suggest("compare", *pair, "--design", keep=KEPT)
    if comparison.accounts and comparison.settled(0, 0) is False:
        chances = () if comparison.holds is not None else ("--holds",)
        return suggest("compare", *pair, *chances, "--documents", "judge.csv", keep=KEPT)
    keep = (
        "measures",
        "info",
        "only",
        "pool_depth",
        "test",
        "correction",
        "alpha",
        "qrels_format",
        "run_format",
    )
    return suggest("report", "-o", "report.html", keep=keep)


def _pair_words(request: CompareRequest) -> list[str]:
    """The options that choose the same pairs again."""
    options = request.options
    if typed("pair") and options.pair:
        return ["--pair", *options.pair]
    return [word for name in options.baselines for word in ("--baseline", name)]


def _tables(found: Results, request: CompareRequest) -> list[Table]:
    """Return the tables of the view that was asked for."""
    options, comparison = request.options, found[0][1]
    terminal = options.format_name == "table"
    widest = tables.WIDEST_NAME if terminal else None
    if options.matrix:
        line = tables.SIGNS_IN_LINE if terminal else None
        return (
            tables.matrix_tables(comparison, widest=widest, line=line)
            if request.people
            else [tables.tidy_matrix(comparison)]
        )
    if request.counts_only:
        return _cases_by_depth(found, request)
    if not request.people:
        return tables.tidy_pairs_of(found, options.top)
    if options.focus is not None:
        return [tables.focus_table(comparison, options.top, widest, chances=options.holds)]
    if options.baselines and options.format_name == "md" and not options.holds and options.margin is None:
        return [tables.summary_table(comparison, options.top)]
    return [
        tables.people_pairs(
            one, options.top, title=name if len(found) > 1 else None, full=not terminal, widest=widest
        )
        for name, one in found
    ]


def _slices_answer(sliced: SlicedPairs, request: CompareRequest) -> Answer:
    """Return the sentences about the pairs, slice by slice."""
    options, comparison = request.options, sliced.comparison
    terminal = options.format_name == "table"
    if request.people:
        shown = tables.slice_table(sliced, options.top, tables.WIDEST_NAME if terminal else None)
    else:
        shown = tables.tidy_slices(sliced, options.top)
    notes = [*sentences.slice_notes(sliced), *sentences.notes(comparison, every=options.notes)]
    _, pair = _most_doubtful(comparison)
    following = suggest("compare", "--pair", *comparison.names(pair), keep=FOR_A_PAIR)
    return Answer(headlines.slices_headline(sliced), [shown], notes, following)


def _cases_by_depth(found: Results, request: CompareRequest) -> list[Table]:
    top = request.options.top
    if not request.people:
        return [tidy_cases(found, top)]
    several = len(found) > 1
    shown = case_tables(found)
    for name, comparison in found:
        shown += depth_tables(comparison, name if several else None, top)
    return shown


def _write_files(comparison: Comparison, options: CompareOptions) -> None:
    """Write the list of documents and the chart, where they are asked for."""
    if options.documents is not None:
        table = tables.document_table(comparison)
        write_tables([table], by_suffix(options.documents, "csv"), options.documents)
        remark(f"{options.documents}: {table.height:,} documents", quiet=options.quiet)
    if options.chart is not None:
        save(chart_of(comparison, options.top), options.chart)
        remark(f"chart: {options.chart}", quiet=options.quiet)


def _write_deviations(request: CompareRequest, echo: Echo | None) -> None:
    """Name deviations from a plan on stderr where the output is not in front of a reader."""
    seen = request.people and request.options.output is None
    for deviation in [] if echo is None or seen else echo.plan.check(echo.choices):
        click.echo(sentences.deviates(deviation), err=True)
