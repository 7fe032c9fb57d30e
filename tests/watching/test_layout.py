from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import expectant as ex
from expectant.show.animation.frames import Exit
from expectant.show.animation.marks import draw_image
from expectant.watching.layout import layout_of


def test_a_corridor_is_a_row_between_its_ends():
    layout = layout_of(ex.Corridor(cells=3, switch_every=5), 40)
    assert (layout.kind, layout.names[0], layout.actions) == ("row", "cell", ("left", "right"))
    np.testing.assert_array_equal(layout.points, [[0], [1], [2]])
    np.testing.assert_array_equal(layout.observations, [[0], [1], [2]])
    assert layout.exits == (Exit(-1.0, 0.0, (0.0, 20.0)), Exit(3.0, 0.0, (20.0, 0.0)))
    assert layout.phases == ("goal on the right", "goal on the left")


def test_a_corridor_that_stays_has_one_phase():
    layout = layout_of(ex.Corridor(cells=3), 40)
    assert [place.pays for place in layout.exits] == [(0.0,), (20.0,)]
    assert layout.phases == ("goal on the right",)


def test_a_grid_has_its_rows_and_its_directions():
    domain = ex.LocaGrid(rows=2, columns=3)
    layout = layout_of(domain, 40)
    assert layout.kind == "grid"
    np.testing.assert_array_equal(layout.points[4], [1, 1])  # state 4: second row, second column
    np.testing.assert_array_equal(layout.image(np.arange(6)), [[0, 1, 2], [3, 4, 5]])
    assert [place.pays for place in layout.exits] == [(2.0, 2.0, 2.0), (4.0, 1.0, 1.0)]
    assert layout.directions is not None
    successors = domain.mdp().outcomes.successors[0]  # (A, O) of the top left cell
    for action, name in enumerate(layout.actions):
        moved = layout.points[successors[action, action]] - layout.points[0]
        if name in ("right", "down"):  # the other two leave the grid or stay
            np.testing.assert_array_equal(moved, layout.directions[action])


def test_a_plane_is_looked_at_in_the_middles_of_equal_cells():
    layout = layout_of(ex.MountainCar(min_position=-1.0, max_position=1.0, max_speed=0.5), 2)
    assert (layout.kind, layout.names) == ("plane", ("position", "speed"))
    expected = [[-0.5, -0.25], [0.5, -0.25], [-0.5, 0.25], [0.5, 0.25]]
    np.testing.assert_allclose(layout.points, expected)
    np.testing.assert_allclose(layout.observations, expected)
    assert layout_of(ex.LocaMountainCar(), 5).phases[0] == "right exit pays 4"


def test_other_domains_are_rows_of_states_or_planes():
    row = layout_of(ex.Counterexample(), 40)
    assert (row.kind, row.names[0], row.directions) == ("row", "state", None)
    assert row.actions == ("action 0", "action 1")
    plane = layout_of(ex.Outside(2, limits=[(0, 1), (0, 2)], components=2), 4)
    assert (plane.kind, len(plane.observations)) == ("plane", 16)


@pytest.mark.parametrize(
    "domain",
    [
        ex.Outside(2, limits=[(0, 1)] * 4, components=4),
        ex.Outside(2, limits=[(0, 1), (0, np.inf)], components=2),
        ex.Outside(2, components=2),
    ],
    ids=["four components", "without an end", "unknown"],
)
def test_what_cannot_be_watched_says_what_can(domain):
    with pytest.raises(
        ValueError, match=r"watch: domain must be .* two components .*, got Outside"
    ):
        layout_of(domain, 40)


def test_cells_are_drawn_around_their_places():
    """Four columns and two rows, with room for exits at both sides."""
    axes = Figure().add_subplot()
    image = draw_image(axes, layout_of(ex.LocaGrid(rows=2, columns=4), 40), (0.0, 1.0), "viridis")
    assert tuple(image.get_extent()) == (-0.5, 3.5, 1.5, -0.5)
    assert axes.get_xlim() == (-0.5 - 1.6, 3.5 + 1.6)
