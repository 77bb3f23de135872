"""Information-retrieval evaluation that says how far each score and each comparison can be trusted.

The public names; each is imported when it is first used, so that `import sounding` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sounding.agree.reading import read_panel
    from sounding.agree.study import Study, study_assessors
    from sounding.audit.auditing import audit
    from sounding.audit.result import Audit
    from sounding.calibrate.calibrating import calibrate
    from sounding.calibrate.result import Calibration
    from sounding.compare.comparing import compare, compare_runs
    from sounding.compare.holds import holds
    from sounding.compare.result import Comparison
    from sounding.core.errors import DataError, FormatError, SoundingError, UnknownNameError
    from sounding.core.executors import run_on
    from sounding.core.policies import Policies
    from sounding.data.formats import read_qrels, read_run, read_runs
    from sounding.data.tables import Qrels, Run
    from sounding.data.topics import read_topics
    from sounding.data.writing import write_qrels, write_run
    from sounding.depth.stability import Stability, stability
    from sounding.evaluate.evaluation import evaluate
    from sounding.evaluate.result import Scores
    from sounding.measures import Measure, parse, parse_measures
    from sounding.measures.assessed import with_assessment
    from sounding.sample.simulation import simulate_collection
    from sounding.statistics.pairwise import Procedure
    from sounding.statistics.rankings import (
        agreement_matrix,
        kendall_tau,
        most_places,
        pearson,
        rank_agreement,
        rbo,
        rbo_of_values,
        rmse,
        spearman,
        swaps,
        tau_ap,
    )

__version__ = "0.1.0"

_HOME = {
    "Audit": "audit.result",
    "Calibration": "calibrate.result",
    "Comparison": "compare.result",
    "DataError": "core.errors",
    "FormatError": "core.errors",
    "Measure": "measures",
    "Policies": "core.policies",
    "Procedure": "statistics.pairwise",
    "Qrels": "data.tables",
    "Run": "data.tables",
    "Scores": "evaluate.result",
    "SoundingError": "core.errors",
    "Stability": "depth.stability",
    "Study": "agree.study",
    "UnknownNameError": "core.errors",
    "agreement_matrix": "statistics.rankings",
    "audit": "audit",
    "calibrate": "calibrate",
    "compare": "compare",
    "compare_runs": "compare.comparing",
    "evaluate": "evaluate",
    "holds": "compare.holds",
    "kendall_tau": "statistics.rankings",
    "most_places": "statistics.rankings",
    "parse": "measures",
    "parse_measures": "measures",
    "pearson": "statistics.rankings",
    "rank_agreement": "statistics.rankings",
    "rbo": "statistics.rankings",
    "rbo_of_values": "statistics.rankings",
    "read_panel": "agree.reading",
    "read_qrels": "data.formats",
    "read_run": "data.formats",
    "read_runs": "data.formats",
    "read_topics": "data.topics",
    "rmse": "statistics.rankings",
    "run_on": "core.executors",
    "simulate_collection": "sample.simulation",
    "spearman": "statistics.rankings",
    "stability": "depth.stability",
    "study_assessors": "agree.study",
    "swaps": "statistics.rankings",
    "tau_ap": "statistics.rankings",
    "with_assessment": "measures.assessed",
    "write_qrels": "data.writing",
    "write_run": "data.writing",
}

__all__ = [
    "Audit",
    "Calibration",
    "Comparison",
    "DataError",
    "FormatError",
    "Measure",
    "Policies",
    "Procedure",
    "Qrels",
    "Run",
    "Scores",
    "SoundingError",
    "Stability",
    "Study",
    "UnknownNameError",
    "agreement_matrix",
    "audit",
    "calibrate",
    "compare",
    "compare_runs",
    "evaluate",
    "holds",
    "kendall_tau",
    "most_places",
    "parse",
    "parse_measures",
    "pearson",
    "rank_agreement",
    "rbo",
    "rbo_of_values",
    "read_panel",
    "read_qrels",
    "read_run",
    "read_runs",
    "read_topics",
    "rmse",
    "run_on",
    "simulate_collection",
    "spearman",
    "stability",
    "study_assessors",
    "swaps",
    "tau_ap",
    "with_assessment",
    "write_qrels",
    "write_run",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sounding' has no attribute {name!r}")
    home = import_module(f"sounding.{_HOME[name]}")
    value = home if _HOME[name] == name else getattr(home, name)  # the package `compare` can be called
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
