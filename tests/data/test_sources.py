"""Bytes from files, folders, archives and standard input."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backports import zstd

from sounding.core.errors import DataError, FormatError, MissingPartError
from sounding.data.fast.tokens import MARGIN
from sounding.data.finding import find_files, find_files_below, find_runs
from sounding.data.sources import (
    Content,
    extension,
    plain_name,
    read_content,
    refuse_stdin_twice,
)

TEXT = b"301 Q0 a 1 2.5 bm25\n301 Q0 b 2 1.5 bm25\n"
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": zstd.compress,
}  # fmt: skip


def text_of(content: Content) -> bytes:
    return bytes(content.view)


def stored(folder: Path, data: bytes, name: str = "run.txt") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def test_a_plain_file_is_its_bytes_with_a_margin_of_zeros_that_may_be_written(tmp_path: Path) -> None:
    content = read_content(stored(tmp_path, TEXT))
    assert text_of(content) == TEXT
    assert content.size == len(TEXT)
    assert len(content.buffer) >= len(TEXT) + MARGIN
    assert not content.buffer[len(TEXT) :].any()
    content.buffer[len(TEXT)] = 10


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_archives_are_known_by_their_first_bytes_not_by_their_name(kind: str, tmp_path: Path) -> None:
    content = read_content(stored(tmp_path, COMPRESSORS[kind](TEXT), "run.txt"))
    assert text_of(content) == TEXT
    assert not content.buffer[content.size :].any()
    assert len(content.buffer) - content.size >= MARGIN
    content.buffer[content.size] = 10


def test_a_name_that_promises_gzip_does_not_make_plain_text_an_archive(tmp_path: Path) -> None:
    assert text_of(read_content(stored(tmp_path, TEXT, "run.gz"))) == TEXT


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_the_members_of_an_archive_follow_one_another(kind: str, tmp_path: Path) -> None:
    data = b"".join(COMPRESSORS[kind](b"%d x\n" % number) for number in range(300))
    expected = b"".join(b"%d x\n" % number for number in range(300))
    assert text_of(read_content(stored(tmp_path, data))) == expected


def test_an_archive_larger_than_a_piece_is_read_whole(tmp_path: Path) -> None:
    data = np.random.default_rng(1).integers(33, 127, 3_000_000, np.uint8).tobytes()
    packed = gzip.compress(data, 1) + gzip.compress(TEXT)
    assert len(packed) > 2 << 20
    assert text_of(read_content(stored(tmp_path, packed))) == data + TEXT


def test_zeros_behind_an_archive_are_passed_over(tmp_path: Path) -> None:
    assert text_of(read_content(stored(tmp_path, gzip.compress(TEXT) + bytes(512)))) == TEXT


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_a_truncated_archive_says_that_it_ends_too_early(kind: str, tmp_path: Path) -> None:
    path = stored(tmp_path, COMPRESSORS[kind](TEXT)[:-6])
    with pytest.raises(FormatError, match=rf"run\.txt: the {kind} archive ends too early"):
        read_content(path)


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_a_damaged_archive_is_one_line(kind: str, tmp_path: Path) -> None:
    data = bytearray(COMPRESSORS[kind](TEXT * 50))
    data[len(data) // 2 :] = b"\xff" * (len(data) - len(data) // 2)
    with pytest.raises(FormatError, match=rf"({kind} archive)") as caught:
        read_content(stored(tmp_path, bytes(data)))
    assert "\n" not in str(caught.value)


def test_garbage_behind_an_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="damaged gzip archive"):
        read_content(stored(tmp_path, gzip.compress(TEXT) + b"more"))


def test_text_that_begins_like_bzip2_is_text(tmp_path: Path) -> None:
    assert text_of(read_content(stored(tmp_path, b"BZh91 Q0 a 1 2.5 x\n"))) == b"BZh91 Q0 a 1 2.5 x\n"


def test_other_archives_are_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="a zip archive; expected plain text or gz, bz2, xz, zst"):
        read_content(stored(tmp_path, b"PK\x03\x04rest"))


def test_zst_without_its_package_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    path = stored(tmp_path, zstd.compress(TEXT))
    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingPartError, match=r"pip install 'sounding\[zst\]'"):
        read_content(path)


def test_a_byte_order_mark_is_skipped_also_inside_an_archive(tmp_path: Path) -> None:
    for data in (b"\xef\xbb\xbf" + TEXT, gzip.compress(b"\xef\xbb\xbf" + TEXT)):
        content = read_content(stored(tmp_path, data))
        assert text_of(content) == TEXT
        assert content.buffer[0] == TEXT[0]


@pytest.mark.parametrize("encoding", ["UTF-16", "UTF-32"])
def test_other_encodings_are_named(encoding: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=f"the text is in {encoding} .*save it as UTF-8"):
        read_content(stored(tmp_path, TEXT.decode().encode(encoding)))


@pytest.mark.parametrize("encoding", ["UTF-16-LE", "UTF-16-BE"])
def test_two_bytes_a_character_are_named_without_a_byte_order_mark(encoding: str, tmp_path: Path) -> None:
    for text in (TEXT.decode(), "1 0"):
        with pytest.raises(FormatError, match=r"the text is in UTF-16 \(every second byte is 0\); save it"):
            read_content(stored(tmp_path, text.encode(encoding)))
    assert read_content(stored(tmp_path, b"1\x00")).size == 2  # too short to tell


@pytest.mark.parametrize("data", [b"", gzip.compress(b"")], ids=["plain", "gzip"])
def test_an_empty_file_is_an_error(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"run\.txt: the file is empty; expected at least one line"):
        read_content(stored(tmp_path, data))


def test_a_missing_file_suggests_its_neighbor(tmp_path: Path) -> None:
    stored(tmp_path, TEXT, "bm25.txt")
    with pytest.raises(FormatError, match=r"bm26\.txt: no such file; did you mean 'bm25\.txt'\?"):
        read_content(tmp_path / "bm26.txt")
    with pytest.raises(FormatError, match=r"no such file; the folder .*nowhere' does not exist"):
        read_content(tmp_path / "nowhere" / "x")
    with pytest.raises(FormatError, match="no such file; check the name"):
        read_content(tmp_path / "zzzzzzzz")


def test_folders_and_forbidden_files_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FormatError, match="this is a folder; expected a file"):
        read_content(tmp_path)
    with pytest.raises(FormatError, match=r"cannot be opened \(embedded null byte\)"):
        read_content("a\0b")

    def refuse(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(FormatError, match=r"may not be read \(permission denied\)"):
        read_content(tmp_path / "x")


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(TEXT))))
    content = read_content("-")
    assert text_of(content) == TEXT
    assert content.source == "standard input"


def test_a_named_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(TEXT,))
    writer.start()
    assert text_of(read_content(pipe)) == TEXT
    writer.join()


def test_a_folder_stands_for_its_files_sorted_and_without_those_that_are_no_runs(tmp_path: Path) -> None:
    for name in ("b.txt", "a.gz", ".hidden", "README.md", "license", "qrels.txt"):
        stored(tmp_path, TEXT, name)
    (tmp_path / "deeper").mkdir()
    assert find_runs(tmp_path) == [str(tmp_path / "a.gz"), str(tmp_path / "b.txt")]


def test_globs_that_the_shell_left_are_expanded_and_dashes_stay(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.csv", "odd[1].txt"):
        stored(tmp_path, TEXT, name)
    (tmp_path / "deeper").mkdir()
    stored(tmp_path / "deeper", TEXT, "d.csv")
    found = find_runs(["-", str(tmp_path / "?.txt"), str(tmp_path / "odd[1].txt")])
    assert found == ["-", *(str(tmp_path / name) for name in ("a.txt", "b.txt", "odd[1].txt"))]
    assert len(find_runs(str(tmp_path / "**" / "*.csv"))) == 2


def test_what_names_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no file matches '.*\*\.txt'; check the pattern"):
        find_runs(str(tmp_path / "*.txt"))
    with pytest.raises(DataError, match="holds no runs; expected at least one file"):
        find_runs(tmp_path)
    with pytest.raises(DataError, match="no such file"):
        find_runs(tmp_path / "x.txt")
    with pytest.raises(DataError, match="no runs"):
        find_runs([])
    with pytest.raises(DataError, match=r"'a\\x00b': no such file"):
        find_runs("a\0b")


def test_a_run_that_is_given_twice_is_named(tmp_path: Path) -> None:
    path = stored(tmp_path, TEXT)
    with pytest.raises(DataError, match=r"run\.txt' is given twice"):
        find_runs([path, tmp_path])
    for twice in ([path, path], ["-", "-"]):
        with pytest.raises(DataError, match="is given twice"):
            find_runs(twice)
    link = tmp_path / "link.txt"
    link.symlink_to(path)
    with pytest.raises(DataError, match=r"link\.txt' is given twice"):
        find_runs([path, link])


def test_hard_links_are_runs_of_their_own(tmp_path: Path) -> None:
    path, other = stored(tmp_path, TEXT), tmp_path / "other.txt"
    other.hardlink_to(path)
    assert find_runs([path, other]) == [str(path), str(other)]
    with pytest.raises(DataError, match=r"other\.txt' is given twice"):
        find_runs([path, other, other])


def test_names_lose_what_says_how_a_file_is_stored() -> None:
    assert plain_name("runs/bm25.trec.gz") == "bm25"
    assert plain_name("my.model.v2") == "my.model.v2"
    assert plain_name(".gz") == ".gz"
    assert plain_name("-") == "standard input"
    assert extension("a/b.CSV.gz") == ".csv"
    assert extension("a.b/c") == ""


def test_a_link_that_leads_nowhere_is_named_and_not_passed_over(tmp_path: Path) -> None:
    run = stored(tmp_path, TEXT)
    link = tmp_path / "second.txt"
    link.symlink_to("nowhere.txt")
    message = "second.txt'?: a link to 'nowhere.txt', which does not exist; fix or remove the link"
    for given in (tmp_path, str(tmp_path / "*.txt"), link):
        with pytest.raises(DataError, match=message):
            find_runs([given])
    with pytest.raises(FormatError, match=message):
        read_content(link)
    assert find_files([tmp_path]) == [str(run), str(link)]
    (tmp_path / ".hidden").symlink_to("nowhere.txt")
    link.unlink()
    assert find_runs([tmp_path]) == [str(run)]


def test_all_files_below_a_folder_are_found_whatever_they_are_called(tmp_path: Path) -> None:
    names = ["LICENSE", "README-x.txt", "b/c/qrels-x.txt", "b/readme.md", "z.txt"]
    for name in (*names, ".hidden", ".git/config", "b/._z.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    every = [str(tmp_path / name) for name in names]
    assert find_files_below([tmp_path]) == every
    assert find_files_below([f"{tmp_path}/*"]) == [*every[:2], *every[2:4], every[4]]
    assert find_files_below([f"{tmp_path}/**"]) == every
    assert find_files_below([tmp_path / "z.txt", tmp_path, "nowhere.txt"]) == [
        every[4],
        *every[:4],
        "nowhere.txt",
    ]
    with pytest.raises(DataError, match="no file matches"):
        find_files_below([f"{tmp_path}/*.pdf"])


def test_folders_that_links_lead_to_are_read_and_rounds_are_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.txt").write_text("x")
    (tmp_path / "docs").mkdir()
    with pytest.raises(DataError, match=r"docs' and its sub-folders hold no files"):
        find_files_below([tmp_path / "docs"])
    (tmp_path / "docs" / "linked").symlink_to(tmp_path / "elsewhere")
    assert find_files_below([tmp_path / "docs"]) == [str(tmp_path / "docs" / "linked" / "a.txt")]
    (tmp_path / "elsewhere" / "back").symlink_to(tmp_path / "docs")
    with pytest.raises(DataError, match=r"back' is a link to a folder that is already read"):
        find_files_below([tmp_path / "docs"])


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    message = "^standard input: can be read only once but is named twice; replace one with a file$"
    for _ in range(2):  # another stream may be read again
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT)))
        assert text_of(read_content("-")) == TEXT
        with pytest.raises(FormatError, match=message):
            read_content("-")
    with pytest.raises(FormatError, match=message):
        refuse_stdin_twice(["-", None, Path("-")])
    refuse_stdin_twice(["-", None, {"1": {"a": 1}}, "run.txt", "run.txt"])
