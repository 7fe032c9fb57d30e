"""Runs whose world fails, which keep no other run from finishing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from expectant.engine.result import Result
from expectant.whose import WorldError

IN_A_ROW = 5  # failures after which no run is begun any more

Found = TypeVar("Found")


class Failures:
    """The runs that have failed, with their errors, and those that were not begun for that."""

    def __init__(self) -> None:
        self.errors: dict[int, WorldError] = {}
        self.not_begun: list[int] = []
        self.in_a_row = 0

    def past(self, work: Callable[[int], Found], number: int) -> Found | None:
        """What comes of a run; None if its world fails, or those of so many before it have."""
        if self.in_a_row >= IN_A_ROW:
            self.not_begun.append(number)
            return None
        try:
            found = work(number)
        except WorldError as error:
            self.errors[number] = error
            self.in_a_row += 1
            return None
        self.in_a_row = 0
        return found

    @property
    def missing(self) -> tuple[int, ...]:
        """The numbers of all runs of which nothing came."""
        return tuple(sorted([*self.errors, *self.not_begun]))

    def check(self, runs: int, finished: Result | None) -> None:
        """One error for all of them, if there are any, which has what ``finished`` of so many."""
        if not self.errors:
            return
        failed = sorted(self.errors)
        first = self.errors[failed[0]]
        error = type(first)(f"{first}{self._others(failed, runs)}")
        error.finished = finished
        raise error from first

    def _others(self, failed: list[int], runs: int) -> str:
        """What has become of the runs that the first error does not tell of."""
        said, rest = "", runs - len(self.missing)
        if len(failed) > 1:
            said += f"; {len(failed)} of {runs} runs failed ({', '.join(map(str, failed))})"
        if self.not_begun:
            said += f", {len(self.not_begun)} were not begun after {IN_A_ROW} failures in a row"
        if rest:
            said += f"; {rest} of {runs} runs have finished, see the error's finished"
        return said
