"""Minimal test collections: what to judge next, how sure the order of the runs is, and when to stop."""

from sounding.mtc.beforehand import known_judgments
from sounding.mtc.confidence import Confidence
from sounding.mtc.fits import Fit
from sounding.mtc.parameters import Parameters
from sounding.mtc.session import Session

__all__ = ["Confidence", "Fit", "Parameters", "Session", "known_judgments"]
