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

_PARAMETER = click.option(
    "-P", "--parameter", multiple=True, metavar="NAME=VALUE",
    help="Parameter of the order, such as strata=10:1,100:0.1.",
)  # fmt: skip
FEEDS = ("first", "majority", "adjudicated")
_MINUTES = click.FloatRange(0, min_open=True)
_NO_REMARKS = declare.flag("--quiet", "No remarks.")


@dataclass(frozen=True, kw_only=True)
class ProjectOptions:
    """What every command is about; `quiet` keeps remarks back, where a command has any."""

    folder: Path
    quiet: bool = False


@dataclass(frozen=True, kw_only=True)
class TableOptions(ProjectOptions, declare.OutputOptions):
    """What a command is asked for that writes a table."""


@dataclass(frozen=True, kw_only=True)
class InitOptions(ProjectOptions):
    """What `sounding judge init` is asked for."""

    corpus: tuple[str, ...]
    topics: str | None
    runs: tuple[str, ...]
    run_format: str | None
    title: str
    scale: str
    level: float
    overlap: int
    feed: Feed
    order: str
    parameter: tuple[str, ...]
    batch: int
    warm_up: int
    depth: int
    measure: str
    seed: int
    lease: float
    database: str | None
    search: SearchEngine


@dataclass(frozen=True, kw_only=True)
class ServeOptions(ProjectOptions):
    """What `sounding judge serve` is asked for."""

    host: str
    port: int
    access_log: bool


@dataclass(frozen=True, kw_only=True)
class UserOptions(TableOptions):
    """What `sounding judge user` is asked for."""

    name: str | None
    role: Role | None
    topics: str | None
    link: bool
    enable: bool | None
    erase: bool
    yes: bool
    url: str | None


@dataclass(frozen=True, kw_only=True)
class TopicsOptions(TableOptions):
    """What `sounding judge topics` is asked for."""

    choose: tuple[str, ...]
    drop: tuple[str, ...]
    candidate: tuple[str, ...]
    assign: tuple[str, ...]
    share_out: bool
    each: int | None


@dataclass(frozen=True, kw_only=True)
class OrderOptions(TableOptions):
    """What `sounding judge order` is asked for."""

    policy: str | None
    parameter: tuple[str, ...]
    batch: int | None
    warm_up: int | None
    topics: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SettingsOptions(TableOptions):
    """What `sounding judge settings` is asked for."""

    title: str | None
    overlap: int | None
    feed: Feed | None
    level: float | None
    measure: str | None
    lease: float | None
    instructions: TextIO | None


@dataclass(frozen=True, kw_only=True)
class DifferencesOptions(TableOptions):
    """What `sounding judge differences` is asked for."""

    only_open: bool
    settle: str | None
    by: str | None


@dataclass(frozen=True, kw_only=True)
class ExpertAuditOptions(TableOptions):
    """What `sounding judge audit` is asked for."""

    assessor: str | None
    expert: str | None
    size: int | None


@dataclass(frozen=True, kw_only=True)
class ImportOptions(ProjectOptions):
    """What `sounding judge import` is asked for."""

    qrels: tuple[str, ...]
    runs: tuple[str, ...]
    topics: str | None
    assessor: str | None
    qrels_format: str | None
    run_format: str | None


@dataclass(frozen=True, kw_only=True)
class ExportOptions(ProjectOptions):
    """What `sounding judge export` is asked for."""

    what: str
    until: int | None
    all_topics: bool
    output: Path | None


@dataclass(frozen=True, kw_only=True)
class StatusOptions(TableOptions):
    """What `sounding judge status` is asked for."""

    view: str | None


@dataclass(frozen=True, kw_only=True)
class BackupOptions(ProjectOptions):
    """What `sounding judge backup` is asked for."""

    target: Path


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(ProjectOptions):
    """What `sounding judge verify` is asked for."""


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
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--corpus", multiple=True, required=True, metavar="FILE",
    help="Documents: TREC SGML, JSONL, CSV, texts, HTML; files, folders, globs.",
)  # fmt: skip
@declare.text("--topics", "Topics; more can be written in the browser.", metavar="FILE")
@declare.texts("--runs", "Runs: files, folders, globs; more can be added later.", metavar="FILE")
@declare.run_format
@declare.text("--title", "What assessors see above every page.", default="Relevance judgments")
@declare.text(
    "--scale",
    "Grades and what they mean; a grade's key is its digit.",
    metavar="G=TEXT,...",
    default="0=not relevant,1=relevant",
)
@declare.number("-l --level", "Lowest relevant grade.", default=1, metavar="G")
@declare.count("--overlap", "Assessors who judge each document.", default=1)
@declare.choice("--feed", FEEDS, "Which of several grades counts.", default="first")
@declare.text(
    "--order", "Order of judging: mtc, or a strategy of `sounding pool`.", metavar="S", default="mtc"
)
@_PARAMETER
@declare.count("--batch", "Documents of a topic that are shuffled together.", default=1)
@declare.count(
    "--warm-up", "First documents of a topic by rank, shuffled, before the order begins.", least=0, default=0
)
@declare.count("--depth", "Documents of a run that count.", default=100)
@declare.text("--measure", "Whose order of the runs is to become certain.", metavar="M", default="AP")
@declare.seed()
@click.option(
    "--lease", type=_MINUTES, default=10, show_default=True, metavar="MINUTES",
    help="How long a document stays with an assessor who is gone.",
)  # fmt: skip
@declare.text(
    "--database",
    "An empty PostgreSQL database, postgresql://...; default: a SQLite file in DIR.",
    metavar="URL",
)
@declare.choice(
    "--search",
    ["fts5", "tantivy"],
    "Search over the corpus: SQLite's, or the faster tantivy (an extra).",
    default="fts5",
)
@declare.quiet
@declare.taking(InitOptions)
def init(options: InitOptions) -> None:
    """Make a project in DIR, which must not exist or be empty."""
    _run(options)


@_subcommand("serve", ServeOptions)
@declare.text(
    "--host", "Address to listen on; beyond this machine only once somebody has a password.", default=LOOPBACK
)
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True)
@declare.flag("--access-log", "Write a line for every request to standard output.")
def serve(options: ServeOptions) -> None:
    """Serve the project in DIR until it is stopped."""
    _run(options)


@_subcommand("user", UserOptions)
@click.argument("name", required=False)
@declare.choice(
    "--role",
    ["assessor", "organiser"],
    "From now on; a new user is an assessor unless this is given, others keep their role.",
)
@declare.text("--topics", "Topics to judge, in place of those so far; all: every topic.", metavar="ID,...")
@declare.flag("--link", "A new one-time link to set a password; the old password is void.")
@click.option("--enable/--disable", "enable", default=None, help="Whether the user may sign in.")
@declare.flag("--erase", "Forget who the user was; the judgments stay, under a pseudonym.")
@declare.flag("--yes", "Erase without asking.")
@declare.text(
    "--url",
    "Where people reach the server, for links.  [default: where it was served last, else"
    f" http://{LOOPBACK}:{PORT}]",
    metavar="URL",
)
@declare.output_options(otherwise="the link alone, or a table where there is none")
def user(options: UserOptions) -> None:
    """List the users of a project, or add or change the one called NAME, and say what NAME is now.

    A new user gets a one-time link to set a password with. With --format, NAME comes as a row of a table, the
    link in it; otherwise a link is all that is written.
    """
    _run(options)


@_subcommand("topics", TopicsOptions, short_help="Which topics are judged, and by whom.")
@declare.texts(
    "--choose",
    "Topics to be judged and counted from now on; all: every topic. May be repeated.",
    metavar="ID,...",
)
@declare.texts(
    "--drop", "Topics to be judged and counted no longer; judgments stay in the log.", metavar="ID,..."
)
@declare.texts("--candidate", "Topics to be developed further.", metavar="ID,...")
@declare.texts(
    "--assign",
    "Exactly those who judge a topic; ID= alone: nobody, so that it is closed. May be repeated.",
    metavar="ID=NAME,...",
)
@declare.flag("--share-out", "Give chosen topics that have too few to those with the fewest topics.")
@declare.count(
    "--each", "Assessors of a topic to share out to.  [default: as many as judge each document]", metavar="N"
)
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
@click.argument("policy", required=False, metavar="[ORDER]")
@_PARAMETER
@declare.count("--batch", "Documents of a topic that are shuffled together.  [default: 1]", metavar="N")
@declare.count(
    "--warm-up",
    "First documents of a topic by rank, shuffled, before the order begins.  [default: 0]",
    least=0,
    metavar="N",
)
@declare.texts(
    "--topic topics",
    "These topics alone; otherwise all, also those to come. May be repeated.",
    metavar="ID,...",
)
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
@declare.text("--title", "What assessors see above every page.", metavar="TEXT")
@declare.count("--overlap", "Assessors who judge each document.", metavar="N")
@declare.choice("--feed", FEEDS, "Which of several grades counts.")
@declare.number("-l --level", "Lowest relevant grade.", metavar="G")
@declare.text("--measure", "Whose order of the runs is to become certain.", metavar="M")
@click.option(
    "--lease", type=_MINUTES, metavar="MINUTES",
    help="How long a document stays with an assessor who is gone.",
)  # fmt: skip
@click.option(
    "--instructions", type=click.File(encoding="utf-8"), metavar="FILE",
    help="What assessors read beside every topic; -: from the standard input.",
)  # fmt: skip
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
@declare.flag("--open only_open", "Those alone that nobody has settled yet.")
@declare.text(
    "--settle",
    "Grades that count from now on, in a file of judgments: topic, iteration, doc, grade; -: from the"
    " standard input.",
    metavar="FILE",
)
@declare.text("--by", "The organiser who settled them.", metavar="NAME")
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
@click.argument("assessor", required=False)
@declare.text("--expert", "The organiser who grades the sample on the page Audit.", metavar="NAME")
@declare.count("--size", f"Judgments to draw, if there are so many.  [default: {SAMPLED}]", metavar="N")
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
@declare.texts("--qrels", "Judgments to add; nothing that people judged is touched.", metavar="FILE")
@declare.texts("--runs", "Runs to add: files, folders, globs.", metavar="FILE")
@declare.text("--topics", "Topics to add; changed ones become new versions.", metavar="FILE")
@declare.text(
    "--assessor",
    "Whose judgments the qrels are; in the log, import-NAME.  [default: the name of the file]",
    metavar="NAME",
)
@declare.text("--qrels-format", "Format of the qrels, where it is not recognised.", metavar="F")
@declare.run_format
@declare.quiet
def import_files(options: ImportOptions) -> None:
    """Add judgments, runs or topics to the project in DIR, while it is being judged or not."""
    _run(options)


@_subcommand("export", ExportOptions, help=EXPORT_HELP)
@click.argument("what", type=click.Choice(list(EXPORT_KINDS)))
@declare.count("--until", "As it was after event N of the log.", metavar="N")
@declare.flag("--all-topics", "Judgments of candidate and dropped topics as well.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.")
@_NO_REMARKS
def export(options: ExportOptions) -> None:
    """Write what was judged; see `EXPORT_HELP`."""
    _run(options)


@_subcommand("status", StatusOptions)
@declare.choice("--view", ["topics", "runs"], "One of the two tables; csv, jsonl and parquet hold only one.")
@declare.output_options()
def status(options: StatusOptions) -> None:
    """How far judging is, and how sure the order of the runs."""
    _run(options)


@_subcommand("backup", BackupOptions)
@click.argument("target", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@_NO_REMARKS
def backup(options: BackupOptions) -> None:
    """Copy the database of the project to FILE, while it is being judged or not.

    SQLite: FILE takes the place of DIR/judging.sqlite. PostgreSQL: FILE is for pg_restore. The corpus in DIR
    never changes, and is not copied.
    """
    _run(options)


@_subcommand("verify", VerifyOptions)
@declare.quiet
def verify(options: VerifyOptions) -> None:
    """Replay the log in a new process and compare: choices, next documents, confidences, exports.

    The corpus must be the one that the project was made with.

    Exits 1, with one line for each, where anything differs.
    """
    _run(options)
