"""What stands in the way of finishing the topics, in words."""

from __future__ import annotations

from sounding.core.text import plural, quoted
from sounding.judge.engine import Engine
from sounding.judge.ids import MOST_DOC

MOST_NAMED = 10  # topics


def staffing_note(engine: Engine) -> str:
    """Which topics have too few assessors ever to be finished, as a sentence; empty: none has."""
    wanted, short = engine.settings.overlap, engine.short_of_assessors()
    if not short:
        return ""
    few = {topic: "nobody" if not count else f"{count} of {wanted}" for topic, count in short.items()}
    named = [f"{topic} ({who})" for topic, who in few.items()][:MOST_NAMED]
    more = f" and {len(few) - MOST_NAMED:,} more" if len(few) > MOST_NAMED else ""
    whose = "topic" if len(few) == 1 else "topics"
    mend = "assign more people" if wanted == 1 else "assign more people, or have fewer judge each document"
    return f"Too few assessors to finish {whose} {', '.join(named)}{more}: {mend}."


def no_runs_note(engine: Engine) -> str:
    """Which chosen topics nobody can judge, since no run has them, as a sentence; empty: none."""
    found = engine.topics_without_runs()
    if not found:
        return ""
    more = f" and {len(found) - MOST_NAMED:,} more" if len(found) > MOST_NAMED else ""
    whose = f"{'topic' if len(found) == 1 else 'topics'} {', '.join(found[:MOST_NAMED])}{more}"
    return f"No run has {whose}: there is nothing to judge until one is added that does."


def undrawn_note(engine: Engine) -> str:
    """Which topics nobody can judge, since their sample cannot be drawn, as a sentence; empty: none."""
    found = engine.undrawn()
    if not found:
        return ""
    such = "" if len(found) == 1 else "such as "
    return (
        f"No sample can be drawn for {plural(len(found), 'topic')}, and nothing comes before the order is"
        f" another one: {such}{next(iter(found.values()))}."
    )


def passed_over_note(engine: Engine) -> str:
    """Which documents of the runs nobody can be given, as a sentence; empty: none."""
    found = engine.passed_over()
    if not found:
        return ""
    topic, doc = found[0]
    return (
        f"Passed over, since nothing can hold their ids: {plural(len(found), 'document')} of the runs,"
        f" such as {quoted(doc)} of topic {topic}. Ids are words in UTF-8 of at most {MOST_DOC:,} bytes."
    )


def notes_of(engine: Engine) -> list[str]:
    """All that stands in the way, a sentence each: pages and commands say the same."""
    every = (staffing_note, no_runs_note, undrawn_note, passed_over_note)
    return [told for note in every if (told := note(engine))]
