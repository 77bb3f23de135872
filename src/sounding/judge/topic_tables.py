"""Topics: their versions, which of them are in use, and who judges them.

Texts are kept in versions beside the log. That there is a new version, and the status it gives the topic, is
an event, so that the log alone says which topics counted at any moment.
"""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from itertools import count

from sounding.core.errors import DataError
from sounding.judge import sql
from sounding.judge.database import Statements, Tables, readable, storable
from sounding.judge.log import append
from sounding.judge.records import CANDIDATE, ConflictError, Event, Topic, TopicStatus, event_of, topic_of


class TopicTables(Tables):
    """The part of a store that knows topics."""

    def begin_topic(self, *, title: str, author: str) -> Topic:
        """A new topic of an assessor, under the first id of ours that is free."""
        with self._database.write() as run:
            taken = {row["id"] for row in run(sql.TOPICS)}
            id = next(name for number in count(1) if (name := f"N{number:03d}") not in taken)  # noqa: A001
            return self.save_topic(id, title=title, author=author)

    def save_topic(
        self,
        id: str,  # noqa: A002
        *,
        title: str,
        description: str = "",
        narrative: str = "",
        status: TopicStatus | None = None,
        estimate: int | None = None,
        author: str | None = None,
        after: int | None = None,
    ) -> Topic:
        """A new version of a topic; one that would be as the newest is, is not made.

        Without a status the topic keeps the one that it has; a new one is a candidate. Where the newest
        version is not the one that this is to come `after`, it is a ConflictError.
        """
        id = storable(id.strip(), "a topic id")  # noqa: A001
        if len(id.split()) != 1:
            raise DataError(f"topic id {id!r} has blanks in it; expected one word")
        with self._database.write() as run:
            last = _newest(run, id)
            newest = 0 if last is None else last.version
            if after not in (None, newest):
                raise ConflictError(
                    f"topic {id} has version {newest} by now; look at it and save yours again"
                )
            present = CANDIDATE if last is None else last.status
            topic = Topic(
                id=id, version=1, title=readable(title), description=readable(description),
                narrative=readable(narrative), status=status or present, estimate=estimate, author=author,
                time=time.time(),
            )  # fmt: skip
            return _kept(run, topic, last)

    def set_status(self, id: str, status: TopicStatus, *, author: str | None = None) -> Topic:  # noqa: A002
        """The topic with another status, its text as it is; the same status again changes nothing."""
        with self._database.write() as run:
            last = _newest(run, id)
            if last is None:
                raise DataError(f"there is no topic {id!r}; its status cannot change")
            return _kept(run, replace(last, status=status, author=author, time=time.time()), last)

    def topic(self, id: str) -> Topic | None:  # noqa: A002
        """The newest version of a topic."""
        with self._database.read() as run:
            return _newest(run, id)

    def topics(self) -> list[Topic]:
        """All topics, each in its newest version, by id."""
        return [topic_of(row) for row in self._rows(sql.TOPICS)]

    def topic_versions(self, id: str) -> list[Topic]:  # noqa: A002
        """All versions of a topic, the first one first."""
        return [topic_of(row) for row in self._rows(sql.TOPIC_VERSIONS, id=readable(id))]

    def topic_events(self, until: int) -> list[Event]:
        """The events that say which versions of topics there are, up to a sequence number."""
        return [event_of(row) for row in self._rows(sql.TOPIC_EVENTS, until=until)]

    def judged_topics(self, until: int) -> list[str]:
        """The topics with judgments that stood after an event, by id."""
        return [row["topic"] for row in self._rows(sql.JUDGED_TOPICS, until=until)]

    def assign(self, topic: str, assessor: str) -> None:
        """Have an assessor judge a topic; who does already, goes on."""
        with self._database.write() as run:
            if _newest(run, topic) is None:
                raise DataError(f"there is no topic {topic!r}; assign one that exists")
            if not run(sql.ASSIGNED, topic=topic, assessor=assessor):
                run(sql.ASSIGN, topic=topic, assessor=assessor)
                append(run, "assign", topic=topic, assessor=assessor)

    def unassign(self, topic: str, assessor: str) -> None:
        """Take a topic from an assessor, whose leases on it are given back."""
        with self._database.write() as run:
            if run(sql.ASSIGNED, topic=topic, assessor=assessor):
                run(sql.UNASSIGN, topic=topic, assessor=assessor)
                append(run, "unassign", topic=topic, assessor=assessor)
            run(sql.RELEASE["topic"], topic=topic, assessor=assessor)

    def assignments(self) -> list[tuple[str, str]]:
        """(topic, assessor) for all that are assigned."""
        return [(row["topic"], row["assessor"]) for row in self._rows(sql.ASSIGNMENTS)]

    def was_assigned(self, topic: str, assessor: str) -> bool:
        """Whether an assessor is to judge a topic, or was at any time before."""
        return bool(self._rows(sql.WAS_ASSIGNED, topic=readable(topic), assessor=assessor))

    def topics_by(self, author: str) -> list[Topic]:
        """The topics that an assessor began, each in its newest version, whoever wrote that."""
        return [topic_of(row) for row in self._rows(sql.TOPICS_BY, author=author)]

    def topics_of(self, assessor: str) -> list[Topic]:
        """The topics that an assessor is to judge."""
        return [topic_of(row) for row in self._rows(sql.TOPICS_OF, assessor=assessor)]


def _newest(run: Statements, id: str) -> Topic | None:  # noqa: A002
    rows = run(sql.NEWEST_TOPIC, id=readable(id))
    return topic_of(rows[0]) if rows else None


def _kept(run: Statements, topic: Topic, last: Topic | None) -> Topic:
    """Make a topic the newest version and say so in the log, unless it says what the last one does."""
    if last is not None:
        if replace(topic, version=last.version, author=last.author, time=last.time) == last:
            return last
        topic = replace(topic, version=last.version + 1)
    run(sql.ADD_TOPIC, **asdict(topic))
    append(
        run, "topic", topic=topic.id, assessor=topic.author,
        detail={"status": topic.status, "version": topic.version},
    )  # fmt: skip
    if not topic.in_use:
        run(sql.RELEASE_TOPIC, topic=topic.id)
    return topic
