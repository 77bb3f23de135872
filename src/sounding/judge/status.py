"""How far judging is, as tables: users, topics, the order of the runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from sounding.core.text import natural_order, plural
from sounding.judge.counts import Live, TopicCounts
from sounding.judge.organizing import TopicOverview, notes_of
from sounding.judge.project import Project
from sounding.judge.records import User
from sounding.judge.search import shortened
from sounding.judge.settings import Settings
from sounding.judge.store import Store, assigned
from sounding.plan.tables import NOTHING_JUDGED
from sounding.render.tables import Column, Table, shown_confidence

TITLE = 50  # characters of a topic's title


def user_table(store: Store, number: int | None = None, link: str | None = None) -> Table:
    """Everybody who can sign in, with topics and judgments; or one, with the link that was made, if any."""
    users = [user for user in store.users() if number in (None, user.id)]
    topics = topics_given(store)
    judged = store.judgments_given()
    notes = [] if users else ["nobody yet; add somebody with: sounding judge user DIR NAME --role organiser"]
    return Table(
        [
            Column("user", [user.name for user in users]),
            Column("role", [user.role for user in users]),
            Column("in the log", [user.pseudonym for user in users]),
            Column("topics", [topics[user.pseudonym] for user in users]),
            Column("judged", [judged[user.pseudonym] for user in users]),
            Column("sign-in", [sign_in(user) for user in users]),
            *([] if link is None else [Column("link", [link])]),
        ],
        notes=notes,
    )


def topics_given(store: Store) -> Counter[str]:
    """How many topics everybody is to judge, by pseudonym; who can judge nothing has none."""
    return Counter(assessor.pseudonym for _, assessor in assigned(store))


def status_tables(project: Project) -> dict[str, Table]:
    """`topics` with what is judged and left, and `runs` with how sure their order is, if it can be said."""
    if reason := project.engine.why_no_ranking():
        mend = (
            "choose one on the page Topics"
            if project.engine.run_names()
            else "add some with: sounding judge import DIR --runs ..."
        )
        topics = project.store.topics()
        columns = [
            Column("topic", [topic.id for topic in topics]),
            Column("status", [topic.status for topic in topics]),
        ]
        return {"topics": Table(columns, notes=[f"{reason} There is nothing to judge; {mend}"])}
    live = project.engine.live()
    return {"topics": _topics(project, live), "runs": _runs(live)}


def waiting_columns(settings: Settings, rows: Sequence[TopicCounts | TopicOverview]) -> list[Column]:
    """What waits for more people or for an organiser, where the settings let anything wait."""
    return [
        *([Column("again", [row.again for row in rows])] if settings.overlap > 1 else []),
        *([Column("unsettled", [row.unsettled for row in rows])] if settings.feed == "adjudicated" else []),
    ]


def _topics(project: Project, live: Live) -> Table:
    assessors = Counter(topic for topic, _ in assigned(project.store))
    known = {topic.id: topic for topic in project.store.topics()}
    names = sorted({*live.topics, *known}, key=natural_order)
    rows = [live.of(name) for name in names]
    unclear = f", {live.cannot:,} of them could not be judged" if live.cannot else ""
    unclear += f"; {live.unsettled:,} wait for adjudication" if live.unsettled else ""
    unclear += f"; {live.again:,} to be judged by more people" if live.again else ""
    unused = sum(one.judged + one.unsettled for one in live.unused.values())
    apart = f"; not counted: {unused:,} of topics that are not chosen or that no run has" if unused else ""
    return Table(
        [
            Column("topic", names),
            Column("title", [shortened(known[name].title, TITLE) if name in known else "" for name in names]),
            Column("status", [known[name].status if name in known else "no text" for name in names]),
            Column("order", [project.engine.order(name).policy for name in names]),
            Column("assessors", [assessors[name] for name in names]),
            Column("judged", [row.judged for row in rows]),
            Column("relevant", [row.relevant for row in rows]),
            Column("left", [row.left for row in rows]),
            *waiting_columns(project.settings, rows),
        ],
        title=project.settings.title,
        notes=[
            f"{plural(live.judged, 'document')} judged{unclear}; {live.relevant:,} relevant;"
            f" {live.left:,} left{apart}. A document counts for each of its topics.",
            *notes_of(project.engine),
        ],
        facts={
            "database": project.store.kind(),
            "sequence": live.sequence,
            "judged": live.judged,
            "relevant": live.relevant,
            "cannot": live.cannot,
            "unsettled": live.unsettled,
            "left": live.left,
            "short_of_assessors": list(project.engine.short_of_assessors()),
        },
    )


def _runs(live: Live) -> Table:
    confidence, sequence = live.stated, live.sequence
    order = confidence.order.tolist()
    adjacent = [*confidence.adjacent().tolist(), math.nan]
    sure = confidence.of_ranking()
    if len(order) < 2:
        told = "One run makes no order"
    elif confidence.reason:
        nothing = "" if live.judged else f"{NOTHING_JUDGED} "
        told = f"{nothing}No confidence is stated: {confidence.reason}"
    else:
        told = f"Mean confidence of a pair of runs: {shown_confidence(sure)}"
    model = f"model fitted at {live.fitted:,} of {plural(live.fittable, 'judgment')}"
    return Table(
        [
            Column("run", [confidence.runs[run] for run in order]),
            Column("expected", [float(confidence.values[run]) for run in order], digits=4),
            Column("above the next", adjacent, chance=True),
        ],
        title="Runs by expected value",
        notes=[f"{told}; as of event {sequence:,}, {model}."],
        facts={
            "sequence": sequence,
            "fitted": live.fitted,
            "fittable": live.fittable,
            "confidence": None if math.isnan(sure) else sure,
            "not_stated": confidence.reason or None,
        },
    )


def sign_in(user: User) -> str:
    """Whether a user can sign in, in a word."""
    if user.erased:
        return "erased"
    if not user.active:
        return "disabled"
    return "invited" if user.password_hash is None else "yes"
