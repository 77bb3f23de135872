"""The command `sounding`, also as `python -m sounding`."""

import contextlib
import gc
import io
import os
import signal
import sys
from typing import Any, NoReturn

# Looking for cycles among what is just being imported finds none and takes a twentieth of a start.
gc.set_threshold(100_000)

from sounding.cli import main  # noqa: E402
from sounding.core.errors import DataError  # noqa: E402
from sounding.core.files import closed  # noqa: E402
from sounding.core.workers import STOPPING, unwind  # noqa: E402


def run() -> None:
    """The command line of `sounding.cli`, quickly begun and gone at once when all is written."""
    _replace_closed_streams()
    for number in STOPPING:
        # Ctrl+C is an exception already, and a hangup that nohup has the process ignore stays ignored.
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, unwind)
    status: object = 1
    try:
        main()
        status = 0
    except SystemExit as done:
        status = done.code
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # a reader that has gone, a stream that is closed
            stream.flush()
    # Taking down the interpreter and its libraries piece by piece costs a tenth of a small evaluation.
    os._exit(status if isinstance(status, int) else 0 if status is None else 1)


class _ClosedOutput(io.RawIOBase):
    """Standard output where whoever started the command has closed it (`>&-`)."""

    def writable(self) -> bool:
        return True

    def write(self, _: Any) -> NoReturn:
        raise DataError("standard output is closed; write to a file with -o FILE")


def _replace_closed_streams() -> None:
    """Have something stand where standard streams are closed: another file would take their number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            closed.add(number)
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(_ClosedOutput(), "utf-8", write_through=True)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 - for as long as the process lives


if __name__ == "__main__":
    run()
