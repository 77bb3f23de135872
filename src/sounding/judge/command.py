"""`sounding judge`: the judging server and what an organiser does around it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sounding.core.errors import DataError
from sounding.core.files import written_whole
from sounding.judge.commands_organize import order, settings, topics
from sounding.judge.commands_review import audit, differences
from sounding.judge.commands_user import LOOPBACK, PORT, project_argument, quieted, user
from sounding.judge.export_kinds import EXPORT_KINDS
from sounding.terminal.options import output_options, progress_bar, remark, write_tables, write_text

if TYPE_CHECKING:
    from sounding.judge.project import Project


OF_JUDGMENTS = [kind.name for kind in EXPORT_KINDS.values() if kind.of_judgments]
SAMPLES = [kind.name for kind in EXPORT_KINDS.values() if kind.of_sample]
EXPORT_HELP = """Write what was judged: one line a judgment, however many there are.

Judgments are those of topics in use at that moment: candidates and dropped ones are left out, and it
is said.

\b
""" + "\n".join(f"{kind.name:10} {kind.described}" for kind in EXPORT_KINDS.values())


@click.group("judge", short_help="The judging server.")
def command() -> None:
    """People judge what the algorithm picks, and watch the order of the runs become certain.

    \b
    sounding judge init DIR --corpus docs.jsonl --topics topics.txt --runs 'runs/*'
    sounding judge user DIR jane --role organiser
    sounding judge serve DIR
    sounding judge export DIR qrels -o qrels.txt
    """  # noqa: D301 - click wants the control character


@command.command("init")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--corpus",
    multiple=True,
    required=True,
    metavar="FILE",
    help="Documents: TREC SGML, JSONL, CSV, texts, HTML; files, folders, globs.",
)
@click.option("--topics", metavar="FILE", help="Topics; more can be written in the browser.")
@click.option(
    "--runs", multiple=True, metavar="FILE", help="Runs: files, folders, globs; more can be added later."
)
@click.option("--run-format", metavar="F", help="Format of the runs, where it is not recognised.")
@click.option(
    "--title", default="Relevance judgments", show_default=True, help="What assessors see above every page."
)
@click.option(
    "--scale",
    default="0=not relevant,1=relevant",
    show_default=True,
    metavar="G=TEXT,...",
    help="Grades and what they mean; a grade's key is its digit.",
)
@click.option(
    "-l", "--level", type=float, default=1, show_default=True, metavar="G", help="Lowest relevant grade."
)
@click.option(
    "--overlap",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Assessors who judge each document.",
)
@click.option(
    "--feed",
    type=click.Choice(["first", "majority", "adjudicated"]),
    default="first",
    show_default=True,
    help="Which of several grades counts.",
)
@click.option(
    "--order",
    default="mtc",
    show_default=True,
    metavar="S",
    help="Order of judging: mtc, or a strategy of `sounding pool`.",
)
@click.option(
    "-P",
    "--parameter",
    multiple=True,
    metavar="NAME=VALUE",
    help="Parameter of the order, such as strata=10:1,100:0.1.",
)
@click.option(
    "--batch",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Documents of a topic that are shuffled together.",
)
@click.option(
    "--warm-up",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="First documents of a topic by rank, shuffled, before the order begins.",
)
@click.option(
    "--depth", type=click.IntRange(1), default=100, show_default=True, help="Documents of a run that count."
)
@click.option(
    "--measure",
    default="AP",
    show_default=True,
    metavar="M",
    help="Whose order of the runs is to become certain.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all that is drawn.")
@click.option(
    "--lease",
    type=click.FloatRange(0, min_open=True),
    default=10,
    show_default=True,
    metavar="MINUTES",
    help="How long a document stays with an assessor who is gone.",
)
@click.option(
    "--database",
    metavar="URL",
    help="An empty PostgreSQL database, postgresql://...; default: a SQLite file in DIR.",
)
@click.option(
    "--search",
    type=click.Choice(["fts5", "tantivy"]),
    default="fts5",
    show_default=True,
    help="Search over the corpus: SQLite's, or the faster tantivy (an extra).",
)
@click.option("--quiet", is_flag=True, help="No progress bar, no remarks.")
def init(folder: Path, **options: Any) -> None:
    """Make a project in DIR, which must not exist or be empty."""
    from sounding.judge.project import create_project
    from sounding.judge.settings import Order, Settings, parse_parameters, parse_scale

    _refuse_format_of_nothing(options, "runs")
    settings = Settings(
        title=options["title"], scale=parse_scale(options["scale"]), level=options["level"],
        overlap=options["overlap"], feed=options["feed"], seed=options["seed"], depth=options["depth"],
        order=Order(
            policy=options["order"], parameters=parse_parameters(options["parameter"]),
            batch=options["batch"], warm_up=options["warm_up"],
        ),
        lease_seconds=60 * options["lease"], measure=options["measure"],
    )  # fmt: skip
    told: list[str] = []
    with progress_bar(None, quiet=options["quiet"], label="reading documents") as progress:
        project = create_project(
            folder, corpus=options["corpus"], topics=options["topics"], runs=options["runs"],
            settings=settings, database=options["database"], run_format=options["run_format"],
            progress=progress, search=options["search"], tell=told.append,
        )  # fmt: skip
    with project:
        _say_what_there_is(project, options["quiet"])
        for text in told:
            remark(text, quiet=options["quiet"])
        remark(
            f"next: sounding judge user {folder} NAME --role organiser; then: sounding judge serve {folder}",
            quiet=options["quiet"],
        )


@command.command("serve")
@project_argument
@click.option(
    "--host",
    default=LOOPBACK,
    show_default=True,
    help="Address to listen on; beyond this machine only once somebody has a password.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True)
@click.option("--access-log", is_flag=True, help="Write a line for every request to standard output.")
def serve(folder: Path, host: str, port: int, access_log: bool) -> None:
    """Serve the project in DIR until it is stopped."""
    from sounding.judge.app import serve as serve_project
    from sounding.judge.project import open_project, refuse_other_corpus

    with open_project(folder) as project:
        refuse_other_corpus(project)  # here, lest assessors judge other texts
        click.echo(f"{project.store.place}: {project.store.kind()}", err=True)
        serve_project(project, host, port, access_log=access_log)


for more in (user, topics, order, settings, differences, audit):
    command.add_command(more)


@command.command("import")
@project_argument
@click.option(
    "--qrels", multiple=True, metavar="FILE", help="Judgments to add; nothing that people judged is touched."
)
@click.option("--runs", multiple=True, metavar="FILE", help="Runs to add: files, folders, globs.")
@click.option("--topics", metavar="FILE", help="Topics to add; changed ones become new versions.")
@click.option(
    "--assessor",
    metavar="NAME",
    help="Whose judgments the qrels are; in the log, import-NAME.  [default: the name of the file]",
)
@click.option("--qrels-format", metavar="F", help="Format of the qrels, where it is not recognised.")
@click.option("--run-format", metavar="F", help="Format of the runs, where it is not recognised.")
@click.option("--quiet", is_flag=True, help="No progress bar, no remarks.")
def import_files(folder: Path, **options: Any) -> None:
    """Add judgments, runs or topics to the project in DIR, while it is being judged or not."""
    from sounding.core.text import plural
    from sounding.data.topics import read_topics
    from sounding.judge.project import add_runs, add_topics, import_qrels, open_project

    if not any(options[name] for name in ("qrels", "runs", "topics")):
        raise click.UsageError("nothing to add; give --qrels, --runs or --topics")
    _refuse_format_of_nothing(options, "qrels", "runs")
    if options["assessor"] is not None and len(options["qrels"]) != 1:
        raise click.UsageError("--assessor says whose one file of --qrels is; give one at a time")
    quiet = options["quiet"]
    with open_project(folder) as project:
        if options["topics"]:
            topics = read_topics(options["topics"])
            changed = add_topics(project.store, topics)
            remark(f"{plural(len(topics.ids), 'topic')} read, {changed:,} new or changed", quiet=quiet)
        if options["runs"]:
            with progress_bar(None, quiet=quiet, label="reading runs") as progress:
                added = add_runs(
                    project, options["runs"], run_format=options["run_format"], progress=progress
                )
            remark("; ".join((f"{plural(added.rows, 'run')} added", *added.remarks)), quiet=quiet)
        for source in options["qrels"]:
            read = import_qrels(
                project, source, qrels_format=options["qrels_format"], assessor=options["assessor"]
            )
            told = f"{source}: {plural(read.rows, 'judgment')}, {read.changed:,} new or changed"
            remark("; ".join((told, *read.remarks)), quiet=quiet)
        if options["qrels"]:
            project.engine.refit_if_due(quiet=True)


@command.command("export", help=EXPORT_HELP)
@project_argument
@click.argument("what", type=click.Choice(list(EXPORT_KINDS)))
@click.option("--until", type=click.IntRange(1), metavar="N", help="As it was after event N of the log.")
@click.option("--all-topics", is_flag=True, help="Judgments of candidate and dropped topics as well.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.")
@click.option("--quiet", is_flag=True, help="No remarks.")
def export(
    folder: Path, what: str, until: int | None, all_topics: bool, output: Path | None, quiet: bool
) -> None:
    """Write what was judged; see `EXPORT_HELP`."""
    from sounding.core.text import plural
    from sounding.judge.exports import EXPORTS, Omitted, left_out, omission_note, why_empty, without_status
    from sounding.judge.project import open_project

    if until is not None and not EXPORT_KINDS[what].of_log:
        raise click.UsageError(f"{what} are no events of the log; --until is for the others")
    if all_topics and what not in OF_JUDGMENTS:
        raise click.UsageError(f"{what} has all topics; --all-topics is for {', '.join(OF_JUDGMENTS)}")
    filtered = what in OF_JUDGMENTS and not all_topics
    with open_project(folder) as project:
        last = project.store.last_sequence()
        if until is not None and until > last:
            raise DataError(f"--until {until}: the log ends with event {last}")
        moment = last if until is None else until
        omitted = Omitted()
        written = EXPORTS[what](project.store, moment, all_topics=all_topics, omitted=omitted)
        lines = write_lines(written, output)
        unused = left_out(project.store, moment, sampled=what in SAMPLES) if filtered else []
        unsaid = without_status(project.store, moment) if filtered else []
        told = omission_note(what, omitted)
        if what in SAMPLES and not lines:
            told = why_empty(project.store, what, moment, all_topics=all_topics)
    if unused:
        remark(
            f"{plural(len(unused), 'judged topic')} not in use (candidate or dropped), such as {unused[0]}:"
            " left out; --all-topics has them",
            quiet=quiet,
        )
    if unsaid:
        remark(
            f"{plural(len(unsaid), 'judged topic')} of which the log says only later whether they are in use,"
            f" such as {unsaid[0]}: taken in",
            quiet=quiet,
        )
    remark(f"{plural(lines, 'line')}, as of event {moment:,}", quiet=quiet or output is None)
    if told:
        remark(told, quiet=quiet)


@command.command("status")
@project_argument
@click.option(
    "--view",
    type=click.Choice(["topics", "runs"]),
    help="One of the two tables; csv, jsonl and parquet hold only one.",
)
@output_options()
def status(folder: Path, view: str | None, **options: Any) -> None:
    """How far judging is, and how sure the order of the runs."""
    from sounding.judge.project import open_project
    from sounding.judge.status import status_tables
    from sounding.render.tables import json_text

    layout, output = options["format_name"], options["output"]
    if view is None and layout in ("csv", "jsonl", "parquet"):
        raise click.UsageError(f"{layout} holds one table; give --view topics or --view runs")
    with open_project(folder) as project:
        tables = status_tables(project)
    if view is not None and view not in tables:
        raise DataError(tables["topics"].notes[0])  # why the runs are not ranked
    if view is None and layout == "json":
        both = {name: {**table.facts, "rows": table.rows()} for name, table in tables.items()}
        write_text(json_text(both, indent=1), output)
        return
    wanted = [tables[view]] if view else list(tables.values())
    write_tables([quieted(one, options["quiet"]) for one in wanted], layout, output)


@command.command("backup")
@project_argument
@click.argument("target", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--quiet", is_flag=True, help="No remarks.")
def backup(folder: Path, target: Path, quiet: bool) -> None:
    """Copy the database of the project to FILE, while it is being judged or not.

    SQLite: FILE takes the place of DIR/judging.sqlite. PostgreSQL: FILE is for pg_restore. The corpus in DIR
    never changes, and is not copied.
    """
    from sounding.judge.project import open_project

    with open_project(folder) as project:
        before = project.store.last_sequence()
        project.store.backup(target)
        after = project.store.last_sequence()
    meanwhile = f"; those up to {after:,} came meanwhile and may be missing" if after > before else ""
    remark(f"{target}: everything up to event {before:,}{meanwhile}", quiet=quiet)


@command.command("verify")
@project_argument
@click.option("--quiet", is_flag=True, help="No progress bar, no remarks.")
@click.pass_context
def verify_project(context: click.Context, folder: Path, quiet: bool) -> None:
    """Replay the log in a new process and compare: choices, next documents, confidences, exports.

    The corpus must be the one that the project was made with.

    Exits 1, with one line for each, where anything differs.
    """
    from sounding.core.text import plural
    from sounding.judge.project import open_project
    from sounding.judge.verify import verify

    with open_project(folder) as project:
        total = project.store.last_sequence()
        with progress_bar(total, quiet=quiet, label="replaying") as progress:
            found = verify(project, progress)
    for problem in found.problems:
        click.echo(problem)
    told = f"{found.events:,} events replayed in two processes, {found.choices:,} choices made again"
    outcome = plural(len(found.problems), "difference") if found.problems else "all the same"
    remark(f"{told}, corpus compared: {outcome}", quiet=quiet)
    if found.problems:
        context.exit(1)


def write_lines(lines: Iterable[str], output: Path | None) -> int:
    """Write lines one by one to standard output, or to a file that appears whole or not at all."""
    count = 0
    if output is None:
        for line in lines:
            sys.stdout.buffer.write(line.encode("utf-8", "surrogateescape"))
            count += 1
        sys.stdout.buffer.flush()
        return count
    with written_whole(output) as part, part.open("wb") as stream:
        for line in lines:
            stream.write(line.encode("utf-8", "surrogateescape"))
            count += 1
    return count


def _say_what_there_is(project: Project, quiet: bool) -> None:
    from sounding.core.text import plural
    from sounding.judge.project import told_lost

    runs, engine = project.engine.run_names(), project.engine
    topics = [topic.id for topic in project.store.topics()]
    counted = engine.counts().topics
    left = sum(counted[topic].left for topic in topics if topic in counted)  # without a text nobody judges
    sampled = engine.general_order().is_sample
    which = "drawn from the documents" if sampled else "the documents"
    remark(
        f"{plural(project.corpus.count, 'document')}, {plural(len(topics), 'topic')},"
        f" {plural(len(runs), 'run')}; {left:,} to judge: {which} that the runs have for each topic",
        quiet=quiet,
    )
    strangers = [topic for topic in engine.topics() if topic not in topics]
    if strangers:
        remark(
            f"the runs have {plural(len(strangers), 'topic')}{' more' if topics else ''},"
            f" such as {strangers[0]}: without a text nobody can judge for them, and they count in every"
            " run's value",
            quiet=quiet,
        )
    lost = engine.lost(project.corpus)
    if lost:
        such = told_lost(lost, project.corpus)
        remark(f"not in the corpus: {plural(len(lost), 'document')} of the runs, such as {such}", quiet=quiet)


def _refuse_format_of_nothing(options: dict[str, Any], *kinds: str) -> None:
    for kind in kinds:
        option = {"qrels": "qrels_format", "runs": "run_format"}[kind]
        if options[option] is not None and not options[kind]:
            raise click.UsageError(f"--{option.replace('_', '-')} is for --{kind}; give some")
