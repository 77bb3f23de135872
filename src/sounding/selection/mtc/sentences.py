"""Sentences about sessions that `plan` and `simulate` share, and the words for the order of two runs."""

from __future__ import annotations

from sounding.core.text import plural
from sounding.measures import parse
from sounding.measures.forms import Form, form_of
from sounding.runs.retrieved import Retrieved
from sounding.selection.mtc.session import SessionParameters

PROVEN, PROBABLE, EQUAL, OPEN = "proven", "probable", "equal", "open"
SHOWN = 20  # rows of a long table that people see
NAMED = 3  # runs that a sentence names


def how_note(parameters: SessionParameters, *, stated: bool = True) -> str:
    """Describe how probabilities, weights and, if stated, confidence were computed."""
    text = f"Model: prior {parameters.prior}, selection {parameters.selection}"
    if not stated and parameters.confidence == "draws":
        return f"{text}."
    text += f", confidence by {parameters.confidence}"
    if parameters.confidence == "draws":
        return f"{text} ({parameters.draws:,}). A draw in which two runs tie counts half for each."
    divided = form_of(parameters.measure, parameters.depth, 1).divided_by != "nothing"
    if divided and parameters.confidence != "exact":
        return f"{text}: an approximation, rough for topics with few relevant documents."
    return f"{text}."


def binary_notes(measure: str, form: Form, *, has_levels: bool) -> list[str]:
    """Warn that a graded measure is taken as a binary one; `has_levels`: relevant grades differ."""
    graded = parse(measure).definition.family == "graded" or form.name.startswith("ERR")
    if not graded or not has_levels:
        return []
    return [
        f"Relevance counts as yes or no here (grades from {form.level:g} on), so values and proofs are"
        f" those of binary {form.name}; by its grades the order may differ."
    ]


def missing_notes(retrieved: Retrieved) -> list[str]:
    """Name the runs that lack topics, so that their value is 0 there."""
    named = []
    for run, lengths in zip(retrieved.runs, retrieved.lengths.tolist(), strict=True):
        lacking = [topic for topic, length in zip(retrieved.topics, lengths, strict=True) if not length]
        if lacking:
            rest = ", ..." if len(lacking) > 1 else ""
            named.append(f"{run} lacks {plural(len(lacking), 'topic')} ({lacking[0]}{rest})")
    more = f" and {plural(len(named) - NAMED, 'more run')}" if len(named) > NAMED else ""
    return [f"{', '.join(named[:NAMED])}{more}: the value is 0 there."] if named else []
