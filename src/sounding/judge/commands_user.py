"""`sounding judge user`: who takes part in a project, and what each judges."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sounding.core.errors import DataError
from sounding.terminal.options import by_suffix, output_options, remark, write_tables, write_text

if TYPE_CHECKING:
    from sounding.judge.project import Project
    from sounding.judge.records import User
    from sounding.judge.store import Store
    from sounding.render.tables import Table

LOOPBACK = "127.0.0.1"
PORT = 8000
STILL_HELD = (
    "another program reads the database just now: its log, judging.sqlite-wal, still tells who it was; the"
    " server empties it when that program has ended"
)

project_argument = click.argument(
    "folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path)
)


def quieted(table: Table, quiet: bool) -> Table:
    """A table with its remarks, or without."""
    return replace(table, notes=()) if quiet else table


@click.command("user")
@project_argument
@click.argument("name", required=False)
@click.option(
    "--role",
    type=click.Choice(["assessor", "organiser"]),
    help="From now on; a new user is an assessor unless this is given, others keep their role.",
)
@click.option(
    "--topics", metavar="ID,...", help="Topics to judge, in place of those so far; all: every topic."
)
@click.option("--link", is_flag=True, help="A new one-time link to set a password; the old password is void.")
@click.option("--enable/--disable", "enable", default=None, help="Whether the user may sign in.")
@click.option("--erase", is_flag=True, help="Forget who the user was; the judgments stay, under a pseudonym.")
@click.option("--yes", is_flag=True, help="Erase without asking.")
@click.option(
    "--url",
    metavar="URL",
    help="Where people reach the server, for links.  [default: where it was served last, else"
    f" http://{LOOPBACK}:{PORT}]",
)
@output_options(otherwise="the link alone, or a table where there is none")
def user(folder: Path, name: str | None, **options: Any) -> None:
    """List the users of a project, or add or change the one called NAME, and say what NAME is now.

    A new user gets a one-time link to set a password with. With --format, NAME comes as a row of a table, the
    link in it; otherwise a link is all that is written.
    """
    from sounding.judge.project import open_project
    from sounding.judge.status import user_table

    _refuse_contradictions(options)
    _refuse_no_address(options["url"])
    with open_project(folder) as project:
        if name is None:
            _refuse_changes(options)
            _refuse_unknown_suffix(options)
            table = quieted(user_table(project.store), options["quiet"])
            write_tables([table], options["format_name"], options["output"])
            return
        store = project.store
        present = store.user_by_name(name)
        if present is None:
            if options["erase"] or options["link"] or options["enable"] is not None:
                others = ", ".join(one.name for one in store.users() if not one.erased) or "nobody yet"
                raise DataError(f"there is no user {name!r}; there are: {others}")
            options["link"] = True
        elif options["url"] is not None and not options["link"]:
            raise click.UsageError("--url says where a link leads; give --link as well")
        if not options["link"]:
            _refuse_unknown_suffix(options)
        if present is not None and options["erase"]:
            _erase_user(store, present, options)
            _write_user(store, present.id, None, options)
            return
        link = None
        if present is None or any(_given(options)):
            with store.together():  # all that is asked for is done, or nothing of it
                present = present or store.add_user(name, options["role"] or "assessor")
                link = _change_user(project, present, options)
        _say_user(project, present.id, link, options)
        _write_user(store, present.id, link, options)


def _write_user(store: Store, number: int, link: str | None, options: dict[str, Any]) -> None:
    """Write a user as a table where a format is asked for; otherwise the link alone, if there is one."""
    from sounding.judge.status import user_table

    layout, output = options["format_name"], options["output"]
    unasked = layout == "table" and not _format_is_given()
    if unasked and link is not None:
        write_text(f"{link}\n", output)
    elif not unasked or output is not None:
        write_tables([user_table(store, number, link)], layout, output)


def _format_is_given() -> bool:
    source = click.get_current_context().get_parameter_source("format_name")
    return source is ParameterSource.COMMANDLINE


def _refuse_unknown_suffix(options: dict[str, Any]) -> None:
    """Refuse a file whose name promises no table; a link goes into whatever file is named."""
    if not _format_is_given():
        by_suffix(options["output"], "table")


def _refuse_changes(options: dict[str, Any]) -> None:
    url = [("url", "--url")] if options["url"] is not None else []
    for name, shown in [*_given(options), *url]:
        if name != "yes":
            raise click.UsageError(f"{shown} is for one user; give a NAME")


def _given(options: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The options that change a user and were given: their names, and as they are written."""
    for name in ("role", "topics", "link", "erase", "enable", "yes"):
        if options[name] is not None and (options[name] or name == "enable"):
            yield name, "--disable" if name == "enable" and not options[name] else f"--{name}"


def _refuse_contradictions(options: dict[str, Any]) -> None:
    given = dict(_given(options))
    if "erase" in given and (
        others := [shown for name, shown in given.items() if name not in ("erase", "yes")]
    ):
        raise click.UsageError(
            f"--erase forgets the user, so that {others[0]} has nobody to change; give one"
        )
    if "yes" in given and "erase" not in given:
        raise click.UsageError("--yes is for --erase")
    if "link" in given and options["enable"] is False:
        raise click.UsageError("--disable keeps the user out, and --link lets the user in; give one")


def _refuse_no_address(url: str | None) -> None:
    from sounding.judge.serving import is_address

    if url is not None and not is_address(url):
        better = f"https://{url.rpartition('/')[2] or 'judge.example.org'}" if "://" not in url else ""
        example = better if is_address(better) else "https://judge.example.org"
        raise click.UsageError(
            f"--url {url}: expected an address that begins with http:// or https://, such as {example}"
        )


def _ask_before_erasing(user: User, sure: bool) -> None:
    if sure:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"{user.name} would be forgotten for good; say that you mean it: --yes")
    click.confirm(f"Forget for good who {user.name} is? The judgments stay", abort=True, err=True)


def _erase_user(store: Store, user: User, options: dict[str, Any]) -> None:
    _ask_before_erasing(user, options["yes"])
    quiet, gone = options["quiet"], store.erase_user(user.id)
    remark(f"{user.name} is forgotten; the judgments stay, as those of {gone.pseudonym}", quiet=quiet)
    if store.holds_erased():
        remark(STILL_HELD, quiet=quiet)


def _change_user(project: Project, user: User, options: dict[str, Any]) -> str | None:
    """Do to a user what is asked for; returns the link, if one was made."""
    from sounding.judge.organizing import give_topics

    store = project.store
    if options["role"] is not None:
        store.set_role(user.id, options["role"])
    if options["enable"] is not None:
        store.set_active(user.id, options["enable"])
    if options["topics"] is not None:
        give_topics(store, user.pseudonym, _wanted_topics(store, options["topics"]))
    if not options["link"]:
        return None
    if user.password_hash is not None:
        store.set_password(user.id, None)
    return _new_link(project, user, options["url"])


def _say_user(project: Project, number: int, link: str | None, options: dict[str, Any]) -> None:
    """Say what a user is now, and what the link is good for, if one was made."""
    from sounding.judge.serving import last_address

    store, quiet = project.store, options["quiet"]
    [user] = [one for one in store.users() if one.id == number]
    if link is not None:
        remark(f"for {user.name} alone: opens once, within 14 days, and sets a password", quiet=quiet)
        if options["url"] is None and last_address(project.folder) is None:
            remark(
                "the project has not been served yet: if people reach it elsewhere, say where with --url",
                quiet=quiet,
            )
    remark(_told(store, user), quiet=quiet)


def _told(store: Store, user: User) -> str:
    """A user as things stand now, in a line."""
    from sounding.core.text import plural
    from sounding.judge.status import sign_in, topics_given

    topics = topics_given(store)[user.pseudonym]
    judges = "" if user.role == "organiser" else f", {plural(topics, 'topic')} to judge"
    return f"{user.name}: {user.role}{judges}; sign-in: {sign_in(user)}; in the log: {user.pseudonym}"


def _new_link(project: Project, user: User, url: str | None) -> str:
    from sounding.judge.project import invite
    from sounding.judge.serving import last_address

    secret = invite(project.store, user, "invitation" if user.password_hash is None else "reset")
    place = url or last_address(project.folder) or f"http://{LOOPBACK}:{PORT}"
    return f"{place.rstrip('/')}/welcome/{secret}"


def _wanted_topics(store: Store, listed: str) -> list[str]:
    """The topics of a list with commas, or all."""
    if listed == "all":
        return [topic.id for topic in store.topics()]
    wanted = [name.strip() for name in listed.split(",") if name.strip()]
    if not wanted:
        raise DataError("--topics names no topic; give ids with commas between them, or all")
    return wanted
