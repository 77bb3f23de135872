"""`sounding compare`: which differences between runs are more than chance, and how far to trust them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sounding.commands.options import (
    output_options,
    policy_options,
    progress_bar,
    remark,
    taken_policies,
    write_tables,
    write_text,
)

if TYPE_CHECKING:
    from sounding.compare.comparison import Comparison
    from sounding.compare.testing import Testing
    from sounding.policies import Policies
    from sounding.report.tables import Table

PEOPLE = ("table", "md", "latex")  # formats that people read
DEFAULT_MEASURES = ("AP", "P@10")


@click.command("compare", short_help="Which differences between runs are more than chance.")
@click.argument("qrels", required=False)
@click.argument("runs", nargs=-1, metavar="RUN...")
@click.option("-m", "--measure", "measures", multiple=True, metavar="M", help="A measure: AP, P@10.")
@click.option(
    "--baseline", "baselines", multiple=True, metavar="RUN", help="Only pairs with this run; may be repeated."
)
@click.option("--pair", nargs=2, metavar="A B", help="Only this pair, explained in a paragraph.")
@click.option("--test", default="randomisation", show_default=True, metavar="T", help="See docs/tests.md.")
@click.option(
    "--correction", metavar="C",
    help="none, bonferroni, holm, bh or max-t; default: holm, or what belongs to the test.",
)  # fmt: skip
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Level of both tests.")
@click.option("--margin", type=float, metavar="D", help="A difference that would not matter: equivalence.")
@click.option(
    "--permutations", type=click.IntRange(1), metavar="N",
    help="Draws; default: 10,000, or as many as the correction needs.",
)  # fmt: skip
@click.option("--depths", metavar="D,D...", help="Cases by depth: measures without a cut-off get each.")
@click.option(
    "--collection", "collections", nargs=3, multiple=True, metavar="NAME QRELS RUNS",
    help="Another collection, whose decisions are counted beside; may be repeated.",
)  # fmt: skip
@click.option("--info", metavar="FILE", help="Which runs were pooled: run group kind priority pooled.")
@click.option("--top", type=click.IntRange(1), help="Only the first so many rows.")
@click.option("--matrix", is_flag=True, help="All runs against all, one sign a pair.")
@click.option("--each-pair", is_flag=True, help="With --depths: a row for every pair, not the counts.")
@click.option("--qrels-format", metavar="F", help="Format of QRELS, where it is not recognised.")
@click.option("--run-format", metavar="F", help="Format of the runs, where it is not recognised.")
@click.option(
    "--jobs", type=click.IntRange(1), help="Processes; default: all cores when the files are large."
)
@policy_options
@output_options()
def command(qrels: str | None, runs: tuple[str, ...], **options: Any) -> None:
    """Compare RUNs by their values on QRELS, pair by pair.

    For every pair: the difference, its interval and p; whether the two runs were assessed alike; the
    case of the decision matrix, strong or weak; and whether unjudged documents could turn the order.

    \b
    sounding compare qrels.txt runs/ -m P@10 --baseline bm25
    sounding compare qrels.txt runs/ -m AP --pair bm25 dense
    sounding compare qrels.txt runs/ -m P -m AP --depths 10,30,100,500,1000 --test anova
    """  # noqa: D301 - click wants the control character
    from sounding.data.contributors import read_contributors

    policies = taken_policies(options)
    named = _collections(qrels, runs, options)
    depths = _depths(options["depths"])
    contributors = None if options["info"] is None else read_contributors(options["info"])
    testing = _testing(options, policies)
    found = [
        (name, _compared(source, list(files), depths, testing, contributors, policies, options))
        for name, source, files in named
    ]
    if options["pair"] and options["format_name"] == "table":
        from sounding.report.comparison_tables import explain

        write_text("\n".join(explain(comparison) for _, comparison in found), options["output"])
        return
    write_tables(_tables(found, bool(depths), options), options["format_name"], options["output"])
    if options["format_name"] in ("csv", "jsonl", "parquet"):
        for name, comparison in found:
            for note in comparison.notes:
                remark(f"{name}: {note}" if len(found) > 1 else note, quiet=options["quiet"])
        remark(f"policies: {found[0][1].policies.describe()}", quiet=options["quiet"])


def _collections(
    qrels: str | None, runs: tuple[str, ...], options: dict[str, Any]
) -> list[tuple[str, str, tuple[str, ...]]]:
    """(name, qrels, runs) of every collection: the arguments first, by the name of their qrels."""
    others = [(name, source, (files,)) for name, source, files in options["collections"]]
    if qrels is None and not others:
        raise click.UsageError("missing QRELS and RUN...: give them, or collections with --collection")
    if qrels is not None and not runs:
        raise click.UsageError("missing RUN...: give the runs to compare")
    if others and (options["pair"] or options["matrix"]):
        raise click.UsageError("--pair and --matrix show one collection; leave --collection out")
    if others and not options["depths"]:
        raise click.UsageError("--collection counts decisions by depth; give --depths as well")
    first = [] if qrels is None else [(_plain_name(qrels), qrels, runs)]
    names = [name for name, _, _ in (*first, *others)]
    if len(set(names)) < len(names):
        raise click.UsageError(f"two collections are called {max(names, key=names.count)!r}")
    return [*first, *others]


def _plain_name(source: str) -> str:
    from sounding.data.sources import plain_name

    return plain_name(source)


def _depths(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    words = text.split(",")
    if not all(word.strip().isascii() and word.strip().isdigit() and int(word) for word in words):
        raise click.UsageError(f"--depths {text!r}: expected whole numbers from 1, such as 10,30,100")
    return tuple(int(word) for word in words)


def _testing(options: dict[str, Any], policies: Policies) -> Testing:
    from sounding.compare.testing import Testing

    names = ("test", "correction", "alpha", "margin", "permutations")
    return Testing(**{name: options[name] for name in names}, seed=policies.seed)


def _compared(
    qrels: str,
    runs: list[str],
    depths: tuple[int, ...],
    testing: Testing,
    contributors: Any,
    policies: Policies,
    options: dict[str, Any],
) -> Comparison:
    from sounding.compare.depths import at_depths
    from sounding.compare.runs import Reading, compare_runs
    from sounding.data.sources import find_runs
    from sounding.measures import parse_measures

    asked = options["measures"] or (("P", "AP") if depths else DEFAULT_MEASURES)
    measures = at_depths(asked, depths) if depths else parse_measures(asked)
    files = find_runs(runs)
    with progress_bar(len(files), quiet=options["quiet"], label="evaluating runs") as progress:
        reading = Reading(
            qrels_format=options["qrels_format"], run_format=options["run_format"],
            jobs=options["jobs"], progress=progress,
        )  # fmt: skip
        return compare_runs(
            qrels, files, measures, policies=policies, baselines=options["baselines"],
            pair=options["pair"], testing=testing, contributors=contributors, reading=reading,
        )  # fmt: skip


def _tables(found: list[tuple[str, Comparison]], by_depth: bool, options: dict[str, Any]) -> list[Table]:
    from sounding.report import comparison_tables as tables

    people, top = options["format_name"] in PEOPLE, options["top"]
    several = len(found) > 1
    first = found[0][1]
    if options["matrix"]:
        return [tables.matrix_table(first, number) for number in range(len(first.measures))]
    if not by_depth or options["each_pair"] or options["pair"]:
        if people and not several:
            return [tables.people_pairs(first, top)]
        return [tables.tidy_pairs(comparison, name if several else None, top) for name, comparison in found]
    if not people:
        return [tables.tidy_cases(found)]
    shown = tables.case_tables(found)
    for name, comparison in found:
        shown += tables.depth_tables(comparison, name if several else None, top)
    shown[-1] = tables.with_notes(shown[-1], [note for _, one in found for note in tables.notes(one)])
    return shown
