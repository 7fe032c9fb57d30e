"""Engines by name."""

from __future__ import annotations

from expectant.descriptions import near_miss
from expectant.lab.engines.on_threads import threads_engine
from expectant.lab.engines.tasks import Engine, Kernels

ENGINES = ("threads", "ray")


def engine_named(name: str, threads: int | None, address: str | None, kernels: Kernels) -> Engine:
    """The engine of that name: ``threads`` are those of this machine, ``address`` a cluster's."""
    if name not in ENGINES:
        raise ValueError(f"--engine: unknown {name!r}" + near_miss(name, list(ENGINES)))
    if name == "ray":
        from expectant.lab.engines.on_ray import on_ray

        return on_ray(address, kernels)
    if address is not None:
        raise ValueError(f"--address: is for --engine ray, got {address!r} with {name!r}")
    return threads_engine(threads, kernels)
