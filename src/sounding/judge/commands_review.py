"""`sounding judge differences` and `audit`: what organisers do about judgments that people made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sounding.core.errors import DataError
from sounding.judge.commands_user import project_argument, quieted
from sounding.terminal.options import PEOPLE, output_options, remark, write_tables

if TYPE_CHECKING:
    from sounding.judge.project import Project
    from sounding.judge.records import User
    from sounding.judge.review import DifferingDocument
    from sounding.render.tables import Table

COMMENT = 60  # characters of the comments on a document
SAMPLED = 20  # judgments of an audit


@click.command("differences", short_help="Where assessors differ, and what is settled.")
@project_argument
@click.option("--open", "only_open", is_flag=True, help="Those alone that nobody has settled yet.")
@click.option(
    "--settle", metavar="FILE",
    help="Grades that count from now on, in a file of judgments: topic, iteration, doc, grade; -: from the"
    " standard input.",
)  # fmt: skip
@click.option("--by", metavar="NAME", help="The organiser who settled them.")
@output_options()
def differences(folder: Path, settle: str | None, by: str | None, **options: Any) -> None:
    """List the documents on which assessors differ, or settle some first.

    The file may have any format of judgments. All of it is checked first: every document must be on the
    list, every grade on the scale. What is settled counts where the feed is adjudicated. It works while
    people judge.

    \b
    sounding judge differences DIR --open
    sounding judge differences DIR --settle settled.txt --by jane
    """  # noqa: D301 - click wants the control character
    from sounding.core.text import plural
    from sounding.judge.organizing import organiser_of
    from sounding.judge.project import open_project
    from sounding.judge.review import differing_documents, settle_file

    if (settle is None) != (by is None):
        raise click.UsageError("--settle and --by go together: give what is settled, and who settled it")
    with open_project(folder) as project:
        if settle is not None and by is not None:
            read = settle_file(project, settle, by=organiser_of(project.store, by).pseudonym)
            told = f"{plural(read.rows, 'settled document')}, {read.changed:,} new or changed"
            remark(told, quiet=options["quiet"])
        found = differing_documents(project, project.store.standing())
        table = _difference_table(
            project, found, options["only_open"], brief=options["format_name"] in PEOPLE
        )
        write_tables([quieted(table, options["quiet"])], options["format_name"], options["output"])


def _difference_table(
    project: Project, found: list[DifferingDocument], only_open: bool, *, brief: bool
) -> Table:
    from sounding.judge.search import shortened
    from sounding.render.tables import Column, Table

    shown = [one for one in found if one.open or not only_open]
    comments = [_comments(one) for one in shown]
    return Table(
        [
            Column("topic", [one.topic for one in shown]),
            Column("doc", [one.doc for one in shown]),
            Column("grades", [_grades(one) for one in shown]),
            *(
                [Column("comments", [shortened(text, COMMENT) if brief else text for text in comments])]
                if any(comments)
                else []
            ),
            Column("settled", [_settled(one) for one in shown], right=True),
        ],
        notes=_difference_notes(project, found),
        facts={"differing": len(found), "open": sum(one.open for one in found)},
        keys=2,
    )


def _difference_notes(project: Project, found: list[DifferingDocument]) -> list[str]:
    from sounding.core.text import plural

    if not found:
        return ["assessors differ on no document of the topics in use"]
    waiting, feed = sum(one.open for one in found), project.settings.feed
    until = ": until then not judged" if waiting and feed == "adjudicated" else ""
    told = f"{plural(len(found), 'document')} with different grades, {waiting:,} not settled{until}"
    counts = f"which grade counts: {feed}; what is settled is on record, and counts where this is adjudicated"
    return [told] if feed == "adjudicated" else [told, counts]


def _grades(one: DifferingDocument) -> str:
    return ", ".join(f"{given.name} {_grade(given.grade)}" for given in one.grades)


def _comments(one: DifferingDocument) -> str:
    given = ((said.name, " ".join(said.comment.split())) for said in one.grades)
    return "; ".join(f"{name}: {comment}" for name, comment in given if comment)


def _settled(one: DifferingDocument) -> str | None:
    return None if one.open else _grade(one.settled)


def _grade(grade: float | None) -> str:
    return "cannot judge" if grade is None else f"{grade:g}"


@click.command("audit", short_help="Samples of judgments that experts grade anew.")
@project_argument
@click.argument("assessor", required=False)
@click.option("--expert", metavar="NAME", help="The organiser who grades the sample on the page Audit.")
@click.option(
    "--size", type=click.IntRange(1), metavar="N",
    help=f"Judgments to draw, if there are so many.  [default: {SAMPLED}]",
)  # fmt: skip
@output_options()
def audit(folder: Path, assessor: str | None, **options: Any) -> None:
    """Draw a random sample of ASSESSOR's judgments, or list the draws, what is graded, the agreement.

    ASSESSOR is a name or a pseudonym; judgments of topics in use are drawn from. What is drawn stays: again
    from the same judgments it is the same audit. It works while people judge.

    \b
    sounding judge audit DIR ann --expert jane --size 20
    sounding judge audit DIR
    """  # noqa: D301 - click wants the control character
    from sounding.judge.organizing import judge_of, organiser_of
    from sounding.judge.project import open_project

    if assessor is not None and options["expert"] is None:
        raise click.UsageError("who grades the sample? give --expert NAME")
    if assessor is None and options["size"] is not None:
        raise click.UsageError("--size is for a new sample; say whose judgments: ASSESSOR")
    with open_project(folder) as project:
        named = options["expert"]
        expert = None if named is None else organiser_of(project.store, named)
        if assessor is None or expert is None:
            table = _audit_table(project, project.store.users() if expert is None else [expert])
        else:
            size = options["size"] or SAMPLED
            table = _drawn(project, judge_of(project.store, assessor), expert, size, options["quiet"])
        write_tables([quieted(table, options["quiet"])], options["format_name"], options["output"])


def _drawn(project: Project, assessor: str, expert: User, size: int, quiet: bool) -> Table:
    """The documents of a sample, without the grades: the expert is not to see them."""
    from sounding.judge.review import audit_of, draw_audit
    from sounding.render.tables import Column, Table

    store, name = project.store, project.store.names().get(assessor, assessor)
    if assessor == expert.pseudonym:
        raise DataError(f"{name} cannot audit {name}; draw from another one's judgments")
    before = store.last_sequence()
    number = draw_audit(store, expert.pseudonym, assessor, size, project.settings.seed)
    found = None if number is None else audit_of(store, expert.pseudonym, number)
    if found is None:
        raise DataError(f"{name} has judged nothing yet for a topic in use, so nothing was drawn")
    told = f"audit {found.number}{', drawn before' if found.number <= before else ''}"
    remark(
        f"{told}: {len(found.drawn):,} of {found.of:,} judgments of {name}; {expert.name} grades them on the"
        f" page Audit, /organise/audit?audit={found.number}",
        quiet=quiet,
    )
    return Table(
        [
            Column("audit", [found.number] * len(found.drawn)),
            Column("topic", [topic for topic, _ in found.drawn]),
            Column("doc", [doc for _, doc in found.drawn]),
        ],
        facts={"audit": found.number, "expert": expert.name, "assessor": name, "of": found.of},
    )


def _audit_table(project: Project, experts: list[User]) -> Table:
    from sounding.judge.counts import FEWEST
    from sounding.judge.review import agreement_of, audits_of
    from sounding.render.tables import Column, Table

    store, scale = project.store, [grade.value for grade in project.settings.scale]
    names = store.names()
    found = sorted(
        (one for expert in experts for one in audits_of(store, expert.pseudonym)), key=lambda one: one.number
    )
    agreed = [agreement_of(one, scale) or {} for one in found]
    gone = [len(one.taken_back) for one in found]
    none = "no samples yet; draw one with: sounding judge audit DIR ASSESSOR --expert NAME"
    few = f"kappa: Cohen's, of the grades; none of fewer than {FEWEST} documents that both could judge"
    return Table(
        [
            Column("audit", [one.number for one in found]),
            Column("expert", [names[one.expert] for one in found]),
            Column("assessor", [names.get(one.assessor, one.assessor) for one in found]),
            Column("drawn", [len(one.drawn) for one in found]),
            Column("of", [one.of for one in found]),
            *([Column("taken back", gone)] if any(gone) else []),
            Column("graded", [len(one.compared) for one in found]),
            Column("same grade", [one.get("observed") for one in agreed], percent=True, digits=1),
            Column("kappa", [one.get("kappa") for one in agreed], digits=2),
        ],
        notes=[few if found else none],
    )
