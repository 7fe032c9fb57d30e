"""Files appear whole or not at all, and errors say what to do."""

from __future__ import annotations

import errno
import os

import pytest

from expectant.core.files import StoreError, remove_scratch, write_text, write_whole


def listed(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError("no"), OSError(5, "broken")])
def test_what_fails_halfway_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = write_text(tmp_path / "name.txt", "old")

    def fail(file):
        file.write(b"new")
        raise error

    with pytest.raises((KeyboardInterrupt, ValueError, StoreError)):
        write_whole(path, fail)
    assert path.read_text() == "old"
    assert listed(tmp_path) == ["name.txt"]


def test_a_full_disk_is_one_sentence_that_says_what_to_do(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError) as caught:
        write_text(tmp_path / "name.txt", "text")
    assert str(caught.value) == (
        f"cannot write {tmp_path / 'name.txt'}: No space left on device; free some space, then the same "
        "command resumes where it stopped"
    )
    assert listed(tmp_path) == []


def test_a_file_in_the_way_of_a_folder(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(StoreError, match=r"^cannot write results to .*taken/new: Not a directory$"):
        write_text(tmp_path / "taken" / "new" / "name.txt", "text")
    with pytest.raises(StoreError, match=r"^cannot write .*: Is a directory$"):
        write_text(tmp_path, "text")


def test_scratch_of_killed_processes_is_removed(tmp_path):
    (tmp_path / ".name.txt.123.tmp").write_text("half")
    write_text(tmp_path / "name.txt", "whole")
    remove_scratch(tmp_path)
    assert listed(tmp_path) == ["name.txt"]
