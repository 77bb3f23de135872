"""`sounding label`: its options."""

from __future__ import annotations

from pathlib import Path

import click

from sounding.terminal import declare
from sounding.terminal.help import GroupedCommand


@declare.options
class LabelOptions(declare.OutputOptions):
    """The options of `sounding label`."""

    documents: str = declare.argument(metavar="QRELS-OR-POOL")
    corpus: tuple[str, ...] = declare.option(
        required=True, multiple=True, metavar="FILE", help="Read documents from FILE or a folder; repeatable."
    )
    topics: str = declare.option(required=True, metavar="FILE", help="Read the topics from FILE.")
    endpoint: str | None = declare.text(
        "Ask the OpenAI-compatible endpoint at URL, such as https://HOST/v1.", metavar="URL"
    )
    model: str = declare.option(required=True, metavar="M", help="Ask this model.")
    judge: str | None = declare.text("Name the judge in the label file; default: the model.", metavar="NAME")
    prompt: str | None = declare.text(
        "Use the prompt in FILE; default: a prompt of our own, which asks for grades from 0 to 3.",
        metavar="FILE",
    )
    temperature: float = declare.number("Set the temperature of the model.", default=0, metavar="X")
    repeat: int = declare.count("Ask N times, to see how consistent the model is.", default=1, metavar="N")
    parameters: tuple[str, ...] = declare.texts(
        "Add a parameter of the model to each request (max_tokens=500); repeatable.",
        metavar="NAME=VALUE",
        spelled="-P --parameter",
    )
    most_words: int = declare.count(
        "Send at most the first N words of a document.", default=4000, metavar="N"
    )
    max_requests: int | None = declare.count("Send at most N requests, retries included.", metavar="N")
    max_tokens: int | None = declare.count("Use at most N tokens, in and out.", metavar="N")
    max_cost: float | None = declare.number("Spend at most X; needs --prices.", metavar="X")
    prices: str | None = declare.text("Set the prices of a million tokens, in and out.", metavar="IN,OUT")
    concurrency: int = declare.count("Send N requests at a time.", default=8, metavar="N")
    timeout: float = declare.number("Wait at most X seconds for an answer.", default=120, metavar="X")
    log: Path = declare.option(
        type=click.Path(dir_okay=False, path_type=Path), default="labels.log.jsonl", show_default=True,
        metavar="FILE", help="Keep all answers in FILE, so that nothing is asked twice.",
    )  # fmt: skip
    batch_out: Path | None = declare.file("Write the requests to FILE for a provider's batch service.")
    batch_in: tuple[str, ...] = declare.texts("Read a batch service's answers; repeatable.", metavar="FILE")


@click.command("label", cls=GroupedCommand, short_help="Ask a language model for labels of documents.")
@declare.taking(LabelOptions)
@declare.output_options("tsv", otherwise="tab-separated labels")
def command(options: LabelOptions) -> None:
    """Ask a language model how relevant documents are, and write a label file for `sounding estimate`.

    QRELS-OR-POOL lists the documents: qrels, or what `sounding pool` writes. The key comes from the
    environment: SOUNDING_API_KEY, or OPENAI_API_KEY for openai.com and this machine. If anything stops
    the command, run it again: the log knows the answers, and what was spent.

    \b
    sounding label pool.txt --corpus docs.jsonl --topics topics.tsv --endpoint https://HOST/v1 \\
        --model M --max-cost 5 --prices 0.15,0.60 -o labels.tsv
    sounding label pool.txt --corpus docs.jsonl --topics topics.tsv --model M --batch-out batch.jsonl
    """  # noqa: D301 - click wants the control character
    declare.run_flow(options)
