# mypy: disable-error-code="arg-type,call-arg"
# wrong types are what is tested here
from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from building import per_feature

import expectant as ex
from expectant.core.config import KINDS


def test_numbers_are_stored_in_one_type_so_that_sweeps_never_recompile():
    agent = ex.QLearning(np.float32(1), epsilon=0, discount=np.int64(1))
    assert [type(x) for x in (agent.action_step, agent.epsilon, agent.discount)] == [float] * 3
    printed: Any = ex.QLearning.paper(np.float32(1))
    assert printed == ex.QLearning.paper(1) and type(printed.action_step.step) is float


def test_a_model_that_needs_a_finite_mdp_says_so():
    domain = ex.MountainCar()
    with pytest.raises(
        ValueError, match="TrueModel: needs a domain that is a finite MDP, Mountain"
    ):
        ex.run(domain, ex.Tiles(2, 2), ex.QPlanning.paper(0.1, model="true"), episodes=1)


def test_parameters_make_a_subclass_a_config():
    class Careful(ex.QLearning):
        patience: int = ex.parameter(ex.rules.whole(1), default=2)

    careful: Any = Careful(0.1)
    assert (careful.patience, careful.action_step) == (2, 0.1)
    assert careful.replace(patience=3) == Careful(0.1, patience=3) != careful
    assert ex.extend.Config.from_dict(careful.to_dict()) == careful
    with pytest.raises(ValueError, match="Careful: unknown parameter patienc=3, did you mean 'pat"):
        Careful(0.1, patienc=3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        careful.patience = 4
    for base in (ex.Domain, ex.Features, ex.Model, ex.Backups, ex.Agent, ex.Option):
        bold: Any = type("Bold", (base,), {
            "courage": ex.parameter(ex.rules.whole(1), default=2),
            "__annotations__": {"courage": int},
        })  # fmt: skip
        assert bold().courage == 2
        with pytest.raises(ValueError, match="Bold: courage must be a whole number, 1 or more"):
            bold(courage=0)


def test_an_abstract_class_shares_its_parameters_and_is_not_registered():
    class Shared(ex.Features, abstract=True):
        width: int = ex.parameter(ex.rules.whole(1), default=2)

    class Narrow(Shared):
        pass

    narrow: Any = Narrow(width=3)
    assert narrow.width == 3 and repr(narrow) == "Narrow(width=3)"
    assert "narrow" in KINDS and "shared" not in KINDS


def test_a_class_with_a_constructor_of_its_own_and_no_parameters_stays_as_it_is():
    class Plain(ex.Features):
        def __init__(self, width):
            self.width = width

    plain = Plain(3)
    plain.width = 4
    assert plain.width == 4 and "plain" not in KINDS


@pytest.mark.parametrize("around", [ex.agents.PlanningOnly, lambda a: ex.agents.FreezeAfter(a, 9)])
def test_agents_around_others_answer_for_the_parameters_inside(around):
    inside = ex.Lookahead(0.1)
    agent: Any = around(inside)
    assert agent.replace(epsilon=0.3) == around(inside.replace(epsilon=0.3))
    assert agent.replace(agent=ex.CachedValues(0.2), discount=0.5) == around(
        ex.CachedValues(0.2, discount=0.5)
    )
    twice = ex.agents.FreezeAfter(agent, 5)
    assert twice.replace(steps=6, epsilon=0.3).agent == agent.replace(epsilon=0.3)
    for outer in (agent, twice):
        name = type(outer).__name__
        with pytest.raises(
            ValueError, match=f"{name}: unknown parameter epsilo=1, did you mean 'e"
        ):
            outer.replace(epsilo=1)
        with pytest.raises(ValueError, match=f"{name}: unknown parameter agen=1, did you mean 'ag"):
            outer.replace(agen=1)
    with pytest.raises(ValueError, match="FreezeAfter: unknown parameter step=3, did you mean 'st"):
        ex.agents.FreezeAfter(inside, step=3)
    with pytest.raises(ValueError, match="PlanningOnly: unknown parameter agen=3, did you mean 'a"):
        ex.agents.PlanningOnly(agen=3)


def test_parts_of_ones_own_are_written_with_their_place(tmp_path, monkeypatch):
    (tmp_path / "somewhere.py").write_text(
        "import expectant as ex\n\n\nclass Nowhere(ex.Domain):\n"
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
