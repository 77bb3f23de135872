"""Large jobs: runs larger than memory, runs that fail, and a folder of results that are kept."""

from __future__ import annotations

import io
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from sounding import __version__
from sounding.core.arrays import NDArray
from sounding.core.errors import DataError, SoundingError
from sounding.core.files import locate_file, write_file
from sounding.core.lazy import polars
from sounding.core.policies import Policies
from sounding.core.workers import Progress, map_outcomes, run_in_child
from sounding.data.fast.tokens import Tokens
from sounding.data.formats import Place
from sounding.data.large_files import (
    Part,
    collect_topics,
    is_large,
    is_plain,
    is_scattered,
    read_part,
    scale_progress,
    split_parts,
    steps_to_read,
    topics_and_rows,
    unpack,
)
from sounding.data.reading import check_topics_had, processes_to_read
from sounding.data.sources import bytes_to_read, is_remote, plain_name, remote_mark
from sounding.data.tables import Qrels, Run
from sounding.evaluate.packing import POOL_MEASURE, RunValues
from sounding.measures import Measure
from sounding.measures.paired import pairwise
from sounding.runs.ranking import pad_rows

_DIGITS = 12  # of the digest of a run in a file's name, and of that of the settings


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ResultsFolder:
    """Folder that keeps the results of one evaluation."""

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
        return run_in_child(read) if any(path.exists() for path in paths) else {}

    def keep(self, place: Place, row: RunValues) -> None:
        """Write what a run gave; the file appears whole or not at all."""
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
        write_file(self._path(place), stream.getvalue())

    def _read(self, place: Place) -> RunValues | None:
        """Return what a file holds of a run; None where there is none, or where it is of something else."""
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
            ranks={}, covered=np.empty(0, np.bool_),
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
            return _digest(self.settings, remote_mark(source))
        status = locate_file(source).stat()
        return _digest(self.settings, str(status.st_size), str(status.st_mtime_ns))


def results_folder(
    folder: str | Path,
    qrels: Qrels,
    measures: tuple[Measure, ...],
    policies: Policies,
    *choices: str | bytes,
) -> ResultsFolder:
    """Return the folder of one evaluation, created if needed; `choices`: what else determines values."""
    if policies.unjudged in ("bounds", "expected"):
        raise DataError(
            f"results of unjudged {policies.unjudged} are not stored, because they depend on the other runs;"
            " leave out one of the two options"
        )
    if pairwise(measures):
        raise DataError(
            f"results of {pairwise(measures)[0]} are not stored, because they depend on the other runs; leave"
            " it out, or the folder"
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
    """Return how the names of all files of one evaluation end."""
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


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Evaluation:
    """Evaluation that is applied to every run, whole or in parts."""

    judgments: Qrels
    policies: Policies
    run_format: str | None
    whole: Callable[[Place], RunValues]  # a run that fits into memory
    # Some topics of a run against the judgments of these topics; None: runs must be read whole.
    some: Callable[[Run, Qrels], RunValues] | None

    def steps(self, place: Place) -> int:
        """Return the number of steps of the progress bar for a run."""
        return 1 if self.some is None else steps_to_read(place[0], self.run_format)

    def of_topics(self, run: Run, known: Qrels) -> RunValues:
        """Return what some topics of a run give."""
        if self.some is None:
            raise DataError(f"{run.source}: this run must be read whole")
        return self.some(run, known)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _PartValues:
    """Values of one part of a run."""

    name: str
    tag: str
    rows: Mapping[str, int]  # topic -> documents, of all topics of the part
    judged: tuple[str, ...]  # those that are judged
    values: RunValues | None  # None: none is


@dataclass(frozen=True, slots=True)
class _Piece:
    """A run, or a part of one."""

    run: int
    place: Place
    part: Part | None


def evaluate_each(
    sources: Sequence[Place],
    asked: Evaluation,
    *,
    folder: ResultsFolder | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> list[RunValues | SoundingError]:
    """Return what each run gives, or why it could not; what a folder holds already is taken from it."""
    held = {} if folder is None else folder.held(sources)
    if progress:
        progress(sum(asked.steps(sources[run]) for run in held))
    rest = [place for run, place in enumerate(sources) if run not in held]
    made = iter(_evaluated(rest, asked, jobs, progress, None if folder is None else folder.keep))
    return [held[run] if run in held else next(made) for run in range(len(sources))]


def _evaluated(
    sources: Sequence[Place],
    asked: Evaluation,
    jobs: int | None,
    progress: Progress | None,
    kept: Callable[[Place, RunValues], None] | None,
) -> list[RunValues | SoundingError]:
    """Return what each run gives, or why it could not; runs that are not large are read whole."""
    pieces: list[_Piece] = []
    outcomes: dict[int, RunValues | SoundingError] = {}
    for run, place in enumerate(sources):
        try:
            pieces += [_Piece(run, place, part) for part in _parts_here(place, asked)]
        except SoundingError as error:
            outcomes[run] = error
    steps = sum(asked.steps(place) for place in sources)
    found = map_outcomes(
        partial(_piece_values, asked=asked), pieces, processes=_processes(sources, pieces, jobs, kept),
        progress=scale_progress(progress, steps, len(pieces)),
        kept=None if kept is None else partial(_keep_whole, kept=kept),
    )  # fmt: skip
    for run, place in enumerate(sources):
        mine = [(piece, made) for piece, made in zip(pieces, found, strict=True) if piece.run == run]
        if run not in outcomes:
            outcomes[run] = whole = _outcome(place, mine, asked)
            if kept and mine[0][0].part is not None and isinstance(whole, RunValues):
                kept(place, whole)
    return [outcomes[run] for run in range(len(sources))]


def _processes(sources: Sequence[Place], pieces: Sequence[_Piece], jobs: int | None, kept: object) -> int:
    """Return how many processes share the pieces; one if results are kept and Polars has already run."""
    size = bytes_to_read(source for source, _ in sources)
    jobs = 1 if kept is not None and "polars" in sys.modules else jobs
    return processes_to_read(sources, size, jobs, len(pieces))


def _keep_whole(piece: _Piece, made: Any, *, kept: Callable[[Place, RunValues], None]) -> None:
    """Keep what a whole run gave; parts are kept when all are there."""
    if piece.part is None:
        kept(piece.place, made)


def _parts_here(place: Place, asked: Evaluation) -> Sequence[Part | None]:
    """The parts of a large file that lies here unpacked and in good order; of anything else, one piece."""
    if asked.some is None or not is_large(place[0], asked.run_format) or not is_plain(place[0]):
        return [None]
    with unpack(place[0], asked.run_format) as large:
        parts = split_parts(large)
    return [None] if is_scattered(parts[0]) else parts


def _piece_values(piece: _Piece, *, asked: Evaluation) -> RunValues | _PartValues:
    if piece.part is not None:
        return _part_values(piece.part, piece.place, asked)
    if asked.some is not None and is_large(piece.place[0], asked.run_format):
        with unpack(piece.place[0], asked.run_format) as large:
            parts = split_parts(large)
            if is_scattered(parts[0]):
                # Every part may hold every topic: what they all give would not fit into memory.
                return _brought_together(piece.place, parts, asked)
            return _together(
                piece.place, parts, [_part_values(part, piece.place, asked) for part in parts], asked
            )
    return asked.whole(piece.place)


def _part_values(part: Part, place: Place, asked: Evaluation) -> _PartValues:
    run = read_part(
        part, name=place[1], duplicates=asked.policies.duplicates, with_ranks=asked.policies.ties == "rank"
    )
    known = asked.judgments.of_topics(run.topics)
    return _PartValues(
        name=run.name, tag=run.tag, rows=dict(zip(run.topics, run.sizes.tolist(), strict=True)),
        judged=known.topics, values=asked.of_topics(run, known) if known.topics else None,
    )  # fmt: skip


def _outcome(
    place: Place, mine: Sequence[tuple[_Piece, Any]], asked: Evaluation
) -> RunValues | SoundingError:
    """Return what a run gave, from what its pieces gave."""
    for _, made in mine:
        if isinstance(made, SoundingError):
            return made
    if mine[0][0].part is None:
        return mine[0][1]
    try:
        return _together(place, [piece.part for piece, _ in mine if piece.part], [m for _, m in mine], asked)
    except SoundingError as error:
        return error


def _together(
    place: Place, parts: Sequence[Part], found: Sequence[_PartValues], asked: Evaluation
) -> RunValues:
    """The values of the whole run."""
    rows: Counter[str] = Counter()
    for part in found:
        rows.update(part.rows)
    if len(rows) < sum(len(part.rows) for part in found):
        return _brought_together(place, parts, asked)  # some topic's lines stand in several parts
    return _joined(place, found, list(rows), asked)


def _brought_together(place: Place, parts: Sequence[Part], asked: Evaluation) -> RunValues:
    """The values of a run whose topics are scattered."""
    rows: Counter[str] = Counter()
    for part in parts:
        rows.update(topics_and_rows(part))
    with collect_topics(parts, rows) as again:
        found = [_part_values(part, place, asked) for part in again]
    # The last line, which names the run, is not the last of these.
    last = read_part(parts[-1], name=place[1], duplicates="first")
    found.append(_PartValues(name=last.name, tag=last.tag, rows={}, judged=(), values=None))
    return _joined(place, found, list(rows), asked)


def _joined(place: Place, found: Sequence[_PartValues], had: Sequence[str], asked: Evaluation) -> RunValues:
    """One row of the scores: every topic's column from the part that has it, or from an empty ranking."""
    source, judgments = str(place[0]), asked.judgments
    check_topics_had(source, had, judgments.topics, asked.policies)
    columns: list[tuple[Sequence[str], RunValues]] = [
        (part.judged, part.values) for part in found if part.values is not None
    ]
    having = {topic for part in found for topic in part.judged}
    lacking = [topic for topic in judgments.topics if topic not in having]
    empty = _empty_run(source, found[-1])
    if lacking:
        rest = judgments.of_topics(lacking)
        columns.append((rest.topics, asked.of_topics(empty, rest)))
    number = {topic: place for place, topic in enumerate(judgments.topics)}
    order = np.argsort([number[topic] for topics, _ in columns for topic in topics])

    def joined(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate(arrays, axis=-1)[..., order]

    values = [value for _, value in columns]
    texts = {measure: joined([value.texts[measure] for value in values]) for measure in values[0].texts}
    for measure in texts:
        if measure.name == "RunID":
            texts[measure] = np.full(len(order), empty.tag, object)
    return values[0]._replace(
        name=empty.name, tag=empty.tag, source=source,
        values=joined([value.values for value in values]),
        texts=texts,
        covered=np.empty(0, np.bool_),
        ranks={measure: joined([value.ranks[measure] for value in values]) for measure in values[0].ranks},
        judged=joined([value.judged for value in values]),
        errors=joined([value.errors for value in values]),
        lengths=joined([value.lengths for value in values]),
        missing=joined([value.missing for value in values]),
        ignored=sum(topic not in number for topic in had),
        judged_by_rank=pad_rows([value.judged_by_rank for value in values]).sum(axis=0),
    )  # fmt: skip


def _empty_run(source: str, last: _PartValues) -> Run:
    """The run without any documents, by its name: a run is called by its last tag."""
    return Run(
        name=last.name, tag=last.tag, source=source, topics=(), starts=np.zeros(1, np.int64),
        docs=Tokens.from_strings([]), scores=np.zeros(0), ranks=np.zeros(0),
    )  # fmt: skip
