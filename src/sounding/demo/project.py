"""The demo as a project: made once, with people who can sign in, and opened again as it was left."""

from __future__ import annotations

import json
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sounding.core.errors import DataError
from sounding.core.files import beside, write_whole
from sounding.data.corpus import Document
from sounding.demo.models import Runs, make_runs
from sounding.demo.questions import QUESTIONS
from sounding.judge.auth import hash_password
from sounding.judge.organizing import set_instructions
from sounding.judge.project import (
    FILE,
    Project,
    create_project,
    open_project,
    put_in_place,
    refuse_full,
)
from sounding.judge.records import Role
from sounding.judge.settings import Order, Settings, parse_scale

SOURCE = "source"  # folder with the files that the project was made of
LATER = "pieces"  # the run that is left to be added while people judge
PEOPLE = "people.json"
NAMES: tuple[tuple[str, Role], ...] = (("ann", "assessor"), ("bob", "assessor"), ("olga", "organiser"))
DEPTH = 50  # documents of a run that count
INSTRUCTIONS = (
    "You are looking for help with the question beside the document. Judge what the text itself tells, not"
    " what you know of the function. 2: it answers the question. 1: it helps on the way. 0: it does not help."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who can sign in to the demo."""

    name: str
    role: Role
    password: str
    topics: tuple[str, ...]


def is_demo(folder: Path) -> bool:
    """Whether a folder holds a demo that was made before; another project there is refused."""
    if not (folder / FILE).exists():
        return False
    if not (folder / PEOPLE).exists():
        raise DataError(
            f"{folder}: a judging project that is no demo; serve it with: sounding judge serve {folder}"
        )
    return True


def open_demo(folder: Path) -> tuple[Project, list[Person]]:
    """A demo that was made before, and who can sign in."""
    try:
        record = json.loads((folder / PEOPLE).read_text(encoding="utf-8"))
        people = [Person(**{**one, "topics": tuple(one["topics"])}) for one in record]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(f"{folder / PEOPLE} cannot be read ({error}); give another folder") from error
    return open_project(folder), people


def create_demo(folder: Path, documents: Sequence[Document]) -> tuple[Project, list[Person]]:
    """A project over documents with the questions and models of the demo, and who can sign in.

    It is in its place when all of it is there, so that one that was stopped meanwhile can begin again.
    """
    refuse_full(folder)
    runs = make_runs(documents, QUESTIONS, DEPTH)
    part = beside(folder).with_suffix(".demo")
    try:
        part.mkdir(parents=True)  # which says of the folder itself where nothing can be written
        with _created(part, documents, runs) as project:
            people = _add_people(project)
        put_in_place(part, folder)
    except OSError as error:
        raise DataError(f"{folder} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return open_project(folder), people


def _created(folder: Path, documents: Sequence[Document], runs: Runs) -> Project:
    with tempfile.TemporaryDirectory() as name:
        source = Path(name)
        write_sources(source, documents, runs)
        project = create_project(
            folder, corpus=[str(source / "corpus.jsonl")], topics=str(source / "topics.txt"),
            runs=[str(source / "runs")],
            settings=Settings(
                title="Finding help in Python's library", depth=DEPTH,
                scale=parse_scale("0=does not help,1=helps,2=answers it"), order=Order(batch=4, warm_up=4),
            ),
        )  # fmt: skip
        shutil.copytree(source, folder / SOURCE)
    return project


def write_sources(folder: Path, documents: Sequence[Document], runs: Runs) -> None:
    """Write corpus, topics and runs as the files that `sounding judge init` takes."""
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    corpus = (json.dumps({"id": one.doc, "text": one.text}, ensure_ascii=False) for one in documents)
    topics = (
        f"<top>\n<num> Number: {one.id}\n<title> {one.title}\n<desc> Description:\n{one.description}\n"
        f"<narr> Narrative:\n{one.narrative}\n</top>\n"
        for one in QUESTIONS
    )
    write_whole(folder / "corpus.jsonl", "".join(f"{line}\n" for line in corpus).encode("utf-8", "replace"))
    write_whole(folder / "topics.txt", "\n".join(topics).encode())
    for name, found in runs.items():
        lines = (
            f"{topic} Q0 {doc} {rank} {score:.6f} {name}\n"
            for topic, scores in found.items()
            for rank, (doc, score) in enumerate(scores.items(), 1)
        )
        place = folder / f"{name}.txt" if name == LATER else folder / "runs" / f"{name}.txt"
        write_whole(place, "".join(lines).encode())


def _add_people(project: Project) -> list[Person]:
    """People with new passwords; the topics are shared out between the assessors."""
    assessors = [name for name, role in NAMES if role == "assessor"]
    shares = {name: QUESTIONS[place :: len(assessors)] for place, name in enumerate(assessors)}
    people = [
        Person(
            name=name, role=role, password=secrets.token_hex(6),
            topics=tuple(one.id for one in shares.get(name, ())),
        )
        for name, role in NAMES
    ]  # fmt: skip
    for person in people:
        user = project.store.add_user(person.name, person.role, hash_password(person.password))
        for topic in person.topics:
            project.store.assign(topic, user.pseudonym)
    set_instructions(project, INSTRUCTIONS)
    record = [{name: getattr(person, name) for name in Person.__slots__} for person in people]
    target = project.folder / PEOPLE
    write_whole(target, json.dumps(record, indent=1).encode() + b"\n")
    target.chmod(0o600)
    return people
