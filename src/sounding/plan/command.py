"""`sounding plan`: what to judge next, how sure the order of the runs is, and when one may stop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sounding.core.errors import DataError, UnknownNameError
from sounding.core.limits import most
from sounding.terminal.mtc_options import (
    read_judgments,
    read_lists,
    require_chart,
    session_options,
    session_policies,
    taken_parameters,
    worth_sharing,
)
from sounding.terminal.options import (
    PEOPLE,
    Options,
    output_options,
    progress_bar,
    remark,
    write_tables,
)

if TYPE_CHECKING:
    from sounding.compare.holds import Holds
    from sounding.core.arrays import NDArray
    from sounding.plan.outlook import Course, Outlook
    from sounding.render.tables import Table
    from sounding.runs.retrieved import Retrieved
    from sounding.selection.mtc import Confidence, Session
    from sounding.selection.mtc.session import Parameters
    from sounding.selection.strategies import Pick

NOTHING = "none"  # in place of QRELS: nothing is judged yet
VIEWS = ("documents", "ranking", "pairs", "forecast")


@click.command("plan", short_help="What to judge next.")
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-n", "--next", "count", type=click.IntRange(0), default=3, show_default=True,
    help="Documents of each topic to judge next.",
)  # fmt: skip
@click.option("--topic", "topics", multiple=True, metavar="T", help="Only this topic's; may be repeated.")
@click.option("--pair", nargs=2, metavar="A B", help="Only the order of these two runs matters.")
@click.option("--baseline", metavar="RUN", help="Only how this run compares with the others matters.")
@click.option("--top", type=click.IntRange(2), metavar="N", help="Only the first N runs matter.")
@click.option(
    "--open", "open_below", type=float, metavar="C", help="Judge only for pairs less sure than C by now."
)
@click.option("--to", "wanted", type=float, metavar="C", help="How many judgments a confidence of C takes.")
@click.option(
    "--worlds", type=click.IntRange(1), default=8, show_default=True,
    help="Completions of the judgments in which judging is tried out.",
)  # fmt: skip
@click.option(
    "--most", type=click.IntRange(1), default=10_000, show_default=True,
    help="Judgments after which --to gives up in a completion.",
)  # fmt: skip
@click.option("--seconds", type=float, default=30, show_default=True, help="Time to judge a document.")
@click.option("--view", type=click.Choice(VIEWS), help="One table alone; files hold documents by default.")
@click.option(
    "--chart", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Draw the ranking, and with --to the forecast: .html, .svg, .png or .pdf.",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all that is drawn.")
@session_options
@output_options()
def command(qrels: str, runs: tuple[str, ...], **options: Any) -> None:
    """Say which documents of RUNs to judge next, and how sure their order is by the judgments in QRELS.

    Expected values, the pairs of runs that are proven, probable or open, and the documents that tell most
    about the open ones. QRELS may be the word none: nothing is judged yet. No confidence is stated with
    fewer than 5 runs or 100 judgments of their documents.

    \b
    sounding plan qrels.txt runs/
    sounding plan qrels.txt runs/ --pair bm25 dense --to 0.95
    sounding plan none runs/ --next 10 -o to-judge.csv
    """  # noqa: D301 - click wants the control character
    parameters = _checked(qrels, options)
    judgments, cut = (None, None) if qrels == NOTHING else read_judgments(qrels, runs, options)
    retrieved = read_lists(runs, None, options)
    session = _session(retrieved, judgments, parameters, options["seed"])
    picks = _next(session, options)
    believed = session.confidence()
    proven = _proven(session, believed, options)
    confidence = believed.stated(session.basis())
    stated = not confidence.reason
    outlook = _outlook(session, picks, options) if stated and "documents" in _shown(options) else None
    courses = _courses(session, options) if stated and options["wanted"] is not None else None
    held = _held(session, judgments, runs, options) if "pairs" in _shown(options) else None
    tables = _tables(session, confidence, proven, picks, outlook, courses, cut, held, options)
    write_tables(tables, options["format_name"], options["output"])
    if options["chart"] is not None:
        _draw(session, confidence, courses, options)
        remark(f"chart: {options['chart']}", quiet=options["quiet"])
    if options["format_name"] not in PEOPLE:
        from sounding.plan.tables import truth_note, unstated_notes

        for note in (*unstated_notes(confidence), truth_note(session), *([] if cut is None else [cut])):
            remark(note, quiet=options["quiet"])


def _checked(qrels: str, options: Options) -> Parameters:
    """What the session is asked for; options that cannot be are refused before files are read."""
    if options["wanted"] is not None and not 0.5 < options["wanted"] < 1:
        raise click.UsageError(f"--to {options['wanted']:g}: expected a confidence between 0.5 and 1")
    if options["seconds"] <= 0:
        raise click.UsageError(f"--seconds {options['seconds']:g}: expected more than 0")
    if options["view"] == "forecast" and options["wanted"] is None:
        raise click.UsageError("--view forecast needs to know for what: give --to, such as --to 0.95")
    if options["open_below"] is not None and not 0.5 < options["open_below"] <= 1:
        raise click.UsageError(
            f"--open {options['open_below']:g}: expected a confidence above 0.5, at most 1"
        )
    if options["pool_depth"] is not None and qrels == NOTHING:
        raise click.UsageError(f"--pool-depth cuts judgments, and with {NOTHING} there are none to cut")
    given = [name for name in ("pair", "baseline", "top", "open_below") if options[name]]
    if len(given) > 1:
        first, second = (name.removesuffix("_below") for name in given[:2])
        raise click.UsageError(f"--{first} and --{second} say what matters in different ways; give one")
    if options["pair"] and options["pair"][0] == options["pair"][1]:
        raise click.UsageError(f"--pair names {options['pair'][0]} twice; give two different runs")
    if options["chart"] is not None:
        require_chart(options["chart"])
    return taken_parameters(
        options, pair=options["pair"] or None, baseline=options["baseline"], top=options["top"],
        open_below=options["open_below"],
    )  # fmt: skip


def _session(retrieved: Retrieved, judgments: Any, parameters: Parameters, seed: int) -> Session:
    from dataclasses import asdict

    from sounding.measures.forms import form_of
    from sounding.selection.mtc import Session, known_judgments

    given: Any = ()
    elsewhere = None
    if judgments is not None:
        level = form_of(parameters.measure, parameters.depth, 1).level
        given, elsewhere = known_judgments(retrieved, judgments, level)
        if not given:
            raise DataError(
                f"{judgments.source}: no document of these runs is judged for any of their topics; give their"
                f" judgments, or the word {NOTHING} where there are none yet"
            )
    return Session(retrieved, seed=seed, given=given, elsewhere=elsewhere, **asdict(parameters))


def _next(session: Session, options: Options) -> list[Pick]:
    """The next documents of every topic that is asked for, what tells most first."""
    names = session.retrieved.topics
    for topic in options["topics"]:
        if topic not in names:
            raise UnknownNameError("topic", topic, names)
    asked = options["topics"] or names
    chosen = [place for place, topic in enumerate(names) if topic in asked]
    picks = [pick for place in chosen for pick in session.next(topics=[place], count=options["count"])]
    return sorted(picks, key=lambda pick: (-(pick.weight or 0), pick.document))


def _proven(session: Session, confidence: Confidence, options: Options) -> NDArray[Any]:
    """(run, other) what is proven; asked only where it is shown and the order is probable."""
    import numpy as np

    place = np.argsort(confidence.order)
    pairs = session.pairs()
    pairs = np.where((place[pairs[:, 0]] < place[pairs[:, 1]])[:, np.newaxis], pairs, pairs[:, ::-1])
    likely = confidence.of_pairs()[pairs[:, 0], pairs[:, 1]] >= options["sure"]
    pairs = pairs[likely & bool({"ranking", "pairs"} & set(_shown(options)))]
    with progress_bar(len(pairs), quiet=options["quiet"], label="looking for proofs") as progress:
        return session.proven(pairs, progress)


def _held(session: Session, judgments: Any, runs: tuple[str, ...], options: Options) -> Holds | None:
    """What is concluded of pairs by now, and the chance that it holds, as `compare --holds` has it.

    None: nothing is judged, another model is asked for than chances are drawn from, or it cannot be said.
    """
    from dataclasses import replace

    from sounding.compare.holds import holds
    from sounding.data.finding import find_runs
    from sounding.data.sources import STDIN
    from sounding.relevance.document_priors import DEFAULT

    parameters, files = session.parameters, find_runs(runs)
    other = (parameters.prior, parameters.confidence) != (DEFAULT, "draws")
    if judgments is None or other:
        return None
    policies = replace(session_policies(options), depth=parameters.depth, seed=options["seed"])
    try:
        if STDIN in files:
            raise DataError("the runs are read once more for it, and standard input comes once; give files")
        with progress_bar(len(files), quiet=options["quiet"], label="drawing judgments") as progress:
            return holds(
                judgments, files, [parameters.measure], until=f"runs:{min(parameters.depth, most('k'))}",
                pairs=session.pairs(), policies=policies, run_format=options["run_format"],
                jobs=options["jobs"], progress=progress,
            )  # fmt: skip
    except DataError as error:
        remark(f"whether conclusions hold is not said: {error}", quiet=options["quiet"])
        return None


def _outlook(session: Session, picks: list[Pick], options: Options) -> Outlook | None:
    from sounding.plan.outlook import outlook

    if not picks:
        return None
    seeds = _seeds(options)
    with progress_bar(len(seeds), quiet=options["quiet"], label="looking ahead") as progress:
        return outlook(
            session, [pick.document for pick in picks], seeds,
            processes=worth_sharing(len(seeds), options["jobs"]), progress=progress,
        )  # fmt: skip


def _courses(session: Session, options: Options) -> list[Course]:
    from sounding.plan.outlook import courses

    seeds = _seeds(options)
    with progress_bar(len(seeds), quiet=options["quiet"], label="trying it out") as progress:
        return courses(
            session, options["wanted"], seeds, most=options["most"],
            processes=worth_sharing(len(seeds), options["jobs"]), progress=progress,
        )  # fmt: skip


def _seeds(options: Options) -> list[int]:
    """One for each completion; those of another --seed are others."""
    return [options["seed"] * options["worlds"] + world + 1 for world in range(options["worlds"])]


def _tables(
    session: Session,
    confidence: Confidence,
    proven: NDArray[Any],
    picks: list[Pick],
    outlook: Outlook | None,
    courses: list[Course] | None,
    cut: str | None,
    held: Holds | None,
    options: Options,
) -> list[Table]:
    """All tables for people, one for programs."""
    from dataclasses import replace

    from sounding.plan import tables as made

    people = options["format_name"] in PEOPLE
    brief = people and options["view"] is None
    facts = made.plan_facts(session, confidence, outlook, courses, options["sure"], options["seconds"])
    facts["policies"] = {name: options[name] for name in ("ties", "compat", "duplicates")}
    facts["seed"] = options["seed"]
    every = {
        "ranking": lambda: made.ranking_table(session, confidence, proven, options["sure"], people=people),
        "pairs": lambda: made.pairs_table(
            session, confidence, proven, options["sure"], brief=brief, people=people, held=held
        ),
        "documents": lambda: made.documents_table(
            session, picks, outlook, options["seconds"], brief=brief, reason=confidence.reason
        ),
        "forecast": lambda: made.forecast_table(
            courses,
            options["wanted"],
            options["seconds"],
            options["most"],
            confidence.reason,
        ),
    }
    shown = _shown(options)
    without = brief and courses is None and "forecast" in shown
    if without:
        shown.remove("forecast")
    tables = [replace(every[name](), facts=facts) for name in shown]
    if without:
        notes = [*tables[-1].notes, "There is no forecast: no confidence is stated."]
        tables[-1] = replace(tables[-1], notes=notes)
    if cut is not None:
        facts["pool"] = cut
        tables[0] = replace(tables[0], notes=[*tables[0].notes, cut])
    return tables


def _draw(session: Session, confidence: Confidence, courses: list[Course] | None, options: Options) -> None:
    """The ranking, and under it the forecast where one was asked for."""
    import polars

    from sounding.plan import charts
    from sounding.plan.tables import course_rows, ranking_rows
    from sounding.render.save import save, together

    frame = polars.DataFrame(ranking_rows(confidence))
    drawn: list[Any] = [charts.expected_values(frame, measure=session.form.name)]
    if courses is not None:
        rows = course_rows(courses)
        if rows[-1]["judgments"] == 0:
            raise DataError(f"the confidence is {options['wanted']:g} already: there is no forecast to draw")
        frame = polars.DataFrame(rows)
        drawn.append(charts.confidence_forecast(frame, wanted=options["wanted"], completions=len(courses)))
    save(together(drawn), options["chart"])


def _shown(options: Options) -> list[str]:
    """The tables that are asked for: all of them for people, one for programs."""
    if options["view"] is not None:
        return [options["view"]]
    if options["format_name"] not in PEOPLE:
        return ["documents"]
    return ["ranking", "pairs", "documents", *(["forecast"] if options["wanted"] is not None else [])]
