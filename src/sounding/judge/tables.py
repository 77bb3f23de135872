"""The tables that `sounding judge` prints: users, topics, orders, settings, runs, differences, audits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from sounding.core.text import natural_order, plural
from sounding.judge.machines import suggesting
from sounding.judge.organizing import (
    instructions_of,
    left_to_judge,
    named_topics,
    notes_of,
    topic_states,
)
from sounding.judge.progress import FEWEST, Live, TopicCounts
from sounding.judge.project import Project
from sounding.judge.records import Topic, User
from sounding.judge.review import DifferingDocument, JudgmentAudit, agreement_of, audits_of
from sounding.judge.search import shortened
from sounding.judge.settings import Order, Settings
from sounding.judge.store import Store
from sounding.plan.sentences import NOTHING_JUDGED
from sounding.render.tables import Column, Table, shown_confidence

TITLE = 50  # characters of a topic's title
LINE = 60  # characters of the instructions, or of the comments on one document


def user_table(
    store: Store, numbers: Collection[int] | None = None, links: Mapping[int, str] | None = None
) -> Table:
    """List all users with their topics and judgments, or only some; with their new links, if any."""
    users = [user for user in store.users() if numbers is None or user.id in numbers]
    topics = store.topics_given()
    judged = store.judgments_given()
    notes = [] if users else ["no users yet; add one with: sounding judge user DIR NAME --role organizer"]
    return Table(
        [
            Column("user", [user.name for user in users]),
            Column("role", [user.role for user in users]),
            Column("in the log", [user.pseudonym for user in users]),
            Column("topics", [topics[user.pseudonym] for user in users]),
            Column("judged", [judged[user.pseudonym] for user in users]),
            Column("sign-in", [sign_in(user) for user in users]),
            *([Column("link", [links.get(user.id) for user in users])] if links else []),
        ],
        notes=notes,
    )


def status_tables(project: Project, *, brief: bool = True) -> dict[str, Table]:
    """Return the table `topics` with its progress and, if the runs can be ranked, the table `runs`.

    `brief` cuts long titles, for people.
    """
    if project.settings.of_pairs:
        return {"topics": _pairs(project, brief)}
    if reason := project.engine.why_no_ranking():
        remedy = (
            "choose topics with: sounding judge topics DIR --choose ID,..."
            if project.engine.run_names()
            else "add runs with: sounding judge import DIR --runs FILE"
        )
        topics = project.store.topics()
        columns = [
            Column("topic", [topic.id for topic in topics]),
            Column("status", [topic.status for topic in topics]),
        ]
        return {"topics": Table(columns, notes=[f"{reason} There is nothing to judge; {remedy}"])}
    live = project.engine.live()
    return {"topics": _topics(project, live, brief), "runs": _runs(live)}


def waiting_columns(settings: Settings, rows: Sequence[TopicCounts]) -> list[Column]:
    """Return columns for documents that need more assessors or an organizer, if the settings allow any."""
    return [
        *([Column("again", [row.again for row in rows])] if settings.overlap > 1 else []),
        *([Column("unsettled", [row.unsettled for row in rows])] if settings.feed == "adjudicated" else []),
    ]


def _title(topic: Topic | None, brief: bool) -> str:
    title = "" if topic is None else topic.title
    return shortened(title, TITLE) if brief else title


def _topics(project: Project, live: Live, brief: bool) -> Table:
    assessors = Counter(topic for topic, _ in project.store.assigned())
    known = {topic.id: topic for topic in project.store.topics()}
    names = sorted({*live.topics, *known}, key=natural_order)
    rows = [live.of(name) for name in names]
    total, (left, textless) = live.total, left_to_judge(project, live)
    unclear = f" ({total.cannot:,} of them impossible to judge)" if total.cannot else ""
    unclear += f"; {total.unsettled:,} to be settled" if total.unsettled else ""
    unclear += f"; {total.again:,} need more assessors" if total.again else ""
    unused = sum(one.judged + one.unsettled for one in live.unused.values())
    apart = f"; not counted: {unused:,} for topics that are not chosen or in no run" if unused else ""
    apart += f"; {textless:,} more of topics without a text, which nobody can judge" if textless else ""
    return Table(
        [
            Column("topic", names),
            Column("title", [_title(known.get(name), brief) for name in names]),
            Column("status", [known[name].status if name in known else "no text" for name in names]),
            Column("order", [project.engine.order(name).policy for name in names]),
            Column("assessors", [assessors[name] for name in names]),
            Column("judged", [row.judged for row in rows]),
            Column("relevant", [row.relevant for row in rows]),
            Column("left", [row.left if name in known else 0 for name, row in zip(names, rows, strict=True)]),
            *waiting_columns(project.settings, rows),
        ],
        title=project.settings.title,
        notes=[
            f"{plural(total.judged, 'document')} judged{unclear}; {total.relevant:,} relevant;"
            f" {left:,} left{apart}. A document counts once for each of its topics.",
            *notes_of(project.engine),
        ],
        facts={
            "database": project.store.kind(),
            "sequence": live.sequence,
            **{name: getattr(total, name) for name in ("judged", "relevant", "cannot", "unsettled")},
            "left": left,
            "short_of_assessors": list(project.engine.short_of_assessors()),
        },
    )


def _pairs(project: Project, brief: bool) -> Table:
    """List the topics of a project of preferences."""
    total, people = project.engine.counts().total, len(project.store.judgments_given())
    notes = [
        f"{plural(total.judged, 'preference')} by {plural(people, 'assessor')}; at most {total.left:,} pairs"
        " left, for everybody who has begun with a topic or for one person",
        *notes_of(project.engine),
    ]
    facts = {"sequence": project.store.last_sequence(), "judged": total.judged, "left": total.left}
    listed = topic_table(project, brief=brief)
    return replace(listed, title=project.settings.title, notes=notes, facts=facts)


def _runs(live: Live) -> Table:
    confidence, sequence = live.stated, live.sequence
    order = confidence.order.tolist()
    adjacent = [*confidence.adjacent().tolist(), math.nan]
    sure = confidence.of_ranking()
    if len(order) < 2:
        summary = "There is only one run"
    elif confidence.reason:
        nothing = "" if live.total.judged else f"{NOTHING_JUDGED} "
        summary = f"{nothing}No confidence is stated: {confidence.reason}"
    else:
        summary = f"Confidence in the ranking (mean over all pairs of runs): {shown_confidence(sure)}"
    model = f"relevance model fitted to {live.fitted:,} of {plural(live.fittable, 'judgment')}"
    return Table(
        [
            Column("run", [confidence.runs[run] for run in order]),
            Column("expected", [float(confidence.values[run]) for run in order], digits=4),
            Column("above the next", adjacent, chance=True),
        ],
        title="Runs by expected value",
        notes=[f"{summary}; as of event {sequence:,}, {model}."],
        facts={
            "sequence": sequence,
            "fitted": live.fitted,
            "fittable": live.fittable,
            "confidence": None if math.isnan(sure) else sure,
            "not_stated": confidence.reason or None,
        },
    )


def sign_in(user: User) -> str:
    """Say in one word whether a user can sign in."""
    if user.erased:
        return "erased"
    if not user.active:
        return "disabled"
    return "invited" if user.password_hash is None else "yes"


def topic_table(project: Project, *, brief: bool) -> Table:
    """List every topic with status, order, assessors and progress; `brief` cuts long titles, for people."""
    states = topic_states(project)
    counts = [one.counts for one in states]
    none = "no topics yet; add some with: sounding judge import DIR --topics FILE"
    return Table(
        [
            Column("topic", [one.topic.id for one in states]),
            Column("title", [_title(one.topic, brief) for one in states]),
            Column("status", [one.topic.status for one in states]),
            Column("order", [one.order.policy for one in states]),
            Column("assessors", [", ".join(person.name for person in one.assessors) for one in states]),
            Column("judged", [one.judged for one in counts]),
            Column("left", [one.left for one in counts]),
            *waiting_columns(project.settings, counts),
        ],
        notes=notes_of(project.engine) if states else [none],
    )


def order_table(project: Project, named: list[str] | None) -> Table:
    """List the order in which the documents of each topic are judged."""
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
        notes=[
            f"new topics: {_in_words(project.engine.general_order())}",
            "mtc: minimal test collection, the documents that say most about the ranking; batch: documents"
            " shuffled together; warm-up: top-ranked documents that come first",
        ],
    )


def _shown_parameters(order: Order) -> str:
    return " ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in order.parameters.items()
    )


def _in_words(order: Order) -> str:
    batches = f", batches of {order.batch}" if order.batch > 1 else ""
    warm_up = f", warm-up {order.warm_up}" if order.warm_up else ""
    return f"{order.policy} {_shown_parameters(order)}".rstrip() + batches + warm_up


def settings_table(project: Project, *, brief: bool) -> Table:
    """List the settings that can change while people judge."""
    now, text = project.settings, instructions_of(project)
    rows: dict[str, str] = {
        "title": now.title, "overlap": str(now.overlap), "feed": now.feed, "level": f"{now.level:g}",
        "measure": now.measure, "lease": f"{now.lease_seconds / 60:g}", "language": now.language,
        "suggest": suggesting(project.store) or "none",
        "instructions": shortened(" ".join(text.split()), LINE) if brief else text,
    }  # fmt: skip
    notes = [
        "overlap: assessors per document; feed: which grade counts if they differ; lease: in minutes;"
        " language: of the pages, unless a person chooses another",
        "" if text else "no instructions yet; add them with --instructions FILE",
    ]
    return Table(
        [Column("setting", list(rows)), Column("value", list(rows.values()))],
        notes=[note for note in notes if note],
    )


def difference_table(
    project: Project, found: list[DifferingDocument], only_open: bool, *, brief: bool
) -> Table:
    """List the documents on which assessors differ, with all grades and the settled one."""
    shown = [one for one in found if one.open or not only_open]
    comments = [_comments(one) for one in shown]
    return Table(
        [
            Column("topic", [one.topic for one in shown]),
            Column("doc", [one.doc for one in shown]),
            Column("grades", [_grades(one) for one in shown]),
            *(
                [Column("comments", [shortened(text, LINE) if brief else text for text in comments])]
                if any(comments)
                else []
            ),
            Column("settled", [None if one.open else _grade(one.settled) for one in shown], right=True),
        ],
        notes=_difference_notes(project, found),
        facts={"differing": len(found), "open": sum(one.open for one in found)},
        keys=2,
    )


def _difference_notes(project: Project, found: list[DifferingDocument]) -> list[str]:
    if not found:
        return ["assessors agree on all documents of topics in use"]
    waiting, feed = sum(one.open for one in found), project.settings.feed
    until = "; unsettled documents count as unjudged" if waiting and feed == "adjudicated" else ""
    total = f"{plural(len(found), 'document')} with different grades, {waiting:,} not settled{until}"
    counts = f"the grade that counts: {feed}; settled grades count only with --feed adjudicated"
    return [total] if feed == "adjudicated" else [total, counts]


def _grades(one: DifferingDocument) -> str:
    return ", ".join(f"{given.name} {_grade(given.grade)}" for given in one.grades)


def _comments(one: DifferingDocument) -> str:
    given = ((said.name, " ".join(said.comment.split())) for said in one.grades)
    return "; ".join(f"{name}: {comment}" for name, comment in given if comment)


def _grade(grade: float | None) -> str:
    return "cannot judge" if grade is None else f"{grade:g}"


def audit_table(project: Project, experts: list[User]) -> Table:
    """List the samples that experts have drawn, with progress and agreement."""
    store, scale = project.store, [grade.value for grade in project.settings.scale]
    names = store.names()
    found = sorted(
        (one for expert in experts for one in audits_of(store, expert.pseudonym)), key=lambda one: one.number
    )
    agreed = [agreement_of(one, scale) or {} for one in found]
    gone = [len(one.taken_back) for one in found]
    none = "no samples yet; draw one with: sounding judge audit DIR ASSESSOR --expert NAME"
    few = f"kappa: Cohen's kappa of the grades, if both could judge at least {FEWEST} documents"
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


def drawn_table(audit: JudgmentAudit, expert: str, assessor: str) -> Table:
    """List the documents of a sample without the grades, which the expert must not see."""
    return Table(
        [
            Column("audit", [audit.number] * len(audit.drawn)),
            Column("topic", [topic for topic, _ in audit.drawn]),
            Column("doc", [doc for _, doc in audit.drawn]),
        ],
        facts={"audit": audit.number, "expert": expert, "assessor": assessor, "of": audit.of},
    )
