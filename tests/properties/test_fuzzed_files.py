"""Mutated real lines, whatever the file is called, give a result or one clear error; the two readers agree."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sounding import evaluate
from sounding.check.checking import check
from sounding.core.errors import DataError, SoundingError

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


TABLES = {
    "run": [b"topic,doc,score,tag", b"401,FT932-15086,3.5,t", b"401,FT932-15087,2.5,t", b'402,"N,A",1,t', b"402,x"],
    "qrels": [b"query-id,corpus-id,score", b"401,FT932-15086,1", b"401,FT932-15087,0", b"402,caf\xe9,2", b"402,x"],
}  # fmt: skip
OBJECTS = {
    "run": b'{"401": {"FT932-15086": 3.5, "FT932-15087": 2.5},\n "402": {"NA": 1}}',
    "qrels": b'{"401": {"FT932-15086": 1, "FT932-15087": 0},\n "402": {"NA": 2}}',
}
SUFFIXES = ("", ".txt", ".csv", ".tsv", ".json", ".jsonl")
LINE_ENDS = (b"\n", b"\n", b"\r\n", b"\r")
PIECES = (
    b"\t", b" ", b" \t", b"\n", b"\r", b"\x00", b"nan", b"1_0", b",", b";", b'"', b"{", b"#", b"\xe9", b"\xff\xfe",
    b"9x" * 60_000, b"d" * 120_000, b"a," * 20_000, b"\xf3\xa0\x80\x81" * 500,
)  # fmt: skip
LONGEST_MESSAGE = 500  # characters, the file's own name aside


def mutated(kind: str, lines: list[bytes]) -> st.SearchStrategy[bytes]:
    """A file of such lines, or of a table or an object, with bytes changed, cut, doubled or put in."""

    @st.composite
    def build(draw: st.DrawFn) -> bytes:
        shape = draw(st.sampled_from(["trec", "trec", "trec", "table", "object"]))
        if shape == "object":
            text = OBJECTS[kind]
        else:
            given = lines if shape == "trec" else TABLES[kind][1:]
            chosen = draw(st.lists(st.sampled_from(given), max_size=8))
            with_header = shape == "table" and draw(st.booleans())
            text = draw(st.sampled_from(LINE_ENDS)).join([*TABLES[kind][: int(with_header)], *chosen])
        rng = random.Random(draw(st.integers(0, 2**32)))
        blanks = draw(st.sampled_from([None, None, (b" ", b"\t"), (b" ", b"\t", b" \t ")]))
        if shape != "object" and blanks is not None:
            between = re.split(rb"[ \t]+" if shape == "trec" else b",", text)
            text = b"".join(piece + rng.choice(blanks) for piece in between[:-1]) + between[-1]
        text = draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text + draw(st.sampled_from([b"", b"\n"]))
        mutable = bytearray(text)
        for _ in range(draw(st.integers(0, 4))):
            if not mutable:
                break
            place = rng.randrange(len(mutable))
            change = rng.randrange(4)
            if change == 0:
                mutable[place] = rng.randrange(256)
            elif change == 1:
                del mutable[place : place + rng.randrange(1, 20)]
            elif change == 2:
                mutable[place:place] = mutable[place : place + rng.randrange(1, 30)]
            else:
                mutable[place:place] = rng.choice(PIECES)
        return bytes(mutable)

    return build()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def is_clear(message: str, folder: Path) -> bool:
    """Whether a message is one line that a person can read."""
    return "\n" not in message and len(message.replace(str(folder), "")) <= LONGEST_MESSAGE


@settings(max_examples=600, deadline=None)
@given(
    run=mutated("run", RUN_LINES), qrels=mutated("qrels", QRELS_LINES),
    suffix=st.sampled_from(SUFFIXES), other=st.sampled_from(SUFFIXES),
)  # fmt: skip
def test_any_file_gives_values_or_one_clear_line(
    folder: Path, run: bytes, qrels: bytes, suffix: str, other: str
) -> None:
    run_file, qrels_file = folder / f"run{suffix}", folder / f"qrels{other}"
    run_file.write_bytes(run)
    qrels_file.write_bytes(qrels)
    problems = [*check(run_file, kind="run").problems, *check(qrels_file, kind="qrels").problems]
    guessed = [*check(run_file).problems, *check(qrels_file).problems]
    assert all(is_clear(problem.text, folder) for problem in [*problems, *guessed])
    try:
        scores = evaluate(qrels_file, [run_file], ["AP", "nDCG@10", "Bpref", "infAP", "RBP"])
    except SoundingError as error:
        message = str(error)
        assert is_clear(message, folder)
        assert str(run_file) in message or str(qrels_file) in message
        # A document judged for several intents is no problem, but these measures cannot read it.
        assert problems or "no topic in common" in message or "another intent" in message
        return
    assert not problems
    assert ((scores.values >= 0) & (scores.values <= 1)).all()
    if all(text == text.encode("utf-8", "ignore").decode() for text in (*scores.topics, *scores.runs)):
        assert scores.frame["topic"].unique().len() == len(scores.topics)
    else:
        with pytest.raises(DataError, match=r"^(topic|run) .{0,200} is not UTF-8, but .{0,150}$"):
            _ = scores.frame
