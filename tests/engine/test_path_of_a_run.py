"""A run passes through few functions before its first step, so that its path can be read."""

from __future__ import annotations

from pathlib import Path

from loading import module_at

path = module_at(Path(__file__).parents[2] / "benchmarks" / "path_of_a_run.py")

MOST_MODULES, MOST_FUNCTIONS = 32, 150


def test_a_run_visits_few_functions_before_the_loop():
    path.run_once()  # compiles the loop, unless another test has
    visited = path.visited_functions()
    assert visited[-1].co_name == path.LAST
    assert len({code.co_filename for code in visited}) <= MOST_MODULES
    assert len(visited) <= MOST_FUNCTIONS
