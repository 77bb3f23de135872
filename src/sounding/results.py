"""A folder of results: one Parquet file a run, written when the run is done, found again the next time.

The files are plain tables with the same columns, so that DuckDB, Polars or pandas read the whole folder
at once, and all of one evaluation: a folder of other judgments, measures, policies or another version is
refused. A file is used again only where its run is as it was.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from sounding import __version__
from sounding.arrays import NDArray
from sounding.data.formats import Place
from sounding.data.sources import is_remote, plain_name
from sounding.data.tables import Qrels
from sounding.errors import DataError
from sounding.evaluation import POOL_MEASURE, RunValues
from sounding.files import located, write_whole
from sounding.measures import Measure
from sounding.policies import Policies
from sounding.workers import apart

_DIGITS = 12  # of the digest of a run in a file's name, and of that of the settings


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ResultsFolder:
    """Where the results of one evaluation are kept."""

    folder: Path
    qrels: str  # as the column says
    measures: tuple[Measure, ...]
    topics: tuple[str, ...]
    policies: str
    settings: str  # a digest of all that decides the values, but the run

    def held(self, sources: Sequence[Place]) -> dict[int, RunValues]:
        """Run -> what the folder holds of it, of runs that are as they were."""

        def read() -> dict[int, RunValues]:
            found = ((number, self._read(place)) for number, place in enumerate(sources))
            return {number: row for number, row in found if row is not None}

        paths = [self._path(place) for place in sources]
        return apart(read) if any(path.exists() for path in paths) else {}

    def keep(self, place: Place, row: RunValues) -> None:
        """Write what a run gave; the file appears whole or not at all."""
        import polars

        topics, measures = len(self.topics), len(self.measures)
        texts = [
            row.texts[measure].tolist() if measure in row.texts else [None] * topics
            for measure in self.measures
        ]
        columns: dict[str, Any] = {
            "measure": np.repeat([str(measure) for measure in self.measures], topics).tolist(),
            "topic": [_printable(topic) for topic in self.topics] * measures,
            "value": row.values.ravel(),
            "text": [text for part in texts for text in part],  # doc ids and tags, of measures that give such
            "judged": row.judged.ravel(),
            "sampling_error": row.errors.ravel(),
            "retrieved": np.tile(row.lengths, measures),
            "missing": np.tile(row.missing, measures),
        }
        constant = {
            "run": row.name, "tag": row.tag, "source": row.source, "qrels": self.qrels,
            "policies": self.policies, "made_from": self._made_from(place),
        }  # fmt: skip
        if POOL_MEASURE in self.measures:
            constant["judged_by_rank"] = " ".join(map(str, row.judged_by_rank.tolist()))
        frame = polars.DataFrame(columns, schema_overrides={"text": polars.String}).with_columns(
            polars.col("value", "judged", "sampling_error").fill_nan(None),
            *(polars.lit(_printable(text)).alias(name) for name, text in constant.items()),
            polars.lit(row.ignored, dtype=polars.Int64).alias("ignored_topics"),
        )
        names = ["run", *(name for name in frame.columns if name != "run")]
        stream = io.BytesIO()
        frame.select(names).write_parquet(stream)
        write_whole(self._path(place), stream.getvalue())

    def _read(self, place: Place) -> RunValues | None:
        """What a file holds of a run; None where there is none, or where it is of something else."""
        import polars

        path = self._path(place)
        try:
            frame = polars.read_parquet(path)
            if frame["made_from"][0] != self._made_from(place):
                return None
        except (OSError, polars.exceptions.PolarsError, IndexError):
            return None  # not there, or not ours: it is written anew
        measures, topics = len(self.measures), len(self.topics)

        def table(name: str) -> NDArray[np.float64]:
            values = frame[name].fill_null(float("nan")).to_numpy()
            return values.reshape(measures, topics)

        counts = frame["judged_by_rank"][0] if POOL_MEASURE in self.measures else ""
        texts = np.array(frame["text"].to_list(), object).reshape(measures, topics)
        return RunValues(
            name=frame["run"][0], tag=frame["tag"][0], source=frame["source"][0], values=table("value"),
            texts={
                measure: texts[number]
                for number, measure in enumerate(self.measures)
                if measure.definition.aggregate == "text"
            },
            judged=table("judged"), errors=table("sampling_error"),
            lengths=frame["retrieved"].to_numpy()[:topics].astype(np.int64),
            missing=frame["missing"].to_numpy()[:topics].astype(np.bool_),
            ignored=int(frame["ignored_topics"][0]), ranking=None, marks=None,
            judged_by_rank=np.array(counts.split(), np.int64),
        )  # fmt: skip

    def _path(self, place: Place) -> Path:
        source = _file_of(place)
        where = source if is_remote(source) else str(Path(source).resolve())
        name = re.sub(r"[^A-Za-z0-9._-]", "_", place[1] or plain_name(source))[:80]
        return self.folder / f"{name}-{_digest(where, place[1] or '')[:_DIGITS]}-{_ending(self.settings)}"

    def _made_from(self, place: Place) -> str:
        """A digest of the run as it is now, and of the settings."""
        source = _file_of(place)
        if is_remote(source):
            from sounding.data.remote import remote_mark

            return _digest(self.settings, remote_mark(source))
        status = located(source).stat()
        return _digest(self.settings, str(status.st_size), str(status.st_mtime_ns))


def results_folder(
    folder: str | Path,
    qrels: Qrels,
    measures: tuple[Measure, ...],
    policies: Policies,
    *choices: str | bytes,
) -> ResultsFolder:
    """The folder for one evaluation, made where it is not there; `choices`: whatever else decides values."""
    if policies.unjudged in ("bounds", "expected"):
        raise DataError(
            f"results of unjudged {policies.unjudged} are not kept, for they depend on the other runs;"
            " leave one of the two out"
        )
    if not str(folder):
        raise DataError("the folder of results is named by an empty text; give its name")
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{path} cannot be made a folder of results: {error.strerror or error}") from error
    columns = (
        qrels.grades, qrels.starts, qrels.probabilities, qrels.methods, qrels.strata, qrels.pool_ranks,
        qrels.docs.compact().buffer, None if qrels.groups is None else qrels.groups.compact().buffer,
    )  # fmt: skip
    settings = _digest(
        __version__, *map(str, measures), repr(policies), *choices, *qrels.topics,
        *(b"" if column is None else column.tobytes() for column in columns),
    )  # fmt: skip
    _refuse_others(path, settings)
    return ResultsFolder(
        folder=path, qrels=qrels.source, measures=measures, topics=qrels.topics,
        policies=policies.describe(), settings=settings,
    )  # fmt: skip


def _ending(settings: str) -> str:
    """How the names of all files of one evaluation end."""
    return f"{settings[:_DIGITS]}.parquet"


def _refuse_others(folder: Path, settings: str) -> None:
    """Refuse a folder with tables of something else: whoever reads it whole would mix them up."""
    others = (path.name for path in folder.glob("*.parquet") if not path.name.endswith(_ending(settings)))
    other = min(others, default=None)
    if other is not None:
        raise DataError(
            f"{folder} holds {other}, made with other judgments, measures, policies or another version;"
            " give another folder, or remove this one"
        )


def _file_of(place: Place) -> str:
    if not isinstance(place[0], str | Path) or str(place[0]) == "-":
        raise DataError("results are kept of runs in files; this one has none")
    return str(place[0])


def _digest(*parts: str | bytes) -> str:
    made = blake2b(digest_size=20)
    for part in parts:
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        made.update(len(data).to_bytes(8, "little") + data)
    return made.hexdigest()


def _printable(text: str) -> str:
    """A text that Parquet can hold."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
