"""Mutated real lines give either a result or one clear error, and the two readers agree."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sounding import evaluate
from sounding.data.checking import check_file
from sounding.errors import SoundingError

RUN_LINES = [
    b"401 Q0 FT932-15086 0 11723.63 CL99SD", b"401\tQ0\tFBIS3-27619\t99\t  2.138276\tSTANDARD more junk",
    b"qtest.1 Q0 001 1 -3.5e-2 1", b"  402 Q0 NA 2 7 t", b"402 Q0 LA\xc3\xa9 2 7.0 t", b"# a b c d e",
    b"401 Q0 FT932-15087 1 11723.63 CL99SD", b"", b"401 Q0 FT932-15086 0 1e400 CL99SD",
]  # fmt: skip
QRELS_LINES = [
    b"401 0 FT932-15086 1", b"401 0 FT932-15087 0", b"402\t0\tNA\t-1", b"402 0 LA\xc3\xa9 2",
    b"qtest.1 0 001 3",
    b"# note", b"", b"402 0 x 0.5", b"402 0 y -2",
]  # fmt: skip


def mutated(lines: list[bytes]) -> st.SearchStrategy[bytes]:
    """A file of such lines with bytes changed, cut, doubled or shuffled."""

    @st.composite
    def build(draw: st.DrawFn) -> bytes:
        chosen = draw(st.lists(st.sampled_from(lines), max_size=8))
        text = draw(st.sampled_from([b"\n", b"\r\n"])).join(chosen)
        text = draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text + draw(st.sampled_from([b"", b"\n"]))
        rng = random.Random(draw(st.integers(0, 2**32)))
        mutable = bytearray(text)
        for _ in range(draw(st.integers(0, 4))):
            if not mutable:
                break
            place = rng.randrange(len(mutable))
            kind = rng.randrange(4)
            if kind == 0:
                mutable[place] = rng.randrange(256)
            elif kind == 1:
                del mutable[place : place + rng.randrange(1, 20)]
            elif kind == 2:
                mutable[place:place] = mutable[place : place + rng.randrange(1, 30)]
            else:
                mutable[place:place] = rng.choice(
                    [b"\t", b" ", b"\n", b"\x00", b"nan", b"1_0", b",", b'"', b"{", b"#"]
                )
        return bytes(mutable)

    return build()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@settings(max_examples=600, deadline=None)
@given(run=mutated(RUN_LINES), qrels=mutated(QRELS_LINES))
def test_any_file_gives_values_or_one_clear_line(folder: Path, run: bytes, qrels: bytes) -> None:
    run_file, qrels_file = folder / "run.txt", folder / "qrels.txt"
    run_file.write_bytes(run)
    qrels_file.write_bytes(qrels)
    problems = [*check_file(run_file, "run").problems, *check_file(qrels_file, "qrels").problems]
    try:
        scores = evaluate(qrels_file, [run_file], ["AP", "nDCG@10", "Bpref", "infAP", "RBP"])
    except SoundingError as error:
        message = str(error)
        assert "\n" not in message
        assert "run.txt" in message or "qrels.txt" in message
        assert problems or "no topic in common" in message
    else:
        assert not problems
        assert ((scores.values >= 0) & (scores.values <= 1)).all()
