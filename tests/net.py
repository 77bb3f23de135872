"""The net: records what every command prints, and compares two recordings byte for byte.

    python -m tests.net record FOLDER [--sounding EXECUTABLE] [--only compare,evaluate] [--jobs 2]
    python -m tests.net compare BEFORE AFTER [--accept FILE]

`tests/net_calls.txt` lists the command lines and `tests/net_inputs.py` makes the files that they read. A recording
has one text file for each call in FOLDER/outputs: the command line, the exit status, what went to standard output
and standard error, and every file that the call wrote. Make one before a change and one after it. A difference that
is meant goes into the file of `--accept`: a call or a glob, a tab, the reason.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path

from tests import net_inputs, net_judging

CALLS = Path(__file__).with_name("net_calls.txt")
ENVIRONMENT = {
    "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1", "PYTHONHASHSEED": "0", "TZ": "UTC",
}  # fmt: skip
SECONDS = 900  # after which a call is stopped, and recorded as that
ONE_PROCESS = (  # verbs with --jobs
    "agree", "audit", "calibrate", "compare", "convert", "depth", "evaluate", "plan", "pool", "report", "simulate",
)  # fmt: skip
ALL = "all"
WIDEST = 160  # characters of a line that `compare` shows
LONGEST = 400_000  # bytes of a text file that is recorded whole
LIBRARY = 100_000  # bytes of a script from which on it is Vega and not ours


@dataclass(frozen=True, slots=True)
class Volatile:
    """Something that may differ between two recordings of the same program."""

    pattern: str
    stands_for: str
    reason: str
    calls: str = "*"  # a glob of their names


PEOPLE = "judge-people-*"  # calls of the session in which people judge
VOLATILE = (
    Volatile(r"(/welcome/)[\w-]+", r"\1<token>", "one-time links are random"),
    Volatile(r'("time": ?)\d+\.\d+', r"\1<time>", "events of a judging project have the time of day"),
    Volatile(r'("process": ?")\w+', r"\1<process>", "events that fit the model name the process at random"),
    Volatile(r'("key": ?")[0-9a-f]{32}', r"\1<key>", "the command line gives its judgments random keys"),
    Volatile(r"(\.tantivy/)[0-9a-f]{32}", r"\1<name>", "tantivy names the files of an index at random"),
    Volatile(r"(http://127\.0\.0\.1:)\d+", r"\1<port>", "a judging server takes a free port"),
    Volatile(r"(SQLite )\d+\.\d+\.\d+", r"\1<version>", "`judge status` names the machine's SQLite"),
    Volatile(
        r"\b((?:sounding|Python|numpy|scipy|polars|altair|vl-convert-python)"
        r'(?:</th><td>|,| \| | & | |": "|",\s*"version": "))\d+(?:\.\w+)+',
        r"\1<version>",
        "reports and pages name the versions of all packages",
    ),
    Volatile(r"(schema/vega-lite/v)[\d.]+", r"\1<version>.", "so do charts"),
    Volatile(
        r"(?m)(^ *\. )\S+(/bin/activate)$", r"\1<environment>\2", "the demo names its environment", "demo-*"
    ),
    Volatile(
        r"(-)[0-9a-f]{12}(-)[0-9a-f]{12}(?=\.parquet)",
        r"\1<digest>\2<digest>",
        "names of stored results hold digests of the time of a run's file and of settings as Python prints them",
        "evaluate-store-*",
    ),
    Volatile(r'(?m)^.*"kind":"(?:fit|refit)".*\n', "", "a server fits the model when it finds time", PEOPLE),
    Volatile(r'("(?:sequence|undoes)": ?)\d+', r"\1<number>", "and so events get other numbers", PEOPLE),
    Volatile(r'("(?:belief|known|model_version)":)[^,}]+', r"\1<value>", "and beliefs differ", PEOPLE),
    Volatile(r"(as of event )\d+|\b\d+(?= events)", r"\1<number>", "and events are more or fewer", PEOPLE),
)
NOT_RECORDED = {  # files of which only the name is recorded
    "*.sqlite": "a database holds times and random tokens",
    "*.tantivy/*": "an index holds random names",
    "*store/*.parquet": "stored results hold the time of a run's file, as a digest; a later call reads them",
    "*.pdf": "vl-convert writes another file each time",
}
TRANSIENT = ("*-wal", "*-shm", "*-journal")  # SQLite makes and removes them as it likes


@dataclass(frozen=True, slots=True)
class Call:
    """One command line, and the name of its file in a recording."""

    number: int
    name: str
    line: str
    session: str  # calls of one session run one after the other in one folder

    @property
    def verb(self) -> str:
        """The command whose behavior the call shows; `--only` chooses by it."""
        return self.name.partition("-")[0]

    @property
    def file(self) -> str:
        """The name of the call's file in a recording."""
        return f"{self.number:04}-{self.name}.txt"


# -- the table of calls ----------------------------------------------------------------------------


def calls_of(text: str, inputs: Path) -> Iterator[Call]:
    """Read the table: sections in brackets, below each of them lines `name: command line`."""
    number, shapes, formats, session = 0, [""], [""], ""
    for row in text.splitlines():
        if not row or row.startswith("#"):
            continue
        if row.startswith("["):
            words = row.strip("[]").split()
            session = "-".join(words[1:]) if words[0] == "session" else ""
            before, _, after = row.strip("[]").partition("|")
            shapes, formats = ([""], [""]) if session or not after else (before.split(), after.split())
            continue
        what, _, line = row.partition(": ")
        verb = next((word for word in shlex.split(line) if "=" not in word and word[0] != "-"), "sounding")
        for shape in shapes:
            for layout in formats:
                number += 1
                filled = _with_layout(_filled(line, shape, inputs), verb, layout)
                parts = [session, what] if session else [verb, what, shape, layout]
                name = "-".join(part for part in parts if part)
                yield Call(number, name, filled, session or name)


def _filled(line: str, shape: str, inputs: Path) -> str:
    """Put the files and runs of a shape into a command line."""
    if not shape:
        return line
    runs = sorted(path.name for path in (inputs / shape / "runs").iterdir())
    first, second = (name.removeprefix("input.").partition(".")[0] for name in runs[:2])
    info = {"graded": "files/graded-info.tsv", "campaign": "campaign/info.tsv", "trec8": "trec8/info.tsv"}
    words = {
        "qrels": f"{shape}/qrels.txt",
        "runs": f"{shape}/runs" + (" --policy duplicates=first" if shape == "dirty" else ""),
        "folder": f"{shape}/runs",
        "info": f"--info {info[shape]}" if shape in info else "",
        "second": f"files/{shape}-second.txt",
        "third": f"files/{shape}-third.txt",
        "a": first,
        "b": second,
    }
    return " ".join(line.format(**words).split())


def _with_layout(line: str, verb: str, layout: str) -> str:
    """Ask for one layout, and for one process where a command can have several."""
    if layout == "parquet":
        line += " -o out.parquet"
    elif layout == "html":
        line += " -o out.html"
    elif layout not in ("", "table"):
        line += f" --format {layout}"
    if (
        verb not in ONE_PROCESS
        or re.search(r" --(jobs|help)\b|<", line)
        or (verb == "agree" and "--runs" not in line)
    ):
        return line
    return f"{line} --jobs 1"


# -- recording -------------------------------------------------------------------------------------


def record(folder: Path, sounding: Path, only: Sequence[str], jobs: int) -> None:
    """Run the calls of these verbs (none given: all) and write a file for each into FOLDER/outputs."""
    inputs, outputs, work = folder / "inputs", folder / "outputs", folder / "work"
    inputs.mkdir(parents=True, exist_ok=True)
    net_inputs.make(inputs)
    for old in (outputs, work):
        shutil.rmtree(old, ignore_errors=True)
        old.mkdir()
    (folder / "verbs.txt").unlink(missing_ok=True)
    calls = list(calls_of(CALLS.read_text("utf-8"), inputs))
    for what, names in {
        "two calls have the name": [
            name for name, times in Counter(call.name for call in calls).items() if times > 1
        ],
        "--only: there is no call of": sorted(set(only) - {call.verb for call in calls}),
    }.items():
        if names:
            raise SystemExit(f"{what} {', '.join(names)}")
    chosen = [call for call in calls if not only or call.verb in only]
    (outputs / "0000-inputs.txt").write_text(_digests(inputs))
    units = [list(unit) for _, unit in groupby(chosen, lambda call: call.session)]
    begun, seconds = time.monotonic(), dict[str, float]()
    with ThreadPoolExecutor(jobs) as pool:
        for done in pool.map(lambda unit: _run_unit(unit, sounding, folder), units):
            seconds |= done
            if len(seconds) // 50 > (len(seconds) - len(done)) // 50 or len(seconds) == len(chosen):
                _say(f"{len(seconds)} of {len(chosen)} calls, {time.monotonic() - begun:.0f} s")
    shutil.rmtree(work)
    (folder / "verbs.txt").write_text(",".join(only) or ALL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    _say(f"{used.ru_utime + used.ru_stime:.0f} s of processor time; the slowest:")
    for name in sorted(seconds, key=seconds.__getitem__, reverse=True)[:10]:
        _say(f"  {seconds[name]:5.1f} s  {name}")


def _run_unit(unit: Sequence[Call], sounding: Path, folder: Path) -> dict[str, float]:
    """Run calls that belong together in a folder of links to the inputs; return the seconds of each."""
    work, seconds = folder / "work" / unit[0].name, dict[str, float]()
    work.mkdir()
    for path in (folder / "inputs").iterdir():
        (work / path.name).symlink_to(Path("..", "..", "inputs", path.name))
    known = dict[str, bytes]()
    for call in unit:
        begun = time.monotonic()
        text = _run(call, sounding, work, known)
        text = text.replace(str(folder.resolve()).encode(), b"<folder>")
        (folder / "outputs" / call.file).write_bytes(text)
        seconds[call.name] = time.monotonic() - begun
    shutil.rmtree(work)
    return seconds


def _run(call: Call, sounding: Path, work: Path, known: dict[str, bytes]) -> bytes:
    """Run one call; `known` holds the files that are there already, and then also those that it wrote."""
    try:
        status, streams = _outcome(call, sounding, work)
    except subprocess.TimeoutExpired:
        status, streams = f"none: stopped after {SECONDS} s", {}
    blocks = [f"$ sounding {call.line}\nexit status {status}\n".encode()]
    blocks += [_block(call, name, data) for name, data in streams.items()]
    names = {path: str(path.relative_to(work)) for path in _files(work)}
    found = {name: _block(call, f"file {name}", path.read_bytes()) for path, name in names.items()}
    blocks += [block for name, block in found.items() if known.get(name) != block]
    blocks += [f"== {name} is gone\n".encode() for name in known if name not in found]
    known.clear()
    known.update(found)
    return b"".join(blocks)


def _outcome(call: Call, sounding: Path, work: Path) -> tuple[str, dict[str, bytes]]:
    """Run a command line in a fixed environment; return its exit status and what it printed where."""
    words, stdin = shlex.split(call.line), b""
    if "<" in words:
        stdin = (work / words[-1]).read_bytes()
        words = words[: words.index("<")]
    environment = {"HOME": str(work), "PATH": os.environ["PATH"], **ENVIRONMENT}
    while words and "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    command = [str(sounding), *words]
    if words[:2] == ["judge", "serve"] and (work / words[2]).is_dir():
        return net_judging.serve(command, work, environment)
    done = subprocess.run(
        command, cwd=work, env=environment, input=stdin, capture_output=True, timeout=SECONDS
    )
    return str(done.returncode), {"stdout": done.stdout, "stderr": done.stderr}


def _files(work: Path) -> list[Path]:
    """Return the files that calls wrote: all but the links to the inputs."""
    own = (path for entry in work.iterdir() if not entry.is_symlink() for path in (entry, *entry.rglob("*")))
    return sorted(
        path for path in own if path.is_file() and not any(fnmatchcase(path.name, one) for one in TRANSIENT)
    )


def _block(call: Call, title: str, data: bytes) -> bytes:
    """Return a part of a recording: its title, and the data as lines that can be compared."""
    block = f"== {title}\n".encode() + _readable(title, data)
    for one in VOLATILE:
        if fnmatchcase(call.name, one.calls):
            block = re.sub(one.pattern.encode(), one.stands_for.encode(), block)
    return block if block.endswith(b"\n") else block + b"\n== no line end\n"


def _readable(title: str, data: bytes) -> bytes:
    """Return text as it is, pages with their data unpacked, and a digest of everything else."""
    for pattern, reason in NOT_RECORDED.items():
        if fnmatchcase(title, pattern):
            return f"not recorded: {reason}\n".encode()
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    if data.startswith(b"<!DOCTYPE html>"):
        return re.sub(rb"(<script[^>]*>)(.*?)(?=</script>)", _script, data, flags=re.DOTALL)
    if b"\0" in data or (title.startswith("file ") and len(data) > LONGEST):
        return f"{len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}\n".encode()
    return data


def _script(match: re.Match[bytes]) -> bytes:
    """Return a script of a page: tables and charts unpacked, without the library that draws."""
    tag, body = match.groups()
    if body.startswith(b"H4sI"):
        body = b"\n" + gzip.decompress(base64.b64decode(body)) + b"\n"
    elif len(body) > LIBRARY:
        body = b"(Vega)"
    return tag + body


def _digests(inputs: Path) -> str:
    """Return a line for every input, so that two recordings show when they read different files."""
    paths = sorted(path for path in inputs.rglob("*") if path.is_file())
    rows = ((hashlib.sha256(path.read_bytes()).hexdigest(), path.relative_to(inputs)) for path in paths)
    return "".join(f"{digest}  {name}\n" for digest, name in rows)


# -- comparing -------------------------------------------------------------------------------------


def compare(before: Path, after: Path, accept: Path | None) -> int:
    """Say which calls differ between two recordings; return 1 if there are any that nobody accepted."""
    verbs = [_verbs(folder) for folder in (before, after)]
    old, new = (_recorded(folder, verbs) for folder in (before, after))
    reasons = _reasons(accept)
    differing = {
        name: text for name in sorted({*old, *new}) if (text := _difference(old.get(name), new.get(name)))
    }
    accepted = {
        name: reason for name in differing for pattern, reason in reasons if fnmatchcase(name, pattern)
    }
    needless = [
        pattern
        for pattern, _ in reasons
        if any(fnmatchcase(name, pattern) for name in {*old, *new})
        and not any(fnmatchcase(name, pattern) for name in differing)
    ]
    for name, text in differing.items():
        if name not in accepted:
            _say(f"{name}: {text}")
    for name, reason in accepted.items():
        _say(f"accepted: {name} ({reason}): {differing[name]}")
    for pattern in needless:
        _say(f"accepted, but nothing differs: {pattern}")
    open_ones = len(differing) - len(accepted)
    _say(f"{len({*old, *new})} calls: {open_ones} differ, {len(accepted)} accepted differences")
    return 1 if open_ones or needless or not old else 0


def _verbs(folder: Path) -> set[str]:
    """Return the verbs whose calls a recording has."""
    path = folder / "verbs.txt"
    if not path.exists():
        raise SystemExit(f"{folder}: not a finished recording")
    return set(path.read_text().split(","))


def _recorded(folder: Path, verbs: Sequence[set[str]]) -> dict[str, Path]:
    """Return the files of a recording by the names of their calls, as far as both recordings have the verb."""
    names = {path.stem.partition("-")[2]: path for path in sorted((folder / "outputs").iterdir())}
    return {
        name: path
        for name, path in names.items()
        if name == "inputs" or all(ALL in one or name.partition("-")[0] in one for one in verbs)
    }


def _reasons(accept: Path | None) -> list[tuple[str, str]]:
    """Return the patterns of calls whose differences are accepted, each with the reason."""
    rows = (
        []
        if accept is None
        else [line.partition("\t") for line in accept.read_text("utf-8").splitlines() if line]
    )
    for pattern, _, reason in rows:
        if not reason.strip():
            raise SystemExit(f"{accept}: expected a call, a tab and a reason; found {pattern!r}")
    return [(pattern.strip(), reason.strip()) for pattern, _, reason in rows]


def _difference(before: Path | None, after: Path | None) -> str:
    """Say how two files of a recording differ: the first line that does; nothing where they are equal."""
    if before is None or after is None:
        return "missing" if after is None else "new"
    if before.read_bytes() == after.read_bytes():
        return ""
    lines = [path.read_bytes().decode("utf-8", "backslashreplace").split("\n") for path in (before, after)]
    place = _first_difference(*lines)
    old, new = (one[place] if place < len(one) else "(no more lines)" for one in lines)
    begin = max(_first_difference(old, new) - WIDEST // 2, 0)
    shown = [("…" if begin else "") + line[begin : begin + WIDEST] for line in (old, new)]
    return f"line {place + 1}\n  before: {shown[0]}\n  after:  {shown[1]}"


def _first_difference(old: Sequence[str], new: Sequence[str]) -> int:
    """Return the first place at which two texts, or lists of lines, differ."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(old), len(new)))


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.net", description=(__doc__ or "").partition("\n")[0]
    )
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="record what every command prints")
    recording.add_argument("folder", type=Path)
    recording.add_argument("--sounding", type=Path, default=Path(sys.executable).with_name("sounding"))
    recording.add_argument("--only", default="", metavar="VERB,VERB...", help="only calls of these commands")
    recording.add_argument("--jobs", type=int, default=2, metavar="N", help="calls that run at once")
    comparing = commands.add_parser("compare", help="compare two recordings")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--accept", type=Path, metavar="FILE", help="differences that are meant")
    given = parser.parse_args()
    if given.command == "compare":
        return compare(given.before, given.after, given.accept)
    record(
        given.folder, given.sounding.absolute(), [word for word in given.only.split(",") if word], given.jobs
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
