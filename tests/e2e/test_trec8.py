"""TREC-8 ad hoc: the scores that were published with the runs, reproduced by the defaults."""

from __future__ import annotations

from pathlib import Path

from sounding.evaluate.evaluation import evaluate


def test_map_of_all_129_runs_is_the_official_one(collections: Path) -> None:
    folder = collections / "trec8"
    official = dict(line.split() for line in (folder / "official-scores.map").read_text().splitlines())
    runs = sorted(folder.glob("runs/input.*.gz"))
    scores = evaluate(folder / "qrels.trec8.txt.gz", runs, ["AP"], jobs=None)
    ours = {
        path.name.removeprefix("input.").removesuffix(".gz"): f"{value:.4f}"
        for path, value in zip(runs, scores.mean()[:, 0].tolist(), strict=True)
    }
    assert len(ours) == 129
    assert ours == official
