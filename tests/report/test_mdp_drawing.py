"""Drawings of MDPs: what is drawn is what the tables say."""

from __future__ import annotations

import base64

import expectant as ex
from expectant.report.mdp_drawing import Arrow, arrows_of, world_picture
from expectant.report.page import page
from expectant.report.palette import Palette
from expectant.report.sections import Header, Worlds

CORRIDOR = ex.Corridor(cells=3, slip=0.3, switch_every=5)


def test_arrows_are_the_outcomes_of_the_table():
    arrows = arrows_of(ex.Counterexample(exit_reward=-2.0).mdp())
    assert arrows[:3] == [
        Arrow(0, 0, 1, 0.5, (0.0,)), Arrow(0, 0, 2, 0.5, (0.0,)), Arrow(0, 1, -1, 1.0, (-2.0,)),
    ]  # fmt: skip
    assert {(a.state, a.action): a.rewards[0] for a in arrows[3:]} == {
        (1, 0): 0.0, (1, 1): -5.0, (2, 0): -5.0, (2, 1): 0.0,
    }  # fmt: skip
    left = [arrow for arrow in arrows_of(CORRIDOR.mdp()) if arrow.state == 0 and arrow.action == 0]
    assert left == [Arrow(0, 0, -1, 0.7, (0.0, 20.0)), Arrow(0, 0, 1, 0.3, (-1.0, -1.0))]


def test_pictures_have_the_same_bytes_every_time_and_are_part_of_pages():
    first, second = (world_picture(ex.Counterexample()) for _ in range(2))
    assert first == second and first.startswith(b"\x89PNG")
    picture = world_picture(CORRIDOR)
    text = page([Header("Title"), Worlds([("A row <of> cells", picture)])], Palette({}))
    assert f'src="data:image/png;base64,{base64.b64encode(picture).decode()}"' in text
    assert "A row &lt;of&gt; cells" in text
