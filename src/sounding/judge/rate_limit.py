"""How often something may be done: so many times at once, then at a steady rate."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

MOST_KEYS = 10_000  # that are remembered; beyond them the ones that were quiet longest are forgotten


class RateLimit:
    """Lets every key act `burst` times at once, and again as time passes: `burst` times in `seconds`."""

    def __init__(self, burst: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst = burst
        self._rate = burst / seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()  # key -> acts left, when

    def delay(self, key: Hashable) -> float:
        """Return the seconds until a key may act, 0 where it may now; nothing is counted."""
        with self._lock:
            left = self._now(key, self._clock())
        return 0.0 if left >= 1 else (1 - left) / self._rate

    def wait(self, key: Hashable) -> float:
        """Count one act of a key; 0 where it may be done, else the seconds until it may."""
        now = self._clock()
        with self._lock:
            left = self._now(key, now)
            allowed = left >= 1
            self._left[key] = (left - 1 if allowed else left, now)
            self._left.move_to_end(key)
            while len(self._left) > MOST_KEYS:
                self._left.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._rate

    def give_back(self, key: Hashable) -> None:
        """Take one act of a key out of the count: it turned out to be none that is limited."""
        now = self._clock()
        with self._lock:
            self._left[key] = (min(float(self._burst), self._now(key, now) + 1), now)

    def forgive(self, key: Hashable) -> None:
        """Forget what a key has done: it turned out to be no attack."""
        with self._lock:
            self._left.pop(key, None)

    def _now(self, key: Hashable, now: float) -> float:
        left, then = self._left.get(key, (float(self._burst), now))
        return min(float(self._burst), left + (now - then) * self._rate)
