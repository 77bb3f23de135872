"""Labels by machines: each machine is a named assessor whose labels never count as judgments.

A label is an event of its own kind. So nothing that reads judgments can take it for one: neither the grade
that counts, nor progress, nor what is judged next. Assessors see the labels of a document once they have
judged it, or before if the organizer allows suggestions. The judgment then records what was shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sounding.core.errors import DataError, FormatError, UnknownNameError
from sounding.core.text import quote
from sounding.data.labels import FACTS, read_labels
from sounding.judge.database import readable
from sounding.judge.ids import MOST_ASSESSOR, check_table, judgments_in
from sounding.judge.project import ImportOutcome, Project, known_topics, remarks_on
from sounding.judge.records import Pair
from sounding.judge.search import missing_from
from sounding.judge.store import Store

MACHINE = "machine-"  # prefix of machines; no pseudonym of a person begins with it
MACHINES = "machines"  # the setting with all machines and what is known about them
SUGGESTING = "suggestions by"  # the setting with the machine whose labels are shown before judging


def import_labels(project: Project, source: str, *, name: str | None = None) -> ImportOutcome:
    """Add the labels of a file, all or none; the file names its machines, or `name` does.

    Labels equal to earlier ones change nothing; others replace them. Topics that the project lacks are left
    out.
    """
    found = read_labels([source] if name is None else {name: source})
    known, store = known_topics(project), project.store
    rows, changed = 0, 0
    strangers: dict[str, None] = {}
    lost: list[Pair] = []
    machines = machines_of(store)
    with store.together():
        for labels in found:
            check_table(labels.table)
            own: dict[Pair, float] = {}
            for one in judgments_in(labels.table):
                if known and one.topic not in known:
                    strangers[one.topic] = None
                    continue
                try:
                    project.settings.check_grade(one.grade)
                except DataError as error:
                    about = f"label of document {quote(one.doc)} of topic {quote(one.topic)}"
                    raise FormatError(source, None, f"{about}: {error}") from None
                own[one.topic, one.doc] = one.grade
            if own:
                machine = machine_name(labels.judge)
                machines[machine] = dict(labels.facts)
                changed += store.add_labels(machine, own)
                rows += len(own)
                lost += missing_from(project.corpus, list(own))
        if not rows:
            stranger = next(iter(strangers), "")
            raise DataError(f"{source} has labels for none of the project's topics; it has {quote(stranger)}")
        store.set_setting(MACHINES, json.dumps(machines, ensure_ascii=False, sort_keys=True))
    project.engine.catch_up()
    return ImportOutcome(rows, changed, remarks_on(list(strangers), lost, project.corpus))


def machine_name(judge: str) -> str:
    """Return the name of a machine as an assessor."""
    words = readable(judge.removeprefix(MACHINE)).split()
    name = MACHINE + "-".join(words)
    if not words or len(name.encode()) > MOST_ASSESSOR:
        most = MOST_ASSESSOR - len(MACHINE)
        raise DataError(f"{quote(judge)} cannot be the name of a machine; give one of at most {most} bytes")
    return name


def machines_of(store: Store) -> dict[str, dict[str, str]]:
    """Return the machines with labels, each with its model, prompt, temperature and date if known."""
    found: dict[str, dict[str, str]] = json.loads(store.setting(MACHINES) or "{}")
    return found


def suggesting(store: Store) -> str:
    """Return the machine whose labels assessors see before they judge; empty if none."""
    return store.setting(SUGGESTING) or ""


def suggest(store: Store, name: str, *, by: str | None = None) -> None:
    """Show assessors the labels of a machine before they judge; `none` ends this."""
    machine = "" if name == "none" else machine_name(name)
    if machine and machine not in (known := machines_of(store)):
        raise UnknownNameError("machine", name, [one.removeprefix(MACHINE) for one in known])
    store.set_setting(SUGGESTING, machine, by=by)


def visible_labels(store: Store, topic: str, doc: str, *, judged: bool) -> dict[str, float]:
    """Return the labels that an assessor may see: all of a judged document, else the suggestion."""
    if judged:
        return store.labels_of(topic, doc) if machines_of(store) else {}
    machine = suggesting(store)
    found = store.labels_of(topic, doc) if machine else {}
    return {name: grade for name, grade in found.items() if name == machine}


def label_opinions(store: Store) -> Iterator[tuple[str, Pair, float | None]]:
    """Yield every label as an opinion (assessor, pair, grade), for agreement."""
    for machine in machines_of(store):
        for pair, grade in store.labels_by(machine).items():
            yield machine, pair, grade


def label_table(store: Store, until: int, unused: set[str]) -> Iterator[str]:
    """Yield the labels as a table that label files are, without those of unused topics."""
    machines = machines_of(store)
    yield "\t".join(("topic", "doc", "label", "judge", *FACTS)) + "\n"
    for machine, facts in sorted(machines.items()):
        about = "\t".join((machine.removeprefix(MACHINE), *(_cell(facts, name) for name in FACTS)))
        for (topic, doc), grade in sorted(store.labels_by(machine, until).items()):
            if topic not in unused:
                yield f"{topic}\t{doc}\t{grade:g}\t{about}\n"


def _cell(facts: Mapping[str, Any], name: str) -> str:
    return " ".join(str(facts.get(name, "")).split())
