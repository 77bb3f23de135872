"""The command `sounding`, also available as `python -m sounding`."""

import contextlib
import gc
import io
import os
import signal
import sys
from typing import Any, NoReturn

# Garbage collection during the imports finds nothing and takes 5% of the start-up time.
gc.set_threshold(100_000)

from sounding.cli import main  # noqa: E402
from sounding.core.errors import DataError  # noqa: E402
from sounding.core.files import closed  # noqa: E402
from sounding.core.workers import STOPPING, unwind  # noqa: E402


def run() -> None:
    """Run the command line and exit as soon as the output is written."""
    _replace_closed_streams()
    for number in STOPPING:
        # Ctrl+C already raises an exception, and a hangup that nohup ignores stays ignored.
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, unwind)
    status: object = 1
    try:
        main()
        status = 0
    except SystemExit as done:
        status = done.code
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the reader is gone, or the stream is closed
            stream.flush()
    # A regular interpreter shutdown would take a tenth of the time of a small evaluation.
    os._exit(status if isinstance(status, int) else 0 if status is None else 1)


class _ClosedOutput(io.RawIOBase):
    """Standard output when the caller has closed it (`>&-`)."""

    def writable(self) -> bool:
        return True

    def write(self, _: Any) -> NoReturn:
        raise DataError("standard output is closed; write to a file with -o FILE")


def _replace_closed_streams() -> None:
    """Open placeholders for closed standard streams; otherwise another file would get their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            closed.add(number)
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(_ClosedOutput(), "utf-8", write_through=True)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 - open until the process ends


if __name__ == "__main__":
    run()
