"""`sounding judge topics`, `order` and `settings`: what organisers change while people judge."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from sounding.core.errors import DataError
from sounding.judge.commands_user import project_argument, quieted
from sounding.terminal.options import PEOPLE, output_options, remark, write_tables

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sounding.judge.project import Project
    from sounding.judge.records import TopicStatus
    from sounding.judge.settings import Order
    from sounding.judge.store import Store
    from sounding.render.tables import Table

STATUSES: dict[str, TopicStatus] = {"choose": "chosen", "drop": "dropped", "candidate": "candidate"}
TITLE = 50  # characters of a topic's title
LINE = 60  # characters of the instructions


@click.command("topics", short_help="Which topics are judged, and by whom.")
@project_argument
@click.option(
    "--choose", multiple=True, metavar="ID,...",
    help="Topics to be judged and counted from now on; all: every topic. May be repeated.",
)  # fmt: skip
@click.option(
    "--drop", multiple=True, metavar="ID,...",
    help="Topics to be judged and counted no longer; judgments stay in the log.",
)  # fmt: skip
@click.option("--candidate", multiple=True, metavar="ID,...", help="Topics to be developed further.")
@click.option(
    "--assign", multiple=True, metavar="ID=NAME,...",
    help="Exactly those who judge a topic; ID= alone: nobody, so that it is closed. May be repeated.",
)  # fmt: skip
@click.option(
    "--share-out", is_flag=True, help="Give chosen topics that have too few to those with the fewest topics."
)
@click.option(
    "--each", type=click.IntRange(1), metavar="N",
    help="Assessors of a topic to share out to.  [default: as many as judge each document]",
)  # fmt: skip
@output_options()
def topics(folder: Path, **options: Any) -> None:
    """List the topics of a project: status, order, assessors, judged, left; or change them first.

    All that is asked for is done, or nothing of it. It works while people judge.

    \b
    sounding judge topics DIR --choose 301,302 --drop 305
    sounding judge topics DIR --assign 301=ann,bob --assign 302=
    sounding judge topics DIR --choose all --share-out --each 2
    """  # noqa: D301 - click wants the control character
    from sounding.core.text import plural
    from sounding.judge import organizing as organising
    from sounding.judge.project import open_project

    if options["each"] is not None and not options["share_out"]:
        raise click.UsageError("--each is for --share-out")
    with open_project(folder) as project:
        done = []
        with project.engine.together():
            wanted = {option: _listed(project.store, options[option]) for option in STATUSES}
            _refuse_two_statuses(wanted)
            for option, status in STATUSES.items():
                if wanted[option]:
                    changed = organising.set_statuses(project, wanted[option], status)
                    done.append(f"{plural(changed, 'topic')} {status}")
            for topic, names in _people(project.store, options["assign"]).items():
                changed = organising.assign(project, topic, names)
                done.append(f"topic {topic}: {plural(changed, 'assessor')} came or went")
            if options["share_out"]:
                given = organising.share_out(project, options["each"])
                why = organising.why_no_more(project, options["each"])
                done.append(f"{plural(given, 'assignment')} given out: {why}")
        if done:
            remark("; ".join(done), quiet=options["quiet"])
        table = _topic_table(project)
        write_tables([quieted(table, options["quiet"])], options["format_name"], options["output"])


def _listed(store: Store, given: Iterable[str]) -> list[str]:
    """The topics of lists with commas; `all`: every topic, unless one is called so."""
    known = [topic.id for topic in store.topics()]
    names = [name.strip() for text in given for name in text.split(",") if name.strip()]
    return known if "all" in names and "all" not in known else names


def _refuse_two_statuses(wanted: dict[str, list[str]]) -> None:
    seen: dict[str, str] = {}
    for option, names in wanted.items():
        for name in names:
            if seen.setdefault(name, option) != option:
                raise click.UsageError(f"topic {name}: --{seen[name]} and --{option}; give one")


def _people(store: Store, given: Iterable[str]) -> dict[str, list[str]]:
    """Topic -> names of those who are to judge it; names and topics may hold what stands between them."""
    known = {topic.id for topic in store.topics()}
    found: dict[str, list[str]] = {}
    for text in given:
        places = [place for place, sign in enumerate(text) if sign == "="]
        if not places:
            raise click.UsageError(f"--assign {text}: expected a topic and names, such as 301=ann,bob")
        place = next((place for place in places if text[:place] in known), places[0])
        topic, names = text[:place], text[place + 1 :]
        several = [names] if store.user_by_name(names) else [name.strip() for name in names.split(",")]
        found.setdefault(topic, []).extend(name for name in several if name)
    return found


def _topic_table(project: Project) -> Table:
    from sounding.judge.organizing import notes_of, topic_states
    from sounding.judge.search import shortened
    from sounding.judge.status import waiting_columns
    from sounding.render.tables import Column, Table

    states = topic_states(project)
    none = "no topics yet; add some with: sounding judge import DIR --topics ..."
    return Table(
        [
            Column("topic", [one.topic.id for one in states]),
            Column("title", [shortened(one.topic.title, TITLE) for one in states]),
            Column("status", [one.topic.status for one in states]),
            Column("order", [one.order.policy for one in states]),
            Column("assessors", [", ".join(person.name for person in one.assessors) for one in states]),
            Column("judged", [one.judged for one in states]),
            Column("left", [one.left for one in states]),
            *waiting_columns(project.settings, states),
        ],
        notes=notes_of(project.engine) if states else [none],
    )


@click.command("order", short_help="In which order documents are judged.")
@project_argument
@click.argument("policy", required=False, metavar="[ORDER]")
@click.option(
    "-P", "--parameter", multiple=True, metavar="NAME=VALUE",
    help="Parameter of the order, such as strata=10:1,100:0.1.",
)  # fmt: skip
@click.option(
    "--batch", type=click.IntRange(1), metavar="N",
    help="Documents of a topic that are shuffled together.  [default: 1]",
)  # fmt: skip
@click.option(
    "--warm-up", type=click.IntRange(0), metavar="N",
    help="First documents of a topic by rank, shuffled, before the order begins.  [default: 0]",
)  # fmt: skip
@click.option(
    "--topic", "topics", multiple=True, metavar="ID,...",
    help="These topics alone; otherwise all, also those to come. May be repeated.",
)  # fmt: skip
@output_options()
def order(folder: Path, policy: str | None, **options: Any) -> None:
    """List in which order the documents of each topic are judged, or have ORDER from now on.

    ORDER is mtc or a strategy of `sounding pool`. What people have at hand stays with them. It works while
    they judge.

    \b
    sounding judge order DIR mtc --batch 10
    sounding judge order DIR uniform-sample -P rate=0.2 --topic 301,302
    """  # noqa: D301 - click wants the control character
    from sounding.core.text import plural
    from sounding.judge import organizing as organising
    from sounding.judge.project import open_project
    from sounding.judge.settings import Order, parse_parameters

    if policy is None:
        for name in ("parameter", "batch", "warm_up"):
            if options[name] not in (None, ()):
                raise click.UsageError(
                    f"--{name.replace('_', '-')} is part of an order; say which, such as mtc"
                )
    with open_project(folder) as project:
        named = _listed(project.store, options["topics"]) if options["topics"] else None
        if policy is not None:
            wanted = Order(
                policy=policy, parameters=parse_parameters(options["parameter"]),
                batch=options["batch"] or 1, warm_up=options["warm_up"] or 0,
            )  # fmt: skip
            changed = organising.set_order(project, named, wanted)
            told = (
                f"another order for {plural(changed, 'topic')}" if changed else "they had this order already"
            )
            remark(told, quiet=options["quiet"])
        table = quieted(_order_table(project, named), options["quiet"])
        write_tables([table], options["format_name"], options["output"])


def _order_table(project: Project, named: list[str] | None) -> Table:
    from sounding.judge.organizing import named_topics
    from sounding.render.tables import Column, Table

    names = named_topics(project.store, named)
    orders = [project.engine.order(name) for name in names]
    return Table(
        [
            Column("topic", names),
            Column("order", [one.policy for one in orders]),
            Column("parameters", [_shown_parameters(one) for one in orders]),
            Column("batch", [one.batch for one in orders]),
            Column("warm-up", [one.warm_up for one in orders]),
        ],
        notes=[f"topics to come: {_in_words(project.engine.general_order())}"],
    )


def _shown_parameters(order: Order) -> str:
    return " ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in order.parameters.items()
    )


def _in_words(order: Order) -> str:
    batches = f", batches of {order.batch}" if order.batch > 1 else ""
    warm_up = f", {order.warm_up} to warm up" if order.warm_up else ""
    return f"{order.policy} {_shown_parameters(order)}".rstrip() + batches + warm_up


@click.command("settings", short_help="Overlap, which grade counts, instructions, ...")
@project_argument
@click.option("--title", metavar="TEXT", help="What assessors see above every page.")
@click.option("--overlap", type=click.IntRange(1), metavar="N", help="Assessors who judge each document.")
@click.option(
    "--feed", type=click.Choice(["first", "majority", "adjudicated"]), help="Which of several grades counts."
)
@click.option("-l", "--level", type=float, metavar="G", help="Lowest relevant grade.")
@click.option("--measure", metavar="M", help="Whose order of the runs is to become certain.")
@click.option(
    "--lease", type=click.FloatRange(0, min_open=True), metavar="MINUTES",
    help="How long a document stays with an assessor who is gone.",
)  # fmt: skip
@click.option(
    "--instructions", type=click.File(encoding="utf-8"), metavar="FILE",
    help="What assessors read beside every topic; -: from the standard input.",
)  # fmt: skip
@output_options()
def settings(folder: Path, instructions: TextIO | None, **options: Any) -> None:
    """List the settings of a project that may change while people judge, or change some of them first.

    Scale, depth and seed stay: recorded choices rest on them.

    \b
    sounding judge settings DIR --overlap 2 --feed majority
    sounding judge settings DIR --instructions instructions.txt
    """  # noqa: D301 - click wants the control character
    from sounding.judge import organizing as organising
    from sounding.judge.organizing import staffing_note
    from sounding.judge.project import open_project

    text = None if instructions is None else _read(instructions)
    given = {name: options[name] for name in ("title", "overlap", "feed", "level", "measure")}
    given["lease_seconds"] = None if options["lease"] is None else 60 * options["lease"]
    changes = {name: value for name, value in given.items() if value is not None}
    for name in ("title", "measure"):
        if not changes.get(name, name).strip():
            raise click.UsageError(f"--{name} is blank; give what it is to be, or leave it out")
    with open_project(folder) as project:
        with project.engine.together():
            if changes:
                organising.change_settings(project, **changes)
            if text is not None:
                organising.set_instructions(project, text)
        if "overlap" in changes and (short := staffing_note(project.engine)):
            remark(short, quiet=options["quiet"])
        table = _settings_table(project, brief=options["format_name"] in PEOPLE)
        write_tables([quieted(table, options["quiet"])], options["format_name"], options["output"])


def _read(file: TextIO) -> str:
    try:
        return file.read()
    except UnicodeDecodeError as error:
        raise DataError(f"{file.name}: not UTF-8 ({error.reason}); save it as such") from error


def _settings_table(project: Project, *, brief: bool) -> Table:
    from sounding.judge.organizing import instructions_of
    from sounding.judge.search import shortened
    from sounding.render.tables import Column, Table

    now, text = project.settings, instructions_of(project)
    rows: dict[str, str] = {
        "title": now.title, "overlap": str(now.overlap), "feed": now.feed, "level": f"{now.level:g}",
        "measure": now.measure, "lease": f"{now.lease_seconds / 60:g}",
        "instructions": shortened(" ".join(text.split()), LINE) if brief else text,
    }  # fmt: skip
    notes = ["lease: minutes", "" if text else "no instructions yet; give some with --instructions FILE"]
    return Table(
        [Column("setting", list(rows)), Column("value", list(rows.values()))],
        notes=[note for note in notes if note],
    )
