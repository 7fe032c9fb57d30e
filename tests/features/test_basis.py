# mypy: disable-error-code="arg-type"
from __future__ import annotations

import math

import numpy as np

import expectant as ex
from expectant.features.basis import Fourier
from features.plane import Plane, vectors


def test_cosines_by_hand():
    # x = (1/4, 1/2) of the bounds; frequencies (0,0), (0,1), (0,2), (1,0), … (2,2)
    found = vectors(Fourier(2), Plane(), [(1.0, 1.0)])[0]
    half = math.sqrt(0.5)
    expected = [1, 0, -1, half, -half, -half, 0, -1, 0]
    np.testing.assert_allclose(found, expected, atol=1e-15)


def test_the_first_feature_is_the_constant():
    features = Fourier(3)
    assert features.shape(Plane()) == ex.extend.Shape(16, 16, weighted=True, bias=0)
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(vectors(features, Plane(), rng.random((9, 2)) * 5)[:, 0], 1.0)


def test_beyond_the_bounds_is_at_the_bounds():
    inside, outside = vectors(Fourier(3), Plane(), [(4.0, 0.0), (7.0, -3.0)])
    np.testing.assert_array_equal(inside, outside)


def test_a_basis_is_orthogonal_on_a_line():
    """On midpoints the cosines are exactly orthogonal: the states of a corridor, 0 to 15."""
    corridor, features = ex.Corridor(cells=16), Fourier(4, bounds=[(-0.5, 15.5)])
    matrix = ex.exact.feature_matrix(corridor, features)
    np.testing.assert_allclose(matrix.T @ matrix / 16, np.diag([1, 0.5, 0.5, 0.5, 0.5]), atol=1e-14)


def test_scaled_features_have_the_effect_of_smaller_steps():
    """w_i += α/‖c_i‖ δ φ_i moves the value as w_i += α δ φ_i/√‖c_i‖ does with φ_i/√‖c_i‖."""
    plain = vectors(Fourier(2), Plane(), [(0.7, 1.3)])[0]
    scaled = vectors(Fourier(2, scaled=True), Plane(), [(0.7, 1.3)])[0]
    lengths = [1, 1, 2, 1, math.sqrt(2), math.sqrt(5), 2, math.sqrt(5), math.sqrt(8)]
    np.testing.assert_allclose(scaled**2, plain**2 / lengths, atol=1e-15)
