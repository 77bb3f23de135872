"""The result of `report`: all data behind a page about a collection and its runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sounding.audit.fitness import Fitness
from sounding.audit.result import Audit
from sounding.audit.verdict import Statement
from sounding.compare.holds import DEFAULT_UNTIL
from sounding.compare.result import Comparison
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.data.run_info import RunInfo
from sounding.depth.intervals import PairOverDepth
from sounding.depth.result import DepthStudy
from sounding.depth.sentences import Finding
from sounding.estimate.result import Estimation
from sounding.evaluate.result import Scores
from sounding.measures import Measure, parse_measures
from sounding.statistics.pairwise import Procedure

DEFAULT_MEASURES = ("AP", "nDCG@10", "P@10")
PARTS = ("comparison", "stability", "audit")
SECTIONS: Mapping[str, str] = {
    "summary": "Summary",
    "pairs": "Compare two runs",
    "topics": "Topics",
    "slices": "Slices",
    "measures": "All measures",
    "depth": "Depth",
    "collection": "Collection",
    "methods": "Methods",
}
LABEL_SECTIONS: Mapping[str, str] = {
    "summary": SECTIONS["summary"],
    "labels": "Estimates and labels",
    "methods": SECTIONS["methods"],
}
NEEDS = {
    "summary": ("comparison", "audit"),
    "pairs": ("comparison",),
    "depth": ("stability",),
    "collection": ("audit",),
    "methods": ("comparison",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """The inputs of a report: files, measures and settings."""

    qrels: Any  # a file or any other source of judgments
    runs: Any
    measures: tuple[Measure, ...] = parse_measures(DEFAULT_MEASURES)
    baselines: tuple[str, ...] = ()
    about: str = ""  # the run that the page is about
    by: str = ""  # a file that puts topics into groups
    info_files: tuple[str, ...] = ()
    info: Mapping[str, RunInfo] | None = None
    only: tuple[str, ...] = ()  # conditions on the runs that are reported
    policies: Policies = DEFAULT_POLICIES
    procedure: Procedure = field(default_factory=Procedure)
    pool_depth: int | None = None  # the depth to which the judgments are cut
    until: str = DEFAULT_UNTIL  # the judging after which a conclusion "holds"
    draws: int = 50  # number of random pseudo-qrels
    qrels_format: str | None = None
    run_format: str | None = None
    jobs: int | None = 1
    command: str = ""  # as it was typed
    sections: tuple[str, ...] = tuple(SECTIONS)
    labels: tuple[Any, ...] = ()  # files or other sources of labels by machines
    judges: tuple[str, ...] = ()  # names of machines that the files do not name


@dataclass(frozen=True, slots=True)
class MissingPart:
    """A part that could not be computed, with the reason."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """A file that was read, with its size and hash."""

    name: str
    role: str
    size: int | None  # bytes; None: standard input
    sha256: str | None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Report:
    """Everything that a report is made from; a missing part says why.

    `sounding.report.page.render_report` writes it.
    """

    request: ReportRequest
    scores: Scores
    comparison: Comparison | MissingPart
    stability: DepthStudy | MissingPart
    findings: tuple[Finding, ...]  # about stability
    leaders: tuple[PairOverDepth, ...]  # the two best runs over depth by the first measure, if any
    audit: Audit | MissingPart
    statements: tuple[Statement, ...]  # about the audit
    inputs: tuple[InputFile, ...]
    slices: tuple[tuple[str, Scores], ...] = ()  # the scores of each group of topics
    estimation: Estimation | None = None  # where labels are given
    fitness: Fitness | MissingPart = MissingPart("No labels were given.")

    @property
    def leading(self) -> Measure:
        """Return the measure that ranks the runs: the first one requested."""
        return self.scores.measures[0]
