# mypy: disable-error-code="arg-type,call-arg"
# wrong types are what is tested here
from __future__ import annotations

import dataclasses
import json
import math
from typing import Any, cast

import numpy as np
import pytest

import expectant as ex
from expectant import extend
from expectant.step_sizes import adapts

SMALL_MDP = {
    "probabilities": [[[0.0, 0.5, 0.5]], [[1.0, 0.0, 0.0]]],
    "rewards": [[-1.0], [0.0]],
}

EXAMPLES = [
    ex.Corridor(),
    ex.Corridor(cells=5, slip=0.25, switch_every=100),
    ex.Counterexample(exit_reward=-2.0),
    ex.FiniteMDP(**SMALL_MDP),
    ex.OneHot(),
    ex.RandomBinary(size=14, active=5),
    ex.QLearning(0.1),
    ex.QPlanning(0.1, model="true"),
    ex.QPlanning(0.1, 0.2, stored_action=True, relabelled=True, replay_capacity=None),
    ex.Lookahead(value_step=0.01, model_step=0.1, planning_steps=5, epsilon=0.1, discount=1.0),
    ex.Lookahead(0.1, model=ex.LinearExpectation(0.3), backups=ex.Replay(50)),
    ex.CachedValues(0.1, 0.2, 0.3, printed_delta=True),
    ex.CachedPolicy(0.1, 0.2, 0.3, entropy=1.0),
]


@pytest.mark.parametrize("described", EXAMPLES, ids=repr)
def test_round_trip_through_json(described):
    data = json.loads(json.dumps(described.to_dict()))
    assert data == described.to_dict()  # plain data to begin with: lists, no tuples
    again = ex.Description.from_dict(data)
    assert again == described
    assert hash(again) == hash(described)
    assert type(again) is type(described)


def test_descriptions_compare_print_and_do_not_change():
    agent = ex.QLearning(0.1, epsilon=0.2)
    assert agent == ex.QLearning(action_step=0.1, epsilon=0.2)
    assert agent != ex.QLearning(0.1)
    assert repr(ex.RandomBinary(14, 5)) == "RandomBinary(size=14, active=5, draw=None)"
    with pytest.raises(dataclasses.FrozenInstanceError):
        agent.epsilon = 0.5  # type: ignore[misc]
    assert agent.replace(epsilon=0.5).epsilon == 0.5
    assert agent.epsilon == 0.2


def test_numbers_are_stored_in_one_type_so_that_sweeps_never_recompile():
    agent = ex.QLearning(np.float32(1), epsilon=0, discount=np.int64(1))
    assert [type(x) for x in (agent.action_step, agent.epsilon, agent.discount)] == [float] * 3


def _run(**changes):
    arguments = {"episodes": 3, "runs": 2, **changes}
    return ex.run(ex.Corridor(), ex.OneHot(), ex.QLearning(0.1), **arguments)


class NotDerived:
    """Has what a domain needs, and is none."""

    actions, states, outside = 2, 3, False

    def build(self, rng: Any) -> None: ...

    def __repr__(self) -> str:
        return "a queue"


STEP = "action_step must be a finite number, 0 or more, or ex.IDBD, ex.Autostep"
BAD = [
    *((lambda value=value: ex.QLearning(value), f"{STEP}.* got {value!r}")
      for value in (-0.1, math.nan, math.inf, "0.1", True)),
    (lambda: ex.CachedPolicy(0.1, -3), "CachedPolicy: policy_step .* got -3"),
    (lambda: ex.RandomBinary(3, 5), "active must be at most size, got active=5 with size=3"),
    (lambda: ex.RandomBinary(14.0, 5), "size must be a whole number, 1 or more, got 14.0"),
    (lambda: ex.RandomBinary(), "RandomBinary: needs size and active"),
    (lambda: ex.Gym(), "Gym: needs environment"),
    (lambda: _run(runs=0), "run: runs must be a whole number, 1 or more, got 0"),
    (lambda: _run(steps=5), "give episodes or steps, got episodes=3, steps=5"),
    (lambda: _run(threads=0), "run: threads"),
    (lambda: _run(seed=-1), "run: seed must be a whole number, 0 or more, got -1"),
    (lambda: _run(step_limit=0), "run: step_limit"),
    (lambda: ex.Lookahead(0.1, discount=1.01), "discount must be a number from 0 to 1, got 1.01"),
    (lambda: ex.Lookahead(0.1, planning_steps=-1), "planning_steps must be a whole number"),
    (lambda: ex.Lookahead(0.1, planning_steps=1.5), "planning_steps must be a whole number"),
    (lambda: ex.Lookahead(0.1, planing_steps=1), "unknown option planing_steps=1, did you mean 'planning_steps'"),
    (lambda: ex.Lookahead(0.1, replay_capacity=0), "replay_capacity must be .* got 0"),
    (lambda: ex.Lookahead(0.1, model="tru"), "model must be 'expectation' or .* got 'tru'"),
    (lambda: ex.Lookahead(0.1, maintained=1), "maintained must be True or False, got 1"),
    (lambda: ex.QLearning(0.1, planning_steps=3), "Q-learning does not plan"),
    (lambda: ex.Corridor(goal_reward=math.inf), "goal_reward must be a finite number, got inf"),
    (lambda: ex.Description.from_dict({"kind": "lookahed"}), "unknown 'lookahed', did you mean 'lookahead'"),
    (lambda: ex.Agent.from_dict({"kind": "corridor"}), "'corridor' is not a Agent"),
    (lambda: ex.run(ex.OneHot(), ex.Corridor(), ex.QLearning(0.1), episodes=1), "domain must be a domain, got OneHot"),
    (lambda: ex.run(ex.Corridor(), ex.OneHot(), ex.QLearning, episodes=1), "agent must be an agent"),
    (
        lambda: ex.run(cast(Any, NotDerived()), ex.OneHot(), ex.QLearning(0.1), episodes=1),
        "run: domain must be a domain, got a queue; derive its class from ex.Domain",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_bad_input_names_the_argument_the_value_and_the_rule(make, message):
    with pytest.raises(ValueError, match=message):
        make()


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
        ex.run(Open(), ex.OneHot(), ex.QPlanning(0.1, model="true"), episodes=1)


def test_options_without_a_description_are_named():
    class Careful(ex.QLearning):
        patience: int = ex.option(ex.rules.whole(1), default=2)

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
        "    size: int = ex.option(ex.rules.whole(1), default=2)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    module = __import__("somewhere")
    data = module.Nowhere(3).to_dict()
    assert data == {"kind": "somewhere:Nowhere", "size": 3}
    assert ex.Description.from_dict(data) == module.Nowhere(3)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (ex.QLearning(0.1), ex.QLearning(0.2)),
        (ex.Sarsa(0.1), ex.Sarsa(0.1, 0.5)),
        (ex.Lookahead(0.1, 0.1), ex.Lookahead(0.1, 0.2)),
        (ex.TwoRooms(), ex.FourRooms()),
        (ex.BlockingMaze(), ex.ShortcutMaze()),
    ],
)
def test_what_differs_in_any_argument_is_not_equal(first, second):
    """Also in those that a class has on top of the ones it shares with others."""
    assert first != second
    assert first == first.replace() and hash(first) == hash(first.replace())
    assert len({first, second, first.replace()}) == 2


def test_abilities_of_descriptions_are_declared_with_a_default():
    plain, agent = extend.Domain(), ex.QLearning(0.1)
    assert (plain.phases, tuple(plain.counts), plain.reading) == (1, (), None)
    assert plain.sampling_error(np.array([1.0])) is None
    assert not extend.Model().several_steps and not extend.Backups().stores_transitions
    assert not adapts(0.1) and not adapts(ex.Bounded(0.1)) and adapts(ex.IDBD(0.1))
    assert type(agent).equip is extend.Agent.equip


def test_a_class_that_lacks_a_method_is_told_which_and_what_is_near():
    @ex.description
    class Misspelt(ex.Features):
        def biuld(self, domain, rng):
            raise AssertionError

    with pytest.raises(
        NotImplementedError, match=r"^Misspelt must define build, .*; it has biuld$"
    ):
        Misspelt().build(ex.Corridor(), np.random.default_rng(0))
    with pytest.raises(NotImplementedError, match=r"^Misspelt must define shape, see docs/own-"):
        Misspelt().shape(ex.Corridor())
