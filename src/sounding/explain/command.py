"""The options of `sounding measures`."""

from __future__ import annotations

import click

from sounding.terminal import declare


@declare.options
class MeasuresOptions(declare.OutputOptions):
    """The options of `sounding measures`."""

    names: tuple[str, ...] = declare.argument(nargs=-1, metavar="[MEASURE]...")
    max_residual: tuple[float, ...] = declare.option(
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        multiple=True,
        metavar="X",
        help="Find the rank k beyond which documents add at most X (RBP, ERR); repeatable.",
    )


@click.command("measures", short_help="List all measures, or explain some.")
@declare.taking(MeasuresOptions)
@declare.output_options()
def command(options: MeasuresOptions) -> None:
    """List all measures, or explain each MEASURE: names, parameters, definition.

    Write a MEASURE as in ir_measures, trec_eval or ranx.

    \b
    sounding measures
    sounding measures nDCG@10 map_cut.100 official
    sounding measures 'RBP(p=0.95)' --max-residual 0.01
    """  # noqa: D301 - click wants the control character
    if options.max_residual and not options.names:
        raise click.UsageError("--max-residual asks for a MEASURE, such as 'RBP(p=0.95)' or ERR")
    declare.run_flow(options)
