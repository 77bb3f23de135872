"""Run `sounding label`: check the options, ask, and write the labels and an account of them."""

from __future__ import annotations

import json
import re
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from sounding.core.errors import DataError
from sounding.core.workers import Progress, Stopped
from sounding.label import sentences, tables
from sounding.label.answers import open_log
from sounding.label.budget import Budget
from sounding.label.command import LabelOptions
from sounding.label.labeling import label
from sounding.label.result import Labeling
from sounding.render.tables import Answer
from sounding.terminal.declare import typed
from sounding.terminal.options import (
    PEOPLE,
    options_refused,
    progress_bar,
    remark,
    say_answer,
    typed_command,
    write_answer,
    write_tables,
    write_text,
)

TSV = "tsv"
PLAIN = (".tsv", ".txt", ".tab", "")  # suffixes of tab-separated labels


def run(options: LabelOptions) -> None:
    """Label the documents and write the labels; a stop tells how to go on."""
    if options.endpoint is None and options.batch_out is None and not options.batch_in:
        raise click.UsageError("give --endpoint URL, or --batch-out FILE to ask a batch service")
    if options.endpoint is not None and options.batch_out is not None:
        raise click.UsageError("--batch-out asks nothing; leave out --endpoint")
    if options.max_cost is not None and options.prices is None:
        raise click.UsageError("--max-cost needs the prices of a million tokens: add --prices IN,OUT")
    with options_refused():
        prices = _prices(options.prices)
        parameters = _parameters(options.parameters)
    layout = _format_of(options)
    bill = _Bill(options.quiet)
    try:
        labeling = label(
            options.documents, corpus=options.corpus, topics=options.topics, model=options.model,
            endpoint=options.endpoint, prompt=options.prompt,
            temperature=parameters.pop("temperature", options.temperature), repeat=options.repeat,
            judge=options.judge, parameters=parameters, max_requests=options.max_requests,
            max_tokens=options.max_tokens, max_cost=options.max_cost, prices=prices,
            concurrency=options.concurrency, timeout=options.timeout, most_words=options.most_words,
            log=options.log, batch_out=options.batch_out, batch_in=options.batch_in, bars=bill.bar,
            watch=bill.watch,
        )  # fmt: skip
    except (KeyboardInterrupt, Stopped):
        with open_log(options.log) as log:
            remark(sentences.resume(options.log, len(log.answers)), quiet=options.quiet)
        raise
    if labeling.broken and not labeling.rows:
        raise DataError(f"the endpoint gave no label: {labeling.stopped}")
    _write(labeling, options, layout)
    if labeling.broken:
        click.get_current_context().exit(1)


class _Bill:
    """A progress bar that shows the time and the money left."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._budget: Budget | None = None

    def watch(self, budget: Budget) -> None:
        """Show what is left of this budget from now on."""
        self._budget = budget

    def bar(self, total: int, label: str) -> AbstractContextManager[Progress | None]:
        """Return the progress bar of one step."""
        return progress_bar(total, quiet=self._quiet, label=label, more=self._left)

    def _left(self) -> str:
        budget = self._budget
        if budget is None:
            return ""
        limits, spent = budget.limits, budget.spent
        if limits.prices is not None:
            cost = limits.prices.cost(spent)
            return f", {cost:.2f} spent" if limits.cost is None else f", {limits.cost - cost:.2f} left"
        if limits.tokens is not None:
            return f", {limits.tokens - spent.tokens:,} tokens left"
        return "" if limits.requests is None else f", {limits.requests - spent.requests:,} requests left"


def _prices(text: str | None) -> tuple[float, float] | None:
    """Return the prices of --prices."""
    if text is None:
        return None
    try:
        first, second = map(float, text.split(","))
    except ValueError as error:
        raise DataError(f"--prices {text}: expected two numbers, such as 0.15,0.60") from error
    return first, second


def _parameters(texts: tuple[str, ...]) -> dict[str, Any]:
    """Return the parameters of -P; a value is JSON, or a text if it is no JSON."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise DataError(f"-P {text}: expected NAME=VALUE, such as max_tokens=500")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    if found.get("temperature") is not None:
        raise DataError(
            "-P temperature: set it with --temperature; only temperature=null is possible, to leave it out"
        )
    return found


def _format_of(options: LabelOptions) -> str:
    """Return the format of the labels: as asked for, by the suffix of the output, or tab-separated."""
    suffix = "" if options.output is None else options.output.suffix.lower()
    if typed("format_name") or (suffix and suffix not in PLAIN and options.format_name != "table"):
        return options.format_name
    if suffix not in PLAIN:
        raise click.UsageError(
            f"-o {options.output}: no format has the suffix {suffix!r}; use .tsv, .jsonl, .csv or .parquet"
        )
    return TSV


def _write(labeling: Labeling, options: LabelOptions, layout: str) -> None:
    """Write the labels, and for people what they are: on standard output if that is free."""
    answer = Answer(
        sentences.headline(labeling), [tables.count_table(labeling)], sentences.notes(labeling),
        _following(labeling, options),
    )  # fmt: skip
    plain = replace(options, format_name="table", output=None)
    if labeling.written is not None:
        say_answer(answer, options)
        return
    if layout in PEOPLE:
        write_answer(answer, replace(options, format_name=layout))
        return
    table = tables.label_table(labeling)
    if layout == "json":
        write_answer(replace(answer, tables=[table]), replace(options, format_name=layout))
    elif layout == TSV:
        write_text(tables.tab_separated(table), options.output)
    else:
        write_tables([table], layout, options.output)
    if options.output is None:
        if layout != "json":
            say_answer(answer, options)
    elif not options.quiet:
        write_answer(answer, plain)


def _following(labeling: Labeling, options: LabelOptions) -> str | None:
    """Return the command to type next."""
    if labeling.written is not None or labeling.stopped or not labeling.finished:
        command = typed_command(click.get_current_context())
        if labeling.written is None:
            for option, (used, needed) in labeling.larger_budget().items():
                command = re.sub(rf"{option} {re.escape(used)}(?= |$)", f"{option} {needed}", command)
            return command
        asked = f"--batch-out {options.batch_out}"
        return command.replace(asked, "--batch-in ANSWERS.jsonl -o labels.tsv")
    written = options.output if options.output is not None else Path("labels.tsv")
    return f"sounding estimate QRELS RUN... --labels {written}"
