"""How busy a machine is: what the benchmarks say next to a ratio of threads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from loading import module_at


def load_busy() -> Any:
    path = Path(__file__).parents[1] / "benchmarks" / "busy.py"
    return module_at(path, "expectant_busy")


busy = load_busy()


def test_the_share_of_others():
    before, after = busy.Used(100.0, 60.0, 1.0), busy.Used(140.0, 70.0, 11.0)
    assert busy.share_of_others(before, after) == 0.5  # 40 s, 10 of them idle, 10 our own
    assert busy.share_of_others(before, before) is None
    assert busy.share_of_others(None, after) is None


def test_the_line_of_all_cores_is_read(tmp_path, monkeypatch):
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 20 30 500 50 1 2 97 40 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
    monkeypatch.setattr(os, "sysconf", lambda name: 100)
    total, idle, _ = busy.used(stat)
    assert (total, idle) == (8.0, 5.5)  # guests are in the first two numbers already
    assert busy.used(tmp_path / "none") is None


def test_it_is_said_in_words():
    assert busy.in_words({"others": None, "load": None}) == "how busy the machine was is not known"
    with busy.watched() as found:
        sum(range(10**6))
    assert set(found) == {"others", "load"}
    text = busy.in_words({"others": 0.25, "load": 3.04})
    assert text == "others used 25% of the machine meanwhile, load average 3.0"


@pytest.mark.parametrize("share", [-0.2, 1.3])
def test_a_share_is_a_share(share):
    before, after = busy.Used(0.0, 0.0, 0.0), busy.Used(10.0, 0.0, 10.0 * (1 - share))
    assert 0.0 <= busy.share_of_others(before, after) <= 1.0
