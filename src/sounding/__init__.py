"""Evaluate information retrieval and see how far each score and each comparison can be trusted.

This module holds the public names. Each is imported when it is first used, so `import sounding` is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# The module of each public name. A verb is a callable package: `sounding.evaluate(...)`.
_NAMES = {
    "agree.assessors": ("read_panel",),
    "agree.result": ("Study",),
    "audit.result": ("Audit",),
    "calibrate.result": ("Calibration",),
    "check.checking": ("FileCheck",),
    "compare.comparison": ("compare_scores",),
    "compare.holds": ("holds",),
    "compare.result": ("Comparison",),
    "convert.converting": ("Conversion",),
    "core.errors": ("DataError", "FormatError", "SoundingError", "UnknownNameError"),
    "core.executors": ("run_on",),
    "core.policies": ("Policies",),
    "data.formats": ("read_qrels", "read_run", "read_runs"),
    "data.tables": ("Qrels", "Run"),
    "data.topics": ("read_topics",),
    "data.writing": ("write_qrels", "write_run"),
    "depth.result": ("DepthStudy",),
    "data.labels": ("Labels", "read_labels"),
    "label.result": ("Labeling",),
    "estimate.result": ("Estimation",),
    "evaluate.result": ("Scores",),
    "measures": ("Measure", "parse", "parse_measures"),
    "measures.assessed": ("with_assessment",),
    "plan.result": ("JudgingPlan",),
    "pool.result": ("Pooling",),
    "report.result": ("Report",),
    "sample.result": ("Collection",),
    "simulate.result": ("Simulation",),
    "track.result": ("History",),
    "statistics.pairwise": ("Procedure",),
    "statistics.rank_correlation": (
        "agreement_matrix", "kendall_tau", "most_places", "pearson", "rank_agreement", "rmse", "spearman",
        "swaps", "tau_ap",
    ),
    "statistics.rank_overlap": ("rbo", "rbo_of_values"),
}  # fmt: skip
_VERBS = (
    "agree", "audit", "calibrate", "check", "compare", "convert", "depth", "estimate", "evaluate", "label",
    "plan", "pool", "report", "sample", "simulate", "track",
)  # fmt: skip
_HOME = {name: home for home, names in _NAMES.items() for name in names} | {verb: verb for verb in _VERBS}

if TYPE_CHECKING:  # the same names for type checkers; a test compares the two lists
    from sounding.agree.assessors import read_panel as read_panel
    from sounding.agree.result import Study as Study
    from sounding.agree.study import agree as agree
    from sounding.audit.auditing import audit as audit
    from sounding.audit.result import Audit as Audit
    from sounding.calibrate.calibrating import calibrate as calibrate
    from sounding.calibrate.result import Calibration as Calibration
    from sounding.check.checking import FileCheck as FileCheck
    from sounding.check.checking import check as check
    from sounding.compare.comparison import compare as compare
    from sounding.compare.comparison import compare_scores as compare_scores
    from sounding.compare.holds import holds as holds
    from sounding.compare.result import Comparison as Comparison
    from sounding.convert.converting import Conversion as Conversion
    from sounding.convert.converting import convert as convert
    from sounding.core.errors import DataError as DataError
    from sounding.core.errors import FormatError as FormatError
    from sounding.core.errors import SoundingError as SoundingError
    from sounding.core.errors import UnknownNameError as UnknownNameError
    from sounding.core.executors import run_on as run_on
    from sounding.core.policies import Policies as Policies
    from sounding.data.formats import read_qrels as read_qrels
    from sounding.data.formats import read_run as read_run
    from sounding.data.formats import read_runs as read_runs
    from sounding.data.labels import Labels as Labels
    from sounding.data.labels import read_labels as read_labels
    from sounding.data.tables import Qrels as Qrels
    from sounding.data.tables import Run as Run
    from sounding.data.topics import read_topics as read_topics
    from sounding.data.writing import write_qrels as write_qrels
    from sounding.data.writing import write_run as write_run
    from sounding.depth.result import DepthStudy as DepthStudy
    from sounding.depth.study import depth as depth
    from sounding.estimate.estimating import estimate as estimate
    from sounding.estimate.result import Estimation as Estimation
    from sounding.evaluate.evaluation import evaluate as evaluate
    from sounding.evaluate.result import Scores as Scores
    from sounding.label.labeling import label as label
    from sounding.label.result import Labeling as Labeling
    from sounding.measures import Measure as Measure
    from sounding.measures import parse as parse
    from sounding.measures import parse_measures as parse_measures
    from sounding.measures.assessed import with_assessment as with_assessment
    from sounding.plan.planning import plan as plan
    from sounding.plan.result import JudgingPlan as JudgingPlan
    from sounding.pool.pooling import pool as pool
    from sounding.pool.result import Pooling as Pooling
    from sounding.report.gather import report as report
    from sounding.report.result import Report as Report
    from sounding.sample.result import Collection as Collection
    from sounding.sample.simulation import sample as sample
    from sounding.simulate.result import Simulation as Simulation
    from sounding.simulate.study import simulate as simulate
    from sounding.statistics.pairwise import Procedure as Procedure
    from sounding.statistics.rank_correlation import agreement_matrix as agreement_matrix
    from sounding.statistics.rank_correlation import kendall_tau as kendall_tau
    from sounding.statistics.rank_correlation import most_places as most_places
    from sounding.statistics.rank_correlation import pearson as pearson
    from sounding.statistics.rank_correlation import rank_agreement as rank_agreement
    from sounding.statistics.rank_correlation import rmse as rmse
    from sounding.statistics.rank_correlation import spearman as spearman
    from sounding.statistics.rank_correlation import swaps as swaps
    from sounding.statistics.rank_correlation import tau_ap as tau_ap
    from sounding.statistics.rank_overlap import rbo as rbo
    from sounding.statistics.rank_overlap import rbo_of_values as rbo_of_values
    from sounding.track.result import History as History
    from sounding.track.tracking import track as track

__version__ = "0.1.0"
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sounding' has no attribute {name!r}")
    home = import_module(f"sounding.{_HOME[name]}")
    value = home if name in _VERBS else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
