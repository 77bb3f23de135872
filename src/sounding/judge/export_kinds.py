"""What can be exported, in one list: what command, page, interface and verification offer.

Nothing is imported here, so that the help of a command does not wait for anything.
"""

from __future__ import annotations

from dataclasses import dataclass

JSON_LINES = "application/x-ndjson"
TEXT = "text/plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportKind:
    """One of the things that can be exported."""

    name: str
    columns: str  # of a line; empty: lines of JSON
    what: str
    of_judgments: bool = False  # so that it may be asked for topics in use, or for all
    of_sample: bool = False  # has only what a sample drew
    of_log: bool = True  # follows from the log, so that it can be had as of any event

    @property
    def content_type(self) -> str:
        """What a browser is told that it gets."""
        return TEXT if self.columns else JSON_LINES

    @property
    def file_name(self) -> str:
        """What a browser saves it as."""
        return f"{self.name}.{'txt' if self.columns else 'jsonl'}"

    @property
    def described(self) -> str:
        """The columns, and what it is, in a line."""
        return f"{self.columns}: {self.what}" if self.columns else f"{self.what}, as lines of JSON"


EXPORT_KINDS = {
    kind.name: kind
    for kind in (
        ExportKind(
            name="qrels", columns="topic 0 doc grade", what="the grade that counts", of_judgments=True,
        ),
        ExportKind(
            name="assessors", columns="topic assessor doc grade", what="the grade of every assessor",
            of_judgments=True,
        ),
        ExportKind(
            name="strata", columns="topic 0 doc stratum grade",
            what="of a sample; -1: not drawn, or no grade yet", of_judgments=True, of_sample=True,
        ),
        ExportKind(
            name="prels", columns="topic doc grade method probability", what="of a sample",
            of_judgments=True, of_sample=True,
        ),
        ExportKind(name="log", columns="", what="every event, with how each document was chosen"),
        ExportKind(
            name="searches", columns="", what="every query, and every document opened from it", of_log=False,
        ),
        ExportKind(name="topics", columns="", what="every version of every topic"),
    )
}  # fmt: skip
