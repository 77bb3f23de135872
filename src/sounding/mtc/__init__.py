"""Minimal test collections: what to judge next, how sure the order of the runs is, and when to stop."""

from sounding.mtc.confidence import Confidence
from sounding.mtc.parameters import Parameters
from sounding.mtc.session import Fit, Session, known_judgments

__all__ = ["Confidence", "Fit", "Parameters", "Session", "known_judgments"]
