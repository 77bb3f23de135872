"""Pages are complete, and what they show works."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import sounding
from sounding.cli import COMMANDS, cli, main
from sounding.policies import Policies

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_page_and_the_readme_names_it(command: str) -> None:
    page = ROOT / "docs" / f"{command}.md"
    assert page.read_text().lower().startswith(f"# {command}")
    assert f"(docs/{command}.md)" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES], ids=lambda page: page.name
)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert target.startswith("http") or (page.parent / target).exists(), target


@pytest.mark.parametrize("block", blocks(ROOT / "README.md", "python"))
def test_the_readmes_python_runs(block: str) -> None:
    exec(compile(block, "README.md", "exec"), {})


def test_the_readmes_commands_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line for block in blocks(ROOT / "README.md", "console") for line in block.splitlines()]
    commands = [line.removeprefix("$ sounding ") for line in lines if line.startswith("$ sounding ")]
    commands = [command for command in commands if "QRELS" not in command]
    assert len(commands) >= 4
    for command in commands:
        words = [
            word
            for part in shlex.split(command)
            for word in (sorted(map(str, Path().glob(part))) if "*" in part else [part])
        ]
        with pytest.raises(SystemExit) as left:
            main(words)
        assert not left.value.code, command
    assert capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_a_command_is_on_its_page(command: str) -> None:
    loaded = cli.get_command(None, command)  # type: ignore[arg-type]
    assert loaded is not None
    page = (ROOT / "docs" / f"{command}.md").read_text()
    for parameter in loaded.params:
        for name in parameter.opts:
            if name.startswith("--") and parameter.name not in ("quiet", "format_name", "output"):
                assert f"`{name}" in page or f" {name}" in page or f"[{name}" in page, name


def test_every_policy_and_value_is_on_the_page_of_evaluate() -> None:
    page = (ROOT / "docs" / "evaluate.md").read_text()
    for name in Policies().__dataclass_fields__:
        assert f"--{name.replace('_', '-')}" in page, name


def test_every_public_name_has_a_docstring() -> None:
    for name in sounding.__all__:
        assert getattr(sounding, name).__doc__, name


def test_help_of_every_command_is_one_screen_and_shows_no_traces_of_markup(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for command in COMMANDS:
        with pytest.raises(SystemExit):
            main([command, "--help"])
        text = capsys.readouterr().out
        assert text.startswith(f"Usage: sounding {command}")
        assert "\\b" not in text
