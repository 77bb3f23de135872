"""Minimal test collections: what to judge next, how sure the order of the runs is, and when to stop."""

from sounding.relevance.model import Fit
from sounding.selection.mtc.confidence import Confidence
from sounding.selection.mtc.session import Parameters, Session, known_judgments

__all__ = ["Confidence", "Fit", "Parameters", "Session", "known_judgments"]
