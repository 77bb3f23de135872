"""Read runs and judgments from any source, and detect the format of a file."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sounding.core.errors import DataError, MissingPartError, SoundingError, UnknownNameError
from sounding.core.files import locate_file
from sounding.core.policies import Duplicates, Fractional
from sounding.core.text import quote, shorten
from sounding.data.assembly import qrels_of, run_of
from sounding.data.columns import (
    VALUE,
    Kind,
    Records,
    describe_value,
    frames_by_run,
    is_frame,
    is_header,
    is_rows,
    materialize,
    records_of_frame,
    records_of_items,
    records_of_rows,
)
from sounding.data.comparisons import note_contradictions, united_preferences
from sounding.data.delimited import COMMA, SEMICOLON, TAB, first_record, read_delimited
from sounding.data.fast.keys import repeated_rows
from sounding.data.fast.tokens import Tokens
from sounding.data.finding import find_runs, part_of_collection, run_names
from sounding.data.parquet import read_parquet
from sounding.data.problems import Problems
from sounding.data.sources import (
    STDIN,
    Content,
    as_text,
    extension,
    head_of,
    is_remote,
    read_content,
    unpacker,
)
from sounding.data.tables import Qrels, Run
from sounding.data.trec_text import read_preferences, read_prels, read_strata, read_trec_qrels, read_trec_run

TABLES = ("csv", "tsv", "json", "jsonl", "parquet")  # formats whose columns are recognized by name
FORMATS = ("trec", "prels", "strata", "prefs", *TABLES)
IRDS = "irds:"  # prefix of the id of an ir_datasets collection

LOOKED_AT = 1 << 16  # bytes of a file in which to look for a comparison of two documents
_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_BY_EXTENSION = {
    ".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".parquet": "parquet", ".parq": "parquet", ".pq": "parquet",
}  # fmt: skip


def read_run(
    source: Any,
    *,
    format: str | None = None,  # noqa: A002 - the word that users know
    name: str | None = None,
    duplicates: Duplicates = "error",
    with_ranks: bool = False,
) -> Run:
    """Read a run from a file (`-`: standard input), a dict of dicts, a data frame, or a list of rows.

    A dict of lists has the documents of each topic, best first. Frames are those of pandas, Polars and
    pyarrow; rows are ir_measures' ScoredDoc or (topic, doc, score).

    The format is detected from the file's name and content unless it is given. The run is named after its
    file without extension, or after its tag if it has no file, unless a name is given. A Run is returned as
    it is. A function is called for any of these, so that of many runs only one is in memory.
    """
    source = materialize(source() if isinstance(source, partial) else source)
    if isinstance(source, Run):
        return source if name is None else replace(source, name=name)
    if is_in_memory(source):
        problems = Problems(name or "run")
        records = records_in_memory(source, "run", problems)
        problems.refuse()
        run = run_of(
            records, problems, name=name, in_memory=True, duplicates=duplicates, with_ranks=with_ranks
        )
    else:
        content = read_content(path_of(source))
        problems = Problems(content.source)
        run = parse_run(
            content, problems, format=format, name=name, duplicates=duplicates, with_ranks=with_ranks
        )
    problems.refuse()
    return run


def read_runs(
    sources: Any,
    *,
    format: str | None = None,  # noqa: A002 - the word that users know
    duplicates: Duplicates = "error",
    with_ranks: bool = False,
) -> list[Run]:
    """Read all runs of files, folders and globs, with unique names; in memory: {name: run} or a list."""

    def read(source: Any, name: str | None = None) -> Run:
        run = read_run(source, format=format, name=name, duplicates=duplicates, with_ranks=with_ranks)
        return replace(run, words=None)

    runs = [read(source, name) for source, name in run_sources(sources)]
    names = run_names([run.source for run in runs], [run.name for run in runs])
    return [replace(run, name=name) for run, name in zip(runs, names, strict=True)]


class Place(NamedTuple):
    """The source of a run, and the name that the caller gave it, if any."""

    source: Any
    name: str | None


def run_sources(runs: Any) -> list[Place]:
    """Return every run that the argument refers to, with the name it was given, if any.

    All commands and functions read their runs through this function. A text or path is a file, folder or
    glob. A mapping is one run ({topic: {doc: score}} or {topic: [doc, ...]}) or several by name
    ({name: run}). A frame is one run, or several if a column names them. Lists and iterators hold runs, or
    the rows of one run (ir_measures' ScoredDoc, or tuples). Lazy frames and iterators are consumed here.
    """
    runs = materialize(runs)
    if isinstance(runs, Mapping) and not is_one_table(runs):
        return [Place(materialize(source), str(name)) for name, source in runs.items()]
    alone = isinstance(runs, str | Path) or is_in_memory(runs)
    if not alone and not isinstance(runs, Iterable):
        raise DataError(
            f"cannot read runs from {shorten(repr(runs))}; expected files, dicts of dicts or frames"
        )
    given = [runs] if alone else [materialize(source) for source in runs]
    if all(isinstance(source, str | Path) for source in given):
        return [Place(source, None) for source in find_runs(given)] if given else []
    return [place for source in given for place in _places(source)]


def _places(source: Any) -> list[Place]:
    """Return the runs that one of several sources refers to."""
    if isinstance(source, Place):
        return [source]
    if isinstance(source, str | Path):
        return [Place(file, None) for file in find_runs([source])]
    return [Place(one, None) for one in (frames_by_run(source) if is_frame(source) else [source])]


def is_one_table(runs: Mapping[Any, Any]) -> bool:
    """Return whether a mapping is one run, {topic: {doc: score}} or {topic: [doc, ...]}, or one qrels."""
    first = next(iter(runs.values()), None)
    if isinstance(first, Mapping):
        return not any(isinstance(inner, Mapping) or _is_ranked(inner) for inner in first.values())
    return any(map(_is_ranked, runs.values()))


def _is_ranked(docs: Any) -> bool:
    """Return whether this is a list of document ids, best first."""
    return isinstance(docs, list | tuple) and bool(docs) and all(isinstance(doc, str | int) for doc in docs)


def read_qrels(
    source: Any,
    *,
    format: str | None = None,  # noqa: A002 - the word that users know
    duplicates: Duplicates = "error",
    fractional: Fractional = "refuse",
    groups: bool = False,
    intents: bool = False,
) -> Qrels:
    """Read judgments from a file (`-`: standard input), dict of dicts, frame, rows, or ir_datasets id.

    A folder laid out as BEIR's stands for its qrels/test.tsv. Rows are a list of ir_measures' Qrel or of
    (topic, doc, grade).

    With `groups`, the column that names the assessor is kept, and a document may be judged once in each
    group. With `intents`, that column names the intent (subtopic) instead, for which a document was judged.
    Qrels are returned as they are.
    """
    source = materialize(source)
    if isinstance(source, Qrels):
        return source.by_intent() if intents else source
    if not is_in_memory(source):
        source = part_of_collection(path_of(source), "qrels")
    collection = None if is_in_memory(source) else _collection(str(source))
    if is_in_memory(source) or collection is not None:
        problems = Problems("qrels" if collection is None else str(source))
        records = (
            records_in_memory(source, "qrels", problems)
            if collection is None
            else _records_of_collection(collection, problems)
        )
        problems.refuse()
        qrels = qrels_of(
            records, problems, duplicates=duplicates, fractional=fractional, groups=groups, intents=intents
        )
    else:
        content = read_content(path_of(source))
        problems = Problems(content.source)
        qrels = parse_qrels(
            content, problems, format=format, duplicates=duplicates, fractional=fractional, groups=groups,
            intents=intents,
        )  # fmt: skip
    problems.refuse()
    return qrels


def parse_run(
    content: Content,
    problems: Problems,
    *,
    format: str | None = None,  # noqa: A002 - the word that users know
    name: str | None = None,
    duplicates: Duplicates = "error",
    with_ranks: bool = False,
) -> Run:
    """Parse a run from bytes; problems are reported, and raised only if nothing can be read."""
    records = records_of_file(content, "run", known_format(format), problems, more=with_ranks)
    run = run_of(records, problems, name=name, duplicates=duplicates, with_ranks=with_ranks)
    _note_nothing(len(run.docs), problems)
    return run


def parse_qrels(
    content: Content,
    problems: Problems,
    *,
    format: str | None = None,  # noqa: A002 - the word that users know
    duplicates: Duplicates = "error",
    fractional: Fractional = "refuse",
    groups: bool = False,
    intents: bool = False,
) -> Qrels:
    """Parse judgments from bytes; problems are reported, and raised only if nothing can be read."""
    form = known_format(format) or detect(content, content.source)
    if form == "prefs":
        compared = parse_preferences(content, problems, duplicates=duplicates)
        problems.refuse()  # levels that are no numbers, and circles, lead to no grades
        return united_preferences(compared)
    records = records_of_file(content, "qrels", form, problems, more=groups or intents)
    grouped = groups and form not in ("prels", "strata")  # these formats have no such column
    qrels = qrels_of(
        records, problems, duplicates=duplicates, fractional=fractional, groups=grouped, intents=intents
    )
    _note_nothing(len(qrels.docs), problems)
    if problems.found and not (groups or intents) and judged_by_group(content, form):
        problems.found = [
            problem._replace(text=_of_other_group(problem.text, subtopics=_names_subtopics(content, form)))
            for problem in problems.found
        ]
    return qrels


_OTHER_GROUP = (
    ", for another intent or by another person (second column); measures of intents, such as alpha_nDCG@10,"
    " read them all, and --policy duplicates=best takes the best grade of each document"
)


def _of_other_group(text: str, *, subtopics: bool) -> str:
    """Return the problem of a repeated document with what else than a mistake it may be."""
    seen, person, _ = text.partition(", judged by another person")
    return seen + _OTHER_GROUP if person and subtopics else text.replace("; expected it once", _OTHER_GROUP)


def judged_by_group(content: Content, form: str) -> bool:
    """Return whether documents are judged for intents, or several times but once by each person."""
    if form not in ("trec", *TABLES):
        return False
    problems = Problems(content.source)
    records = records_of_file(content, "qrels", form, problems, more=True)
    if problems.found or "group" not in records.columns:
        return False
    qrels = qrels_of(records, problems, duplicates="error", fractional="accept", groups=True)
    if problems.found or qrels.groups is None:
        return False
    repeated = len(repeated_rows(qrels.pair_keys(), qrels.docs)[0]) > 0
    return repeated or _name_intents(qrels, named=_names_subtopics(content, form))


def _names_subtopics(content: Content, form: str) -> bool:
    """Return whether a column says by its name that it holds intents."""
    if form not in ("csv", "tsv", "json", "jsonl"):
        return False
    return re.search(r"\b(subtopic|intent)\b", first_record(content), re.IGNORECASE) is not None


def _name_intents(qrels: Qrels, *, named: bool) -> bool:
    """Return whether the groups of some topic differ and are intents, although no document is listed twice.

    If the column's name does not say so, intents are words that each occur for one of several topics: people
    judge several topics, and numbers may be rounds of judging.
    """
    groups = qrels.groups
    if groups is None or not len(groups) or all((word == word[0]).all() for word in groups.words()):
        return False
    topics = np.repeat(np.array(qrels.topics, object), qrels.sizes).tolist()
    pairs = set(zip(topics, groups.texts(), strict=True))
    names = [name for _, name in pairs]
    if named:
        return len(pairs) > len(qrels.topics)
    unique = len(names) == len(set(names)) and len(names) > len(qrels.topics) > 1
    return unique and not any(name.upper() == "Q0" or is_number(name) for name in names)


def parse_preferences(content: Content, problems: Problems, *, duplicates: Duplicates = "error") -> Qrels:
    """Parse preferences from bytes, with a row for each level of a document in a comparison.

    The preferences of one person for one topic must not contradict each other.
    """
    qrels = qrels_of(
        read_preferences(content, problems), problems, duplicates=duplicates, fractional="accept", groups=True
    )
    _note_nothing(len(qrels.docs), problems)
    note_contradictions(qrels, problems)
    return qrels


def records_of_file(
    content: Content, kind: Kind, form: str | None, problems: Problems, *, more: bool
) -> Records:
    """Return the records of a file; in TREC text, `more` adds the ranks of a run or the assessors."""
    form = form or detect(content, content.source)
    if form in TABLES:
        return _table_readers(form)(content, kind, problems) or _nothing(kind)
    if kind == "run":
        records = read_trec_run(content, problems, with_ranks=more)
    elif form == "prels":
        return read_prels(content, problems)
    elif form == "strata":
        return read_strata(content, problems)
    else:
        records = read_trec_qrels(content, problems, groups=more)
    _note_other_kind(content, problems, kind)
    return records


def _table_readers(form: str) -> Callable[[Content, Kind, Problems], Records | None]:
    if form in ("csv", "tsv"):
        return read_delimited
    if form == "parquet":
        return read_parquet
    from sounding.data import structured  # imports the JSON module, which plain TREC text does not need

    return structured.read_json if form == "json" else structured.read_jsonl


def detect(content: Content, source: str | Path) -> str:
    """Return the format of a source: by its first bytes, then by its name, then by its first line.

    A name that promises commas or tabs is ignored if the first line has none, or if blanks split it into
    TREC's fields.
    """
    if content.starts_with(b"PAR1"):
        return "parquet"
    line = first_record(content)
    by_name = _BY_EXTENSION.get(extension(source))
    words = _words(line)
    if len(words) == 5 and all(map(is_number, words[3:])) and _compares(content):
        return "prefs"
    if by_name in ("csv", "tsv"):
        if not any(separator in line for separator in (TAB, COMMA, SEMICOLON)):
            return "trec"
        as_table = len(line.split(TAB)) == len(words) in (4, 6) or _has_three_columns(line)
        return _trec_form(words) if _has_trec_shape(words) and not as_table else by_name
    if by_name is not None:
        return by_name
    if line.lstrip().startswith(("{", "[")):
        return _json_or_lines(content)
    return _table_or_trec(line)


def _compares(content: Content) -> bool:
    """Return whether the first lines list several documents for the same topic, group and subgroup.

    Then they are preferences between documents whose ids are numbers. In prels, and in qrels with strata,
    these three fields belong to one document.
    """
    documents: dict[bytes, bytes] = {}
    for line in bytes(content.buffer[: min(content.size, LOOKED_AT)]).split(b"\n"):
        fields = line.split()
        if len(fields) != 5 or line.startswith(b"#"):
            continue
        if not fields[4].lstrip(b"-").isdigit():
            return False
        if documents.setdefault(b" ".join(fields[:3]), fields[3]) != fields[3]:
            return True
    return False


def _json_or_lines(content: Content) -> str:
    """Distinguish JSON lines, where the first line is a complete object, from one JSON value."""
    lines = [line for line in bytes(content.view).split(b"\n") if line.strip() and not line.startswith(b"#")]
    several = len(lines) > 1 and all(line.strip().startswith(b"{") for line in lines[:2])
    if several and lines[0].strip().endswith(b"}"):
        return "jsonl"
    names = [text.strip(' "') for text in lines[0][:400].decode("utf-8", "replace").strip("{} ").split('"')]
    return "jsonl" if len(lines) == 1 and is_header(names) else "json"


def _table_or_trec(line: str) -> str:
    """Tell from a line whether fields are separated as in TREC text, by tabs, or by commas.

    TREC's fields are tried first, because their white space may mix tabs and blanks.
    """
    for separator, form in ((TAB, "tsv"), (COMMA, "csv"), (SEMICOLON, "csv")):
        parts = [part.strip(' "') for part in line.split(separator)]
        if is_header(parts):
            return form
    words = _words(line)
    if _has_trec_shape(words):
        return _trec_form(words)
    if _has_three_columns(line) or (len(words) == 3 and line.count(TAB) == 2):
        return "tsv"
    # Ids may contain commas. In a table with blanks after its commas, every word but the last ends in one.
    as_trec = len(words) >= 4 and not all(word.endswith((COMMA, SEMICOLON)) for word in words[:-1])
    if not as_trec and max(line.count(COMMA), line.count(SEMICOLON)) >= 2:
        return "csv"
    return _trec_form(words)


def _words(line: str) -> list[str]:
    """Split a line into fields, as the reader of TREC text does."""
    return re.findall(r"[^\x00-\x20]+", line)


def is_number(text: str) -> bool:
    """Return whether a text spells a number as runs and judgments have them."""
    return re.fullmatch(_NUMBER, text) is not None


def _has_trec_shape(words: list[str]) -> bool:
    """Return whether fields certainly are TREC's: numbers where expected, and Q0 or a number second.

    In prels the second field is the document, and the last three fields are numbers.
    """
    if len(words) == 5 and all(map(is_number, words[2:])):
        return True
    numbers = {4: words[3:], 5: words[4:]}.get(len(words), words[3:5] if len(words) > 5 else [])
    second = len(words) > 1 and (words[1].upper() == "Q0" or is_number(words[1]))
    return second and bool(numbers) and all(map(is_number, numbers))


def _has_three_columns(line: str) -> bool:
    """Return whether tabs split a line into topic, document and number; a document id may contain blanks."""
    columns = [column.strip() for column in line.split(TAB)]
    return len(columns) == 3 and len(_words(columns[0])) == 1 and bool(columns[1]) and is_number(columns[2])


def _trec_form(words: list[str]) -> str:
    return _prels_or_strata(words) if len(words) == 5 else "trec"


def _prels_or_strata(words: list[str]) -> str:
    """Return the format by the last fields: a probability (prels), or after a stratum a grade (strata).

    0 and 1 are grades if the third field is not a number. In preferences the fourth field is a document. If
    the fifth field is no number, the line has one field too many.
    """
    if not is_number(words[3]) and is_number(words[4]):
        return "prefs"
    graded = is_number(words[2])
    if re.fullmatch(r"-?[0-9]+", words[4]) and (words[4] not in ("0", "1") or not graded):
        return "strata"
    return "prels" if graded and is_number(words[4]) else "trec"


def _note_other_kind(content: Content, problems: Problems, kind: Kind) -> None:
    """Add to a wrong number of fields that the file looks like the other kind, in case they were swapped."""
    if not problems.found:
        return
    words = first_record(content).split()
    if kind == "qrels":
        swapped = len(words) == 6 and all(map(is_number, words[3:5]))
    else:
        swapped = len(words) in (4, 5) and is_number(words[-1])
    if swapped:
        counted = f"{len(words)} fields; expected "
        hint = "(this looks like a run)" if kind == "qrels" else "(this looks like qrels)"
        problems.found = [
            problem._replace(text=f"{problem.text} {hint}") if problem.text.startswith(counted) else problem
            for problem in problems.found
        ]


def known_format(form: str | None) -> str | None:
    """Return the format; raise an error if there is none of this name."""
    if form is not None and form not in FORMATS:
        raise UnknownNameError("format", form, FORMATS)
    return form


def _note_nothing(rows: int, problems: Problems) -> None:
    if not rows and not problems.found:
        problems.note(1, "the file has no data; expected a topic, a document and a number in each line")


def _nothing(kind: Kind) -> Records:
    """Return empty records with all columns; the reason has been reported already."""
    roles = ("topic", "doc", "score", "rank") if kind == "run" else ("topic", "doc", "grade", "group")
    return Records(dict.fromkeys(roles, Tokens.from_strings([])))


def is_in_memory(source: Any) -> bool:
    """Return whether a source is a table, mapping, frame or list of rows rather than a file."""
    return isinstance(source, Run | Qrels | Mapping) or is_frame(source) or is_rows(source)


def path_of(source: Any) -> str | Path:
    """Return a source as a file name; raise an error if it is none."""
    if isinstance(source, str | Path):
        return source
    kind = f"{type(source).__module__}.{type(source).__name__}".removeprefix("builtins.")
    raise DataError(
        f"cannot read from an object of type {kind}; expected a file name, a dict of dicts or a frame"
    )


def records_in_memory(source: Any, kind: Kind, problems: Problems) -> Records:
    """Return the rows of a mapping, frame or list."""
    if is_frame(source):
        return records_of_frame(source, kind, problems) or _nothing(kind)
    if is_rows(source):
        return records_of_rows(source, kind, problems)
    value = VALUE[kind]
    if not isinstance(source, Mapping):
        wanted = "a run" if kind == "run" else "qrels"
        raise DataError(
            f"cannot read {wanted} from {type(source).__name__}; expected {{topic: {{doc: {value}}}}}"
        )
    ranked = kind == "run" and any(map(_is_ranked, source.values()))
    expected = "{topic: [doc, ...]}" if ranked else f"{{topic: {{doc: {value}}}}}"
    columns: dict[str, list[Any]] = {"topic": [], "doc": [], "rank" if ranked else value: []}
    for topic, docs in source.items():
        if not (_is_ranked(docs) or docs in ([], ()) if ranked else isinstance(docs, Mapping)):
            raise DataError(
                f"{problems.source}: topic {quote(str(topic))} is {describe_value(docs)}; expected {expected}"
            )
        columns["topic"] += [topic] * len(docs)
        columns["doc"] += docs
        if ranked:
            columns["rank"] += range(1, len(docs) + 1)
        else:
            columns[value] += docs.values()
    if not columns["topic"]:
        raise DataError(f"{problems.source}: no topic has documents; expected {expected}")
    return records_of_items(columns, None, problems)


def _collection(source: str) -> Any | None:
    """Return the ir_datasets collection of this id; None if it is a file name."""
    asked = source.startswith(IRDS)
    if not asked and (source == "-" or is_remote(source) or Path(source).suffix or Path(source).exists()):
        return None
    try:
        package = importlib.import_module("ir_datasets")
    except ImportError as error:
        if asked:
            raise MissingPartError("ir_datasets", f"reading {source!r}", "datasets") from error
        return None
    try:
        collection = package.load(source.removeprefix(IRDS))
    except KeyError as error:
        if asked:
            raise DataError(
                f"ir_datasets has no collection {source.removeprefix(IRDS)!r}; check the id"
            ) from error
        return None
    if not collection.has_qrels():
        raise DataError(f"the collection {source!r} has no judgments; name one of its subsets that has some")
    return collection


def _records_of_collection(collection: Any, problems: Problems) -> Records:
    judgments = list(collection.qrels_iter())
    if not judgments:
        raise DataError(
            f"the collection {problems.source!r} has no judgments; name one of its subsets that has some"
        )
    return records_of_rows(judgments, "qrels", problems)


HEAD = 1 << 16  # bytes that show the format of a file
TAIL = 1 << 14  # bytes that include the last lines


def quick_tag(source: Any, run_format: str | None = None) -> str | None:
    """Return the tag in the last line of an uncompressed local TREC run; None: the run must be read first."""
    if not isinstance(source, str | Path) or str(source) == STDIN or is_remote(source):
        return None
    try:
        head = head_of(source, HEAD)
        if unpacker(head) is not None or (run_format or detect(as_text(head), source)) != "trec":
            return None
    except SoundingError:  # reported when the run is read
        return None
    with locate_file(source).open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - TAIL))
        tail = file.read()
    lines = tail if size <= TAIL else tail.partition(b"\n")[2]
    problems = Problems(str(source))
    run = parse_run(Content.from_bytes(str(source), lines), problems, format="trec")
    return run.tag if len(run.docs) and not problems.found else None
