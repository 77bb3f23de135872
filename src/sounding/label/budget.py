"""The budget: what may be spent is reserved before a request is sent, so that it is never exceeded."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sounding.core.errors import DataError
from sounding.core.limits import check_count, check_finite

MILLION = 1_000_000
_OVERHEAD = 16  # tokens that a provider may add around a message, and once more around all


class Spent(NamedTuple):
    """Requests and tokens."""

    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def plus(self, other: Spent) -> Spent:
        """Return the sum."""
        return Spent(*(one + more for one, more in zip(self, other, strict=True)))

    def minus(self, other: Spent) -> Spent:
        """Return the difference."""
        return Spent(*(one - less for one, less in zip(self, other, strict=True)))

    @property
    def tokens(self) -> int:
        """Tokens of questions and answers together."""
        return self.tokens_in + self.tokens_out


class Prices(NamedTuple):
    """Money for a million tokens."""

    tokens_in: float
    tokens_out: float

    def cost(self, spent: Spent) -> float:
        """Return what tokens cost."""
        return (spent.tokens_in * self.tokens_in + spent.tokens_out * self.tokens_out) / MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLimits:
    """Limits on spending; None: no limit."""

    requests: int | None = None
    tokens: int | None = None
    cost: float | None = None
    prices: Prices | None = None

    def __post_init__(self) -> None:
        for name, value in (("max_requests", self.requests), ("max_tokens", self.tokens)):
            if value is not None:
                check_count(name, value, 1)
        if self.cost is not None:
            check_finite("max_cost", self.cost)
            if self.prices is None:
                raise DataError("max_cost needs the prices of a million tokens, in and out")
        if self.prices is not None:
            for price in self.prices:
                check_finite("prices", price)
                if price < 0:
                    raise DataError(f"prices: {price:g}; expected 0 or more")

    def allow(self, spent: Spent) -> bool:
        """Return whether this much may be spent."""
        return (
            (self.requests is None or spent.requests <= self.requests)
            and (self.tokens is None or spent.tokens <= self.tokens)
            and (self.cost is None or self.prices is None or self.prices.cost(spent) <= self.cost)
        )

    def reached(self, spent: Spent, more: Spent) -> str:
        """Return in words which limit is in the way of spending more; empty: none."""
        total = spent.plus(more)
        if self.requests is not None and total.requests > self.requests:
            return f"{self.requests:,} requests"
        if self.tokens is not None and total.tokens > self.tokens:
            return f"{self.tokens:,} tokens"
        if not self.allow(total):
            return f"a cost of {self.cost:g}"
        return ""


class Budget:
    """Amount spent, and amount reserved for requests in flight."""

    def __init__(self, limits: BudgetLimits, spent: Spent) -> None:
        self.limits = limits
        self.spent = spent
        self.reserved = Spent()
        self.reached = ""  # the limit that a request did not get past, in words
        self._changed = asyncio.Event()

    async def reserve(self, most: Spent) -> bool:
        """Reserve the most that a request can cost; False: it does not fit, whatever requests in flight use.

        If it would fit once requests in flight have used less than was reserved for them, wait for that.
        """
        while not self.limits.allow(self.spent.plus(self.reserved).plus(most)):
            if not self.reserved.requests:
                self.reached = self.limits.reached(self.spent, most)
                return False
            await self._changed.wait()
        self.reserved = self.reserved.plus(most)
        return True

    def settle(self, most: Spent, actual: Spent) -> None:
        """Replace a reservation by what was used."""
        self.reserved = self.reserved.minus(most)
        self.spent = self.spent.plus(actual)
        self._changed.set()
        self._changed = asyncio.Event()


def most_tokens(body: Mapping[str, Any], messages: Sequence[Mapping[str, str]]) -> Spent:
    """Return the most that one request can use.

    No tokenizer is needed: models split text into tokens of at least one byte.
    """
    sizes = [len(message["content"].encode("utf-8", "replace")) + _OVERHEAD for message in messages]
    limits = [body[name] for name in ("max_tokens", "max_completion_tokens") if name in body]
    if not all(isinstance(limit, int) and limit > 0 for limit in limits):
        raise DataError(f"max_tokens is {limits[0]!r}; expected a whole number above 0")
    return Spent(1, sum(sizes) + _OVERHEAD, max(limits, default=0))
