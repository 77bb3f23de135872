"""Run `sounding demo --judge`: set up and serve a judging project with documents, topics and people."""

from __future__ import annotations

import json
import secrets
import shlex
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from sounding.core.errors import DataError
from sounding.core.files import temporary_path, write_file
from sounding.core.text import fill_paragraph
from sounding.data.corpus import Document
from sounding.demo.library import QUESTIONS, Runs, library_documents, library_sources, make_runs
from sounding.judge.app import can_listen, serve, stopped_alike
from sounding.judge.auth import hash_password
from sounding.judge.command import LOOPBACK, PORT
from sounding.judge.organizing import set_instructions
from sounding.judge.project import FILE, Project, create_project, open_project, put_in_place, refuse_full
from sounding.judge.records import Role
from sounding.judge.settings import Order, Settings, parse_scale
from sounding.terminal.options import PARAGRAPH_WIDTH, progress_bar

SOURCE = "source"  # folder with the input files of the project
LATER = "pieces"  # a run that can be added while people judge
PEOPLE = "people.json"
NAMES: tuple[tuple[str, Role], ...] = (("ann", "assessor"), ("bob", "assessor"), ("olga", "organizer"))
DEPTH = 50  # documents of a run to pool
INSTRUCTIONS = (
    "You are looking for help with the question beside the document. Judge what the text itself tells, not"
    " what you know of the function. 2: it answers the question. 1: it helps on the way. 0: it does not help."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person who can sign in to the demo."""

    name: str
    role: Role
    password: str
    topics: tuple[str, ...]


def is_demo(folder: Path) -> bool:
    """Return whether a folder holds an earlier demo; refuse another project there."""
    if not (folder / FILE).exists():
        return False
    if not (folder / PEOPLE).exists():
        raise DataError(
            f"{folder}: a judging project that is no demo; serve it with: sounding judge serve {folder}"
        )
    return True


def open_demo(folder: Path) -> tuple[Project, list[Person]]:
    """Return an earlier demo and the people who can sign in."""
    try:
        record = json.loads((folder / PEOPLE).read_text(encoding="utf-8"))
        people = [Person(**{**one, "topics": tuple(one["topics"])}) for one in record]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(f"{folder / PEOPLE} cannot be read ({error}); give another folder") from error
    return open_project(folder), people


def create_demo(folder: Path, documents: Sequence[Document]) -> tuple[Project, list[Person]]:
    """Create a project with the questions and models of the demo; return it and the people who can sign in.

    It is moved into its folder once complete, so that an interrupted setup can start again.
    """
    refuse_full(folder)
    runs = make_runs(documents, QUESTIONS, DEPTH)
    part = temporary_path(folder).with_suffix(".demo")
    try:
        part.mkdir(parents=True)  # its error names the folder if that is not writable
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
    """Write corpus, topics and runs as input files for `sounding judge init`."""
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    corpus = (json.dumps({"id": one.doc, "text": one.text}, ensure_ascii=False) for one in documents)
    topics = (
        f"<top>\n<num> Number: {one.id}\n<title> {one.title}\n<desc> Description:\n{one.description}\n"
        f"<narr> Narrative:\n{one.narrative}\n</top>\n"
        for one in QUESTIONS
    )
    write_file(folder / "corpus.jsonl", "".join(f"{line}\n" for line in corpus).encode("utf-8", "replace"))
    write_file(folder / "topics.txt", "\n".join(topics).encode())
    for name, found in runs.items():
        lines = (
            f"{topic} Q0 {doc} {rank} {score:.6f} {name}\n"
            for topic, scores in found.items()
            for rank, (doc, score) in enumerate(scores.items(), 1)
        )
        place = folder / f"{name}.txt" if name == LATER else folder / "runs" / f"{name}.txt"
        write_file(place, "".join(lines).encode())


def _add_people(project: Project) -> list[Person]:
    """Add people with new passwords, and divide the topics among the assessors."""
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
    write_file(target, json.dumps(record, indent=1).encode() + b"\n")
    target.chmod(0o600)
    return people


def judging_demo(folder: Path, port: int | None) -> None:
    """Create a judging project or open an earlier demo, list who can sign in, and serve it."""
    if is_demo(folder):
        project, people = open_demo(folder)
    else:
        click.echo("making a project of the documentation of Python's library ...", err=True)
        with stopped_alike():
            project, people = create_demo(folder, _library())
    with project:
        for line in judging_lines(project, people):
            click.echo(line)
        sys.stdout.flush()
        usual = PORT if can_listen(LOOPBACK, PORT) else 0
        serve(project, LOOPBACK, usual if port is None else port)


def judging_lines(project: Project, people: Sequence[Person]) -> list[str]:
    """Return lines about the contents, who can sign in, and what to try."""
    folder = project.folder
    width = max(len(person.name) for person in people)
    welcome = (
        f"{folder} holds a judging project: {project.corpus.count:,} documentation strings of Python's"
        f" standard library, {len(project.store.topics())} topics and {len(project.engine.run_names())} runs."
    )
    later = folder / SOURCE / f"{LATER}.txt"
    steps = (
        "Open the address below and sign in as ann: choose a topic, read, press 0, 1 or 2; the page names"
        " the other keys.",
        "In another browser, or a private window, sign in as olga: Live shows how sure the order of the runs"
        " is after every judgment, and what is left to do.",
        f"As olga add {later} on the page Project, and see on Live what is known about a run that came late.",
        f"What was judged: sounding judge export {shlex.quote(str(folder))} qrels",
        "Ctrl+C stops the server; the same command goes on where it stopped.",
    )
    return [
        fill_paragraph(welcome, PARAGRAPH_WIDTH), "",
        *(
            f"  {person.name:{width}}  password {person.password}  {person.role}"
            + (f", {len(person.topics)} topics" if person.topics else "")
            for person in people
        ),
        "",
        *(
            fill_paragraph(step, PARAGRAPH_WIDTH, f"{number}. ", "   ")
            for number, step in enumerate(steps, 1)
        ),
        "",
    ]  # fmt: skip


def _library() -> list[Document]:
    sources = library_sources(Path(sysconfig.get_path("stdlib")))
    with progress_bar(len(sources), quiet=False, label="reading Python's library") as progress:
        return library_documents(progress=progress)
