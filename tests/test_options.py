"""Rules of the house that a script can check: typed options, one name for one thing, imports at the top."""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import click
import pytest

import sounding
from sounding.cli import cli
from sounding.terminal.declare import PolicyValue

SOURCE = Path(sounding.__file__).parent
TREES = {path: ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}

# What is not yet as it should be, and how much of it there is. Only ever lower these.
LATE_IMPORTS = 24
UNTYPED = 0  # functions that take **options, and uses of options["..."]

# Functions that hand on what they are called with, whatever it is; `experiment` to PyTerrier's.
HAND_ON = {"Verb.__call__", "kept", "experiment"}
LOOSE = ("options", "choices", "request")  # what a dictionary of options is called


def commands(group: click.Group, above: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command and subcommand with its name."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{above}{name} ")
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield f"{above}{name}", command


COMMANDS = dict(commands(cli))


def options_of(command: click.Command) -> Any:
    """The dataclass that a command takes its options as; None: it takes them one by one."""
    callback = inspect.unwrap(command.callback)  # type: ignore[arg-type]
    hints = get_type_hints(callback, {**callback.__globals__, "click": click})
    return next((kind for name, kind in hints.items() if name != "return" and is_dataclass(kind)), None)


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_the_fields_of_one_dataclass(name: str) -> None:
    command = COMMANDS[name]
    kind = options_of(command)
    assert kind is not None
    asked = {parameter.name for parameter in command.params if parameter.expose_value} - {"policy"}
    for parameter in command.params:  # --policy fills the field of each policy that it offers
        asked |= set(parameter.type.offered) if isinstance(parameter.type, PolicyValue) else set()
    needed = {f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING}
    assert needed <= asked
    assert asked <= {field.name for field in fields(kind)}


def scoped(tree: ast.AST, scope: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Every node with the functions and classes around it."""
    for node in ast.iter_child_nodes(tree):
        named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        inner = f"{scope}.{node.name}".lstrip(".") if named else scope  # type: ignore[attr-defined]
        yield inner, node
        yield from scoped(node, inner)


def test_no_function_takes_untyped_options() -> None:
    takers = [
        f"{path.relative_to(SOURCE)}: {scope}"
        for path, tree in TREES.items()
        for scope, node in scoped(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if node.args.kwarg is not None and node.args.kwarg.arg in LOOSE
        if not any(scope.endswith(name) for name in HAND_ON)
    ]
    by_name = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id in LOOSE
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    ]

    assert len(takers) + len(by_name) <= UNTYPED, "\n".join([*takers, *by_name])


def test_no_class_name_stands_for_two_things() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(str(path.relative_to(SOURCE)))
    twice = {name: places for name, places in homes.items() if len(places) > 1}

    assert not twice


# File names that name a role, so that the same role has the same name in every room; and the rooms whose files mirror another's.
ROLES = {
    "__init__",
    "charts",
    "command",
    "display",
    "flow",
    "registry",
    "result",
    "sentences",
    "study",
    "tables",
}
MIRRORS = {"measures/bounds": "measures", "measures/expected": "measures"}


def test_a_file_name_repeats_only_where_it_names_a_role() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path in TREES:
        room = str(path.parent.relative_to(SOURCE))
        mirrored = MIRRORS.get(room)
        if path.stem not in ROLES and not (mirrored and SOURCE / mirrored / path.name in TREES):
            homes[path.stem].append(room)
    twice = {name: rooms for name, rooms in homes.items() if len(rooms) > 1}

    assert not twice


def module_name(path: Path) -> str:
    return ".".join(("sounding", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


MODULES = {module_name(path) for path in TREES}


def own_imports(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """The imports of our own modules in a file, wherever they stand, with the module that each loads."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sounding":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield node, inner if inner in MODULES else str(node.module)
        elif isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names if alias.name in MODULES)


def test_imports_stand_at_the_top_of_a_file() -> None:
    late = []
    for path, tree in TREES.items():
        functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
        inside = {id(node) for function in functions for node in ast.walk(function)}
        lines = {node.lineno for node, _ in own_imports(tree) if id(node) in inside}  # type: ignore[attr-defined]
        late += [f"{path.relative_to(SOURCE)}:{line}" for line in sorted(lines)]
    print(len(late), "late imports of our own modules")  # noqa: T201 - shown with -rP
    assert len(late) <= LATE_IMPORTS, "\n".join(late)


def test_modules_import_one_another_in_no_circle() -> None:
    """Late imports count."""
    graph: dict[str, set[str]] = {}
    for path, tree in TREES.items():
        name = module_name(path)
        graph[name] = {other for _, other in own_imports(tree) if other not in (name, "sounding")}
    found = [sorted(circle) for circle in circles(graph) if len(circle) > 1]

    assert found == []


def circles(graph: dict[str, set[str]]) -> list[frozenset[str]]:
    """The strongly connected components (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[frozenset[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in graph[name]:
            if other not in index:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == index[name]:
            place = stack.index(name)
            found.append(frozenset(stack[place:]))
            del stack[place:]

    for name in graph:
        if name not in index:
            visit(name)
    return found


def test_public_names_are_the_same_for_type_checkers() -> None:
    tree = TREES[SOURCE / "__init__.py"]
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    typed = {str(alias.asname): str(node.module) for node in imports for alias in node.names}
    assert sorted(typed) == sounding.__all__
    assert all(callable(getattr(sounding, name)) for name in typed)


@pytest.mark.parametrize("name", sounding._VERBS)
def test_an_option_and_a_parameter_of_one_name_have_the_same_default(name: str) -> None:
    """A number or a word; lists and files that are not given are spelled differently in a shell."""
    options = {parameter.name: parameter.default for parameter in COMMANDS[name].params}
    for parameter in inspect.signature(getattr(sounding, name).__wrapped__).parameters.values():
        given, own = options.get(parameter.name), parameter.default
        if isinstance(given, str | int | float) and isinstance(own, str | int | float):
            assert given == own, parameter.name


@pytest.mark.parametrize("name", sounding._VERBS)
def test_every_parameter_of_a_verb_has_a_type_and_a_name(name: str) -> None:
    signature = inspect.signature(getattr(sounding, name).__wrapped__)
    assert signature.return_annotation not in (signature.empty, "Any", "None")
    for parameter in signature.parameters.values():
        assert parameter.annotation is not signature.empty
        assert parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)


# Words that name a file or a list in one command and its size in `sample`, which makes such files.
SIZES = {"--documents", "--topics", "--systems", "--groups"}
OTHER_KINDS = {"--to", "--judge"}  # plan: a confidence, convert: a format; estimate: a name, demo: a flag


def kind_of(option: click.Option) -> str:
    """What an option takes: nothing, a number, or a text."""
    if option.is_flag:
        return "nothing"
    numbers = (click.types.IntParamType, click.types.FloatParamType)
    return "number" if isinstance(option.type, numbers) else "text"


def test_an_option_takes_the_same_kind_of_value_in_every_command() -> None:
    kinds: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, command in COMMANDS.items():
        for parameter in command.params:
            if not isinstance(parameter, click.Option):
                continue
            for spelled in parameter.opts:
                if not (name == "sample" and spelled in SIZES):
                    kinds[spelled][kind_of(parameter)].append(name)
    clashes = {
        word: dict(found) for word, found in kinds.items() if len(found) > 1 and word not in OTHER_KINDS
    }
    assert not clashes
