"""Sentences of `sounding label`, beside the numbers that fill them."""

from __future__ import annotations

from collections.abc import Iterator

from sounding.core.text import percent, plural, quote
from sounding.label.batches import MOST_ROWS, BatchWritten
from sounding.label.labeling import FAILED, NO_TEXT, NOT_ASKED
from sounding.label.prompts import REFUSAL, UNPARSABLE
from sounding.label.result import Labeling

WORDS = {
    REFUSAL: "refused",
    UNPARSABLE: "unparsable",
    FAILED: "failed",
    NOT_ASKED: "not asked yet",
    NO_TEXT: "without a text",
}


def money(amount: float) -> str:
    """Return an amount of money; a small one is not shown as nothing."""
    return "less than 0.01" if 0 < amount < 0.01 else f"{amount:,.2f}"


def headline(labeling: Labeling) -> str:
    """Answer how many documents have a label, by whom, and what that cost."""
    if labeling.written is not None:
        return _batch(labeling.written, labeling)
    text = (
        f"{labeling.labeled:,} of {plural(labeling.documents, 'document')} have a label by {labeling.judge}"
        f" (prompt {labeling.prompt})."
    )
    cost = "" if labeling.cost is None else f", at a cost of {money(labeling.cost)}"
    return (
        f"{text} This took {plural(labeling.spent.requests, 'request')} and"
        f" {plural(labeling.spent.tokens, 'token')}{cost}."
    )


def _batch(written: BatchWritten, labeling: Labeling) -> str:
    prices = labeling.limits.prices
    cost = "" if prices is None else f" and a cost of {money(prices.cost(written.most))}"
    return (
        f"{written.path} holds {plural(written.requests, 'request')}, for at most"
        f" {plural(written.most.tokens, 'token')}{cost}."
    )


def notes(labeling: Labeling) -> list[str]:
    """Return what a reader should know, the most important first."""
    return list(_notes(labeling))


def _notes(labeling: Labeling) -> Iterator[str]:
    if labeling.stopped:
        yield f"Asking stopped early: {labeling.stopped}."
    elif labeling.failures:
        reason, _ = labeling.failures.most_common(1)[0]
        yield (
            f"{plural(sum(labeling.failures.values()), 'question')} brought no answer, most often with:"
            f" {reason}. The same command asks them again."
        )
    written, read = labeling.written, labeling.read
    if written is not None and written.left_out:
        yield f"The budget leaves out {plural(written.left_out, 'question')}."
    if written is not None and written.requests > MOST_ROWS:
        yield f"Many providers take at most {MOST_ROWS:,} requests in a file; split it by lines."
    if read is not None:
        yield _batch_note(labeling)
    yield from _consistency(labeling)
    bad = {kind: labeling.problems[kind] for kind in (REFUSAL, UNPARSABLE) if labeling.problems[kind]}
    if bad:
        listed = " and ".join(f"{count:,} {WORDS[kind]}" for kind, count in bad.items())
        asked = plural(labeling.questions, "question")
        yield f"{listed} (of {asked}): these documents have no label."
    if labeling.problems[NO_TEXT]:
        count = plural(labeling.problems[NO_TEXT] // labeling.repeat, "document")
        lacking = [
            f"{plural(len(ids), thing)} (such as {quote(ids[0])})"
            for ids, thing in ((labeling.unknown_topics, "topic"), (labeling.unknown_docs, "document"))
            if ids
        ]
        yield f"{count} got no label, because there is no text for {' and '.join(lacking)}."
    if labeling.cut:
        yield f"Of {plural(labeling.cut, 'document')} only the first words were sent (--most-words)."
    served = sorted({row.model for row in labeling.rows})
    if len(served) > 1:
        yield f"The endpoint answered as several models: {', '.join(map(quote, served))}."
    if labeling.cached:
        yield f"{plural(labeling.cached, 'answer')} came from {labeling.log} and cost nothing now."


def _batch_note(labeling: Labeling) -> str:
    read = labeling.read
    assert read is not None  # noqa: S101 - the caller checks
    parts = [f"The batch brought {plural(read.answers, 'new answer')}"]
    if read.known:
        parts.append(f"{read.known:,} that the log had")
    if read.foreign:
        parts.append(f"{read.foreign:,} to other questions (other texts, prompt or settings)")
    if read.failures:
        parts.append(f"{sum(read.failures.values()):,} errors ({read.failures.most_common(1)[0][0]})")
    return ", ".join(parts) + "."


def _consistency(labeling: Labeling) -> Iterator[str]:
    own = labeling.consistency
    if own is not None:
        yield (
            f"{labeling.judge} gave the same label all {labeling.repeat} times to {percent(own.same)} of"
            f" {plural(own.documents, 'document')}; two of its labels of a document are equal in"
            f" {percent(own.pairs)} of cases and differ by {own.apart} at most."
        )


def resume(log: object, answered: int) -> str:
    """Say how to go on after the command was stopped."""
    held = f"{log} holds {plural(answered, 'answer')}"
    return f"Stopped. {held}; run the same command again to go on where it stopped."
