"""The contract that every registered component keeps, however it is composed.

A new component is tested here as soon as it is registered; one with required parameters needs an
entry in ``EXAMPLES``.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from collections import Counter, defaultdict
from typing import Any, NamedTuple

import numpy as np
import pytest
from building import Built, per_feature
from domain_walk import walk

import expectant as ex
from expectant.agents import PlanningUpdate
from expectant.core import tree
from expectant.core.config import KINDS, list_parameters
from expectant.core.dispatch import unowned
from expectant.core.interfaces import Agent, Backups, Domain, Features, Model, Option, Values
from expectant.core.vectors import Transition, dot, empty_state
from expectant.core.verbs import (
    backed_up_value,
    begin,
    draw,
    encode,
    fit,
    function,
    observation,
    on_priority,
    on_truncation,
    phase,
    remember,
    reset,
    state_index,
    step,
)
from expectant.domains.finite import END
from expectant.engine.loop import simulate
from expectant.engine.setup import Setup
from expectant.jit.compile import kernel_for
from expectant.options.option_set import OptionSet
from expectant.step_sizes import StepSize

CORRIDOR = ex.Corridor(cells=5, slip=0.2)
CURIOUS = ex.models.ExplorationBonus(ex.models.LinearExpectation(), 0.5)
ROOMS = "S.G\n.P."
EXAMPLES: dict[str, Any] = {  # of what cannot be made without arguments, or is large
    "finite_mdp": ex.FiniteMDP([[[0.0, 0.5, 0.5]], [[1.0, 0.0, 0.0]]], [[-1.0], [0.0]]),
    "rooms": ex.domains.Rooms(ROOMS),
    "branching": ex.domains.Branching(states=6, branches=2),
    "garnet": ex.domains.Garnet(states=6, actions=2, noise=0.5),
    "inventory": ex.domains.Inventory(capacity=4, demand=1.5),
    "boyan_chain": ex.domains.BoyanChain(length=9),
    "access_control": ex.domains.AccessControl(servers=2),
    "cliff": ex.domains.Cliff(rows=3, columns=4),
    "loca_grid": ex.domains.LocaGrid(rows=2, columns=4, phase_steps=(300, 100, 100)),
    "loca_mountain_car": ex.domains.LocaMountainCar(phase_steps=(300, 100, 100)),
    "blocking_maze": ex.domains.BlockingMaze(change_after=50),
    "shortcut_maze": ex.domains.ShortcutMaze(change_after=50),
    "fourier": ex.Fourier(2),
    "history": ex.features.History(ex.OneHot(), 2, actions=True),
    "interpolated": ex.features.Interpolated(3),
    "joined": ex.features.Joined(ex.Tiles(2, 3, dimensions=(1,)), ex.features.Identity()),
    "random_binary": ex.RandomBinary(8, 3),
    "tiles": ex.Tiles(4, 3, hash_size=40),
    "categorical": ex.features.Categorical((2, 3)),
    "sample": ex.models.Sample(ex.models.Distribution()),
    "network_expectation": ex.models.NetworkExpectation(3),
    "n_step_expectation": ex.models.NStepExpectation(2),
    "exploration_bonus": CURIOUS,
    "freeze_after": ex.agents.FreezeAfter(ex.Lookahead(planning_steps=2), 60),
    "planning_only": ex.agents.PlanningOnly(ex.CachedValues(planning_steps=2)),
    "greedy_learning": ex.agents.GreedyLearning(ex.Lookahead(planning_steps=2)),
    "rollout": ex.backups.Rollout(4),
    "best_option": ex.options.BestOption(2),
    "reward_respecting": ex.options.RewardRespecting(2, trace=0.5),
    "shortest_path": ex.options.ShortestPath(2),
    "table_option": ex.options.TableOption((1,) * 5, (0.25,) * 5),
    "option_set": ex.options.OptionSet((ex.options.TableOption((1,) * 5, (0.25,) * 5),), trace=0.5),
    "fixed": ex.step_sizes.Fixed(0.5, per="feature"),
    "decaying": ex.step_sizes.Decaying(0.5, per="feature", bounded=False),
    # small enough to be full and to wrap around
    "replay": ex.backups.Replay(20),
    "recency_replay": ex.backups.RecencyReplay(20, halflife=5),
    "trajectory": ex.backups.Trajectory(4, capacity=20),
    "seen_states": ex.backups.SeenStates(3),
    "seen_pairs": ex.backups.SeenPairs(3, untried=True),
    "prioritized_pairs": ex.backups.PrioritizedPairs(3, links=2),
    "prioritized_sweeping": ex.backups.PrioritizedSweeping(3, links=2),
    "state_sampler": ex.backups.StateSampler(3),
}
OUTSIDE = {"external_domain", "gym"}  # worlds that are not compiled have tests of their own
OURS: dict[str, Any] = {
    kind: EXAMPLES[kind] if kind in EXAMPLES else described()
    for kind, described in sorted(KINDS.items())
    if described.__module__.startswith("expectant.") and kind not in OUTSIDE
}
EVERY = pytest.mark.parametrize("component", OURS.values(), ids=OURS.keys())


def of_kind(*bases: type) -> dict[str, Any]:
    return {kind: each for kind, each in OURS.items() if isinstance(each, bases)}


def every(*bases: type) -> Any:
    found = of_kind(*bases)
    return pytest.mark.parametrize("component", found.values(), ids=found.keys())


def compose(component: Any) -> tuple[Any, Any, Any]:
    """A domain, features and an agent in which a component has something to do."""
    domain: Any = CORRIDOR
    features: Any = ex.OneHot()
    agent: Any = ex.QLearning.paper(0.1)
    if isinstance(component, Domain):
        domain = component
        features = ex.OneHot() if domain.states else ex.Tiles(2, 3)
    elif isinstance(component, Features):
        features = component
        if isinstance(component, ex.features.Categorical):
            domain = ex.Corridor(cells=6, slip=0.2)
        elif isinstance(
            component, ex.Fourier | ex.Tiles | ex.features.Identity | ex.features.Joined
        ):
            domain = ex.MountainCar()
    elif isinstance(component, Model):
        agent = ex.Lookahead.paper(0.1, model=component, planning_steps=2)
    elif isinstance(component, Backups):
        agent = ex.Lookahead.paper(0.1, planning_steps=2, backups=component)
    elif isinstance(component, Values):
        agent = ex.Lookahead.paper(0.1, values=component, planning_steps=2)
    elif isinstance(component, Option | OptionSet):
        options = component if isinstance(component, OptionSet) else (component,)
        agent = ex.Lookahead.paper(0.1, options=options, discount=0.9, planning_steps=2)
    elif isinstance(component, PlanningUpdate):
        agent = ex.Lookahead(planning_update=component, planning_steps=2)
    elif isinstance(component, StepSize):
        agent = ex.Lookahead.paper(component, component, planning_steps=2)
    elif isinstance(component, Agent):
        agent = component
    return domain, features, agent


def job_of(component: Any, **options: Any) -> Setup:
    return Setup(*compose(component), **{"steps": 120, "aligned": False, **options})


def same(one: Any, other: Any) -> None:
    for (name, array), (_, expected) in zip(tree.arrays(one), tree.arrays(other), strict=True):
        np.testing.assert_array_equal(array, expected, err_msg=name)


# -------------------------------------------------------------------------------------- settings


@EVERY
def test_settings_go_through_data_and_back(component):
    data = json.loads(json.dumps(component.to_dict()))
    assert data == component.to_dict()  # plain data to begin with
    again = ex.extend.Config.from_dict(data)
    assert again == component == component.replace() == copy.deepcopy(component)
    assert hash(again) == hash(component) and repr(again) == repr(component)


@EVERY
def test_settings_do_not_change_and_unknown_ones_are_refused_with_the_near_miss(component):
    names = [found["name"] for found in list_parameters(type(component))]
    for name in names[:1]:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(component, name, None)
        with pytest.raises(ValueError, match=f"unknown parameter .*did you mean .*'{name}'"):
            component.replace(**{name[:-1]: 3})


@EVERY
def test_every_parameter_is_documented(component):
    for found in list_parameters(type(component)):
        assert found["meaning"], found["name"]


# Numbers that choose a part by being zero, one or None, and are run-time values beyond that.
CHOOSE = {"bonus", "centering", "initial_value", "trace"}


@EVERY
def test_numbers_are_run_time_values(component):
    """Another number gives arrays and fields of the same types, so that nothing is recompiled."""
    layout, tried = tree.structure(job_of(component).build(0)[0]), 0
    for field in dataclasses.fields(component):
        value = getattr(component, field.name)
        if type(value) not in (int, float) or field.name in CHOOSE:
            continue
        for other in (value * 0.5, value * 0.9, value + 1):
            try:
                changed_one = component.replace(**{field.name: type(value)(other)})
                prepared = job_of(changed_one).build(0)[0]
            except ValueError:
                continue  # no such number is allowed, or it does not fit the rest
            assert tree.structure(prepared) == layout, field.name
            tried += 1
    if not isinstance(component, Domain | Features):
        assert tried or not any(
            type(getattr(component, field.name)) in (int, float)
            for field in dataclasses.fields(component)
            if field.name not in CHOOSE
        )


# ---------------------------------------------------------------------------------- plain Python


@every(Domain)
def test_domains_keep_their_promises(component):
    """Every step is checked, and repeated with the same seed."""
    small = component.states is not None and component.states < 12
    outcome = ex.check(component, steps=1000, episodes=40 if small else 3, compiled=False)
    assert outcome.steps >= 3


@every(Domain)
def test_domains_step_as_their_tables_say(component):
    """Outcomes are those of mdp(), as often as their probabilities within six deviations."""
    domain, rng = component.for_run(0), np.random.default_rng(0)
    if domain.mdp() is None:
        return
    table, part = domain.mdp().outcomes, domain.build(rng)
    tally: dict[Any, Counter[tuple[int, float]]] = defaultdict(Counter)
    episode, alive = -1, 0.0
    for _ in range(2000):
        if alive == 0.0:
            episode += 1
            reset(part, episode, rng)
        place = phase(part), int(state_index(part)), int(rng.integers(domain.actions))
        reward, alive = step(part, place[2], rng)
        tally[place][int(state_index(part)) if alive else END, float(reward)] += 1
    for place, counts in tally.items():
        expected: Counter[tuple[int, float]] = Counter()
        for n, probability in enumerate(table.probabilities[place]):
            expected[int(table.successors[place[1:]][n]), float(table.rewards[place][n])] += (
                probability
            )
        for result in counts | expected:
            mean = counts.total() * expected[result]
            assert counts[result] == 0 or expected[result] > 0.0, (place, result)
            assert (
                abs(counts[result] - mean) <= 6.0 * (mean * (1.0 - expected[result])) ** 0.5 + 1.0
            )


@every(Features, Model, Backups, Values, Agent, StepSize, Option, OptionSet)
def test_components_keep_their_promises(component):
    """Every call is checked; the same seed gives the same bits; two builds share no array."""
    domain, features, agent = compose(component)
    ex.check(agent, domain, features, steps=60, compiled=False)


NEED_A_DOMAIN = (  # which a learner does not have
    ex.models.ExactExpectation, ex.models.ExactEpisodic, ex.models.TrueModel, ex.options.TableOption, ex.options.BestOption, OptionSet,
    ex.backups.AllStates, ex.backups.AllPairs,
)  # fmt: skip


@every(Features, Model, Backups, Values, Agent, StepSize, Option)
def test_a_learner_goes_on_from_a_file_to_the_bit(component, tmp_path):
    if isinstance(component, NEED_A_DOMAIN):
        pytest.skip("looks things up in its domain")
    domain, features, agent = compose(component)
    shape: Any = {"states": domain.states} if domain.states else {"bounds": domain.bounds}
    rng = np.random.default_rng(0)

    def seen() -> Any:
        if domain.states:
            return int(rng.integers(domain.states))
        return [float(rng.uniform(low, high)) for low, high in domain.bounds]

    learner = ex.Learner(agent, features, domain.actions, compiled=False, **shape)
    learner.start(seen())
    for number in range(25):
        learner.step(float(rng.normal()), seen(), False, truncated=number == 12)
        if number == 12:
            learner.start(seen())
    learner.save(tmp_path / "learner.npz")
    again = ex.Learner.load(tmp_path / "learner.npz", compiled=False)
    for _ in range(10):
        reward, state = float(rng.normal()), seen()
        assert again.step(reward, state, False) == learner.step(reward, state, False)
    state = seen()
    np.testing.assert_array_equal(again.preferences(state), learner.preferences(state))


# ---------------------------------------------------------------------- compiled, to the same bit


@every(Domain)
def test_compiled_domains_take_the_same_steps(component):
    actions = np.repeat(np.random.default_rng(5).integers(0, component.actions, 40), 15)
    ends = []
    for compiled in (True, False):
        rng, trace = np.random.default_rng(0), np.zeros((actions.size, 4))
        part = component.build(rng)
        (kernel_for(part, walk) if compiled else walk)(part, actions, rng, trace)
        ends.append((part, trace, np.array(rng.random())))
    same(*ends)


@function
def see(features, observations, actions, seen, state, trace):
    """Encode rows of observations and write a sum over each vector into a trace."""
    features, observations, actions = unowned(features), unowned(observations), unowned(actions)
    seen, state, trace = unowned(seen), unowned(state), unowned(trace)
    for row in range(observations.shape[0]):
        for n in range(seen.shape[0]):
            seen[n] = observations[row, n]
        encode(features, seen, actions[row], state)
        trace[row, 1] = dot(state, trace[row, 2:])


@every(Features)
def test_compiled_features_are_the_same(component):
    domain, features, _ = compose(component)
    shape, rng = features.shape(domain), np.random.default_rng(0)
    observations: Any
    if domain.states:
        observations = rng.integers(0, domain.states, (150, 1))
    else:
        low, high = np.transpose(domain.bounds)
        observations = rng.uniform(low - 0.2, high + 0.2, (150, len(low)))  # some beyond
    actions = np.where(rng.random(150) < 0.1, -1, rng.integers(0, domain.actions, 150))
    weights, ends = rng.normal(size=(150, shape.size + 2)), []
    for compiled in (True, False):
        part, state, trace = (
            features.build(domain, np.random.default_rng(1)), empty_state(shape), weights.copy(),
        )  # fmt: skip
        seen = np.zeros(observations.shape[1], observations.dtype)
        (kernel_for(part, see) if compiled else see)(
            part, observations, actions, seen, state, trace
        )
        ends.append((part, state, trace))
    same(*ends)
    assert np.ptp(ends[0][-1][:, 1]) > 0.0


class Practice(NamedTuple):
    """A model and backups, and what they practise with."""

    domain: Any
    features: Any
    model: Any
    backups: Any
    state: Any
    next_state: Any
    drawn: Any
    weights: np.ndarray
    trace: np.ndarray


@function
def practise(task, rng):
    """Act at random; fit, remember, draw and look ahead from what is drawn."""
    task, rng = unowned(task), unowned(rng)
    domain, state, next_state, trace = task.domain, task.state, task.next_state, task.trace
    reset(domain, 0, rng)
    for n in range(trace.shape[0]):
        encode(task.features, observation(domain), -1, state)
        state.state_index[0] = state_index(domain)
        action = int(rng.random() * 2)
        reward, alive = step(domain, action, rng)
        if alive > 0.0:
            encode(task.features, observation(domain), action, next_state)
            next_state.state_index[0] = state_index(domain)
        transition = Transition(state, action, reward, next_state, alive, -1)
        remember(task.backups, transition)
        error = fit(task.model, transition)
        on_priority(task.backups, state, 0.1 * reward, error)
        draw(task.backups, task.drawn, rng)
        ahead = backed_up_value(task.model, task.drawn, action, task.weights, 0.9)
        on_priority(task.backups, task.drawn, 0.1 * ahead, 0.9 * ahead)
        trace[n] = ahead
        if alive == 0.0:
            reset(domain, n, rng)


LINEAR = (ex.backups.SingleFeatures, ex.backups.FeatureSweeping, ex.backups.RowSweeping)
PLACES = (ex.models.ExactExpectation, ex.models.ExactEpisodic, ex.models.TrueModel)


def pairs() -> list[tuple[Any, Any]]:
    """Every model and every backup distribution once, together."""
    models, backups = list(of_kind(Model).values()), list(of_kind(Backups).values())
    linear = [each for each in backups if isinstance(each, LINEAR)]
    backups = [each for each in backups if not isinstance(each, LINEAR)]
    backups.sort(key=lambda each: isinstance(each, ex.backups.StateSampler))
    models.sort(key=lambda each: not isinstance(each, PLACES))
    models += [ex.models.SparseExpectation(per_feature(0.1))] * (len(backups) - len(models))
    backups += [EXAMPLES["replay"]] * (len(models) - len(backups))
    mixed = list(zip(models, backups, strict=True))
    return mixed + list(
        zip(
            [ex.models.LinearExpectation(), ex.models.SparseExpectation()] * 2, linear, strict=False
        )
    )


PAIRS = pairs()


@pytest.mark.parametrize(("model", "backups"), PAIRS, ids=[f"{m.kind}-{b.kind}" for m, b in PAIRS])
def test_compiled_models_and_backups_are_the_same(model, backups):
    agent, ends = ex.Lookahead.paper(0.1, model=model, backups=backups), []
    for compiled in (True, False):
        b = Built(CORRIDOR, ex.RandomBinary(8, 3), agent, seed=1)
        planner, width = b.agent.planner, b.setting.width
        weights = np.random.default_rng(0).normal(size=width) * (np.arange(width) < 8)
        task = Practice(
            b.domain, b.features, planner.model, planner.backups, b.state(0), b.state(1), b.state(2),
            weights, np.zeros(150),
        )  # fmt: skip
        (kernel_for(task, practise) if compiled else practise)(task, b.rng)
        ends.append((task, np.array(b.rng.random())))
    same(*ends)
    assert np.ptp(ends[0][0].trace[50:]) > 0.0


LOOPS: dict[str, Any] = {  # every agent, step size, way to plan and kind of value, compiled once
    "q_learning": ex.QLearning.paper(0.1),
    "sarsa": ex.Sarsa(per_feature(0.3), 0.8, discount=0.9),
    "expected_sarsa": ex.ExpectedSarsa(ex.step_sizes.Decaying(0.3, 20.0, per="feature", bounded=False), centering=0.1, discount=1.0),
    "dyna_q": ex.DynaQ(ex.step_sizes.IDBD(0.1, per="feature", bounded=False), 2, discount=0.9, bonus=0.1),
    "lspi": ex.agents.LSPI(7, discount=0.9, capacity=90),
    "rviq_learning": ex.RVIQLearning(ex.step_sizes.Fixed(0.1, per="feature"), reference="mean"),
    "q_planning": ex.QPlanning.paper(0.1, model="true", planning_steps=2, interpretation=ex.Interpretation(stored_action=True)),
    "lookahead": ex.Lookahead.paper(0.1, 0.1, planning_steps=2, interpretation=ex.Interpretation(replayed_fits=1)),
    "kalman": ex.Lookahead(model=ex.models.DefaultExpectation()),
    "rollouts": ex.Lookahead(backups=ex.backups.Rollout(2)),
    "network": ex.Lookahead.paper(0.02, model="true", values=ex.agents.NetworkValues(3), planning_steps=2),
    "cached_values": ex.CachedValues.paper(0.1, 0.1, 0.1, planning_steps=2),
    "cached_policy": ex.CachedPolicy.paper(0.1, 0.1, 0.1, planning_steps=2, epsilon=0.05, interpretation=ex.Interpretation(entropy=0.1)),
    "freeze_after": EXAMPLES["freeze_after"],
    "planning_only": EXAMPLES["planning_only"],
    "greedy_learning": EXAMPLES["greedy_learning"],
    "options": ex.Lookahead.paper(0.1, 0.1, discount=0.9, planning_steps=2, options=ex.options.OptionSet(
            (ex.options.TableOption((1,) * 9, (0.25,) * 9), ex.options.RewardRespecting(2, trace=0.5)),
            trace=0.5, acting="committed",
        )),
}  # fmt: skip


def test_every_agent_is_among_those_that_are_compiled():
    assert {type(agent) for agent in LOOPS.values()} == set(map(type, of_kind(Agent).values()))


@pytest.mark.parametrize("name", LOOPS)
def test_compiled_runs_have_the_same_bits(name):
    """Every array of the whole run, and the place of every stream of random numbers."""
    domain = ex.Corridor(slip=0.3, switch_every=5)
    setup = Setup(
        domain, ex.OneHot(), LOOPS[name], episodes=20, step_limit=60, seed=4, aligned=False
    )
    ends = []
    for compiled in (True, False):
        prepared, streams = setup.build(0)
        kernel = kernel_for(prepared) if compiled else simulate
        assert kernel(prepared, setup.budget(), streams, np.zeros(1, np.int64)) == 0
        drawn = np.array([rng.random() for rng in streams.by_name().values()])
        ends.append((prepared, drawn))
    same(*ends)
    assert np.isfinite(ends[0][0].returns).all()


# ------------------------------------------------------------------------ what wraps another part


class NotedPart(NamedTuple):
    heard: np.ndarray


@begin.register(NotedPart)
def _(noted, state, rng):
    noted.heard[0] += 1


@on_truncation.register(NotedPart)
def _(noted, state, rng):
    noted.heard[1] += 1


def put(part: Any, path: str, inner: Any) -> Any:
    """The same part with another one inside."""
    name, _, rest = path.partition(".")
    return part._replace(**{name: put(getattr(part, name), rest, inner) if rest else inner})


@pytest.mark.parametrize(
    ("agent", "path"),
    [
        (ex.Lookahead.paper(0.1), "planner.model"),
        (ex.CachedValues.paper(0.1, 0.1), "planner.backups"),
        (ex.Lookahead(model=CURIOUS), "planner.model.model"),
        (ex.Lookahead.paper(0.1, values=ex.agents.NetworkValues()), "planner.model.model"),
        (ex.Lookahead.paper(0.1, options=(OURS["table_option"],)), "agent.planner.model.model"),
        (ex.agents.FreezeAfter(ex.Lookahead.paper(0.1), 3), "agent.planner.model"),
        (ex.DynaQ(per_feature(0.1), discount=1.0), "memory"),
    ],
    ids=["model", "backups", "bonus", "at_mean", "options", "frozen", "dyna_q"],
)
def test_what_is_inside_hears_where_episodes_begin_and_are_cut_off(agent, path):
    b, noted = Built(CORRIDOR, ex.OneHot()), NotedPart(np.zeros(2, np.int64))
    part = put(agent.build_agent(b.setting), path, noted)
    begin(part, b.state(0), b.rng)
    assert noted.heard.tolist() == [1, 0]
    on_truncation(part, b.state(0), b.rng)
    assert noted.heard.tolist() == [1, 1]
