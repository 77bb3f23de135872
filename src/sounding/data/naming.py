"""What runs are called: one name for each file, whatever other files are given; and how a run is found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sounding.data.sources import STDIN_NAME, plain_name
from sounding.errors import UnknownNameError

ARCHIVED = "input."  # TREC's archive keeps the run NAME as input.NAME.gz


def run_name(source: str | Path) -> str:
    """Return the name of the run in a file: bm25 for runs/bm25.txt.gz, and for TREC's input.bm25.gz."""
    name = plain_name(source)
    return name.removeprefix(ARCHIVED) or name


def name_or_tag(source: str, tag: str) -> str:
    """Return the name of a run that was read: that of its file, or its tag where it has no file."""
    return tag if source == STDIN_NAME else run_name(source)


def run_names(sources: Sequence[str | Path], names: Sequence[str]) -> list[str]:
    """Return the names of the runs, no two alike; only those that are shared change.

    Files of one name in different folders get as many folders in front as tell them apart. Where only the
    extension differs, the whole path is the name. Runs without a file are numbered.
    """
    found = list(names)
    folders = [Path(source).parts[:-1] for source in sources]
    for depth in range(1, 1 + max(map(len, folders), default=0)):
        shared = _shared(found)
        if not shared:
            break
        found = [
            "/".join((*parts[-depth:], own)) if name in shared else name
            for name, own, parts in zip(found, names, folders, strict=True)
        ]
    shared = _shared(found)
    return _numbered(
        [str(source) if name in shared else name for name, source in zip(found, sources, strict=True)]
    )


def _shared(names: Iterable[str]) -> set[str]:
    return {name for name, count in Counter(names).items() if count > 1}


def _numbered(names: list[str]) -> list[str]:
    """The names, with a number behind those that stood before: run, run#2, run#3."""
    seen: set[str] = set()
    for place, name in enumerate(names):
        number = 1
        while names[place] in seen:
            number += 1
            names[place] = f"{name}#{number}"
        seen.add(names[place])
    return names


class RunIndex:
    """Finds the run that a person means: by its name, its tag or its file, with or without extension."""

    def __init__(self, names: Sequence[str], tags: Sequence[str] = (), sources: Sequence[Any] = ()) -> None:
        """`sources` are what the runs were read from, in the same order; only files among them count."""
        files = [source if isinstance(source, str | Path) else None for source in sources]
        self._names = tuple(names)
        loose = [*enumerate(map(run_name, names)), *enumerate(map(run_name, tags))]
        loose += [(place, run_name(file)) for place, file in enumerate(files) if file is not None]
        self._exact = [
            _places(enumerate(names)),
            _places(enumerate(tags)),
            _places((place, str(file)) for place, file in enumerate(files) if file is not None),
            _places((place, Path(file).name) for place, file in enumerate(files) if file is not None),
        ]
        self._loose = _places(loose)

    def find(self, name: str) -> int | None:
        """Return the place of the one run that is called this; None where there is none, or several."""
        for places in self._exact:
            if len(found := places.get(name, ())) == 1:
                return next(iter(found))
        found = self._loose.get(run_name(name), set())
        return next(iter(found)) if len(found) == 1 else None

    def place(self, name: str) -> int:
        """As `find`, with an error where no single run is meant."""
        found = self.find(name)
        if found is None:
            raise UnknownNameError("run", name, self._names)
        return found


def _places(named: Iterable[tuple[int, str]]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for place, name in named:
        found.setdefault(name, set()).add(place)
    return found
