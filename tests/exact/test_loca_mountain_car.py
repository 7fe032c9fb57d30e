from __future__ import annotations

import numpy as np
import pytest

import expectant as ex
from expectant.domains.loca import advance
from expectant.exact.loca_mountain_car import car_references, drive, exits_of


def test_references_are_the_published_ones():
    references = car_references(ex.domains.LocaMountainCar(), size=(171, 141), starts=7)
    assert references == pytest.approx((1.936, 1.309, 0.484), rel=0.01)


def test_many_cars_move_as_one_does():
    domain, rng = ex.domains.LocaMountainCar(), np.random.default_rng(0)
    part = domain.build(rng)
    low, high = np.array(domain.bounds).T
    cars = rng.uniform(low, high, size=(400, 2))
    cars[:50] = rng.uniform([0.38, -0.01], [0.5, 0.07], size=(50, 2))
    cars[50:100] = rng.uniform([-0.6, -0.01], [-0.44, 0.01], size=(50, 2))
    thrusts = rng.integers(-1, 2, size=400)
    after = drive(domain, cars, thrusts)
    reached = exits_of(domain, after)
    for car, thrust, then, exit in zip(cars, thrusts, after, reached, strict=True):
        part.car[:] = car
        assert advance(part.valley, part.exits, part.car, thrust) == exit
        np.testing.assert_allclose(part.car, then, atol=1e-15)
    assert set(reached) == {0, 1, 2}
