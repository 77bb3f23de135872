"""Information-retrieval evaluation that says how far each score and each comparison can be trusted.

The public names; each is imported when it is first used, so that `import sounding` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sounding.agreement import (
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
    from sounding.calibration.calibrate import Calibration, calibrate
    from sounding.calibration.holding import holds
    from sounding.compare.cases import with_assessment
    from sounding.compare.comparison import Comparison, compare
    from sounding.compare.procedure import Procedure
    from sounding.compare.runs import compare_runs
    from sounding.data.formats import read_qrels, read_run, read_runs
    from sounding.data.simulation import simulate_collection
    from sounding.data.tables import Qrels, Run
    from sounding.data.topics import read_topics
    from sounding.data.writing import write_qrels, write_run
    from sounding.errors import DataError, FormatError, SoundingError, UnknownNameError
    from sounding.evaluation import evaluate
    from sounding.executors import run_on
    from sounding.measures import Measure, parse, parse_measures
    from sounding.policies import Policies
    from sounding.scores import Scores

__version__ = "0.1.0"

_HOME = {
    "Calibration": "calibration.calibrate",
    "Comparison": "compare.comparison",
    "DataError": "errors",
    "FormatError": "errors",
    "Measure": "measures",
    "Policies": "policies",
    "Procedure": "compare.procedure",
    "Qrels": "data.tables",
    "Run": "data.tables",
    "Scores": "scores",
    "SoundingError": "errors",
    "UnknownNameError": "errors",
    "agreement_matrix": "agreement",
    "calibrate": "calibration.calibrate",
    "compare": "compare",
    "compare_runs": "compare.runs",
    "evaluate": "evaluation",
    "holds": "calibration.holding",
    "kendall_tau": "agreement",
    "most_places": "agreement",
    "parse": "measures",
    "parse_measures": "measures",
    "pearson": "agreement",
    "rank_agreement": "agreement",
    "rbo": "agreement",
    "rbo_of_values": "agreement",
    "read_qrels": "data.formats",
    "read_run": "data.formats",
    "read_runs": "data.formats",
    "read_topics": "data.topics",
    "rmse": "agreement",
    "run_on": "executors",
    "simulate_collection": "data.simulation",
    "spearman": "agreement",
    "swaps": "agreement",
    "tau_ap": "agreement",
    "with_assessment": "compare.cases",
    "write_qrels": "data.writing",
    "write_run": "data.writing",
}

__all__ = [
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
    "UnknownNameError",
    "agreement_matrix",
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
    "read_qrels",
    "read_run",
    "read_runs",
    "read_topics",
    "rmse",
    "run_on",
    "simulate_collection",
    "spearman",
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
