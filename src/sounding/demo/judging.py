"""`sounding demo --judge`: a judging server with documents, topics, runs and people."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sounding.core.text import filled
from sounding.terminal.options import PARAGRAPH_WIDTH, progress_bar

if TYPE_CHECKING:
    from sounding.data.corpus import Document
    from sounding.demo.project import Person
    from sounding.judge.project import Project

LOOPBACK, PORT = "127.0.0.1", 8000  # of the judging server


def judging_demo(folder: Path, port: int | None) -> None:
    """Make a judging project, or open the one an earlier demo left, say who can sign in, and serve it."""
    from sounding.demo.project import create_demo, is_demo, open_demo
    from sounding.judge.app import can_listen, serve, stopped_alike

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
    """What there is, who can sign in, and what to do with it."""
    from sounding.demo.project import LATER, SOURCE

    folder = project.folder
    width = max(len(person.name) for person in people)
    told = (
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
        filled(told, PARAGRAPH_WIDTH), "",
        *(
            f"  {person.name:{width}}  password {person.password}  {person.role}"
            + (f", {len(person.topics)} topics" if person.topics else "")
            for person in people
        ),
        "",
        *(filled(step, PARAGRAPH_WIDTH, f"{number}. ", "   ") for number, step in enumerate(steps, 1)),
        "",
    ]  # fmt: skip


def _library() -> list[Document]:
    import sysconfig

    from sounding.demo.docstrings import library_documents, library_sources

    sources = library_sources(Path(sysconfig.get_path("stdlib")))
    with progress_bar(len(sources), quiet=False, label="reading Python's library") as progress:
        return library_documents(progress=progress)
