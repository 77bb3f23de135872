"""Wrong arguments of public functions are refused in one line; results can be pickled and are the same after."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sounding
from sounding import Policies, SoundingError, sample

COLLECTION = sample(topics=6, groups=2, systems=2, pool_depth=5, length=15, seed=3)
RUNS = list(COLLECTION.runs)
GIVEN = (COLLECTION.qrels, RUNS, ["AP"])
JUNK: list[Any] = [
    None, 3, 3.5, "", "nope", [], {}, [None], [[]], {"a": None}, {"a": 3}, {"a": {"b": None}}, object(), b"x", [1, 2],
    ["a", "b"], float("nan"), set(), [("a", "b")], range(3),
]  # fmt: skip
VERBS = ("evaluate", "compare", "audit", "depth", "holds")
READERS = (
    "read_run", "read_runs", "read_qrels", "read_panel", "read_topics", "parse", "parse_measures",
    "with_assessment", "agree", "compare_scores",
)  # fmt: skip
ORDERINGS = (
    "kendall_tau", "most_places", "pearson", "rank_agreement", "rbo", "rbo_of_values", "rmse", "spearman",
    "swaps", "tau_ap", "agreement_matrix",
)  # fmt: skip


def _verb(name: str, place: int) -> Callable[[Any], Any]:
    return lambda junk: getattr(sounding, name)(*(junk if n == place else one for n, one in enumerate(GIVEN)))


def _option(name: str, option: str) -> Callable[[Any], Any]:
    return lambda junk: getattr(sounding, name)(*GIVEN, **{option: junk})


def _alone(name: str) -> Callable[[Any], Any]:
    return lambda junk: getattr(sounding, name)(junk)


def _first(name: str) -> Callable[[Any], Any]:
    return lambda junk: getattr(sounding, name)(junk, [1, 2])


def _second(name: str) -> Callable[[Any], Any]:
    return lambda junk: getattr(sounding, name)([1, 2], junk)


CALLS: dict[str, Callable[[Any], Any]] = {
    **{f"{name} {place}": _verb(name, place) for name in VERBS for place in range(3)},
    **{f"{name} policies": _option(name, "policies") for name in VERBS},
    **{f"{name} info": _option(name, "info") for name in VERBS if name != "evaluate"},
    **{f"compare {option}": _option("compare", option) for option in ("pair", "baselines", "procedure")},
    **{f"depth {option}": _option("depth", option) for option in ("depths", "reference", "procedure")},
    **{f"{name}()": _alone(name) for name in READERS},
    **{f"{name} first": _first(name) for name in ORDERINGS},
    **{f"{name} second": _second(name) for name in ORDERINGS},
    "audit new": _option("audit", "new"),
    "holds until": _option("holds", "until"),
    "calibrate scenarios": lambda junk: sounding.calibrate(
        *GIVEN, scenarios=junk, repeats=1, draws=2, resamples=0
    ),
    "coefficient": lambda junk: sounding.rank_agreement([1, 2], [1, 2], junk),
    "variant": lambda junk: sounding.kendall_tau([1, 2], [1, 2], variant=junk),
    "test": lambda junk: sounding.Procedure(test=junk),
    "Run.from_dict": lambda junk: sounding.Run.from_dict(junk, name="x"),
    "Qrels.from_dict": lambda junk: sounding.Qrels.from_dict(junk),
}


@pytest.mark.parametrize("call", CALLS)
def test_no_wrong_argument_ends_in_a_python_error(call: str) -> None:
    lines = []
    for junk in JUNK:
        try:
            CALLS[call](junk)
        except SoundingError as error:
            lines.append(str(error))
    assert lines
    assert not any("\n" in line for line in lines)


@pytest.mark.parametrize("junk", JUNK)
def test_what_cannot_be_written_is_refused_in_a_line(tmp_path: Path, junk: Any) -> None:
    for write, good in ((sounding.write_run, RUNS[0]), (sounding.write_qrels, COLLECTION.qrels)):
        with pytest.raises(SoundingError):
            write(junk, tmp_path / "file.txt")
        if not isinstance(junk, str):
            with pytest.raises(SoundingError):
                write(good, junk)
    assert not list(tmp_path.iterdir())


def test_words_have_no_rank_correlation() -> None:
    with pytest.raises(SoundingError, match="number"):
        sounding.kendall_tau(["a", "b"], [1, 2])


def test_one_baseline_may_stand_without_a_list() -> None:
    name = RUNS[0].name
    one, listed = (sounding.compare(*GIVEN, baselines=given, settled=False) for given in (name, [name]))
    assert one.pairs.tolist() == listed.pairs.tolist()


def test_every_result_survives_pickling() -> None:
    audited = sounding.audit(*GIVEN)
    found = pickle.loads(pickle.dumps(audited))
    np.testing.assert_array_equal(found.values(), audited.values())
    np.testing.assert_array_equal(found.ties().shares, audited.ties().shares)
    again = pickle.loads(pickle.dumps(audited))  # now with what was asked in between
    np.testing.assert_array_equal(again.ties().shares, audited.ties().shares)
    panel = sounding.read_panel({"judged": COLLECTION.qrels, "truth": COLLECTION.truth})
    bounded = sounding.evaluate(*GIVEN, policies=Policies(unjudged="bounds"))
    results: list[Any] = [
        sounding.evaluate(*GIVEN), bounded, sounding.evaluate(*GIVEN, policies=Policies(unjudged="expected")),
        sounding.compare(*GIVEN), sounding.compare(*GIVEN, pair=(RUNS[0].name, RUNS[1].name)),
        sounding.depth(*GIVEN), sounding.agree(panel, RUNS), panel, COLLECTION, RUNS[0],
        sounding.calibrate(
            *GIVEN, scenarios=["sample:0.5"], claims=["holds"], until="runs:10", repeats=1, draws=5, resamples=2
        ),
        sounding.holds(*GIVEN, draws=5), audited.verdict(), sounding.rank_agreement([1, 2, 3], [1, 3, 2]),
        sounding.parse("nDCG@10"), sounding.Procedure(), Policies(), sounding.rbo([1, 2], [2, 1]),
        sounding.most_places([1, 2, 3], [3, 1, 2]),
    ]  # fmt: skip
    for result in results:
        copy = pickle.loads(pickle.dumps(result))
        assert type(copy) is type(result)
        if hasattr(result, "frame"):
            assert copy.frame.equals(result.frame)
