"""The work of the `sounding judge` commands: open the project, change it if asked, write the result."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import singledispatch
from pathlib import Path
from typing import BinaryIO, TextIO

import click
from click.core import ParameterSource

from sounding.core.errors import DataError, FormatError, SoundingError
from sounding.core.files import atomic_path, private_files
from sounding.core.text import natural_order, plural, quote
from sounding.data.topics import read_topics
from sounding.judge import command, organizing, tables
from sounding.judge.export_kinds import EXPORT_KINDS
from sounding.judge.exports import EXPORTS, Omitted, left_out, omission_note, why_empty, without_status
from sounding.judge.machines import import_labels, suggest
from sounding.judge.moving import move_project
from sounding.judge.nuggets import read_nuggets, save_nuggets
from sounding.judge.people_files import read_people
from sounding.judge.project import (
    Project,
    add_runs,
    add_topics,
    create_project,
    describe_missing,
    import_log,
    import_qrels,
    known_topics,
    open_project,
    refuse_other_corpus,
    renew_link,
)
from sounding.judge.records import TopicStatus, User
from sounding.judge.review import audit_of, differing_documents, draw_audit, refuse_pairs, settle_file
from sounding.judge.serving import is_address, last_address
from sounding.judge.settings import (
    MERGE_SORT,
    PREFERENCE_SCALE,
    Order,
    Settings,
    parse_parameters,
    parse_scale,
)
from sounding.judge.store import Store
from sounding.judge.subtopics import topics_with_subtopics
from sounding.judge.verify import verify
from sounding.render.tables import SCHEMA_VERSION, Table, json_text
from sounding.terminal.declare import OutputOptions, by_suffix
from sounding.terminal.options import (
    PEOPLE,
    progress_bar,
    remark,
    write_tables,
    write_text,
)

STATUSES: dict[str, TopicStatus] = {"choose": "chosen", "drop": "dropped", "candidate": "candidate"}
STILL_HELD = (
    "another program is reading the database, so judging.sqlite-wal still contains the name; the server"
    " removes it once that program has finished"
)


@singledispatch
def run(options: command.ProjectOptions) -> None:
    """Run a command with its options."""
    raise TypeError(f"no command takes {type(options).__name__}")


def _write(options: OutputOptions, *tables_found: Table) -> None:
    """Write tables; without their notes if --quiet is given."""
    shown = [replace(table, notes=()) if options.quiet else table for table in tables_found]
    write_tables(shown, options.format_name, options.output)


def _say(options: command.ProjectOptions, *texts: str) -> None:
    """Print remarks next to the output; skip empty ones."""
    for text in filter(None, texts):
        remark(text, quiet=options.quiet)


# ---- the project


@run.register(command.InitOptions)
def init(options: command.InitOptions) -> None:
    """Create a project, print its contents, and name the next command."""
    _refuse_format_of_nothing("runs", options.runs, "--run-format", options.run_format)
    _refuse_format_of_nothing("runs", options.runs, "--name", options.name or None)
    of_pairs = options.kind == "preferences"
    if of_pairs:
        _refuse_options_of_grades()
    if of_pairs and options.subtopics is not None:
        raise click.UsageError("--subtopics is for documents that are graded, not for --kind preferences")
    settings = Settings(
        title=options.title, kind="subtopics" if options.subtopics is not None else options.kind,
        scale=parse_scale(PREFERENCE_SCALE if of_pairs else options.scale), level=options.level,
        overlap=options.overlap, feed=options.feed, seed=options.seed, depth=options.depth,
        measure=options.measure,
        order=Order(
            policy=MERGE_SORT if of_pairs else options.order,
            parameters=parse_parameters(options.parameter), batch=options.batch, warm_up=options.warm_up,
        ),
        lease_seconds=60 * options.lease,
    )  # fmt: skip
    odd: list[str] = []
    with progress_bar(None, quiet=options.quiet, label="reading documents") as progress:
        project = create_project(
            options.folder, corpus=options.corpus, topics=options.topics, subtopics=options.subtopics,
            runs=options.runs,
            names=options.name, settings=settings, database=options.database, run_format=options.run_format,
            progress=progress, search=options.search, tell=odd.append, fields=options.fields,
        )  # fmt: skip
    with project:
        _say(options, *_contents(project), *odd)
    next_steps = f"sounding judge user {options.folder} NAME --role organizer; then: sounding judge serve"
    _say(options, f"next: {next_steps} {options.folder}")


def _refuse_options_of_grades() -> None:
    """Refuse options that have no meaning if pairs of documents are judged."""
    context = click.get_current_context()
    for name in (
        "scale", "level", "overlap", "feed", "order", "parameter", "batch", "warm_up", "measure",
    ):  # fmt: skip
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"--{name.replace('_', '-')} is for documents that are graded; leave it out with"
                " --kind preferences"
            )


def _contents(project: Project) -> Iterator[str]:
    """Yield the documents to judge, and which topics and documents of the runs nobody can judge."""
    runs, engine = project.engine.run_names(), project.engine
    left = organizing.left_at_first(project)
    which = "a sample of the documents" if engine.general_order().is_sample else "the documents"
    to_judge = f"{left:,} to judge: {which} that the runs retrieved for each topic"
    if project.settings.of_pairs:
        to_judge = f"each assessor judges at most {left:,} pairs of the documents that the runs retrieved"
    yield (
        f"{plural(project.corpus.count, 'document')}, {plural(len(project.store.topics()), 'topic')},"
        f" {plural(len(runs), 'run')}; {to_judge}"
    )
    yield from organizing.topic_differences(project)
    without = known_topics(project) - topics_with_subtopics(project.store)
    if project.settings.by_subtopic and without:
        such = min(without, key=natural_order)
        yield f"{plural(len(without), 'topic')} without subtopics, such as {such}: judged as a whole"
    if lost := engine.lost(project.corpus):
        such = describe_missing(lost, project.corpus)
        yield f"not in the corpus: {plural(len(lost), 'document')} of the runs, such as {such}"


def _refuse_format_of_nothing(kind: str, files: tuple[str, ...], option: str, given: object) -> None:
    if given is not None and not files:
        raise click.UsageError(f"{option} needs --{kind} FILE; add it")


@run.register(command.ServeOptions)
def serve(options: command.ServeOptions) -> None:
    """Serve a project until the server is stopped."""
    from sounding.judge.app import serve as serve_project  # only this command needs FastAPI and uvicorn

    with open_project(options.folder) as project:
        refuse_other_corpus(project)  # before anybody judges the wrong texts
        click.echo(f"{project.store.place}: {project.store.kind()}", err=True)
        serve_project(project, options.host, options.port, access_log=options.access_log)


@run.register(command.ImportOptions)
def import_files(options: command.ImportOptions) -> None:
    """Add topics, runs and judgments, in this order."""
    given = (options.qrels, options.runs, options.topics, options.log, options.labels, options.nuggets)
    if not any(given):
        raise click.UsageError(
            "nothing to import; give --qrels, --log, --runs, --topics, --labels or --nuggets"
        )
    if options.judge is not None and len(options.labels) != 1:
        raise click.UsageError("--judge needs exactly one --labels FILE; import one file at a time")
    _refuse_format_of_nothing("qrels", options.qrels, "--qrels-format", options.qrels_format)
    _refuse_format_of_nothing("runs", options.runs, "--run-format", options.run_format)
    _refuse_format_of_nothing("runs", options.runs, "--name", options.name or None)
    if options.assessor is not None and len(options.qrels) + (options.log is not None) != 1:
        raise click.UsageError(
            "--assessor needs exactly one --qrels or --log FILE; import one file at a time"
        )
    with open_project(options.folder) as project:
        if project.settings.of_pairs and (options.nuggets is not None or options.labels):
            option = "--labels" if options.labels else "--nuggets"
            raise DataError(f"{option} is for documents that are graded; this project is one of preferences")
        if options.topics:
            topics = read_topics(options.topics)
            changed = add_topics(project.store, topics)
            _say(options, f"{plural(len(topics.ids), 'topic')} read, {changed:,} new or changed")
        if options.nuggets is not None:
            _say(options, _import_nuggets(project, options.nuggets))
        if options.runs:
            with progress_bar(None, quiet=options.quiet, label="reading runs") as progress:
                added = add_runs(
                    project, options.runs, names=options.name, run_format=options.run_format,
                    progress=progress,
                )  # fmt: skip
            _say(options, "; ".join((f"{plural(added.rows, 'run')} added", *added.remarks)))
        for source in options.qrels:
            read = import_qrels(project, source, qrels_format=options.qrels_format, assessor=options.assessor)
            counted = f"{source}: {plural(read.rows, 'judgment')}, {read.changed:,} new or changed"
            _say(options, "; ".join((counted, *read.remarks)))
        for source in options.labels:
            read = import_labels(project, source, name=options.judge)
            counted = f"{source}: {plural(read.rows, 'label')}, {read.changed:,} new or changed"
            _say(options, "; ".join((counted, *read.remarks)))
        if options.log is not None:
            read = import_log(project, options.log, name=options.assessor)
            counted = f"{options.log}: {plural(read.rows, 'judgment')}, {read.changed:,} new or changed"
            _say(options, "; ".join((counted, *read.remarks)))
        if options.topics or options.runs:
            _say(options, *organizing.topic_differences(project))
        if options.qrels or options.log:
            project.engine.refit_if_due(quiet=True)


def _import_nuggets(project: Project, source: str) -> str:
    """Replace the nuggets of a file's topics; return what was read."""
    found = read_nuggets(source)
    known = known_topics(project)
    if strangers := [topic for topic in found if topic not in known]:
        raise DataError(
            f"{source}: the project has no topic {quote(strangers[0])}; add it first with --topics, or leave"
            " it out"
        )
    changed = save_nuggets(project.store, found)
    count = plural(sum(map(len, found.values())), "nugget")
    which = f"{changed:,} of these topics with new or changed nuggets"
    return f"{source}: {count} for {plural(len(found), 'topic')}, {which}"


@run.register(command.ExportOptions)
def export(options: command.ExportOptions) -> None:
    """Write the lines of an export, and say what they leave out."""
    what, until, kind = options.what, options.event, EXPORT_KINDS[options.what]
    if until is not None and not kind.of_log:
        raise click.UsageError(f"--event does not apply to {what}, which are not in the log; leave it out")
    if options.all_topics and not kind.of_judgments:
        raise click.UsageError(
            f"{what} always has all topics; --all-topics is for {', '.join(command.OF_JUDGMENTS)}"
        )
    with open_project(options.folder) as project:
        store, last = project.store, project.store.last_sequence()
        if until is not None and until > last:
            raise DataError(f"--event {until}: the log ends with event {last}; give at most {last}")
        if what == "intents" and not project.settings.by_subtopic:
            raise DataError(
                "no intents: documents are not judged for subtopics in this project; export qrels instead"
            )
        if what == "prefs" and not project.settings.of_pairs:
            raise DataError("no prefs: documents are graded in this project; export assessors instead")
        moment, omitted = last if until is None else until, Omitted()
        written = EXPORTS[what](store, moment, all_topics=options.all_topics, omitted=omitted)
        lines = _write_lines(written, options.output)
        remarks = (
            _left_out(store, moment, kind.of_sample) if kind.of_judgments and not options.all_topics else []
        )
        note = omission_note(what, omitted)
        if kind.of_sample and not lines:
            note = why_empty(store, what, moment, all_topics=options.all_topics)
    if options.output is not None:
        remarks.append(f"{plural(lines, 'line')}, as of event {moment:,}")
    _say(options, *remarks, note)


def _left_out(store: Store, moment: int, sampled: bool) -> list[str]:
    """Say which judged topics an export leaves out, and which it includes without a recorded status."""
    unused, unsaid = left_out(store, moment, sampled=sampled), without_status(store, moment)
    remarks = []
    if unused:
        remarks.append(
            f"left out: {plural(len(unused), 'judged topic')} not in use (candidate or dropped), such as"
            f" {unused[0]}; add --all-topics to include them"
        )
    if unsaid:
        remarks.append(
            f"included: {plural(len(unsaid), 'judged topic')} whose status the log records only later, such"
            f" as {unsaid[0]}"
        )
    return remarks


def _write_lines(lines: Iterable[str], output: Path | None) -> int:
    """Write lines to standard output, or to a file that appears only when complete; return their number."""
    count = 0
    with _opened(output) as stream:
        for line in lines:
            stream.write(line.encode("utf-8", "surrogateescape"))
            count += 1
    return count


@contextmanager
def _opened(output: Path | None) -> Iterator[BinaryIO]:
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with atomic_path(output) as part, part.open("wb") as stream:
            yield stream


@run.register(command.StatusOptions)
def status(options: command.StatusOptions) -> None:
    """Write the progress of judging, and how certain the ranking of the runs is."""
    view, layout = options.view, options.format_name
    if view is None and layout in ("csv", "jsonl", "parquet"):
        raise click.UsageError(f"{layout} holds one table; give --view topics or --view runs")
    with open_project(options.folder) as project:
        views = tables.status_tables(project, brief=layout in PEOPLE)
    if view is not None and view not in views:
        raise DataError(views["topics"].notes[0])  # the reason why the runs are not ranked
    if view is None and layout == "json":
        both = {name: {**table.facts, "rows": table.rows()} for name, table in views.items()}
        body = {"schema": f"sounding/judge-status/{SCHEMA_VERSION}", **both}
        write_text(json_text(body, indent=1), options.output)
        return
    _write(options, *([views[view]] if view else views.values()))


@run.register(command.BackupOptions)
def backup(options: command.BackupOptions) -> None:
    """Copy the database."""
    with open_project(options.folder) as project:
        before = project.store.last_sequence()
        project.store.backup(options.target)
        after = project.store.last_sequence()
    meanwhile = (
        f"; events up to {after:,} arrived during the backup and may be missing" if after > before else ""
    )
    _say(options, f"{options.target}: contains everything up to event {before:,}{meanwhile}")


@run.register(command.MoveOptions)
def move(options: command.MoveOptions) -> None:
    """Move a project to another database."""
    moved = move_project(options.folder, options.database)
    _say(
        options,
        f"moved {moved.events:,} events and all tables ({plural(moved.rows, 'row')}) from {moved.before} to"
        f" {moved.after}; the replay is the same",
        f"{moved.before} refuses changes from now on; keep it until you have made a backup",
    )


@run.register(command.VerifyOptions)
def verify_project(options: command.VerifyOptions) -> None:
    """Write every difference between the project and its log; exit with 1 if there is any."""
    with open_project(options.folder) as project:
        total = project.store.last_sequence()
        with progress_bar(total, quiet=options.quiet, label="replaying") as progress:
            verification = verify(project, progress)
    for problem in verification.problems:
        click.echo(problem)
    problems = verification.problems
    outcome = plural(len(problems), "difference") if problems else "no differences"
    _say(
        options,
        f"{outcome}: replayed {verification.events:,} events in two processes, repeated"
        f" {verification.choices:,} choices, compared the corpus",
    )
    if problems:
        click.get_current_context().exit(1)


# ---- people


@run.register(command.UserOptions)
def user(options: command.UserOptions) -> None:
    """Add or change a user and print the result; without a name, list all users."""
    _refuse_contradictions(options)
    _refuse_no_address(options.url)
    with open_project(options.folder) as project:
        if options.people is not None:
            _add_people(project, options)
            return
        if options.name is None:
            _refuse_changes(options)
            _refuse_unknown_suffix(options)
            _write(options, tables.user_table(project.store))
            return
        store, link = project.store, options.link
        present = store.user_by_name(options.name)
        if present is None:
            if options.erase or link or options.enable is not None:
                others = ", ".join(one.name for one in store.users() if not one.erased) or "none yet"
                raise DataError(f"no user {options.name!r}; known users: {others}")
            link = True
        elif options.url is not None and not link:
            raise click.UsageError("--url sets the address of a new link; add --link")
        if not link:
            _refuse_unknown_suffix(options)
        if present is not None and options.erase:
            _erase_user(store, present, options)
            _write_user(store, present.id, None, options)
            return
        address = None
        if present is None or any(_given(options)):
            with store.together():  # all changes are made, or none
                present = present or store.add_user(options.name, options.role or "assessor")
                _change_user(store, present, options)
                address = _new_link(project, present, options.url) if link else None
        _say_user(project, present.id, address, options)
        _write_user(store, present.id, address, options)


def _add_people(project: Project, options: command.UserOptions) -> None:
    """Add or change the users of a file, all or none, and list them with links for new ones."""
    _refuse_unknown_suffix(options)
    store, source = project.store, options.people or ""
    listed = read_people(source)
    links: dict[int, str] = {}
    numbers: list[int] = []
    with store.together():
        for one in listed:
            try:
                present = store.user_by_name(one.name)
                person = present or store.add_user(one.name, one.role or "assessor")
                if present is not None and one.role is not None:
                    store.set_role(person.id, one.role)
                if one.topics is not None:
                    organizing.give_topics(store, person.pseudonym, _wanted_topics(store, one.topics))
                if present is None or options.link:
                    links[person.id] = _new_link(project, person, options.url)
            except SoundingError as error:
                raise FormatError(source, one.line, str(error)) from error
            numbers.append(person.id)
    with private_files() if links else nullcontext():
        write_tables([tables.user_table(store, numbers, links)], options.format_name, options.output)
    new = f"{plural(len(links), 'new link')}; each works once, within 14 days, to set a password"
    _say(options, f"{plural(len(numbers), 'user')} added or changed; {new if links else 'no new links'}")
    _say_no_address(project, options)


def _write_user(store: Store, number: int, link: str | None, options: command.UserOptions) -> None:
    """Write a user as a table if a format is given; otherwise only the link, if there is one."""
    with private_files() if link is not None else nullcontext():
        _write_row(store, number, link, options)


def _write_row(store: Store, number: int, link: str | None, options: command.UserOptions) -> None:
    unasked = options.format_name == "table" and not _format_is_given()
    if unasked and link is not None:
        write_text(f"{link}\n", options.output)
    elif not unasked or options.output is not None:
        write_tables(
            [tables.user_table(store, [number], None if link is None else {number: link})],
            options.format_name,
            options.output,
        )


def _format_is_given() -> bool:
    source = click.get_current_context().get_parameter_source("format_name")
    return source is ParameterSource.COMMANDLINE


def _refuse_unknown_suffix(options: command.UserOptions) -> None:
    """Refuse an output file without a table's suffix; a link can go into any file."""
    if not _format_is_given():
        by_suffix(options.output, "table")


def _given(options: command.UserOptions) -> Iterator[tuple[str, str]]:
    """Yield the given options that change a user: their names and spellings."""
    for name in ("role", "topics", "link", "erase", "enable", "yes"):
        value = getattr(options, name)
        if value is not None and (value or name == "enable"):
            yield name, "--disable" if name == "enable" and not value else f"--{name}"


def _refuse_changes(options: command.UserOptions) -> None:
    url = [("url", "--url")] if options.url is not None else []
    for name, shown in [*_given(options), *url]:
        if name != "yes":
            raise click.UsageError(f"{shown} changes one user; add the NAME")


def _refuse_contradictions(options: command.UserOptions) -> None:
    given = dict(_given(options))
    others = [shown for name, shown in given.items() if name not in ("erase", "yes")]
    if "erase" in given and others:
        raise click.UsageError(f"--erase and {others[0]} exclude each other; give one of them")
    if "yes" in given and "erase" not in given:
        raise click.UsageError("--yes needs --erase; add it, or leave --yes out")
    if options.people is not None:
        others = [shown for name, shown in given.items() if name != "link"]
        if options.name is not None or others:
            raise click.UsageError(
                f"--people names its users itself; leave {others[0] if others else options.name} out"
            )
    if "link" in given and options.enable is False:
        raise click.UsageError("--disable and --link exclude each other; give one of them")


def _refuse_no_address(url: str | None) -> None:
    if url is not None and not is_address(url):
        better = f"https://{url.rpartition('/')[2] or 'judge.example.org'}" if "://" not in url else ""
        example = better if is_address(better) else "https://judge.example.org"
        raise click.UsageError(
            f"--url {url}: expected an address that begins with http:// or https://, such as {example}"
        )


def _erase_user(store: Store, person: User, options: command.UserOptions) -> None:
    if not options.yes:
        if not sys.stdin.isatty():
            raise click.UsageError(f"this erases {person.name} for good; confirm with --yes")
        click.confirm(f"Erase {person.name} for good? The judgments stay", abort=True, err=True)
    gone = store.erase_user(person.id)
    _say(options, f"erased {person.name}; the judgments stay, as those of {gone.pseudonym}")
    if store.holds_erased():
        _say(options, STILL_HELD)


def _change_user(store: Store, person: User, options: command.UserOptions) -> None:
    if options.role is not None:
        store.set_role(person.id, options.role)
    if options.enable is not None:
        store.set_active(person.id, options.enable)
    if options.topics is not None:
        organizing.give_topics(store, person.pseudonym, _wanted_topics(store, options.topics))


def _wanted_topics(store: Store, listed: str) -> list[str]:
    """Return the topics of a comma-separated list, or all."""
    if listed == "all":
        return [topic.id for topic in store.topics()]
    wanted = [name.strip() for name in listed.split(",") if name.strip()]
    if not wanted:
        raise DataError("--topics names no topic; give ids separated by commas, or all")
    return wanted


def _new_link(project: Project, person: User, url: str | None) -> str:
    """Create a one-time link to set a password; the old password becomes invalid."""
    secret = renew_link(project.store, person)
    place = url or last_address(project.folder) or f"http://{command.LOOPBACK}:{command.PORT}"
    return f"{place.rstrip('/')}/welcome/{secret}"


def _say_user(project: Project, number: int, link: str | None, options: command.UserOptions) -> None:
    """Say what a user is now, and how to use the new link, if there is one."""
    store = project.store
    [person] = [one for one in store.users() if one.id == number]
    if link is not None:
        _say(
            options, f"send this link to {person.name} only: it works once, within 14 days, to set a password"
        )
        _say_no_address(project, options)
    topics = plural(store.topics_given()[person.pseudonym], "topic")
    judges = "" if person.role == "organizer" else f", {topics} to judge"
    sign_in = tables.sign_in(person)
    _say(options, f"{person.name}: {person.role}{judges}; sign-in: {sign_in}; in the log: {person.pseudonym}")


def _say_no_address(project: Project, options: command.UserOptions) -> None:
    """Say that the address in new links is a guess, if it is."""
    if options.url is None and last_address(project.folder) is None:
        elsewhere = "if people reach the server elsewhere, give its address with --url"
        _say(options, f"the project has not been served yet; {elsewhere}")


# ---- topics, orders, settings


@run.register(command.TopicsOptions)
def topics(options: command.TopicsOptions) -> None:
    """Change which topics are judged and by whom, all or nothing; then list them."""
    if options.each is not None and not options.share_out:
        raise click.UsageError("--each needs --share-out; add it")
    with open_project(options.folder) as project:
        done = []
        with project.engine.together():
            wanted = {option: _listed(project.store, getattr(options, option)) for option in STATUSES}
            _refuse_two_statuses(wanted)
            for option, status in STATUSES.items():
                if wanted[option]:
                    changed = organizing.set_statuses(project, wanted[option], status)
                    done.append(f"{plural(changed, 'topic')} {status}")
            for topic, names in _people(project.store, options.assign).items():
                changed = organizing.assign(project, topic, names)
                done.append(f"topic {topic}: {plural(changed, 'assessor')} added or removed")
            if options.share_out:
                given = organizing.share_out(project, options.each)
                why = organizing.why_no_more(project, options.each)
                done.append(f"{plural(given, 'assignment')} made: {why}")
        _say(options, "; ".join(done))
        _write(options, tables.topic_table(project, brief=options.format_name in PEOPLE))


def _listed(store: Store, given: Iterable[str]) -> list[str]:
    """Return the topics of comma-separated lists; `all` means every topic, unless one has that id."""
    known = [topic.id for topic in store.topics()]
    names = [name.strip() for text in given for name in text.split(",") if name.strip()]
    return known if "all" in names and "all" not in known else names


def _refuse_two_statuses(wanted: dict[str, list[str]]) -> None:
    seen: dict[str, str] = {}
    for option, names in wanted.items():
        for name in names:
            if seen.setdefault(name, option) != option:
                raise click.UsageError(
                    f"topic {name} is in --{seen[name]} and in --{option}; give one of them"
                )


def _people(store: Store, given: Iterable[str]) -> dict[str, list[str]]:
    """Map topics to the names of their assessors; names and topic ids may contain commas and `=`."""
    known = {topic.id for topic in store.topics()}
    found: dict[str, list[str]] = {}
    for text in given:
        places = [place for place, sign in enumerate(text) if sign == "="]
        if not places:
            raise click.UsageError(f"--assign {text}: expected TOPIC=NAME,..., such as 301=ann,bob")
        place = next((place for place in places if text[:place] in known), places[0])
        topic, names = text[:place], text[place + 1 :]
        several = [names] if store.user_by_name(names) else [name.strip() for name in names.split(",")]
        found.setdefault(topic, []).extend(name for name in several if name)
    return found


@run.register(command.OrderOptions)
def order(options: command.OrderOptions) -> None:
    """Change the order of judging if one is given; then list the orders."""
    if options.order is None:
        for name in ("parameter", "batch", "warm_up"):
            if getattr(options, name) not in (None, ()):
                raise click.UsageError(
                    f"--{name.replace('_', '-')} belongs to an order; name it, such as mtc"
                )
    with open_project(options.folder) as project:
        named = _listed(project.store, options.topics) if options.topics else None
        if options.order is not None:
            wanted = Order(
                policy=options.order, parameters=parse_parameters(options.parameter),
                batch=options.batch or 1, warm_up=options.warm_up or 0,
            )  # fmt: skip
            changed = organizing.set_order(project, named, wanted)
            changes = f"changed the order of {plural(changed, 'topic')}"
            _say(options, changes if changed else "nothing changed: the topics have this order already")
        _write(options, tables.order_table(project, named))


@run.register(command.SettingsOptions)
def settings(options: command.SettingsOptions) -> None:
    """Change settings if some are given; then list them."""
    text = None if options.instructions is None else _read(options.instructions)
    names = ("title", "overlap", "feed", "level", "measure", "lease", "language")
    changes = {name: value for name in names if (value := getattr(options, name)) is not None}
    for name in ("title", "measure"):
        if not changes.get(name, name).strip():
            raise click.UsageError(f"--{name} is blank; give a value or leave it out")
    with open_project(options.folder) as project:
        with project.engine.together():
            if changes:
                organizing.change_settings(project, **changes)
            if text is not None:
                organizing.set_instructions(project, text)
            if options.suggest is not None:
                suggest(project.store, options.suggest)
        if "overlap" in changes:
            _say(options, organizing.staffing_note(project.engine))
        _write(options, tables.settings_table(project, brief=options.format_name in PEOPLE))


def _read(file: TextIO) -> str:
    try:
        return file.read()
    except UnicodeDecodeError as error:
        raise DataError(f"{file.name}: not UTF-8 ({error.reason}); save the file as UTF-8") from error


# ---- differences and audits


@run.register(command.DifferencesOptions)
def differences(options: command.DifferencesOptions) -> None:
    """Settle the documents of a file, if one is given; then list the documents on which assessors differ."""
    if (options.settle is None) != (options.organizer is None):
        raise click.UsageError("--settle FILE and --organizer NAME need each other; give both")
    with open_project(options.folder) as project:
        if options.settle is not None and options.organizer is not None:
            by = organizing.organizer_of(project.store, options.organizer).pseudonym
            read = settle_file(project, options.settle, by=by)
            _say(options, f"settled {plural(read.rows, 'document')}, {read.changed:,} new or changed")
        found = differing_documents(project, project.store.standing())
        brief = options.format_name in PEOPLE
        _write(options, tables.difference_table(project, found, options.only_open, brief=brief))


@run.register(command.ExpertAuditOptions)
def audit(options: command.ExpertAuditOptions) -> None:
    """Draw a sample of an assessor's judgments, or list the samples."""
    if options.assessor is not None and options.expert is None:
        raise click.UsageError("a new sample needs an expert to grade it; add --expert NAME")
    if options.assessor is None and options.size is not None:
        raise click.UsageError("--size is for a new sample; add the ASSESSOR whose judgments to draw")
    with open_project(options.folder) as project:
        store = project.store
        expert = None if options.expert is None else organizing.organizer_of(store, options.expert)
        if options.assessor is None or expert is None:
            table = tables.audit_table(project, store.users() if expert is None else [expert])
        else:
            table = _draw(project, organizing.judge_of(store, options.assessor), expert, options)
        _write(options, table)


def _draw(project: Project, assessor: str, expert: User, options: command.ExpertAuditOptions) -> Table:
    """Draw a sample, and say where it is graded."""
    store, name = project.store, project.store.names().get(assessor, assessor)
    if assessor == expert.pseudonym:
        raise DataError(f"{name} cannot audit {name}; name another assessor or another expert")
    refuse_pairs(project.settings)
    before = store.last_sequence()
    size = options.size or command.SAMPLED
    number = draw_audit(store, expert.pseudonym, assessor, size, project.settings.seed)
    found = None if number is None else audit_of(store, expert.pseudonym, number)
    if found is None:
        raise DataError(f"nothing to draw: {name} has no judgments for topics in use yet")
    which = f"audit {found.number}{' (drawn before)' if found.number <= before else ''}"
    _say(
        options,
        f"{which}: {len(found.drawn):,} of {name}'s {found.of:,} judgments; {expert.name} can grade them at"
        f" /organize/audit?audit={found.number}",
    )
    return tables.drawn_table(found, expert.name, name)
