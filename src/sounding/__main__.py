"""`python -m sounding`: the same as the command `sounding`."""

from sounding.cli import run

run()
