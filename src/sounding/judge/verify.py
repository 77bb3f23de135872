"""Check that a project matches its log, by replaying the log twice and comparing to the last digit.

`python -m sounding.judge.verify FOLDER SEQUENCE` prints the result of a replay in that process.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sounding.core.errors import DataError, SoundingError
from sounding.core.workers import Progress
from sounding.judge.export_kinds import EXPORT_KINDS
from sounding.judge.exports import EXPORTS
from sounding.judge.project import Project, open_project, refuse_other_corpus
from sounding.judge.records import Selection
from sounding.judge.state import JudgingState
from sounding.judge.store import Store

AHEAD = 3  # next documents of each topic to compare
CLOSE = 1e-9  # relative tolerance, because other machines may round differently

Snapshot = dict[str, Any]  # plain data that must be the same in two replays of a log


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The size of the comparison, and a sentence for every difference."""

    events: int
    choices: int  # recorded choices of documents that the replay repeated
    problems: tuple[str, ...]


def verify(project: Project, progress: Progress | None = None) -> Verification:
    """Replay the log here and in a new process, repeat every recorded choice, and check the corpus."""
    until = project.store.last_sequence()
    replay = JudgingState(project.store.run)
    choices, problems = 0, [*project.store.damage(), *_unlike_topics(project.store, until)]
    problems += [*_unlike_runs(project.store, until), *_unlike_corpus(project)]
    for topic, doc, selection, found in _choices(project.store, replay, until, progress):
        choices += 1
        if not _same(selection, found):
            problems.append(
                f"event {selection.known}: topic {topic}: {doc} was chosen as {_description(selection)}, but"
                f" the replay has it as {_description(found)}"
            )
    here, there = snapshot(project.store, replay, until), _snapshot_in_new_process(project.folder, until)
    problems += [f"{name}: two replays of the log differ" for name in here if here[name] != there.get(name)]
    return Verification(events=until, choices=choices, problems=tuple(problems))


def snapshot(store: Store, replay: JudgingState, until: int) -> Snapshot:
    """Return the next documents, the confidences and a digest of every export at the end of a replay."""
    topics = replay.retrieved.topics if replay.ready else ()
    result: Snapshot = {
        "sequence": replay.sequence,
        "statuses of topics": dict(sorted(replay.statuses.items())),
        "next documents": {
            topic: [offer.doc for offer in replay.fresh_offers(topic, AHEAD)] for topic in topics
        },
    }
    if replay.of_pairs:
        result["next pairs"] = {
            topic: {
                who: [offer.doc for offer in replay.pair_offers(who, topic)]
                for who in replay.preferences.assessors(topic)
            }
            for topic in replay.pair_topics
        }
    if replay.ready:
        confidence = replay.session.confidence()
        result["expected values"] = [value.hex() for value in confidence.values.tolist()]
        result["confidences"] = [value.hex() for value in confidence.not_above.ravel().tolist()]
    for name in (kind.name for kind in EXPORT_KINDS.values() if kind.of_log):
        digest = hashlib.sha256()
        for line in EXPORTS[name](store, until):
            digest.update(line.encode("utf-8", "surrogateescape"))
        result[f"export of {name}"] = digest.hexdigest()
    return result


def _unlike_runs(store: Store, until: int) -> Iterator[str]:
    """Yield the runs that have changed since they were added."""
    for event in store.events(until=until):
        if event.kind == "run":
            name = event.detail["name"]
            if hashlib.sha256(store.run(name)).hexdigest() != event.detail["digest"]:
                yield f"run {name}: has changed since it was added"


def _unlike_corpus(project: Project) -> Iterator[str]:
    """Yield an error if the corpus is missing or has changed since the project was created."""
    try:
        refuse_other_corpus(project)
    except SoundingError as error:
        yield str(error)


def _unlike_topics(store: Store, until: int) -> Iterator[str]:
    """Yield the topic versions on which the log and the topic table differ."""
    logged = {
        (event.topic or "", event.detail["version"]): event.detail["status"]
        for event in store.topic_events(until)
    }
    newest = dict(sorted(logged))  # topic -> its last version
    kept = {
        (topic, one.version): one.status
        for topic, last in newest.items()
        for one in store.topic_versions(topic)
        if one.version <= last
    }
    for topic, version in sorted(logged.keys() | kept.keys()):
        said, found = logged.get((topic, version), "nothing"), kept.get((topic, version), "nothing")
        if said != found:
            yield f"topic {topic}, version {version}: the log says {said}, the topic table says {found}"


def replay_log(store: Store, until: int | None = None) -> JudgingState:
    """Replay the log from its first event; return the resulting state."""
    replay = JudgingState(store.run)
    replay.follow(store.events(until=until))
    return replay


def _choices(
    store: Store, replay: JudgingState, until: int, progress: Progress | None
) -> Iterator[tuple[str, str, Selection, Selection | None]]:
    """Yield every choice that the log records, with the replay's choice at the same point."""
    waiting: dict[int, dict[tuple[str, str, str], Selection]] = {}
    for event in store.events(until=until):
        chosen = event.selection
        if event.kind == "judge" and chosen is not None and chosen.known and event.topic and event.doc:
            waiting.setdefault(chosen.known, {})[event.topic, event.doc, event.assessor or ""] = chosen
    for event in store.events(until=until):
        replay.follow([event])
        for (topic, doc, assessor), selection in waiting.pop(event.sequence, {}).items():
            yield topic, doc, selection, _chosen_again(replay, topic, doc, assessor)
        if progress is not None:
            progress(1)


def _chosen_again(replay: JudgingState, topic: str, doc: str, assessor: str) -> Selection | None:
    """Return how the replay selects a document, or a pair for an assessor; None if it does not."""
    if replay.of_pairs:
        pairs = {offer.doc: offer.selection for offer in replay.pair_offers(assessor, topic)}
        return pairs.get(doc)
    count = 1
    while True:
        offers = replay.fresh_offers(topic, count)
        found = next((offer.selection for offer in offers if offer.doc == doc), None)
        if found is not None or len(offers) < count:
            return found
        count *= 4


def _same(recorded: Selection, found: Selection | None) -> bool:
    if found is None:
        return False
    close = all(
        one == other or (one is not None and other is not None and math.isclose(one, other, rel_tol=CLOSE))
        for one, other in ((recorded.belief, found.belief), (recorded.weight, found.weight))
    )
    return (
        close
        and replace(found, belief=recorded.belief, weight=recorded.weight, known=recorded.known) == recorded
    )


def _description(selection: Selection | None) -> str:
    if selection is None:
        return "not chosen at all"
    weight = "" if selection.weight is None else f", weight {selection.weight:.6g}"
    return f"number {selection.step} by {selection.policy}{weight}"


def _snapshot_in_new_process(folder: Path, until: int) -> Snapshot:
    """Return the result of a replay in a new process."""
    environment = os.environ | {"PYTHONHASHSEED": "1"}  # sets iterate in another order than here
    done = subprocess.run(  # noqa: S603 - this very program
        [sys.executable, "-m", "sounding.judge.verify", str(folder), str(until)],
        capture_output=True, text=True, env=environment,
    )  # fmt: skip
    if done.returncode:
        raise DataError(f"the replay in a new process failed: {done.stderr.strip().splitlines()[-1:]}")
    result: Snapshot = json.loads(done.stdout)
    return result


def main(folder: str, until: int) -> None:
    """Print the result of a replay."""
    with open_project(folder) as project:
        found = snapshot(project.store, replay_log(project.store, until), until)
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
