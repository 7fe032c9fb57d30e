"""Calling compiled code without looking at types again, where they are known to stay the same.

Numba looks up the type of every array in every part whenever a kernel is called, which takes as
long as ten episodes of a small run, and much longer where a part holds a generator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from expectant.descriptions import all_ours

if TYPE_CHECKING:
    from expectant.engine.compile.kernels import Kernel
    from expectant.engine.job import Job


def has_settled_types(job: Job) -> bool:
    """Whether all runs of a job have arrays of the same types: all its parts are the package's.

    What others build may be of one type in one run and of another in the next, and compiled code
    that is given the wrong type reads wherever it likes.
    """
    return all_ours(job.domain, job.features, job.agent)


def direct(job: Job, kernel: Any, arguments: tuple[Any, ...]) -> Kernel:
    """The kernel as it is compiled for such arguments, if those of all runs are such."""
    from expectant.engine.compile.compiling import entry_point

    return entry_point(kernel, *arguments) if has_settled_types(job) else kernel
