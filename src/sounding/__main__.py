"""The command `sounding`, also as `python -m sounding`."""

import contextlib
import gc
import os
import signal
import sys


def run() -> None:
    """The command line of `sounding.cli`, quickly begun and gone at once when all is written."""
    # Looking for cycles among what is just being imported finds none and takes a twentieth of a start.
    gc.set_threshold(100_000)
    from sounding.cli import main
    from sounding.workers import STOPPING, unwind

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
        with contextlib.suppress(OSError, ValueError):  # a reader that has gone, a stream that is closed
            stream.flush()
    # Taking down the interpreter and its libraries piece by piece costs a tenth of a small evaluation.
    os._exit(status if isinstance(status, int) else 0 if status is None else 1)


if __name__ == "__main__":
    run()
