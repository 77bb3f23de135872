"""Pages are complete, and what they show works."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from tests.conftest import require
from tests.docs_examples import run_page

import sounding
from sounding.cli import COMMANDS, cli, main
from sounding.core.policies import Policies
from sounding.terminal.declare import spelling

ROOT = Path(__file__).parent.parent
SHARED = (
    "quiet",
    "notes",
    "format_name",
    "output",
    "help_all",
)  # options of every command, which the README has
PAGES = sorted((ROOT / "docs").glob("*.md"))


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    """What the site adds to its pages."""
    spec = spec_from_file_location("site_hooks", ROOT / ".ci" / "site_hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


def test_the_readmes_commands_show_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("vl_convert")
    monkeypatch.chdir(tmp_path)
    run_page(ROOT / "README.md")
    assert (tmp_path / "report.html").stat().st_size > 100_000


def test_the_citation_names_this_version_and_the_papers() -> None:
    cited = require("yaml").safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert cited["version"] == sounding.__version__
    assert cited["cff-version"] == "1.2.0"
    assert {"title", "authors", "message", "type"} <= set(cited)
    assert [paper["year"] for paper in cited["references"]] == [2008, 2006, 2002, 2016]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_a_command_is_on_its_page(command: str, hooks: ModuleType) -> None:
    loaded = cli.get_command(None, command)  # type: ignore[arg-type]
    assert loaded is not None
    page = hooks.on_page_markdown((ROOT / "docs" / f"{command}.md").read_text())
    assert "<!-- the " not in page
    for parameter in loaded.params:
        for name in parameter.opts:
            if name.startswith("--") and parameter.name not in SHARED:
                assert f"`{name}" in page or f" {name}" in page or f"[{name}" in page, name


def test_tables_of_options_and_columns_are_those_of_the_program(hooks: ModuleType) -> None:
    init = hooks.on_page_markdown("<!-- the options of judge init -->")
    assert re.search(r"^\| `--overlap [^`]*` \| Have this many assessors judge each document\.", init, re.M)
    columns = hooks.on_page_markdown("<!-- the columns of compare -->")
    assert re.search(r"^\| `run_a` \| The first run of a pair\. \|$", columns, re.M)


def test_every_policy_and_value_is_on_the_page_of_evaluate() -> None:
    page = (ROOT / "docs" / "evaluate.md").read_text()
    for name in Policies().__dataclass_fields__:
        assert spelling(name) in page, name


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
        assert not re.search(r"^  -.* (INTEGER|FLOAT)\b", text, re.MULTILINE)
