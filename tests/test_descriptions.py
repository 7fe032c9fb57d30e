# mypy: disable-error-code="arg-type,call-arg"
# wrong types are what is tested here
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from building import per_feature

import expectant as ex


def test_numbers_are_stored_in_one_type_so_that_sweeps_never_recompile():
    agent = ex.QLearning.paper(np.float32(1), epsilon=0, discount=np.int64(1))
    assert [type(x) for x in (agent.action_step, agent.epsilon, agent.discount)] == [float] * 3


def test_a_model_that_needs_a_finite_mdp_says_so():
    from typing import NamedTuple

    class Nothing(NamedTuple):
        now: np.ndarray

    class Open(ex.Domain):
        actions = 2
        states = 3

        def build(self, rng):
            return Nothing(np.zeros(1, np.int64))

    with pytest.raises(ValueError, match="TrueModel: needs a domain that is a finite MDP, Open"):
        ex.run(Open(), ex.OneHot(), ex.QPlanning.paper(0.1, model="true"), episodes=1)


def test_options_without_a_description_are_named():
    class Careful(ex.QLearning):
        patience: int = ex.parameter(ex.rules.whole(1), default=2)

    with pytest.raises(ValueError, match="Careful: patience is an option, so that the class needs"):
        Careful(0.1)
    for base in (ex.Domain, ex.Features, ex.Model, ex.Backups, ex.Agent, ex.Option):
        bold: Any = type("Bold", (base,), {"courage": ex.option(ex.rules.whole(1), default=2)})
        with pytest.raises(ValueError, match="Bold: courage is an option, so that the class needs"):
            bold()
    assert ex.description(Careful)(0.1).patience == 2


def test_parts_of_ones_own_are_written_with_their_place(tmp_path, monkeypatch):
    (tmp_path / "somewhere.py").write_text(
        "import expectant as ex\n\n\n@ex.description\nclass Nowhere(ex.Domain):\n"
        "    size: int = ex.parameter(ex.rules.whole(1), default=2)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    module = __import__("somewhere")
    data = module.Nowhere(3).to_dict()
    assert data == {"kind": "somewhere:Nowhere", "size": 3}
    assert ex.extend.Config.from_dict(data) == module.Nowhere(3)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (ex.QLearning.paper(0.1), ex.QLearning.paper(0.2)),
        (
            ex.Sarsa(per_feature(0.1), trace=0.0, discount=1.0),
            ex.Sarsa(per_feature(0.1), 0.5, discount=1.0),
        ),
        (ex.Lookahead.paper(0.1, 0.1), ex.Lookahead.paper(0.1, 0.2)),
        (ex.domains.TwoRooms(), ex.domains.FourRooms()),
        (ex.domains.BlockingMaze(), ex.domains.ShortcutMaze()),
    ],
)
def test_what_differs_in_any_argument_is_not_equal(first, second):
    """Also in those that a class has on top of the ones it shares with others."""
    assert first != second
    assert first == first.replace() and hash(first) == hash(first.replace())
    assert len({first, second, first.replace()}) == 2


def test_a_class_that_lacks_a_method_is_told_which_and_what_is_near():
    class Misspelt(ex.Features):
        def biuld(self, domain, rng):
            raise AssertionError

    with pytest.raises(
        NotImplementedError, match=r"^Misspelt must define build, .*; it has biuld$"
    ):
        Misspelt().build(ex.Corridor(), np.random.default_rng(0))
    with pytest.raises(NotImplementedError, match=r"^Misspelt must define shape, see docs/own-"):
        Misspelt().shape(ex.Corridor())
