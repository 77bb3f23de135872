"""The options of `sounding demo`."""

from __future__ import annotations

from pathlib import Path

import click

from sounding.terminal import declare

DEFAULT_SEED = 1


@declare.options
class DemoOptions:
    """The options of `sounding demo`."""

    folder: Path | None = declare.argument(
        metavar="[DIR]", required=False, type=click.Path(file_okay=False, path_type=Path)
    )
    seed: int | None = declare.count(
        f"Set the seed of the simulated collection.  [default: {DEFAULT_SEED}]", least=0
    )
    judge: bool = declare.flag("Start a judging server with documents, topics, runs and people instead.")
    machine: bool = declare.flag("Show estimates from labels by a machine and a judged sample instead.")
    port: int | None = declare.option(
        type=click.IntRange(0, 65535),
        metavar="N",
        help="Set the port of the judging server.  [default: 8000, or a free one]",
    )


@click.command("demo", short_help="Show a complete example on a small simulated collection.")
@declare.taking(DemoOptions)
def command(options: DemoOptions) -> None:
    """Show a complete example: write a small simulated collection and a report, DIR/report.html.

    DIR is `demo` by default; an earlier demo there is replaced. Since the truth about the collection is
    known, the end says which conclusions it confirms.

    With --machine: simulate a language model's labels on the first ten documents of every run, and people's
    judgments of a sample; show what can be said from both, and what is true.

    With --judge: set up a judging project in DIR (default: demo-judging) over the documentation of Python's
    standard library, and serve it until stopped. Nothing is downloaded; earlier judgments in DIR are kept.
    """
    if options.judge and options.seed is not None:
        raise click.UsageError("--seed is for the simulated collection; leave it out, or leave out --judge")
    if options.port is not None and not options.judge:
        raise click.UsageError("--port is for the judging server; give --judge as well")
    if options.judge and options.machine:
        raise click.UsageError("--judge and --machine are two demos; give one of them")
    seed = DEFAULT_SEED if options.seed is None else options.seed
    if options.machine:
        from sounding.demo.machine import machine_demo  # NumPy and the engine, which --help does without

        machine_demo(options.folder or Path("demo-machine"), seed)
    elif options.judge:
        from sounding.demo.server import judging_demo  # FastAPI, which the other demo does without

        judging_demo(options.folder or Path("demo-judging"), options.port)
    else:
        from sounding.demo.flow import report_demo  # NumPy and the engine, which --help does without

        report_demo(options.folder or Path("demo"), seed)
