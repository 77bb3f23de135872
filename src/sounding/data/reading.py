"""Read runs for an evaluation: under its policies, each file once, in one or several processes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from sounding.core.errors import DataError
from sounding.core.policies import Policies
from sounding.core.text import quote, shorten
from sounding.core.workers import Bars, Progress, map_items, processes_for, settle_memory
from sounding.data.finding import run_names
from sounding.data.formats import Place, read_qrels, read_run, run_sources
from sounding.data.sources import STDIN, bytes_to_read, extension
from sounding.data.tables import Qrels, Run

MOST_BYTES = 1_000_000_000  # files that are larger in total are not kept in memory

Result = TypeVar("Result")


class EachRun(NamedTuple, Generic[Result]):
    """A result for each run, in the order in which the runs were given."""

    names: tuple[str, ...]  # unique
    tags: tuple[str, ...]  # the tag of each run
    results: list[Result]


def read_one(place: Place, policies: Policies, run_format: str | None = None) -> Run:
    """Read one run under the policies for duplicates and ties."""
    return read_run(
        place[0], name=place[1], format=run_format, duplicates=policies.duplicates,
        with_ranks=policies.ties == "rank",
    )  # fmt: skip


def hold_runs(
    places: Sequence[Place],
    policies: Policies,
    run_format: str | None = None,
    progress: Progress | None = None,
) -> list[Place]:
    """Load the runs into memory so that no file is read twice; very large files stay on disk."""
    if is_too_large(places):
        return readable_again(places, policies, run_format)

    def hold(place: Place) -> Place:
        # The words of the document ids are as large as the file and quick to rebuild.
        run = read_one(place, policies, run_format)
        return Place(run if run.words is None else replace(run, words=None), None)

    return map_items(hold, places, progress=progress)


def is_too_large(places: Sequence[Place]) -> bool:
    """Return whether these runs are too large to keep in memory."""
    return bytes_to_read(place.source for place in places) > MOST_BYTES


def readable_again(runs: Any, policies: Policies, run_format: str | None = None) -> list[Place]:
    """Return the places of the runs; standard input, which can be read only once, is read here."""
    return [
        Place(read_one(place, policies, run_format), None) if _is_stdin(place) else place
        for place in run_sources(runs)
    ]


def _is_stdin(place: Place) -> bool:
    return isinstance(place.source, str | Path) and str(place.source) == STDIN


def map_runs(
    work: Callable[[Run], Result],
    runs: Any,
    policies: Policies,
    *,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> EachRun[Result]:
    """Apply `work` to each run; a run is in memory only while it is processed."""
    settle_memory()
    sources = run_sources(runs)

    def worked(place: Place) -> tuple[str, str, str, Result]:
        run = read_one(place, policies, run_format)
        return run.source, run.name, run.tag, work(run)

    processes = processes_to_read(sources, bytes_to_read(source for source, _ in sources), jobs)
    rows = map_items(worked, sources, processes=processes, progress=progress)
    return EachRun(
        names=tuple(run_names([row[0] for row in rows], [row[1] for row in rows])),
        tags=tuple(row[2] for row in rows),
        results=[row[3] for row in rows],
    )


def processes_to_read(
    sources: Sequence[tuple[Any, str | None]], size: int, jobs: int | None, pieces: int | None = None
) -> int:
    """Return how many processes should read these runs of `size` bytes, or their `pieces`.

    Parquet is read in one process if this one has used Polars, because its children could not use it.
    """
    if "polars" in sys.modules and any(_is_parquet(source) for source, _ in sources):
        return processes_for(0, 1, 1)
    return processes_for(size, pieces or len(sources), jobs)


def _is_parquet(source: Any) -> bool:
    return isinstance(source, str | Path) and extension(source) in (".parquet", ".parq", ".pq")


def check_topics(run: Run, topics: Sequence[str], policies: Policies) -> None:
    """Raise an error if a run has none of the judged topics, or lacks one and the policy forbids that."""
    sizes = run.sizes
    had: Sequence[str] = run.topics
    if not sizes.all():
        had = [topic for topic, size in zip(run.topics, sizes.tolist(), strict=True) if size]
    check_topics_had(run.source, had, topics, policies)


def check_topics_had(source: str, had: Sequence[str], topics: Sequence[str], policies: Policies) -> None:
    """Like `check_topics`, for a run that has documents for the topics `had`."""
    having = set(had)
    if having.issuperset(topics):
        return
    lacking = [topic for topic in topics if topic not in having]
    if len(lacking) == len(topics) and having:
        theirs, ours = (", ".join(shorten(topic, 40) for topic in some[:3]) for some in (topics, had))
        raise DataError(
            f"{source}: no topic in common with the qrels: they have {theirs}, ..., the run has {ours}, ..."
        )
    if policies.missing == "error" and lacking:
        raise DataError(
            f"{source}: no documents for {len(lacking)} of {len(topics)} judged topics, first"
            f" {quote(lacking[0])}; use --policy missing=zero or missing=skip"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Settings for reading files: formats to assume, number of processes, and progress callbacks.

    `progress` is called for the runs; `bars` creates a callback for every step of the work.
    """

    qrels_format: str | None = None
    run_format: str | None = None
    jobs: int | None = 1
    progress: Progress | None = None
    bars: Bars | None = None

    def judgments(self, qrels: Any, policies: Policies, *, intents: bool = False) -> Qrels:
        """Read judgments under the policies for duplicates and fractional grades; by intent, if asked."""
        return read_qrels(
            qrels, format=self.qrels_format, duplicates=policies.duplicates, fractional=policies.fractional,
            intents=intents,
        )  # fmt: skip

    def step(self, items: int, label: str) -> AbstractContextManager[Progress | None]:
        """Return the progress callback of one step, or None."""
        return nullcontext() if self.bars is None else self.bars(items, label)
