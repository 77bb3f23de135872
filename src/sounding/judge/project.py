"""Create, open and extend a judging project: a folder with the corpus and the place of the database."""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from sounding.data.corpus import Document
from sounding.data.formats import read_qrels
from sounding.data.judgment_log import StandingJudgments
from sounding.data.labeled_parts import Member, members_of
from sounding.data.topics import Topics, read_topics
from sounding.judge.database import POSTGRESQL, readable, shown_url
from sounding.judge.engine import Engine, first_settings, none_of_the_topics
from sounding.judge.ids import MOST_ASSESSOR, FileJudgment, check_table, check_topics, judgments_in
from sounding.judge.merge_sort import sides_of
from sounding.judge.records import (
    IN_USE,
    DamagedError,
    Event,
    Selection,
    Submission,
    TokenKind,
    User,
    event_in,
)
from sounding.judge.search import Corpus, SearchEngine, Tell, TwiceError, build_corpus, missing_from
from sounding.judge.settings import CORPUS as CORPUS_DIGEST
from sounding.judge.settings import Settings
from sounding.judge.sqlite import lacks
from sounding.judge.store import STRANGE, Store, new_store, open_store
from sounding.judge.subtopics import Subtopics, read_subtopics, set_subtopics
from sounding.judge.texts import TEXTS, files_with, read_documents

FILE = "project.json"
DATABASE = "judging.sqlite"
CORPUS = "corpus.sqlite"
VERSION = 1
BROKEN = (
    f"damaged; restore a copy of the file. If the database is {DATABASE} in the same folder, this content is"
    f' enough: {{"version": {VERSION}}}'
)
IMPORTED = "import-"  # prefix of the assessors of imported files; no pseudonym begins with it
LINK_SECONDS = 14 * 86400.0  # lifetime of a one-time link


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
        """Return the engine that chooses documents; created on first use, because it reads the whole log."""
        return Engine(self.store)

    @cached_property
    def corpus(self) -> Corpus:
        """Return the documents and the search over them."""
        return Corpus(self.folder / CORPUS)

    @property
    def settings(self) -> Settings:
        """Return the current settings."""
        return self.engine.settings


def open_project(folder: str | Path) -> Project:
    """Open the project in a folder."""
    folder = Path(folder)
    record = _record_of(folder)
    place = _place_in(folder, record)
    if isinstance(place, Path) and not place.is_file():
        raise DataError(f"{place}: the project's database is missing; restore a backup")
    # Nothing may be written to a file that is not a project's database.
    if isinstance(place, Path) and lacks(place, "event"):
        raise DataError(f"{place}: {STRANGE}")
    project = Project(folder, open_store(place, made=True))
    try:
        _check_first(project.store, record.get("corpus"))
    except BaseException:
        project.store.close()
        raise
    return project


def place_of_database(folder: Path) -> Path | str:
    """Return the SQLite file of a project, or its address in PostgreSQL."""
    return _place_in(folder, _record_of(folder))


def _place_in(folder: Path, record: Mapping[str, Any]) -> Path | str:
    place: str = record.get("database", DATABASE)
    return place if place.startswith(tuple(f"{scheme}://" for scheme in POSTGRESQL)) else folder / place


def _check_first(store: Store, corpus: str | None) -> None:
    """Refuse a database of another project or of none, such as a backup in the wrong place."""
    first = next(store.events(until=1), None)
    if first is None or first.kind != "project":
        raise DamagedError(f"{store.place}: {STRANGE}")
    known = first.detail.get(CORPUS_DIGEST)
    if None not in (known, corpus) and known != corpus:
        raise DataError(
            f"{store.place}: this database belongs to a project with another corpus; restore the right one"
        )


def _record_of(folder: Path) -> dict[str, Any]:
    """Read the project file."""
    path = folder / FILE
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(
            f"{folder}: not a judging project; create one with: sounding judge init {folder} --corpus FILE"
        ) from None
    except OSError as error:
        raise FormatError(str(path), None, f"cannot be read ({error.strerror or error})") from error
    except ValueError:  # not JSON, or not UTF-8
        raise FormatError(str(path), None, BROKEN) from None
    if not isinstance(record, dict) or not isinstance(record.get("database", DATABASE), str):
        raise FormatError(str(path), None, BROKEN)
    if record.get("version") != VERSION:
        raise FormatError(
            str(path), None, f"not a project of version {VERSION}; use the release that created it"
        )
    return record


def digest_of_corpus(folder: Path) -> str:
    """Return a hash of the corpus file, which never changes."""
    with (folder / CORPUS).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def refuse_other_corpus(project: Project) -> None:
    """Refuse a corpus that is missing or not the one the project was created with; reads the whole file."""
    _ = project.corpus  # raises an error if the file is missing or no corpus
    if digest_of_corpus(project.folder) != next(project.store.events(until=1)).detail[CORPUS_DIGEST]:
        raise DataError(
            f"{project.folder / CORPUS}: not the corpus the project was created with; restore the original"
        )


def create_project(
    folder: Path,
    *,
    corpus: Sequence[str],
    topics: str | None,
    runs: Sequence[str],
    settings: Settings,
    names: Sequence[str] = (),
    database: str | None = None,
    run_format: str | None = None,
    progress: Progress | None = None,
    search: SearchEngine = "fts5",
    tell: Tell | None = None,
    fields: str | None = None,
    subtopics: str | None = None,
) -> Project:
    """Create a project in a new or empty folder; if anything fails, nothing is left behind.

    `fields` names the members of JSON lines to show as labeled parts, such as `question,answer,contexts`.

    `database` is the address of an empty PostgreSQL database; None: a SQLite file in the folder. `tell`
    receives warnings about documents that are odd but accepted.
    """
    refuse_full(folder)
    if database is not None and urlsplit(database).scheme not in POSTGRESQL:
        raise DataError(
            f"--database {shown_url(database)}: expected an address such as postgresql://user@host/name;"
            " leave it out for a SQLite file in the folder"
        )
    if database is not None and database.split() != [database]:  # PostgreSQL's own error shows the password
        raise DataError(f"--database {shown_url(database)}: the address contains blanks; write them as %20")
    asked = None if topics is None else read_topics(topics)
    intents = None if subtopics is None else read_subtopics(subtopics)
    members = () if fields is None else members_of(fields)
    part = rest = temporary_path(folder)
    try:
        part.mkdir(parents=True)
        _build_corpus(part / CORPUS, corpus, members, progress, search, tell)
        if asked is not None and _are_documents(asked, Corpus(part / CORPUS)):
            raise DataError(
                f"{topics}: this seems to be a corpus file, because its topics are documents, such as"
                f" {asked.ids[0]!r}; give a file with topics"
            )
        with new_store(database or part / DATABASE) as store:
            digest = digest_of_corpus(part)
            first_settings(store, settings, digest)
            if asked is not None:
                add_topics(store, asked)
            if intents is not None:
                set_subtopics(store, intents)
            if runs:
                Engine(store).add_runs(runs, names=names, run_format=run_format)
            if intents is not None:
                _refuse_strangers(store, intents, str(subtopics))
            record = {"version": VERSION, "database": database or DATABASE, "corpus": digest}
            write_file(part / FILE, json.dumps(record, indent=1).encode() + b"\n")
            (part / FILE).chmod(0o600)  # an address may hold a password
            if database is not None:  # inside the block: PostgreSQL keeps nothing if this fails
                put_in_place(part, folder)
                rest = folder
        rest = part
        if database is None:  # after closing: an open SQLite file must not be moved
            put_in_place(part, folder)
    except OSError as error:
        raise DataError(f"cannot write {folder}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(rest, ignore_errors=True)
    return open_project(folder)


def _refuse_strangers(store: Store, intents: Subtopics, source: str) -> None:
    """Refuse subtopics of topics that the project does not have."""
    known = {topic.id for topic in store.topics()} | set(Engine(store).topics())
    strangers = [topic for topic in intents if topic not in known]
    if known and strangers:  # a project may get its topics later
        raise DataError(
            f"{source}: the project has no topic {quote(strangers[0])}; add it to --topics, or leave it out"
        )


def _build_corpus(
    path: Path,
    sources: Sequence[str],
    members: Sequence[Member],
    progress: Progress | None,
    search: SearchEngine,
    tell: Tell | None,
) -> None:
    try:
        documents = read_documents(sources, members)
        if members:
            documents = _with_every(documents, members)
        build_corpus(path, documents, progress, search=search, tell=tell)
    except TwiceError as error:
        # Read the files again to find the two places: ids are not kept in memory with their files.
        places = dict.fromkeys(islice(files_with(error.doc, sources), 2))
        raise TwiceError(error.doc, f"in {' and in '.join(places)}") from None


def _with_every(documents: Iterable[Document], members: Sequence[Member]) -> Iterator[Document]:
    """Yield documents; at their end, refuse members that none of them has."""
    missing = {member.name for member in members}
    for document in documents:
        if missing:
            parts = [part.name for part in document.parts]
            missing -= {
                name for name in missing for part in parts if part == name or part.startswith(f"{name}.")
            }
        yield document
    for name in (member.name for member in members if member.name in missing):
        raise DataError(f"--fields: no document has the field {quote(name)}; check the name, or leave it out")


def refuse_full(folder: Path) -> None:
    """Refuse a folder that is not new or empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError(f"{folder}: not an empty folder; give a new or empty one")


def put_in_place(part: Path, folder: Path) -> None:
    """Move a finished folder to its final name.

    An existing empty folder stays, because a shell may have it as working directory. The project file is
    moved last, because it makes the folder a project.
    """
    if not folder.exists():
        part.replace(folder)
        return
    for one in sorted(part.iterdir(), key=lambda one: one.name == FILE):
        shutil.move(one, folder / one.name)
    part.rmdir()


def _are_documents(topics: Topics, corpus: Corpus) -> bool:
    """Return whether every topic is a document with the same id and text."""
    found = [corpus.document(name) for name in topics.ids]
    return bool(found) and all(
        one is not None and title in one.text for one, title in zip(found, topics.titles, strict=True)
    )


def add_topics(store: Store, topics: Topics) -> int:
    """Add the topics of a file, all or none; return how many are new or changed.

    New topics are chosen; existing ones keep their status.
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
    """Return the topics for which the project has a text or documents."""
    return {topic.id for topic in project.store.topics()} | set(project.engine.topics())


class ImportOutcome(NamedTuple):
    """The result of importing a file; remarks name topics and documents that the project lacks."""

    rows: int  # runs, judgments, or settled documents
    changed: int  # of these: new or changed
    remarks: tuple[str, ...] = ()


def add_runs(
    project: Project,
    runs: Any,
    *,
    names: Sequence[str] = (),
    run_format: str | None = None,
    progress: Progress | None = None,
) -> ImportOutcome:
    """Add runs to a project, without topics that it does not have; `names` replace those of their files."""
    topics = known_topics(project) if project.store.topics() else ()
    added = project.engine.add_runs(
        runs, topics=topics, names=names, run_format=run_format, progress=progress
    )
    lost = project.engine.lost(project.corpus, added.names)
    remarks = remarks_on(added.strangers, lost, project.corpus)
    if added.stayed:
        stays = f"the samples of {plural(len(added.stayed), 'topic')} stay"
        remarks += (f"{stays}, and {extra_sample_note(added.drawn, added.new)}" if added.new else stays,)
    return ImportOutcome(len(added.names), len(added.names), remarks)


def extra_sample_note(drawn: int, new: int) -> str:
    """Say how many of the documents that only new runs retrieved were sampled in addition."""
    others = "that only the new runs retrieved"
    if new == 1:
        return f"the document {others} was {'sampled as well' if drawn else 'not sampled'}"
    return f"{drawn:,} of the {new:,} documents {others} {'was' if drawn == 1 else 'were'} sampled as well"


def import_qrels(
    project: Project, source: Any, *, qrels_format: str | None = None, assessor: str | None = None
) -> ImportOutcome:
    """Add the judgments of a file to the log, all or none.

    They belong to an assessor of their own: `import-` and the given name, or the name of the file. People's
    judgments stay, and importing the file again changes nothing. A file is refused if an earlier file of the
    same name graded a document differently, because it may be another person's; with the name given, the new
    grades count. Grades below 0 mean unjudged. Topics that the project lacks are left out; documents that
    the corpus lacks are included. The remarks name both.
    """
    if project.settings.of_pairs:
        raise DataError(f"{source}: grades cannot be imported into a project of preferences")
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
    return ImportOutcome(len(judgments), changed, remarks_on(strangers, lost, project.corpus))


def import_log(project: Project, source: str, *, name: str | None = None) -> ImportOutcome:
    """Add the judgments of another project's log, all or none.

    The last judgment of each person on each document counts, with its comment and seconds, as that of
    `import-`, the name of the file and the person's pseudonym. A longer log of the same project brings only
    what is new; another project's log needs another name.
    """
    known = known_topics(project)
    standing: StandingJudgments[tuple[str, str, str], tuple[int, Event]] = StandingJudgments()
    grades: dict[tuple[str, str, str], set[float | None]] = {}
    strangers: dict[str, None] = {}
    for line, event in _logged(source):
        place = (event.assessor or "", event.topic or "", event.doc or "")
        if known and event.kind == "judge" and place[1] not in known:
            strangers[place[1]] = None
        else:
            standing.follow(place, event.kind, (line, event), undoes=event.undoes is not None)
            if event.kind == "judge":
                grades.setdefault(place, set()).add(event.grade)
    file = _assessor_of(source if name is None else name)
    own = {who: _assessor_of(f"{file}-{who.removeprefix(IMPORTED)}") for who, _, _ in standing}
    before = {who: {one.pair: one.grade for one in project.store.standing(assessor=own[who])} for who in own}
    submissions = []
    for (who, topic, doc), history in standing.items():
        line, event = history[-1]
        try:
            project.settings.check_grade(event.grade)
        except DataError as error:
            raise FormatError(source, line, str(error)) from error
        if (sides_of(doc) is not None) != project.settings.of_pairs:
            what = ("pair", "document") if project.settings.of_pairs else ("document", "pair")
            raise FormatError(source, line, f"a judgment of a {what[1]}; this project judges {what[0]}s")
        if before[who].get((topic, doc), event.grade) not in grades[who, topic, doc]:
            problem = "an earlier log of this name has another grade; add --assessor NAME for another project"
            raise FormatError(source, line, f"document {quote(doc)}: {problem}")
        submissions.append(Submission(
            assessor=own[who], topic=topic, doc=doc, grade=event.grade, comment=event.comment,
            active=event.active, away=event.away, key=secrets.token_hex(8),
            selection=Selection(policy="import"), marks=event.marks,
        ))  # fmt: skip
    if strangers and not submissions:
        raise DataError(f"{source} has {none_of_the_topics(project.store, next(iter(strangers)), known)}")
    changed = project.store.judge_all(submissions)
    project.engine.catch_up()
    lost = missing_from(project.corpus, [(one.topic, one.doc) for one in submissions])
    return ImportOutcome(len(submissions), changed, remarks_on(list(strangers), lost, project.corpus))


def _logged(source: str) -> Iterator[tuple[int, Event]]:
    """Yield the events of assessors in an exported log, with their lines; refuse any other file."""
    try:
        with Path(source).open(encoding="utf-8") as stream:
            for line, text in enumerate(stream, 1):
                event = event_in(text)
                if event is None:
                    problem = "not an event; give a file made by `sounding judge export DIR log`"
                    raise FormatError(source, line, problem)
                if event.kind in ("judge", "withdraw"):
                    yield line, event
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not in UTF-8"
        raise FormatError(source, None, f"cannot read the file ({reason})") from error


def check_grade(project: Project, source: str, judgment: FileJudgment) -> None:
    """Refuse a judgment of a file if its grade is not on the scale."""
    try:
        project.settings.check_grade(judgment.grade)
    except DataError as error:
        raise FormatError(source, judgment.line, str(error)) from None


def remarks_on(strangers: Sequence[str], lost: Sequence[tuple[str, str]], corpus: Corpus) -> tuple[str, ...]:
    """Name the topics that were left out, and the (topic, doc) that the corpus does not have."""
    remarks = []
    if strangers:
        such = f"{plural(len(strangers), 'topic')} left out, such as {strangers[0]}"
        remarks.append(f"{such}: not in the project")
    if lost:
        remarks.append(
            f"{plural(len(lost), 'document')} not in the corpus, such as {describe_missing(lost, corpus)}"
        )
    return tuple(remarks)


def describe_missing(lost: Sequence[tuple[str, str]], corpus: Corpus) -> str:
    """Name the first missing (topic, doc), and the document that is probably meant."""
    topic, doc = lost[0]
    words, (stem, dot, suffix) = f"{shorten(doc)} of topic {shorten(topic)}", doc.rpartition(".")
    if f"{dot}{suffix}".lower() in TEXTS and stem and corpus.document(stem) is not None:
        words += f"; it has {shorten(stem)}, because the id of a file is its name without the suffix"
    return words


def _assessor_of(source: str) -> str:
    """Return the assessor to whom a file's judgments belong, from a file name or a given name."""
    words = readable(Path(source).name.removeprefix(IMPORTED)).split()
    name = IMPORTED + "-".join(words)
    if not words or len(name.encode()) > MOST_ASSESSOR:
        raise DataError(
            f"{quote(source)} cannot be the name of an assessor; give a name of at most"
            f" {MOST_ASSESSOR - len(IMPORTED)} bytes with --assessor"
        )
    return name


def _refuse_another_file(store: Store, source: str, judgments: Iterable[FileJudgment], name: str) -> None:
    """Refuse a file if an earlier file of the same name graded a document differently."""
    before = {one.pair: one.grade for one in store.standing(assessor=name)}
    for one in judgments:
        grade = before.get((one.topic, one.doc))
        if grade is not None and grade != one.grade:
            raise FormatError(
                source, one.line,
                f"document {quote(one.doc)} has grade {one.grade:g}, but {grade:g} in an earlier file of"
                " this name. If these are another person's judgments, add --assessor NAME; if the file has"
                f" changed, add --assessor {name.removeprefix(IMPORTED)}",
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
    """Return the hash under which a secret (a link, a cookie) is stored."""
    return hashlib.sha256(secret.encode()).hexdigest()


def invite(store: Store, user: User, kind: TokenKind, seconds: float = LINK_SECONDS) -> str:
    """Create a one-time link to set a password; return its secret. Earlier links become invalid."""
    secret = secrets.token_urlsafe(32)
    store.add_token(user.id, kind, digest_of(secret), time.time() + seconds)
    return secret


def renew_link(store: Store, user: User) -> str:
    """Create a one-time link; the user's password, sessions and earlier links end. Return its secret."""
    if user.password_hash is None:
        return invite(store, user, "invitation")
    with store.together():
        store.set_password(user.id, None)
        return invite(store, user, "reset")
