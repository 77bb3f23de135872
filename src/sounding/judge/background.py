"""What goes on behind the pages: refits of the model, and prospects in a process of their own."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable

from sounding.core.errors import SoundingError
from sounding.judge.engine import Engine
from sounding.judge.live import LiveFeed
from sounding.judge.project import Project

log = logging.getLogger("sounding.judge")

LOOKING = 5.0  # seconds after which nobody is thought to look at the live page any more
REST = 10.0  # times as long as the last prospects took pass before the next ones: judging comes first
CHEAP = 2.0  # seconds that a fit may take at most for the model to be fitted in every pause


class Task:
    """A thread that does something again and again until it is stopped."""

    def __init__(self, name: str, work: Callable[[], object], seconds: float) -> None:
        self._work = work
        self._seconds = seconds
        self._ended = threading.Event()
        self._said = ""  # why it did not go well the last time; said once
        self._thread = threading.Thread(target=self._go_on, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; what is being worked out is thrown away with the process."""
        self._ended.set()
        self._thread.join(timeout=5)

    def _go_on(self) -> None:
        while not self._ended.wait(self._seconds):
            try:
                self._work()
                self._said = ""
            except SoundingError as error:
                if self._said != str(error):
                    log.warning("%s: not now: %s", self._thread.name, error)
                self._said = str(error)
            except Exception:  # a fault of ours; the next time may go well, and judging goes on meanwhile
                log.exception("%s: failed", self._thread.name)


class Refits(Task):
    """Fits of the model of relevance when judgments have doubled, or some were made and nobody judges."""

    def __init__(self, engine: Engine, seconds: float = 2.0, pause: float = 5.0) -> None:
        super().__init__("refit of the model", self._refit, seconds)
        self._engine = engine
        self._pause = pause  # seconds without an event after which nobody is thought to judge
        self._last, self._since = -1, 0.0  # the last event, and when it was first seen here
        self._cheap = True  # whether a fit takes so little that there may be one in every pause

    def _refit(self) -> None:
        begun, last = time.monotonic(), self._engine.catch_up()
        if last != self._last:
            self._last, self._since = last, begun
        quiet = self._cheap and begun - self._since >= self._pause
        if self._engine.refit_if_due(quiet=quiet):
            self._cheap = time.monotonic() - begun < CHEAP


class Prospects(Task):
    """Prospects for a live page that somebody looks at, worked out anew when there are more judgments.

    They take seconds or minutes, so a process of its own works them out, with what time the machine has left.
    """

    def __init__(self, project: Project, feed: LiveFeed, seconds: float = 1.0) -> None:
        super().__init__("prospects", self._work_out, seconds)
        self._project = project
        self._feed = feed
        self._child: subprocess.Popen[str] | None = None
        self._known = 0  # the last event that the prospects know of
        self._whole = True  # whether they came to their end, and are not to be worked out again
        self._next = 0.0  # when they may be worked out again

    def stop(self) -> None:
        """End, and end the process."""
        self._ended.set()
        if self._child is not None:
            self._child.terminate()
        super().stop()

    def _work_out(self) -> None:
        begun = time.monotonic()
        # After a change of orders, topics, runs or settings less stands, or nothing: the next do not wait.
        resting = begun < self._next and self._known >= self._feed.outdated
        if resting or begun - self._feed.looked > LOOKING:
            return
        last = self._project.store.last_sequence()
        if last == self._known and self._whole:
            return
        self._known = last
        command = [sys.executable, "-m", "sounding.judge.prospects", str(self._project.folder), str(last)]
        command += ["curve"] if self._feed.has_gaps() else []
        outdated = False
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603 - this program
            self._child = child
            assert child.stdout is not None  # noqa: S101 - it is a pipe
            for line in child.stdout:
                if outdated := not self._feed.take(json.loads(line)):
                    child.terminate()  # the rest would be of before as well
                    break
        self._child = None
        self._whole = outdated or not child.returncode
        self._next = time.monotonic() + REST * (time.monotonic() - begun)
