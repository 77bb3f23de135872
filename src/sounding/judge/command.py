"""`sounding judge`: the options of the judging server and of what an organizer does around it."""

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
    from sounding.judge.settings import Feed

LOOPBACK, PORT = "127.0.0.1", 8000  # where the server listens unless told otherwise
SAMPLED = 20  # judgments of an audit, unless others are asked for
OF_JUDGMENTS = [kind.name for kind in EXPORT_KINDS.values() if kind.of_judgments]
EXPORT_HELP = """Write what was judged: one line a judgment, however many there are.

Judgments are those of topics in use at that moment: candidates and dropped ones are left out, and it
is said.

\b
""" + "\n".join(f"{kind.name:10} {kind.described}" for kind in EXPORT_KINDS.values())

_PARAMETER = declare.option(
    multiple=True,
    metavar="NAME=VALUE",
    help="Parameter of the order, such as strata=10:1,100:0.1.",
    spelled="-P --parameter",
)
FEEDS = ("first", "majority", "adjudicated")
_MINUTES = click.FloatRange(0, min_open=True)
_NO_REMARKS = declare.flag("No remarks.")


@dataclass(frozen=True, kw_only=True)
class ProjectOptions:
    """What every command is about; `quiet` keeps remarks back, where a command has any."""

    folder: Path
    quiet: bool = False


@dataclass(frozen=True, kw_only=True)
class TableOptions(ProjectOptions, declare.OutputOptions):
    """What a command is asked for that writes a table."""


@declare.options
class InitOptions(ProjectOptions):
    """What `sounding judge init` is asked for."""

    folder: Path = declare.argument(metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
    corpus: tuple[str, ...] = declare.option(
        multiple=True,
        required=True,
        metavar="FILE",
        help="Documents: TREC SGML, JSONL, CSV, texts, HTML; files, folders, globs.",
    )
    topics: str | None = declare.text("Topics; more can be written in the browser.", metavar="FILE")
    runs: tuple[str, ...] = declare.texts(
        "Runs: files, folders, globs; more can be added later.", metavar="FILE"
    )
    run_format: str | None = declare.run_format
    title: str = declare.text("What assessors see above every page.", default="Relevance judgments")
    scale: str = declare.text(
        "Grades and what they mean; a grade's key is its digit.",
        metavar="G=TEXT,...",
        default="0=not relevant,1=relevant",
    )
    level: float = declare.number("Lowest relevant grade.", default=1, metavar="G", spelled="-l --level")
    overlap: int = declare.count("Assessors who judge each document.", default=1)
    feed: Feed = declare.choice(FEEDS, "Which of several grades counts.", default="first")
    order: str = declare.text(
        "Order of judging: mtc, or a strategy of `sounding pool`.", metavar="S", default="mtc"
    )
    parameter: tuple[str, ...] = _PARAMETER
    batch: int = declare.count("Documents of a topic that are shuffled together.", default=1)
    warm_up: int = declare.count(
        "First documents of a topic by rank, shuffled, before the order begins.", least=0, default=0
    )
    depth: int = declare.count("Documents of a run that count.", default=100)
    measure: str = declare.text("Whose order of the runs is to become certain.", metavar="M", default="AP")
    seed: int = declare.seed()
    lease: float = declare.option(
        type=_MINUTES,
        default=10,
        show_default=True,
        metavar="MINUTES",
        help="How long a document stays with an assessor who is gone.",
    )
    database: str | None = declare.text(
        "An empty PostgreSQL database, postgresql://...; default: a SQLite file in DIR.", metavar="URL"
    )
    search: SearchEngine = declare.choice(
        ["fts5", "tantivy"],
        "Search over the corpus: SQLite's, or the faster tantivy (an extra).",
        default="fts5",
    )
    quiet: bool = declare.quiet


@declare.options
class ServeOptions(ProjectOptions):
    """What `sounding judge serve` is asked for."""

    host: str = declare.text(
        "Address to listen on; beyond this machine only once somebody has a password.", default=LOOPBACK
    )
    port: int = declare.option(type=click.IntRange(0, 65535), default=PORT, show_default=True)
    access_log: bool = declare.flag("Write a line for every request to standard output.")


@declare.options
class UserOptions(TableOptions):
    """What `sounding judge user` is asked for."""

    name: str | None = declare.argument(required=False)
    role: Role | None = declare.choice(
        ["assessor", "organiser"],
        "From now on; a new user is an assessor unless this is given, others keep their role.",
    )
    topics: str | None = declare.text(
        "Topics to judge, in place of those so far; all: every topic.", metavar="ID,..."
    )
    link: bool = declare.flag("A new one-time link to set a password; the old password is void.")
    enable: bool | None = declare.option(
        default=None, help="Whether the user may sign in.", spelled="--enable/--disable"
    )
    erase: bool = declare.flag("Forget who the user was; the judgments stay, under a pseudonym.")
    yes: bool = declare.flag("Erase without asking.")
    url: str | None = declare.text(
        "Where people reach the server, for links.  [default: where it was served last, else"
        f" http://{LOOPBACK}:{PORT}]",
        metavar="URL",
    )


@declare.options
class TopicsOptions(TableOptions):
    """What `sounding judge topics` is asked for."""

    choose: tuple[str, ...] = declare.texts(
        "Topics to be judged and counted from now on; all: every topic. May be repeated.", metavar="ID,..."
    )
    drop: tuple[str, ...] = declare.texts(
        "Topics to be judged and counted no longer; judgments stay in the log.", metavar="ID,..."
    )
    candidate: tuple[str, ...] = declare.texts("Topics to be developed further.", metavar="ID,...")
    assign: tuple[str, ...] = declare.texts(
        "Exactly those who judge a topic; ID= alone: nobody, so that it is closed. May be repeated.",
        metavar="ID=NAME,...",
    )
    share_out: bool = declare.flag("Give chosen topics that have too few to those with the fewest topics.")
    each: int | None = declare.count(
        "Assessors of a topic to share out to.  [default: as many as judge each document]", metavar="N"
    )


@declare.options
class OrderOptions(TableOptions):
    """What `sounding judge order` is asked for."""

    policy: str | None = declare.argument(required=False, metavar="[ORDER]")
    parameter: tuple[str, ...] = _PARAMETER
    batch: int | None = declare.count(
        "Documents of a topic that are shuffled together.  [default: 1]", metavar="N"
    )
    warm_up: int | None = declare.count(
        "First documents of a topic by rank, shuffled, before the order begins.  [default: 0]",
        least=0,
        metavar="N",
    )
    topics: tuple[str, ...] = declare.texts(
        "These topics alone; otherwise all, also those to come. May be repeated.",
        metavar="ID,...",
        spelled="--topic",
    )


@declare.options
class SettingsOptions(TableOptions):
    """What `sounding judge settings` is asked for."""

    title: str | None = declare.text("What assessors see above every page.", metavar="TEXT")
    overlap: int | None = declare.count("Assessors who judge each document.", metavar="N")
    feed: Feed | None = declare.choice(FEEDS, "Which of several grades counts.")
    level: float | None = declare.number("Lowest relevant grade.", metavar="G", spelled="-l --level")
    measure: str | None = declare.text("Whose order of the runs is to become certain.", metavar="M")
    lease: float | None = declare.option(
        type=_MINUTES, metavar="MINUTES", help="How long a document stays with an assessor who is gone."
    )
    instructions: TextIO | None = declare.option(
        type=click.File(encoding="utf-8"),
        metavar="FILE",
        help="What assessors read beside every topic; -: from the standard input.",
    )


@declare.options
class DifferencesOptions(TableOptions):
    """What `sounding judge differences` is asked for."""

    only_open: bool = declare.flag("Those alone that nobody has settled yet.", spelled="--open")
    settle: str | None = declare.text(
        "Grades that count from now on, in a file of judgments: topic, iteration, doc, grade; -: from the"
        " standard input.",
        metavar="FILE",
    )
    by: str | None = declare.text("The organiser who settled them.", metavar="NAME")


@declare.options
class ExpertAuditOptions(TableOptions):
    """What `sounding judge audit` is asked for."""

    assessor: str | None = declare.argument(required=False)
    expert: str | None = declare.text(
        "The organiser who grades the sample on the page Audit.", metavar="NAME"
    )
    size: int | None = declare.count(
        f"Judgments to draw, if there are so many.  [default: {SAMPLED}]", metavar="N"
    )


@declare.options
class ImportOptions(ProjectOptions):
    """What `sounding judge import` is asked for."""

    qrels: tuple[str, ...] = declare.texts(
        "Judgments to add; nothing that people judged is touched.", metavar="FILE"
    )
    runs: tuple[str, ...] = declare.texts("Runs to add: files, folders, globs.", metavar="FILE")
    topics: str | None = declare.text("Topics to add; changed ones become new versions.", metavar="FILE")
    assessor: str | None = declare.text(
        "Whose judgments the qrels are; in the log, import-NAME.  [default: the name of the file]",
        metavar="NAME",
    )
    qrels_format: str | None = declare.text("Format of the qrels, where it is not recognised.", metavar="F")
    run_format: str | None = declare.run_format
    quiet: bool = declare.quiet


@declare.options
class ExportOptions(ProjectOptions):
    """What `sounding judge export` is asked for."""

    what: str = declare.argument(type=click.Choice(list(EXPORT_KINDS)))
    until: int | None = declare.count("As it was after event N of the log.", metavar="N")
    all_topics: bool = declare.flag("Judgments of candidate and dropped topics as well.")
    output: Path | None = declare.option(
        type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.", spelled="-o --output"
    )
    quiet: bool = _NO_REMARKS


@declare.options
class StatusOptions(TableOptions):
    """What `sounding judge status` is asked for."""

    view: str | None = declare.choice(
        ["topics", "runs"], "One of the two tables; csv, jsonl and parquet hold only one."
    )


@declare.options
class BackupOptions(ProjectOptions):
    """What `sounding judge backup` is asked for."""

    target: Path = declare.argument(metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
    quiet: bool = _NO_REMARKS


@declare.options
class VerifyOptions(ProjectOptions):
    """What `sounding judge verify` is asked for."""

    quiet: bool = declare.quiet


def _run(options: ProjectOptions) -> None:
    from sounding.judge.flow import run  # NumPy, the engine and the databases, which --help does without

    run(options)


@click.group("judge", short_help="The judging server.")
def command() -> None:
    """People judge what the algorithm picks, and watch the order of the runs become certain.

    \b
    sounding judge init DIR --corpus docs.jsonl --topics topics.txt --runs 'runs/*'
    sounding judge user DIR jane --role organiser
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
    """Add a command about the project in a folder, which has its options as one object."""
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
    """Make a project in DIR, which must not exist or be empty."""
    _run(options)


@_subcommand("serve", ServeOptions)
def serve(options: ServeOptions) -> None:
    """Serve the project in DIR until it is stopped."""
    _run(options)


@_subcommand("user", UserOptions)
@declare.output_options(otherwise="the link alone, or a table where there is none")
def user(options: UserOptions) -> None:
    """List the users of a project, or add or change the one called NAME, and say what NAME is now.

    A new user gets a one-time link to set a password with. With --format, NAME comes as a row of a table, the
    link in it; otherwise a link is all that is written.
    """
    _run(options)


@_subcommand("topics", TopicsOptions, short_help="Which topics are judged, and by whom.")
@declare.output_options()
def topics(options: TopicsOptions) -> None:
    """List the topics of a project: status, order, assessors, judged, left; or change them first.

    All that is asked for is done, or nothing of it. It works while people judge.

    \b
    sounding judge topics DIR --choose 301,302 --drop 305
    sounding judge topics DIR --assign 301=ann,bob --assign 302=
    sounding judge topics DIR --choose all --share-out --each 2
    """  # noqa: D301 - click wants the control character
    _run(options)


@_subcommand("order", OrderOptions, short_help="In which order documents are judged.")
@declare.output_options()
def order(options: OrderOptions) -> None:
    """List in which order the documents of each topic are judged, or have ORDER from now on.

    ORDER is mtc or a strategy of `sounding pool`. What people have at hand stays with them. It works while
    they judge.

    \b
    sounding judge order DIR mtc --batch 10
    sounding judge order DIR uniform-sample -P rate=0.2 --topic 301,302
    """  # noqa: D301 - click wants the control character
    _run(options)


@_subcommand("settings", SettingsOptions, short_help="Overlap, which grade counts, instructions, ...")
@declare.output_options()
def settings(options: SettingsOptions) -> None:
    """List the settings of a project that may change while people judge, or change some of them first.

    Scale, depth and seed stay: recorded choices rest on them.

    \b
    sounding judge settings DIR --overlap 2 --feed majority
    sounding judge settings DIR --instructions instructions.txt
    """  # noqa: D301 - click wants the control character
    _run(options)


@_subcommand("differences", DifferencesOptions, short_help="Where assessors differ, and what is settled.")
@declare.output_options()
def differences(options: DifferencesOptions) -> None:
    """List the documents on which assessors differ, or settle some first.

    The file may have any format of judgments. All of it is checked first: every document must be on the
    list, every grade on the scale. What is settled counts where the feed is adjudicated. It works while
    people judge.

    \b
    sounding judge differences DIR --open
    sounding judge differences DIR --settle settled.txt --by jane
    """  # noqa: D301 - click wants the control character
    _run(options)


@_subcommand("audit", ExpertAuditOptions, short_help="Samples of judgments that experts grade anew.")
@declare.output_options()
def audit(options: ExpertAuditOptions) -> None:
    """Draw a random sample of ASSESSOR's judgments, or list the draws, what is graded, the agreement.

    ASSESSOR is a name or a pseudonym; judgments of topics in use are drawn from. What is drawn stays: again
    from the same judgments it is the same audit. It works while people judge.

    \b
    sounding judge audit DIR ann --expert jane --size 20
    sounding judge audit DIR
    """  # noqa: D301 - click wants the control character
    _run(options)


@_subcommand("import", ImportOptions)
def import_files(options: ImportOptions) -> None:
    """Add judgments, runs or topics to the project in DIR, while it is being judged or not."""
    _run(options)


@_subcommand("export", ExportOptions, help=EXPORT_HELP)
def export(options: ExportOptions) -> None:
    """Write what was judged; see `EXPORT_HELP`."""
    _run(options)


@_subcommand("status", StatusOptions)
@declare.output_options()
def status(options: StatusOptions) -> None:
    """How far judging is, and how sure the order of the runs."""
    _run(options)


@_subcommand("backup", BackupOptions)
def backup(options: BackupOptions) -> None:
    """Copy the database of the project to FILE, while it is being judged or not.

    SQLite: FILE takes the place of DIR/judging.sqlite. PostgreSQL: FILE is for pg_restore. The corpus in DIR
    never changes, and is not copied.
    """
    _run(options)


@_subcommand("verify", VerifyOptions)
def verify(options: VerifyOptions) -> None:
    """Replay the log in a new process and compare: choices, next documents, confidences, exports.

    The corpus must be the one that the project was made with.

    Exits 1, with one line for each, where anything differs.
    """
    _run(options)
