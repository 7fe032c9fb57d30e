"""Compiled domains take the same steps, to the bit, as the same code in plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from walking import walk

import expectant as ex
from expectant.engine.compile.compiling import kernel_for
from expectant.verbs import observation


@pytest.mark.parametrize(
    "domain",
    [ex.MountainCar(), ex.LocaMountainCar(phase_steps=(900, 300, 600))],
    ids=lambda domain: type(domain).__name__,
)
def test_compiled_and_plain_steps_have_the_same_bits(domain):
    actions = np.repeat(np.random.default_rng(5).integers(0, 3, 60), 30)  # pushes that last
    traces, cars = [], []
    for compiled in (True, False):
        rng, trace = np.random.default_rng(0), np.zeros((actions.size, 4))
        part = domain.build(rng)
        (kernel_for(part, walk) if compiled else walk)(part, actions, rng, trace)
        traces.append(trace)
        cars.append(observation(part).copy())
    assert (traces[0] == traces[1]).all()
    assert (cars[0] == cars[1]).all()
    assert (traces[0][:, 1] == 0.0).any()  # some episodes end
