"""Coverage-guided fuzzing of the readers and the measure grammar: a result or one line, never anything else.

`python -m tests.fuzzing INPUTS SEED` feeds that number of inputs to the readers and the grammar; the first
byte of an input says to which. An uncaught error, a hang or more than MEMORY ends it with a status other than
0, and the input that did it is left in the current folder. `make test-long` runs a million inputs.
"""

from __future__ import annotations

import dis
import operator
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import atheris
import numpy as np
from atheris import core_with_libfuzzer
from atheris.version_dependent import CMP_OP_SHIFT_AMOUNT

with atheris.instrument_imports(include=["sounding.data", "sounding.measures.grammar"]):
    from sounding.check.checking import check
    from sounding.data.formats import read_qrels, read_run
    from sounding.data.run_info import read_run_info
    from sounding.data.topics import read_topics
    from sounding.measures.grammar import parse_measures

import polars  # noqa: F401 - read here, so that the first Parquet file does not look like a hang

from sounding.core.errors import SoundingError

MEMORY = 1024  # megabytes that one input may take, the interpreter included
PATIENCE = 60  # seconds after which an input counts as a hang; inputs have 8 kB at most
SCRATCH = tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)  # in memory
LONGEST_INPUT = 8192  # bytes
LONGEST_MESSAGE = 900  # characters; the names of all measures take 650

EXAMPLES = [
    b"401 Q0 FT932-15086 0 11723.63 CL99SD\n401 Q0 FT932-15087 1 -3.07e-05 CL99SD\n402\tQ0\tNA\t2\t7\tt\n",
    b"401 0 FT932-15086 1\n401 0 FT932-15087 0\r\n402 0 NA -1\n# note\n402 0 x 0.5\n",
    b'topic,doc,score,tag\n401,FT932-15086,3.5,t\n402,"N,A",1,t\n',
    b'{"401": {"FT932-15086": 3.5, "FT932-15087": 2}, "402": {"NA": 1}}',
    b'{"topic": "401", "doc": "FT932-15086", "score": 3.5}\n{"topic": "402", "doc": "x", "score": 1e-7}\n',
    b"<top>\n<num> Number: 401\n<title> foreign minorities\n<desc> Description:\nWhat?\n</top>\n",
    b"run\tgroup\tkind\tpriority\tpooled\nbm25\tacme\tautomatic\t1\tyes\n",
    b"AP(rel=2)@100", b"nDCG@10", b"RBP(p=0.8)", b"P.5,10", b"ndcg_cut.10", b"Rndcg.1=1,2=7", b"map",
]  # fmt: skip
COMPARISONS = {
    "<": operator.lt, "<=": operator.le, "==": operator.eq,
    "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
WORDS = ["Q0", "1e400", "nan", "inf", "-0", "\\xef\\xbb\\xbf", "\\x00", "\\x0d\\x0a", "rel=", "judged_only=True", "@10", "(p=0.8)"]  # fmt: skip


def _reader(read: Callable[[Path], object], suffix: str) -> Callable[[bytes], None]:
    """Return a target that writes its input to a file in memory and reads it."""

    def target(data: bytes) -> None:
        path = Path(SCRATCH.name) / f"input{suffix}"
        path.write_bytes(data)
        _expect_result_or_line(lambda: read(path))

    return target


def _expect_result_or_line(act: Callable[[], object]) -> None:
    try:
        act()
    except SoundingError as error:
        message = str(error)
        if "\n" in message or len(message) > LONGEST_MESSAGE:
            raise RuntimeError(f"not one readable line: {message!r}") from error


def _grammar(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    _expect_result_or_line(lambda: parse_measures([text]))


READERS: tuple[Callable[[bytes], None], ...] = (
    *(_reader(read_run, suffix) for suffix in ("", ".csv", ".json", ".jsonl")),
    *(_reader(read_qrels, suffix) for suffix in ("", ".csv", ".json")),
    _reader(read_topics, ""),
    _reader(read_run_info, ".tsv"),
    _grammar,
    _grammar,
)
# `check` reads each file as qrels and twice as a run, which takes as long as five of the others.
TARGETS = (*READERS, *READERS, _reader(check, ""), _reader(check, ".tsv"))


def one_input(data: bytes) -> None:
    """Give the input to the reader that its first byte names."""
    if data:
        TARGETS[data[0] % len(TARGETS)](data[1:])


def compare_arrays_untraced() -> None:
    """Have atheris trace comparisons, but not those of arrays.

    Version 3.0 keeps a reference to every result. True and False do not mind, but arrays are never freed:
    100,000 inputs would take a gigabyte.
    """
    traced = core_with_libfuzzer._trace_cmp

    def compare(left: Any, right: Any, operation: int, counter: int, constant: bool) -> Any:
        if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
            return COMPARISONS[dis.cmp_op[operation >> CMP_OP_SHIFT_AMOUNT]](left, right)
        return traced(left, right, operation, counter, constant)

    core_with_libfuzzer._trace_cmp = compare  # fuzzing begins by handing this on to instrumented code


def main() -> None:
    """Fuzz with the number of inputs and the seed of the command line."""
    inputs, seed = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        corpus, words = Path(folder) / "corpus", Path(folder) / "words"
        corpus.mkdir()
        for number, example in enumerate(EXAMPLES):
            for target in range(len(TARGETS)):
                (corpus / f"{number}-{target}").write_bytes(bytes([target]) + example)
        words.write_text("".join(f'"{word}"\n' for word in WORDS))
        options = [
            f"-runs={inputs}", f"-max_len={LONGEST_INPUT}", f"-rss_limit_mb={MEMORY}", f"-timeout={PATIENCE}",
            f"-dict={words}", f"-seed={seed}", "-print_final_stats=1", str(corpus),
        ]  # fmt: skip
        compare_arrays_untraced()
        atheris.Setup([sys.argv[0], *options], one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
