from __future__ import annotations

import numpy as np
import pytest

import expectant as ex
from expectant.domains.loca import EVALUATION_STARTS, advance
from expectant.exact.loca_mountain_car import (
    car_references,
    drive,
    exits_of,
    grid_values,
    interpolation_matrix,
    make_grid,
)


def test_references_are_the_published_ones():
    references = car_references(ex.domains.LocaMountainCar(), size=(171, 141), starts=7)
    assert references == pytest.approx((1.936, 1.309, 0.484), rel=0.01)


def test_with_noise_references_are_lower_and_agree_with_values():
    """Returns of sampled episodes are near the optimal values that value iteration finds."""
    domain = ex.domains.LocaMountainCar(noise=0.5)
    references = car_references(domain, size=(171, 71), starts=5)
    grid = make_grid(domain.bounds, (171, 71))
    starts = make_grid(EVALUATION_STARTS, (5, 5)).points
    for pays, reference, quiet in (
        ((2, 4), references.before, 1.94),
        ((2, 1), references.after, 1.31),
    ):
        values = interpolation_matrix(grid, starts) @ grid_values(domain, grid, pays)
        assert reference == pytest.approx(values.mean(), rel=0.05)
        assert reference < quiet


def test_many_cars_move_as_one_does():
    domain, rng = ex.domains.LocaMountainCar(), np.random.default_rng(0)
    part = domain.build(rng)
    low, high = np.array(domain.bounds).T
    cars = rng.uniform(low, high, size=(400, 2))
    cars[:50] = rng.uniform([0.38, -0.01], [0.5, 0.07], size=(50, 2))
    cars[50:100] = rng.uniform([-0.6, -0.01], [-0.44, 0.01], size=(50, 2))
    thrusts = rng.integers(-1, 2, size=400)
    after = drive(cars, thrusts)
    reached = exits_of(after)
    for car, thrust, then, exit in zip(cars, thrusts, after, reached, strict=True):
        part.car[:] = car
        assert advance(part.car, thrust) == exit
        np.testing.assert_allclose(part.car, then, atol=1e-15)
    assert set(reached) == {0, 1, 2}
