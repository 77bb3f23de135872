"""A judging project: a folder with the corpus, and where its database is."""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from sounding.core.errors import DataError, FormatError
from sounding.core.files import temporary_path, write_file
from sounding.core.text import plural, quote, shorten
from sounding.core.workers import Progress
from sounding.data.formats import read_qrels
from sounding.data.topics import Topics, read_topics
from sounding.judge.database import POSTGRESQL, readable, shown_url
from sounding.judge.engine import Engine, first_settings, none_of_the_topics
from sounding.judge.ids import MOST_ASSESSOR, FileJudgment, check_table, check_topics, judgments_in
from sounding.judge.records import IN_USE, DamagedError, Selection, Submission, TokenKind, User
from sounding.judge.search import Corpus, SearchEngine, Tell, TwiceError, build_corpus, missing_from
from sounding.judge.settings import CORPUS as CORPUS_DIGEST
from sounding.judge.settings import Settings
from sounding.judge.sqlite import lacks
from sounding.judge.store import STRANGE, Store, new_store, open_store
from sounding.judge.texts import TEXTS, files_with, read_documents

FILE = "project.json"
DATABASE = "judging.sqlite"
CORPUS = "corpus.sqlite"
VERSION = 1
BROKEN = (
    f"damaged; restore a copy of the file, or, if the database is {DATABASE} beside it, write into it:"
    f' {{"version": {VERSION}}}'
)
IMPORTED = "import-"  # with which the assessors of files begin, and nobody's pseudonym
LINK_SECONDS = 14 * 86400.0  # that a one-time link is good for


@dataclass(frozen=True)
class Project:
    """An open project: its settings, database, corpus and the engine that chooses what to judge."""

    folder: Path
    store: Store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.store.close()

    @cached_property
    def engine(self) -> Engine:
        """What the judging pages talk to; made when first asked for, since it reads the whole log."""
        return Engine(self.store)

    @cached_property
    def corpus(self) -> Corpus:
        """The documents and the search over them."""
        return Corpus(self.folder / CORPUS)

    @property
    def settings(self) -> Settings:
        """What the project was set up with, as it is now."""
        return self.engine.settings


def open_project(folder: str | Path) -> Project:
    """The project in a folder."""
    folder = Path(folder)
    record = _record_of(folder)
    place = record.get("database", DATABASE)
    local = not place.startswith(tuple(f"{scheme}://" for scheme in POSTGRESQL))
    if local and not (folder / place).is_file():
        raise DataError(f"{folder / place}: the database of the project is missing; restore a backup")
    if local and lacks(folder / place, "event"):  # which is not to be written to
        raise DataError(f"{folder / place}: {STRANGE}")
    project = Project(folder, open_store(folder / place if local else place, made=True))
    try:
        _check_first(project.store, record.get("corpus"))
    except BaseException:
        project.store.close()
        raise
    return project


def _check_first(store: Store, corpus: str | None) -> None:
    """Refuse the database of no project, or of one with another corpus: a backup may be in a wrong place."""
    first = next(store.events(until=1), None)
    if first is None or first.kind != "project":
        raise DamagedError(f"{store.place}: {STRANGE}")
    known = first.detail.get(CORPUS_DIGEST)
    if None not in (known, corpus) and known != corpus:
        raise DataError(
            f"{store.place}: the database of a project with another corpus; put the right one there"
        )


def _record_of(folder: Path) -> dict[str, Any]:
    """What stands in the file of a project."""
    path = folder / FILE
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(
            f"{folder}: no judging project here; make one with: sounding judge init {folder} ..."
        ) from None
    except OSError as error:
        raise FormatError(str(path), None, f"cannot be read ({error.strerror or error})") from error
    except ValueError:  # no JSON, or no UTF-8
        raise FormatError(str(path), None, BROKEN) from None
    if not isinstance(record, dict) or not isinstance(record.get("database", DATABASE), str):
        raise FormatError(str(path), None, BROKEN)
    if record.get("version") != VERSION:
        raise FormatError(str(path), None, f"no project of version {VERSION}; use the release that made it")
    return record


def digest_of_corpus(folder: Path) -> str:
    """A hash of the file with the documents of a project, which never changes."""
    with (folder / CORPUS).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def refuse_other_corpus(project: Project) -> None:
    """Refuse a corpus that is missing, or not the one that the project was made with; reads all of it."""
    _ = project.corpus  # where it is missing, or no corpus
    if digest_of_corpus(project.folder) != next(project.store.events(until=1)).detail[CORPUS_DIGEST]:
        raise DataError(
            f"{project.folder / CORPUS}: not the corpus that the project was made with; put that one there"
        )


def create_project(
    folder: Path,
    *,
    corpus: Sequence[str],
    topics: str | None,
    runs: Sequence[str],
    settings: Settings,
    database: str | None = None,
    run_format: str | None = None,
    progress: Progress | None = None,
    search: SearchEngine = "fts5",
    tell: Tell | None = None,
) -> Project:
    """A new project in a folder that does not exist or is empty; where anything fails, nothing is left of it.

    `database` is the address of an empty PostgreSQL database; None: a SQLite file in the folder. `tell` is
    told what is odd about the documents and no reason to refuse them.
    """
    refuse_full(folder)
    if database is not None and urlsplit(database).scheme not in POSTGRESQL:
        raise DataError(
            f"database {shown_url(database)}: expected an address such as postgresql://user@host/name,"
            " or none for a SQLite file in the folder"
        )
    if database is not None and database.split() != [database]:  # what PostgreSQL says tells the password
        raise DataError(f"database {shown_url(database)}: blanks in an address; write %20 for each")
    asked = None if topics is None else read_topics(topics)
    part = rest = temporary_path(folder)
    try:
        part.mkdir(parents=True)
        _build_corpus(part / CORPUS, corpus, progress, search, tell)
        if asked is not None and _are_documents(asked, Corpus(part / CORPUS)):
            raise DataError(
                f"{topics}: the ids of the topics are those of documents, such as {asked.ids[0]!r};"
                " is it a file of the corpus?"
            )
        with new_store(database or part / DATABASE) as store:
            digest = digest_of_corpus(part)
            first_settings(store, settings, digest)
            if asked is not None:
                add_topics(store, asked)
            if runs:
                Engine(store).add_runs(runs, run_format=run_format)
            record = {"version": VERSION, "database": database or DATABASE, "corpus": digest}
            write_file(part / FILE, json.dumps(record, indent=1).encode() + b"\n")
            (part / FILE).chmod(0o600)  # an address may hold a password
            if database is not None:  # which keeps nothing of a project that is not in its place
                put_in_place(part, folder)
                rest = folder
        rest = part
        if database is None:  # a file of SQLite is not moved while it is open
            put_in_place(part, folder)
    except OSError as error:
        raise DataError(f"{folder} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(rest, ignore_errors=True)
    return open_project(folder)


def _build_corpus(
    path: Path, sources: Sequence[str], progress: Progress | None, search: SearchEngine, tell: Tell | None
) -> None:
    try:
        build_corpus(path, read_documents(sources), progress, search=search, tell=tell)
    except TwiceError as error:
        # Only now is it worth reading all again: no id was kept in memory with its file.
        places = dict.fromkeys(islice(files_with(error.doc, sources), 2))
        raise TwiceError(error.doc, f"in {' and in '.join(places)}") from None


def refuse_full(folder: Path) -> None:
    """Refuse to make a project where something is already."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError(f"{folder}: not an empty folder; give a new one")


def put_in_place(part: Path, folder: Path) -> None:
    """Give a finished folder the name it is to have.

    An empty one that is there stays, since somebody may stand in it; what makes it a project comes last.
    """
    if not folder.exists():
        part.replace(folder)
        return
    for one in sorted(part.iterdir(), key=lambda one: one.name == FILE):
        shutil.move(one, folder / one.name)
    part.rmdir()


def _are_documents(topics: Topics, corpus: Corpus) -> bool:
    """Whether each of the topics is a document of the same id and text."""
    found = [corpus.document(name) for name in topics.ids]
    return bool(found) and all(
        one is not None and title in one.text for one, title in zip(found, topics.titles, strict=True)
    )


def add_topics(store: Store, topics: Topics) -> int:
    """Keep topics of a file, all or none; returns how many are new or have changed.

    New ones are chosen; those that are there keep their status.
    """
    check_topics(topics)
    changed = 0
    every = zip(topics.ids, topics.titles, topics.descriptions, topics.narratives, strict=True)
    with store.together():
        for name, title, description, narrative in every:
            before = store.topic(name)
            after = store.save_topic(
                name, title=title, description=description, narrative=narrative,
                status=IN_USE if before is None else None,
                estimate=None if before is None else before.estimate,
            )  # fmt: skip
            changed += after != before
    return changed


def known_topics(project: Project) -> set[str]:
    """Topics that the project has texts or documents for."""
    return {topic.id for topic in project.store.topics()} | set(project.engine.topics())


class ImportOutcome(NamedTuple):
    """What came of a file; the remarks say what it is about that the project does not have."""

    rows: int  # runs, judgments, or settled documents
    changed: int  # of them: new, or other than before
    remarks: tuple[str, ...] = ()


def add_runs(
    project: Project, runs: Any, *, run_format: str | None = None, progress: Progress | None = None
) -> ImportOutcome:
    """Add runs to a project; topics that it does not have are left out, and said."""
    topics = known_topics(project) if project.store.topics() else ()
    added = project.engine.add_runs(runs, topics=topics, run_format=run_format, progress=progress)
    lost = project.engine.lost(project.corpus, added.names)
    remarks = _remarks(added.strangers, lost, project.corpus)
    if added.stayed:
        told = f"what was drawn for {plural(len(added.stayed), 'topic')} stays"
        remarks += (f"{told}, and {drawn_as_well(added.drawn, added.new)}" if added.new else told,)
    return ImportOutcome(len(added.names), len(added.names), remarks)


def drawn_as_well(drawn: int, new: int) -> str:
    """How many of the documents that only new runs have were drawn, in words."""
    others = "that the others did not have"
    if new == 1:
        return f"the document {others} was {'drawn as well' if drawn else 'not drawn'}"
    return f"{drawn:,} of the {new:,} documents {others} {'was' if drawn == 1 else 'were'} drawn as well"


def import_qrels(
    project: Project, source: Any, *, qrels_format: str | None = None, assessor: str | None = None
) -> ImportOutcome:
    """Add judgments of a file to the log, all or none.

    They are those of an assessor of their own, `import-` and a name, that of the file unless one is given:
    nothing that people judged is touched, and reading the file again changes nothing. A file that grades a
    document otherwise than one of the same name did is refused, for it may be another person's; with the name
    given, the new grades count. Grades below 0 mean not judged. Topics that the project does not have are
    left out, and said; documents that it does not have count all the same.
    """
    qrels = read_qrels(source, format=qrels_format, fractional="accept")
    check_table(qrels)
    known = known_topics(project)
    strangers = [topic for topic in qrels.topics if known and topic not in known]
    if strangers and len(strangers) == len(qrels.topics):
        raise DataError(f"{source} has {none_of_the_topics(project.store, strangers[0], known)}")
    left_out = set(strangers)
    judgments = [one for one in judgments_in(qrels) if one.grade >= 0 and one.topic not in left_out]
    for one in judgments:
        check_grade(project, qrels.source, one)
    name = _assessor_of(qrels.source if assessor is None else assessor)
    with project.store.together():
        if assessor is None:
            _refuse_another_file(project.store, qrels.source, judgments, name)
        changed = project.store.judge_all(_submission(one, name) for one in judgments)
    project.engine.catch_up()
    lost = missing_from(project.corpus, [(one.topic, one.doc) for one in judgments])
    return ImportOutcome(len(judgments), changed, _remarks(strangers, lost, project.corpus))


def check_grade(project: Project, source: str, judgment: FileJudgment) -> None:
    """Refuse a judgment of a file whose grade the scale does not have."""
    try:
        project.settings.check_grade(judgment.grade)
    except DataError as error:
        raise FormatError(source, judgment.line, str(error)) from None


def _remarks(strangers: Sequence[str], lost: Sequence[tuple[str, str]], corpus: Corpus) -> tuple[str, ...]:
    """What is said of topics that were left out, and of (topic, doc) that the corpus does not have."""
    remarks = []
    if strangers:
        told = f"{plural(len(strangers), 'topic')} left out, such as {strangers[0]}"
        remarks.append(f"{told}: the project does not have them")
    if lost:
        remarks.append(
            f"{plural(len(lost), 'document')} not in the corpus, such as {told_lost(lost, corpus)}"
        )
    return tuple(remarks)


def told_lost(lost: Sequence[tuple[str, str]], corpus: Corpus) -> str:
    """The first of (topic, doc) that the corpus does not have, and what it has under nearly that name."""
    topic, doc = lost[0]
    told, (stem, dot, suffix) = f"{shorten(doc)} of topic {shorten(topic)}", doc.rpartition(".")
    if f"{dot}{suffix}".lower() in TEXTS and stem and corpus.document(stem) is not None:
        told += f"; it has {shorten(stem)}, since the id of a file is its name without the suffix"
    return told


def _assessor_of(source: str) -> str:
    """Whom judgments are put down to: a file by its whole name, or a name."""
    words = readable(Path(source).name.removeprefix(IMPORTED)).split()
    name = IMPORTED + "-".join(words)
    if not words or len(name.encode()) > MOST_ASSESSOR:
        raise DataError(
            f"the name {quote(source)} cannot stand for an assessor; give one of at most"
            f" {MOST_ASSESSOR - len(IMPORTED)} bytes with --assessor"
        )
    return name


def _refuse_another_file(store: Store, source: str, judgments: Iterable[FileJudgment], name: str) -> None:
    """Refuse a file that grades a document otherwise than the one of its name that was read before."""
    before = {one.pair: one.grade for one in store.standing(assessor=name)}
    for one in judgments:
        grade = before.get((one.topic, one.doc))
        if grade is not None and grade != one.grade:
            raise FormatError(
                source, one.line,
                f"document {quote(one.doc)} has the grade {one.grade:g}, and had {grade:g} when a file of"
                " this name was read before; say whose judgments these are with --assessor NAME"
                f" ({name.removeprefix(IMPORTED)}: those of that file, changed)",
            )  # fmt: skip


def _submission(judgment: FileJudgment, assessor: str) -> Submission:
    return Submission(
        assessor=assessor, topic=judgment.topic, doc=judgment.doc, grade=judgment.grade,
        key=secrets.token_hex(8),
        selection=Selection(
            policy="import", stratum=judgment.stratum, probability=judgment.probability
        ),
    )  # fmt: skip


def digest_of(secret: str) -> str:
    """What is kept of a secret (a link, a cookie): a hash that does not lead back to it."""
    return hashlib.sha256(secret.encode()).hexdigest()


def invite(store: Store, user: User, kind: TokenKind, seconds: float = LINK_SECONDS) -> str:
    """The secret of a new one-time link with which a user sets a password; earlier ones are void."""
    secret = secrets.token_urlsafe(32)
    store.add_token(user.id, kind, digest_of(secret), time.time() + seconds)
    return secret
