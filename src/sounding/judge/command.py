"""The options of `sounding judge`, which runs the judging server and manages its projects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from sounding.judge.export_kinds import EXPORT_KINDS
from sounding.terminal import declare

if TYPE_CHECKING:
    from sounding.judge.records import Role
    from sounding.judge.search import SearchEngine
    from sounding.judge.settings import Feed, Judged

LOOPBACK, PORT = "127.0.0.1", 8000  # default address of the server
SAMPLED = 20  # default number of judgments in an audit
OF_JUDGMENTS = [kind.name for kind in EXPORT_KINDS.values() if kind.of_judgments]
EXPORT_HELP = """Export the judgments, the log, the searches or the topics of the project in DIR.

Leaves out judgments of candidate and dropped topics, and says so.

\b
""" + "\n".join(f"{kind.name:10} {kind.description}" for kind in EXPORT_KINDS.values())

_PARAMETER = declare.option(
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a parameter of the order, such as strata=10:1,100:0.1; repeatable.",
    spelled="-P --parameter",
)
_NAMES = declare.texts(
    "Name the runs, one NAME for each in their order; default: by their files; repeatable.", metavar="NAME"
)
KINDS = ("grades", "preferences")
FEEDS = ("first", "majority", "adjudicated")
_MINUTES = click.FloatRange(0, min_open=True)
_NO_REMARKS = declare.flag("Hide all remarks.")


@dataclass(frozen=True, kw_only=True)
class ProjectOptions:
    """Options of every command: the folder of the project, and whether to hide remarks."""

    folder: Path
    quiet: bool = False


@dataclass(frozen=True, kw_only=True)
class TableOptions(ProjectOptions, declare.OutputOptions):
    """Options of every command that writes a table."""


@declare.options
class InitOptions(ProjectOptions):
    """Options of `sounding judge init`."""

    folder: Path = declare.argument(metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
    corpus: tuple[str, ...] = declare.option(
        multiple=True,
        required=True,
        metavar="FILE",
        help="Read documents (TREC SGML, JSONL, CSV, text or HTML) from files, folders or globs; repeatable.",
    )
    fields: str | None = declare.text(
        "Show these members of JSON lines as labeled parts; each item of a list can be graded by itself.",
        metavar="NAME[=LABEL],...",
    )
    topics: str | None = declare.text(
        "Read topics from FILE; you can add more in the browser.", metavar="FILE"
    )
    subtopics: str | None = declare.text(
        "Have documents judged for each subtopic in FILE: topic, subtopic and text by tabs, or TREC topics.",
        metavar="FILE",
    )
    runs: tuple[str, ...] = declare.texts(
        "Read runs from files, folders or globs; repeatable; you can add more later.", metavar="FILE"
    )
    name: tuple[str, ...] = _NAMES
    run_format: str | None = declare.run_format
    kind: Judged = declare.choice(
        KINDS,
        "Grade documents, or choose the better one of two (preferences), in the order of a merge sort.",
        default="grades",
    )
    title: str = declare.text("Set the title of every page.", default="Relevance judgments")
    scale: str = declare.text(
        "Set the grades and their meanings; assessors type the digit of a grade.",
        metavar="G=TEXT,...",
        default="0=not relevant,1=relevant",
    )
    level: float = declare.number(
        "Count grades from G up as relevant.", default=1, metavar="G", spelled="-l --level"
    )
    overlap: int = declare.count("Have this many assessors judge each document.", default=1)
    feed: Feed = declare.choice(FEEDS, "Choose which grade counts if assessors differ.", default="first")
    order: str = declare.text(
        "Choose the order of judging: mtc, or a strategy of `sounding pool`.", metavar="S", default="mtc"
    )
    parameter: tuple[str, ...] = _PARAMETER
    batch: int = declare.count("Shuffle this many documents of a topic together.", default=1)
    warm_up: int = declare.count(
        "Begin each topic with this many top-ranked documents, shuffled.", least=0, default=0
    )
    depth: int = declare.count("Cut each run at this depth.", default=100)
    measure: str = declare.text("Rank the runs by measure M.", metavar="M", default="AP")
    seed: int = declare.seed()
    lease: float = declare.option(
        type=_MINUTES,
        default=10,
        show_default=True,
        metavar="MINUTES",
        help="Release the document of an idle assessor after this many minutes.",
    )
    database: str | None = declare.text(
        "Use an empty PostgreSQL database, postgresql://...; default: a SQLite file in DIR.", metavar="URL"
    )
    search: SearchEngine = declare.choice(
        ["fts5", "tantivy"],
        "Search the corpus with SQLite (fts5), or with tantivy, which is faster but an extra package.",
        default="fts5",
    )
    quiet: bool = declare.quiet


@declare.options
class ServeOptions(ProjectOptions):
    """Options of `sounding judge serve`."""

    host: str = declare.text(
        "Listen on this address; other machines can connect only once a user has a password.",
        default=LOOPBACK,
    )
    port: int = declare.option(
        type=click.IntRange(0, 65535),
        metavar="N",
        default=PORT,
        show_default=True,
        help="Listen on this port.",
    )
    access_log: bool = declare.flag("Log every request to standard output.")


@declare.options
class UserOptions(TableOptions):
    """Options of `sounding judge user`."""

    name: str | None = declare.argument(required=False)
    role: Role | None = declare.choice(
        ["assessor", "organizer"],
        "Set the role; default: assessor for a new user, unchanged for others.",
    )
    topics: str | None = declare.text(
        "Replace the topics that the user judges; all means every topic.", metavar="ID,..."
    )
    link: bool = declare.flag(
        "Create a new one-time link to set a password; the old password becomes invalid."
    )
    enable: bool | None = declare.option(
        default=None, help="Allow the user to sign in, or forbid it.", spelled="--enable/--disable"
    )
    people: str | None = declare.text(
        "Add or change the users in a CSV FILE (columns name, role, topics); new ones get links.",
        metavar="FILE",
    )
    erase: bool = declare.flag("Erase the user's identity; the judgments stay, under a pseudonym.")
    yes: bool = declare.flag("Erase without asking.")
    url: str | None = declare.text(
        "Set the address of the server for links.  [default: where it was last served, else"
        f" http://{LOOPBACK}:{PORT}]",
        metavar="URL",
    )


@declare.options
class TopicsOptions(TableOptions):
    """Options of `sounding judge topics`."""

    choose: tuple[str, ...] = declare.texts(
        "Choose topics to judge and count from now on; all means every topic; repeatable.", metavar="ID,..."
    )
    drop: tuple[str, ...] = declare.texts(
        "Stop judging and counting these topics; judgments stay in the log; repeatable.", metavar="ID,..."
    )
    candidate: tuple[str, ...] = declare.texts(
        "Make these topics candidates, to develop them further; repeatable.", metavar="ID,..."
    )
    assign: tuple[str, ...] = declare.texts(
        "Let exactly these people judge a topic; ID= closes the topic; repeatable.",
        metavar="ID=NAME,...",
    )
    share_out: bool = declare.flag(
        "Assign topics with too few assessors to the people with the fewest topics."
    )
    each: int | None = declare.count(
        "Assign N assessors per topic with --share-out.  [default: as many as judge each document]",
        metavar="N",
    )


@declare.options
class OrderOptions(TableOptions):
    """Options of `sounding judge order`."""

    order: str | None = declare.argument(required=False, metavar="[ORDER]")
    parameter: tuple[str, ...] = _PARAMETER
    batch: int | None = declare.count("Shuffle N documents of a topic together.  [default: 1]", metavar="N")
    warm_up: int | None = declare.count(
        "Begin each topic with N top-ranked documents, shuffled.  [default: 0]",
        least=0,
        metavar="N",
    )
    topics: tuple[str, ...] = declare.texts(
        "Change only these topics; default: all, and future ones; repeatable.",
        metavar="ID,...",
        spelled="--topic",
    )


@declare.options
class SettingsOptions(TableOptions):
    """Options of `sounding judge settings`."""

    title: str | None = declare.text("Set the title of every page.", metavar="TEXT")
    overlap: int | None = declare.count("Have this many assessors judge each document.", metavar="N")
    feed: Feed | None = declare.choice(FEEDS, "Choose which grade counts if assessors differ.")
    level: float | None = declare.number(
        "Count grades from G up as relevant.", metavar="G", spelled="-l --level"
    )
    measure: str | None = declare.text("Rank the runs by measure M.", metavar="M")
    lease: float | None = declare.option(
        type=_MINUTES,
        metavar="MINUTES",
        help="Release the document of an idle assessor after this many minutes.",
    )
    language: str | None = declare.text(
        "Show the pages in this language, such as de, unless a person chooses another; browser means what"
        " each browser asks for.",
        metavar="LANGUAGE",
    )
    suggest: str | None = declare.text(
        "Show assessors the labels of this machine before they judge; none ends it.", metavar="NAME"
    )
    instructions: TextIO | None = declare.option(
        type=click.File(encoding="utf-8"),
        metavar="FILE",
        help="Show assessors the text of FILE beside every topic; - means standard input.",
    )


@declare.options
class DifferencesOptions(TableOptions):
    """Options of `sounding judge differences`."""

    only_open: bool = declare.flag("List only documents that nobody has settled yet.", spelled="--open")
    settle: str | None = declare.text(
        "Settle documents with the grades in FILE (topic iteration doc grade); - means standard input.",
        metavar="FILE",
    )
    organizer: str | None = declare.text("Name the organizer who settled them.", metavar="NAME")


@declare.options
class ExpertAuditOptions(TableOptions):
    """Options of `sounding judge audit`."""

    assessor: str | None = declare.argument(required=False)
    expert: str | None = declare.text(
        "Have the organizer NAME grade the sample, on the page Audit.", metavar="NAME"
    )
    size: int | None = declare.count(f"Draw at most N judgments.  [default: {SAMPLED}]", metavar="N")


@declare.options
class ImportOptions(ProjectOptions):
    """Options of `sounding judge import`."""

    qrels: tuple[str, ...] = declare.texts(
        "Add judgments from FILE; existing ones do not change; repeatable.", metavar="FILE"
    )
    log: str | None = declare.text(
        "Add the judgments of another project's log (`export log`), with comments and times.", metavar="FILE"
    )
    runs: tuple[str, ...] = declare.texts(
        "Add runs from files, folders or globs; repeatable.", metavar="FILE"
    )
    name: tuple[str, ...] = _NAMES
    topics: str | None = declare.text(
        "Add topics from FILE; changed topics become new versions.", metavar="FILE"
    )
    labels: tuple[str, ...] = declare.texts(
        "Add labels by machines from FILE; they never count as judgments; repeatable.", metavar="FILE"
    )
    judge: str | None = declare.text(
        "Name the machine of --labels.  [default: as the file says]", metavar="NAME"
    )
    nuggets: str | None = declare.text(
        "Replace the nuggets of the topics in FILE (JSONL or TSV: topic, text, id, importance).",
        metavar="FILE",
    )
    assessor: str | None = declare.text(
        "Record the judgments as those of import-NAME.  [default: the name of the file]",
        metavar="NAME",
    )
    qrels_format: str | None = declare.text(
        "Set the format of the qrels if it is not recognized.", metavar="F"
    )
    run_format: str | None = declare.run_format
    quiet: bool = declare.quiet


@declare.options
class ExportOptions(ProjectOptions):
    """Options of `sounding judge export`."""

    what: str = declare.argument(type=click.Choice(list(EXPORT_KINDS)))
    event: int | None = declare.count("Export the state after event N of the log.", metavar="N")
    all_topics: bool = declare.flag("Include judgments of candidate and dropped topics.")
    output: Path | None = declare.option(
        type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
        callback=declare.writable,
        help="Write to FILE; - means standard output.",
        spelled="-o --output",
    )
    quiet: bool = _NO_REMARKS


@declare.options
class StatusOptions(TableOptions):
    """Options of `sounding judge status`."""

    view: str | None = declare.choice(
        ["topics", "runs"], "Show only this table; csv, jsonl and parquet contain only one."
    )


@declare.options
class BackupOptions(ProjectOptions):
    """Options of `sounding judge backup`."""

    target: Path = declare.argument(metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
    quiet: bool = _NO_REMARKS


@declare.options
class MoveOptions(ProjectOptions):
    """Options of `sounding judge move`."""

    database: str = declare.option(
        required=True,
        metavar="URL",
        help="Move to this empty PostgreSQL database, postgresql://..., or to sqlite, a file in DIR.",
    )
    quiet: bool = _NO_REMARKS


@declare.options
class VerifyOptions(ProjectOptions):
    """Options of `sounding judge verify`."""

    quiet: bool = declare.quiet


@click.group("judge", short_help="Run the server on which people judge documents.")
def command() -> None:
    """Run the server on which people judge documents, and manage its projects.

    The server picks the documents that say most about the ranking of the runs, and shows how certain
    that ranking is.

    \b
    sounding judge init DIR --corpus docs.jsonl --topics topics.txt --runs 'runs/*'
    sounding judge user DIR jane --role organizer
    sounding judge serve DIR
    sounding judge export DIR qrels -o qrels.txt
    """  # noqa: D301 - click wants the control character


def _subcommand(
    name: str,
    kind: type[declare.Kind],
    *,
    short_help: str | None = None,
    help: str | None = None,  # noqa: A002 - as click has it
) -> Callable[[Callable[[declare.Kind], None]], click.Command]:
    """Add a subcommand that takes the folder of a project and its options as one object."""
    folder = click.argument(
        "folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path)
    )

    def add(function: Callable[[declare.Kind], None]) -> click.Command:
        taken = declare.taking(kind)(function)
        return command.command(name, short_help=short_help, help=help)(folder(taken))

    return add


@command.command("init")
@declare.taking(InitOptions)
def init(options: InitOptions) -> None:
    """Create a project in DIR, which must be new or empty."""
    declare.run_flow(options)


@_subcommand("serve", ServeOptions)
def serve(options: ServeOptions) -> None:
    """Serve the project in DIR until you stop it."""
    declare.run_flow(options)


@_subcommand("user", UserOptions, short_help="List, add or change users.")
@declare.output_options(otherwise="the link alone, or a table if there is no link")
def user(options: UserOptions) -> None:
    """List the users of a project, or add or change the user NAME.

    A new user gets a one-time link to set a password. Without --format only the link is printed; with it,
    a table row for NAME that contains the link.

    \b
    sounding judge user DIR bob --topics 301,302
    sounding judge user DIR --people people.csv -o links.csv
    """  # noqa: D301 - click wants the control character
    declare.run_flow(options)


@_subcommand("topics", TopicsOptions, short_help="List the topics, or change which are judged and by whom.")
@declare.output_options()
def topics(options: TopicsOptions) -> None:
    """List the topics of a project, or change which are judged and by whom.

    Lists status, order, assessors, judged and remaining documents. If one change fails, none is made.
    Works while people judge.

    \b
    sounding judge topics DIR --choose 301,302 --drop 305
    sounding judge topics DIR --assign 301=ann,bob --assign 302=
    sounding judge topics DIR --choose all --share-out --each 2
    """  # noqa: D301 - click wants the control character
    declare.run_flow(options)


@_subcommand("order", OrderOptions, short_help="Show or set the order in which documents are judged.")
@declare.output_options()
def order(options: OrderOptions) -> None:
    """Show the order in which the documents of each topic are judged, or change it to ORDER.

    ORDER is mtc or a strategy of `sounding pool`. Works while people judge: they keep the documents
    that they are judging.

    \b
    sounding judge order DIR mtc --batch 10
    sounding judge order DIR mtc -P method=paper -P pair=bm25,dense
    sounding judge order DIR uniform-sample -P rate=0.2 --topic 301,302
    """  # noqa: D301 - click wants the control character
    declare.run_flow(options)


@_subcommand(
    "settings", SettingsOptions, short_help="Show or change overlap, instructions and other settings."
)
@declare.output_options()
def settings(options: SettingsOptions) -> None:
    """Show the settings of a project that can change while people judge, or change them.

    Scale, depth and seed cannot change, because recorded choices depend on them.

    \b
    sounding judge settings DIR --overlap 2 --feed majority
    sounding judge settings DIR --instructions instructions.txt
    """  # noqa: D301 - click wants the control character
    declare.run_flow(options)


@_subcommand(
    "differences", DifferencesOptions, short_help="List or settle the documents on which assessors differ."
)
@declare.output_options()
def differences(options: DifferencesOptions) -> None:
    """List the documents on which assessors differ, or settle some of them.

    FILE may have any format of judgments. Each document must be on the list, and each grade on the
    scale; otherwise nothing is settled. Settled grades count with --feed adjudicated. Works while people
    judge.

    \b
    sounding judge differences DIR --open
    sounding judge differences DIR --settle settled.txt --organizer jane
    """  # noqa: D301 - click wants the control character
    declare.run_flow(options)


@_subcommand("audit", ExpertAuditOptions, short_help="Draw samples of judgments for experts to grade again.")
@declare.output_options()
def audit(options: ExpertAuditOptions) -> None:
    """Draw a random sample of ASSESSOR's judgments for an expert, or list samples and agreement.

    ASSESSOR is a name or a pseudonym. The sample comes from topics in use; the same judgments always
    give the same sample. Works while people judge.

    \b
    sounding judge audit DIR ann --expert jane --size 20
    sounding judge audit DIR
    """  # noqa: D301 - click wants the control character
    declare.run_flow(options)


@_subcommand("import", ImportOptions, short_help="Add judgments, runs or topics.")
def import_files(options: ImportOptions) -> None:
    """Add judgments, runs or topics to the project in DIR, even while people judge."""
    declare.run_flow(options)


@_subcommand(
    "export", ExportOptions, short_help="Export judgments, the log, searches or topics.", help=EXPORT_HELP
)
def export(options: ExportOptions) -> None:
    """Export judgments and more; see `EXPORT_HELP`."""
    declare.run_flow(options)


@_subcommand("status", StatusOptions, short_help="Show progress, and how certain the ranking is.")
@declare.output_options()
def status(options: StatusOptions) -> None:
    """Show the progress of judging, and how certain the ranking of the runs is."""
    declare.run_flow(options)


@_subcommand("backup", BackupOptions, short_help="Copy the database to a file.")
def backup(options: BackupOptions) -> None:
    """Copy the database of the project to FILE, even while people judge.

    To restore, replace DIR/judging.sqlite with FILE (SQLite) or use pg_restore (PostgreSQL). The corpus in
    DIR never changes and is not copied.
    """
    declare.run_flow(options)


@_subcommand("move", MoveOptions, short_help="Move a project to PostgreSQL, or back to SQLite.")
def move(options: MoveOptions) -> None:
    """Move the project in DIR to another database: users, judgments, the whole log.

    Stop the server first. The copy is compared row by row and its log replayed; if anything differs, nothing
    changes. Afterwards the old database refuses all changes.

    \b
    sounding judge move DIR --database postgresql://user@host/judging
    sounding judge move DIR --database sqlite
    """  # noqa: D301 - click wants the control character
    declare.run_flow(options)


@_subcommand("verify", VerifyOptions, short_help="Replay the log and check that the results are the same.")
def verify(options: VerifyOptions) -> None:
    """Replay the log, and check that choices, next documents, confidence and exports are the same.

    The corpus must be the one that the project was created with.

    Exit status: 0: all the same; 1: a difference (one line each) or bad input; 2: wrong usage.
    """
    declare.run_flow(options)
