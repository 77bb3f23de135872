"""The wheel and the source distribution are complete, and the command works with nothing but what they require."""

from __future__ import annotations

import email
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from tests.conftest import require
from tests.packaging.calls import CALLS

import sounding
from sounding.cli import COMMANDS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
NAME = re.compile(r"[\w.-]+")


def build(source: Path, target: Path, *kinds: str) -> list[Path]:
    require("hatchling")
    words = [sys.executable, "-m", "hatchling", "build", "-d", str(target)]
    subprocess.run([*words, *(f"-t{kind}" for kind in kinds)], cwd=source, check=True, capture_output=True)
    return sorted(target.iterdir())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (made,) = build(ROOT, tmp_path_factory.mktemp("wheel"), "wheel")
    return made


def contents(wheel: Path) -> dict[str, int]:
    with zipfile.ZipFile(wheel) as archive:
        return {info.filename: info.CRC for info in archive.infolist()}


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    package = ROOT / "src"
    ours = {str(path.relative_to(package)) for path in (package / "sounding").rglob("*") if path.is_file()}
    ours = {name for name in ours if "__pycache__" not in name}
    packed = {name for name in contents(wheel) if ".dist-info/" not in name}
    assert packed == ours
    assert "sounding/py.typed" in packed


def test_a_source_distribution_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    (packed,) = build(ROOT, tmp_path / "sdist", "sdist")
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path, filter="data")
    source = tmp_path / packed.name.removesuffix(".tar.gz")
    assert {"tests", "docs", "packaging", "Makefile", "action.yml"} <= {
        path.name for path in source.iterdir()
    }
    (again,) = build(source, tmp_path / "again", "wheel")
    assert again.name == wheel.name
    assert contents(again) == contents(wheel)


def test_the_metadata_are_those_of_the_project(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        folder = next(name.partition("/")[0] for name in archive.namelist() if ".dist-info/" in name)
        found = email.message_from_bytes(archive.read(f"{folder}/METADATA"))
        scripts = archive.read(f"{folder}/entry_points.txt").decode()
        assert f"{folder}/licenses/LICENSE" in archive.namelist()
    assert (found["Name"], found["Version"]) == ("sounding", sounding.__version__)
    assert found["Requires-Python"] == PROJECT["requires-python"]
    assert found["Description-Content-Type"] == "text/markdown"
    plain = [row for row in found.get_all("Requires-Dist", []) if "extra ==" not in row]
    assert sorted(plain) == sorted(PROJECT["dependencies"])
    assert "sounding = sounding.__main__:run" in scripts
    assert "sounding = sounding.integrations.pytest" in scripts


def requirements(name: str, seen: set[str]) -> Iterator[str]:
    """A distribution and everything that it requires without extras."""
    if name in seen:
        return
    seen.add(name)
    yield name
    for row in metadata.requires(name) or ():
        if "extra ==" not in row and "platform_system" not in row:
            found = NAME.match(row)
            assert found is not None
            yield from requirements(found[0], seen)


@pytest.fixture(scope="module")
def small(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the unpacked wheel and links to what it requires, and nothing else."""
    folder = tmp_path_factory.mktemp("small")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    seen: set[str] = set()
    for row in PROJECT["dependencies"]:
        for name in requirements(NAME.match(row)[0], seen):  # type: ignore[index]
            for file in metadata.files(name) or ():
                top = file.parts[0]
                if top != ".." and not (folder / top).exists():
                    (folder / top).symlink_to(Path(str(file.locate())).parents[len(file.parts) - 1] / top)
    return folder


# Runs command lines, given as JSON, one after the other, and prints the status of each and what it wrote.
RUNNER = f"import contextlib, io, json, sys\nsys.path.insert(0, sys.argv[1])\n{CALLS}"
SAMPLE = "sample trial --topics 8 --groups 3 --systems 1 --documents 200 --length 30 --pool-depth 6 --seed 3"
FILES = "trial/qrels.txt trial/runs"
WORKING = (
    SAMPLE,
    f"evaluate {FILES} -m nDCG@10 -m AP",
    f"compare {FILES} -m P@5",
    f"audit {FILES}",
    f"depth {FILES} -m P",
    "pool trial/runs --depth 5 --summary",
    f"plan {FILES} --draws 20",
    f"track history.parquet {FILES} -m RR --commit v1",
    "track history.parquet",
    f"check {FILES}",
    "convert trial/qrels.txt -o qrels.parquet",
    "measures nDCG@10",
)
LACKING = {
    f"evaluate {FILES} --chart chart.html": "sounding[charts]",
    f"report {FILES} -o report.html": "sounding[charts]",
    "judge init project --corpus trial/qrels.txt": "",
    "judge serve trial": "sounding[judge]",
}


def run_isolated(folder: Path, lines: list[str], cwd: Path) -> list[tuple[str, int, str, str]]:
    """Run command lines without any package but those of the folder."""
    words = [sys.executable, "-I", "-S", "-c", RUNNER, str(folder), json.dumps(lines)]
    environment = {"PATH": os.environ["PATH"], "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return [tuple(row) for row in json.loads(done.stdout)]


def test_commands_work_with_only_what_the_package_requires(small: Path, tmp_path: Path) -> None:
    lines = [*WORKING, "--help", *(f"{command} --help" for command in COMMANDS)]
    for line, status, out, err in run_isolated(small, lines, tmp_path):
        assert status == 0, (line, err)
        assert out or err, line


def test_what_needs_more_says_what_to_install(small: Path, tmp_path: Path) -> None:
    _, *outcomes = run_isolated(small, [SAMPLE, *LACKING], tmp_path)
    for (line, extra), (_, status, _, err) in zip(LACKING.items(), outcomes, strict=True):
        assert status == 1, line
        assert err.startswith("Error: "), err
        assert len(err.splitlines()) == 1, err
        assert extra in err, err


def test_the_conda_recipe_requires_what_the_package_requires() -> None:
    text = (ROOT / "packaging/conda/meta.yaml").read_text("utf-8")
    jinja2 = require("jinja2")
    recipe = require("yaml").safe_load(jinja2.Template(text).render(PYTHON="python"))
    assert recipe["package"] == {"name": PROJECT["name"], "version": sounding.__version__}
    wanted = [
        f"python {PROJECT['requires-python']}",
        *(re.sub(r"(?<=\w)>", " >", row) for row in PROJECT["dependencies"]),
    ]
    assert recipe["requirements"]["run"] == wanted
    scripts = [f"{name} = {place}" for name, place in PROJECT["scripts"].items()]
    assert recipe["build"]["entry_points"] == scripts
    assert (recipe["about"]["license"], recipe["about"]["summary"]) == (
        PROJECT["license"],
        PROJECT["description"],
    )
    assert (ROOT / "packaging/conda" / recipe["source"]["path"] / recipe["about"]["license_file"]).exists()


# -- real installations ----------------------------------------------------------------------------


PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))


def interpreters() -> dict[str, str]:
    """The interpreters of this machine by version: on the PATH, or kept by pyenv."""
    found = {}
    for version in PYTHONS:
        pyenv = sorted(PYENV.glob(f"versions/{version}.*/bin/python"))
        for program in [*map(str, pyenv), f"python{version}"]:
            try:
                done = subprocess.run(
                    [program, "-c", "import ensurepip, ssl"], capture_output=True, check=False
                )
            except OSError:
                continue
            if done.returncode == 0:
                found[version] = program
    return found


@pytest.mark.long
@pytest.mark.parametrize("version", PYTHONS)
def test_the_wheel_installs_and_runs_in_an_empty_environment(
    version: str, wheel: Path, tmp_path: Path
) -> None:
    program = interpreters().get(version)
    if program is None:
        pytest.skip(f"there is no Python {version} here")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    made = tmp_path / "environment"
    subprocess.run([program, "-m", "venv", str(made)], check=True)

    def run(*words: str) -> str:
        command = [str(made / "bin" / words[0]), *words[1:]]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("pip", "install", "--quiet", str(wheel))
    assert "No broken requirements" in run("pip", "check")
    assert run("sounding", "--version").strip().endswith(sounding.__version__)
    for line in WORKING:
        run("sounding", *line.split())
    run("pip", "install", "--quiet", f"{wheel}[charts]")
    run("sounding", "report", *FILES.split(), "-o", "report.html", "--quiet")
    assert (tmp_path / "report.html").stat().st_size > 100_000


@pytest.mark.long
def test_uvx_runs_the_command_from_the_wheel(wheel: Path, tmp_path: Path) -> None:
    uv = require("uv").find_uv_bin()
    settings = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    found = dict(re.findall(r"(index-url|extra-index-url|find-links)='([^']*)'", settings))
    options = {"index-url": "--default-index", "extra-index-url": "--index", "find-links": "--find-links"}
    more = [word for name, value in found.items() for each in value.split() for word in (options[name], each)]
    command = [
        uv,
        "tool",
        "run",
        "--index-strategy",
        "unsafe-best-match",
        *more,
        "--from",
        str(wheel),
        "sounding",
    ]
    done = subprocess.run(
        [*command, "--help"], capture_output=True, text=True, check=False,
        env={**os.environ, "UV_TOOL_DIR": str(tmp_path / "tools"), "UV_CACHE_DIR": str(tmp_path / "cache")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Usage: sounding")
