"""The list of exports that the command, the page, the API and the verification share.

This file imports nothing slow, so that `--help` stays fast.
"""

from __future__ import annotations

from dataclasses import dataclass

JSON_LINES = "application/x-ndjson"
TEXT = "text/plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportKind:
    """One kind of export."""

    name: str
    columns: str  # empty: lines of JSON
    what: str
    of_judgments: bool = False  # True: it can cover topics in use or all topics
    of_sample: bool = False  # True: it contains only sampled documents
    of_log: bool = True  # True: it can be computed as of any event of the log

    @property
    def content_type(self) -> str:
        """Return the media type."""
        return TEXT if self.columns else JSON_LINES

    @property
    def file_name(self) -> str:
        """Return the file name for downloads."""
        return f"{self.name}.{'txt' if self.columns else 'jsonl'}"

    @property
    def description(self) -> str:
        """Return the columns and the meaning of the export in one line."""
        return f"{self.columns}: {self.what}" if self.columns else f"{self.what}, as JSON lines"


EXPORT_KINDS = {
    kind.name: kind
    for kind in (
        ExportKind(
            name="qrels", columns="topic 0 doc grade", what="the grade that counts", of_judgments=True,
        ),
        ExportKind(
            name="assessors", columns="topic assessor doc grade",
            what="the grade of every assessor, and labels by machine-NAME",
            of_judgments=True,
        ),
        ExportKind(
            name="strata", columns="topic 0 doc stratum grade",
            what="sampled topics; grade -1: not sampled or not graded yet", of_judgments=True, of_sample=True,
        ),
        ExportKind(
            name="prels", columns="topic doc grade method probability", what="sampled documents",
            of_judgments=True, of_sample=True,
        ),
        ExportKind(
            name="prefs", columns="topic assessor pair doc level",
            what="preferences, for `evaluate -m Prefs` and `agree`", of_judgments=True,
        ),
        ExportKind(
            name="intents", columns="topic subtopic doc grade",
            what="the grade for every subtopic, for `evaluate -m alpha_nDCG`", of_judgments=True,
        ),
        ExportKind(
            name="contexts", columns="topic doc context grade",
            what="the grade that counts of each context; context: its id, else its part", of_judgments=True,
        ),
        ExportKind(
            name="spans", columns="", what="the text that supports each grade, and where it stands",
            of_judgments=True,
        ),
        ExportKind(
            name="nuggets", columns="topic assessor doc nugget importance found",
            what="whether each assessor found a nugget; importance: vital, okay or -", of_judgments=True,
        ),
        ExportKind(
            name="labels", columns="topic doc label judge ...",
            what="labels by machines, as a table with the columns of label files", of_judgments=True,
        ),
        ExportKind(name="log", columns="", what="every event, and how each document was chosen"),
        ExportKind(
            name="searches", columns="", what="every query and every document opened from its results",
            of_log=False,
        ),
        ExportKind(name="topics", columns="", what="every version of every topic"),
    )
}  # fmt: skip
