"""`make bench`: real kinds of files beside the other tools, commands in units, and how commands grow."""

from __future__ import annotations

import argparse
import compileall
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.commands import growth, measure_commands, real_collections
from benchmarks.files import IR_MEASURES, MEASURES, PYTREC, RANX, TREC_EVAL, measure_files, works
from benchmarks.judging_size import rows_of
from benchmarks.timing import table

import sounding

HERE = Path(__file__).resolve().parent
PARTS = ("files", "commands", "growth", "judging")


def absent(*, ranx: bool) -> list[str]:
    """Return the tools that are not measured, and why."""
    names = [
        f"{tool} is not installed"
        for tool in (PYTREC, IR_MEASURES, RANX)
        if not importlib.util.find_spec(tool)
    ]
    if not shutil.which(TREC_EVAL):
        names.append("trec_eval is not on the PATH")
    if not ranx:
        names.append("ranx was left out by --no-ranx")
    return names


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="tables to print; default: all")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each tool on each kind of files (3)")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="KIND", help="measure only these kinds of files"
    )
    parser.add_argument("--ranx", action=argparse.BooleanOptionalAction, default=True, help="include ranx")
    parser.add_argument("--data", type=Path, default=HERE / "data", help="where collections are kept")
    choice = parser.parse_args(arguments)
    parts = choice.parts or PARTS
    real = real_collections()
    # An installed package has its byte code, as those of the peers do; an edited working copy may not.
    compileall.compile_dir(Path(sounding.__file__).parent, quiet=1)
    print(f"{os.cpu_count()} processors, Python {sys.version.split()[0]}")
    for reason in absent(ranx=choice.ranx):
        print(f"not measured: {reason}")
    if real is None:
        print("not measured: real collections (SOUNDING_DATA names their folder)")
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        if "files" in parts:
            print(
                f"\n1. {', '.join(MEASURES)} per topic: seconds, cold; x: times as fast as the tool",
                flush=True,
            )
            todo = works(choice.data, real, choice.only)
            print(f"\n{measure_files(todo, scratch, choice.rounds, ranx=choice.ranx)}")
        if "commands" in parts and real is not None:
            print("\n2. Commands in units", flush=True)
            print(f"\n{measure_commands(real, scratch)}")
        if "growth" in parts:
            print("\n3. Growth", flush=True)
            print(f"\n{growth(choice.data, scratch)}")
        if "judging" in parts:
            print("\n4. A judging project of full size", flush=True)
            print(f"\n{table(rows_of(1.0, scratch))}")


if __name__ == "__main__":
    main()
