"""Commands as a shell starts them: redirected, closed and unusual outputs, empty words, protected files."""

from __future__ import annotations

import gzip
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests.e2e.calling import sampled

from sounding.cli import COMMANDS, cli
from sounding.core.errors import DataError
from sounding.core.files import write_file
from sounding.core.policies import DEFAULT_POLICIES
from sounding.data.finding import find_runs
from sounding.evaluate.large import results_folder

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")

EVALUATE = "evaluate qrels.txt runs -m AP --format csv --quiet"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sampled(
        tmp_path_factory.mktemp("shell") / "c",
        "--topics 3 --systems 2 --groups 4 --length 50 --documents 300",
    )


@pytest.fixture(scope="module")
def expected(folder: Path) -> str:
    found = bash(folder, f"sounding {EVALUATE}")
    assert found.stdout.count("\n") > 3
    return found.stdout


def bash(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """What bash does with a line that holds the word `sounding`."""
    program = f'sounding() {{ {shlex.quote(sys.executable)} -m sounding "$@"; }}\n{line}'
    return subprocess.run(
        ["bash", "-c", program], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


def check_one_line(found: subprocess.CompletedProcess[str], *facts: str) -> None:
    """The command ends with one line that says why, and holds these facts."""
    assert found.returncode in (1, 2)
    assert found.stdout == ""
    assert "Traceback" not in found.stderr
    last = found.stderr.splitlines()[-1]
    assert last.startswith("Error: ")
    assert found.stderr.count("Error") == 1
    assert "unexpected" not in last
    for fact in facts:
        assert fact in last


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/fd/7 7>&1", "-"])
def test_standard_output_is_a_file_like_any_other(name: str, folder: Path, expected: str) -> None:
    found = bash(folder, f"sounding {EVALUATE} -o {name} | cat")
    assert (found.stdout, found.stderr) == (expected, "")


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1"])
def test_what_a_file_holds_is_kept_where_a_shell_appends_to_it(
    name: str, folder: Path, expected: str, tmp_path: Path
) -> None:
    found = bash(folder, f"echo first > {tmp_path}/f; sounding {EVALUATE} -o {name} >> {tmp_path}/f")
    assert found.stderr == ""
    assert (tmp_path / "f").read_text() == f"first\n{expected}"


def test_a_process_reads_what_is_written(folder: Path, expected: str, tmp_path: Path) -> None:
    packed = tmp_path / "f.gz"
    found = bash(folder, f"sounding {EVALUATE} -o >(gzip > {packed})")
    assert (found.returncode, found.stderr) == (0, "")
    end = time.monotonic() + 60
    while not packed.exists() or not packed.stat().st_size:  # bash does not wait for the other process
        assert time.monotonic() < end
        time.sleep(0.01)
    assert gzip.decompress(packed.read_bytes()).decode() == expected


@pytest.mark.parametrize("to", ["trec", "parquet"])
def test_a_converted_file_goes_to_standard_output(to: str, folder: Path, tmp_path: Path) -> None:
    run = sorted((folder / "runs").iterdir())[0]
    target = tmp_path / f"made.{'txt' if to == 'trec' else to}"
    line = f"sounding convert {run} --quiet --to {to} -o"
    found = bash(folder, f"{line} /dev/stdout | cat > {tmp_path}/piped; {line} {target}")
    assert found.stderr == ""
    assert (tmp_path / "piped").read_bytes() == target.read_bytes() != b""


def test_a_reader_that_has_seen_enough_is_no_error(folder: Path) -> None:
    found = bash(
        folder, f"sounding {EVALUATE} -q -m P.{','.join(map(str, range(1, 300)))} -o /dev/fd/1 | true"
    )
    assert found.stderr == ""


@pytest.mark.parametrize("command", [EVALUATE, "measures", "measures AP", "check qrels.txt", "--help"])
def test_a_closed_output_is_said_in_one_line(command: str, folder: Path) -> None:
    check_one_line(bash(folder, f"sounding {command} >&-"), "standard output", "closed")


def test_nothing_is_printed_and_all_is_well_where_the_output_is_a_file(
    folder: Path, expected: str, tmp_path: Path
) -> None:
    for closed in (">&-", "2>&-", "<&-", ">&- 2>&- <&-"):
        found = bash(folder, f"sounding {EVALUATE} -o {tmp_path}/f {closed}")
        assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
        assert (tmp_path / "f").read_text() == expected
        (tmp_path / "f").unlink()


@pytest.mark.parametrize("options", ["", "--jobs 2"])
def test_what_cannot_be_remarked_is_no_reason_to_print_nothing(
    options: str, folder: Path, expected: str
) -> None:
    loud = EVALUATE.replace("--quiet", options)
    found = bash(folder, f"sounding {loud} 2>&-")
    assert (found.returncode, found.stdout) == (0, expected)


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/stdin"])
def test_a_closed_descriptor_is_no_place_for_a_result(name: str, folder: Path) -> None:
    check_one_line(bash(folder, f"sounding {EVALUATE} -o {name} >&- <&-"), name, "closed")


def test_a_closed_error_stream_is_no_place_for_a_result(folder: Path) -> None:
    assert bash(folder, f"sounding {EVALUATE} -o /dev/fd/2 2>&-").returncode == 1
    assert bash(folder, f"sounding {EVALUATE} -o /dev/stdout 2>&-").stdout


def test_a_closed_input_is_said_in_one_line(folder: Path) -> None:
    check_one_line(bash(folder, "sounding evaluate qrels.txt - <&-"), "standard input", "closed")


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('evaluate qrels.txt "$UNSET"', "RUN"),
        ('evaluate "$UNSET" runs', "QRELS"),
        ('evaluate qrels.txt runs --into "$UNSET"', "--into"),
        ("evaluate qrels.txt runs --into=", "--into"),
        ('evaluate qrels.txt runs -o "$UNSET"', "--output"),
        ('convert qrels.txt -o "$UNSET"', "--output"),
        ('compare qrels.txt runs --collection c "$UNSET" runs', "--collection"),
        ('sample "$UNSET"', "DIR"),
        ('judge init "$UNSET" --corpus x', "DIR"),
        ('judge init p --corpus "$UNSET"', "--corpus"),
        ('check qrels.txt "$UNSET"', "FILE"),
    ],
)
def test_an_empty_word_is_refused_by_the_name_of_the_argument(line: str, name: str, folder: Path) -> None:
    before = sorted(folder.iterdir())
    check_one_line(bash(folder, f"sounding {line}"), name, "empty")
    assert sorted(folder.iterdir()) == before


def commands(command: click.Command, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """A command and all below it, each with the words that call it."""
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from commands(inner, *path, name)
    else:
        yield path, command


def test_no_parameter_of_any_command_takes_an_empty_name() -> None:
    context = click.Context(cli)
    seen = 0
    for name in COMMANDS:
        known = cli.get_command(context, name)
        assert known
        for path, command in commands(known, name):
            for parameter in command.params:
                if isinstance(parameter.type, click.Path | click.types.StringParamType):
                    seen += 1
                    with pytest.raises(click.BadParameter, match="empty"):
                        parameter.type.convert("", parameter, context)
                assert parameter.type is not click.STRING, (path, parameter.name)
    assert seen > 100


def test_the_library_takes_no_empty_names_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.txt").write_text("1 Q0 d 1 1 r\n")
    for given in ("", [""], ["run.txt", ""]):
        with pytest.raises(DataError, match="empty"):
            find_runs(given)
    with pytest.raises(DataError, match="empty"):
        results_folder("", None, (), DEFAULT_POLICIES)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "line", [f"{EVALUATE} -o", "convert qrels.txt --to trec -o", "report qrels.txt runs -o"]
)
@pytest.mark.parametrize("through", ["file", "link"])
def test_a_file_of_mode_444_is_not_replaced(line: str, through: str, folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "kept.txt"
    if line.startswith("report"):
        target = tmp_path / "kept.html"
    target.write_text("kept\n")
    target.chmod(0o444)
    name = target
    if through == "link":
        name = tmp_path / f"link{target.suffix}"
        name.symlink_to(target)
    check_one_line(bash(folder, f"sounding {line} {name}"), str(name), "write-protected")
    assert target.read_text() == "kept\n"
    target.chmod(0o644)
    if not line.startswith("report"):
        assert bash(folder, f"sounding {line} {name}").returncode == 0
        assert target.read_text() != "kept\n"


def test_the_library_does_not_replace_it_either(tmp_path: Path) -> None:
    target = tmp_path / "kept"
    target.write_text("kept")
    target.chmod(0o444)
    with pytest.raises(DataError, match="write-protected"):
        write_file(target, b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
