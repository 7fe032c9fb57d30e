"""The table of error messages: a mistake, and words that its one sentence must contain.

Mistakes in arguments are written as code, mistakes in parts of one's own as a change of
``engine/own_parts.py``. Words may leave something out, which is written as "…".
"""

from __future__ import annotations

import itertools
import math
import operator
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from building import Built
from domain_walk import walk
from each_in_a_process import run_file
from features.plane import Plane
from hall_env import HallEnv
from loading import module_at

import expectant as ex
from expectant import exact
from expectant.checks.contracts import Contracts
from expectant.checks.dry_run import dry_run
from expectant.core import verbs
from expectant.core.errors import PartError
from expectant.core.parameter_meanings import MOVED
from expectant.engine.progress import Silent
from expectant.engine.setup import Setup
from expectant.jit.compile import compile_for

OWN_PARTS = Path(__file__).parent / "engine" / "own_parts.py"
RIGHT = OWN_PARTS.read_text()


def contains(text: str, words: str) -> bool:
    """Whether the pieces of some words are in a text, one after the other."""
    at = 0
    for piece in words.split("…"):
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


@contextmanager
def refusing(words: str, kind: Any = PartError) -> Iterator[None]:
    """Expect an error of one line that contains some words."""
    with pytest.raises(kind) as told:
        yield
    text = str(told.value)
    assert text and "\n" not in text
    assert contains(text, words), text


# ------------------------------------------------------------------------------------- arguments

# fmt: off
AGENTS = [
    ("ex.QLearning(True)", "action_step must be a finite number, 0 or more…got True"),
    ("ex.RandomBinary()", "RandomBinary: needs size and active"),
    ("ex.RandomBinary(3, 5)", "active must be at most size, got active=5 with size=3"),
    ("ex.Lookahead(0.1, planing_steps=1)", "unknown parameter planing_steps=1, did you mean 'planning_steps'"),
    ("run(Stubborn(epsilon=0.3), ex.Corridor())", "Stubborn: epsilon=0.3 has no effect, because Stubborn inherits the parameter and never reads it"),
    ("run(ex.Lookahead(model=Blunt(initial_reward=2.0)), ex.Corridor())", "Blunt: initial_reward=2.0 has no effect"),
    ("ex.Lookahead(model=\"expctation\")", "got 'expctation', did you mean 'expectation'?"),
    ("ex.extend.Config.from_dict({'kind': 'lookahed'})", "unknown 'lookahed', did you mean 'lookahead'"),
    ("ex.Agent.from_dict({'kind': 'corridor'})", "'corridor' is not a Agent"),
    ("ex.run(ex.OneHot(), ex.Corridor(), ex.QLearning(0.1), episodes=1)", "domain must be a domain, got OneHot"),
    ("ex.run(ex.Corridor(), ex.OneHot(), ex.QLearning(0.1), episodes=3, steps=5)", "give episodes or steps, got episodes=3, steps=5"),
    ("ex.QLearning('idbd')", "or one of ex.step_sizes, got 'idbd'"),
    ("ex.QLearning.paper(0.1, step_unit='tiling')", "step_unit must be 'feature' or 'total', got 'tiling'"),
    ("Built(ex.Corridor(), ex.features.History(ex.OneHot(), 2), ex.QLearning(0.1, initial_value=6.0))", "initial_value=6.0 needs features whose values add up"),
    ("ex.agents.PlanningOnly(ex.Lookahead(planning_steps=0))", "PlanningOnly: agent must be a planning agent with planning_steps of 1 or more"),
    ("ex.Lookahead(0.1, planning_update='tdc')", "'levi' or 'gradient'"),
    ("ex.Lookahead(0.1, planning_update='gradient', model='sample')", "needs an expectation model"),
    ("ex.Lookahead(model=ex.models.LinearExpectation(0.2), model_step=0.5)", "model_step=0.5 is for models by name; set the step size of LinearExp"),
    ("ex.Lookahead(model='true', backups=ex.backups.Rollout(3))", "Rollout(length=3) needs a sample model or a linear expectation model"),
    ("ex.Lookahead(backups=ex.backups.Rollout(3, 'prioritized'))", "rolls out mean states, which needs a replay as its start"),
    ("ex.Lookahead(0.1, backups='prioritised')", "backups must be 'replay' or 'recency'"),
    ("ex.Lookahead.paper(0.1, backups='all', interpretation=ex.Interpretation(relabelled_rewards=True))", "stores no transitions, which interpretation.relabelled_rewards needs"),
    ("ex.QPlanning.paper(0.1, backups='seen', interpretation=ex.Interpretation(stored_action=True))", "stores no transitions, which interpretation.stored_action needs"),
    ("ex.Lookahead(0.1, backups='sampler', model='true')", "backups='sampler' does not know the environment's own state…got model='true'"),
    ("ex.Lookahead(0.1, backups='mg', model='network')", "plans from single features, which needs a linear model"),
    ("ex.Lookahead(0.1, backups='mg', options=ex.options.OptionSet((ex.options.TableOption((1,) * 5, (0.5,) * 5),), models='exact'))", "the environment's own state, as exact options need"),
    ("ex.CachedValues.paper(0.1)", "CachedValues.paper: needs action_step"),
    ("ex.DynaQ(0.1, backups=ex.backups.SeenStates())", "DynaQ: backups must be 'pairs', 'prioritized' or backups that store transitions"),
    ("ex.DynaQ(0.1, bonus=0.1, backups='prioritized')", "needs the age of every pair"),
    ("ex.RVIQLearning(0.1, (0, 0, 0))", "a pair of a state and an action"),
    ("Built(ex.Corridor(2), ex.OneHot(), ex.RVIQLearning(0.1, (7, 0)))", "must be a state below 2"),
    ("Built(ex.Corridor(), ex.RandomBinary(4, 2), ex.RVIQLearning(0.1, 'max'))", "reference='max' needs one feature per state"),
    ("Built(ex.Corridor(), ex.RandomBinary(3000, 4), ex.agents.LSPI())", "LSPI: allows 4,096 weights, because it solves for all of them at once, got 6,000"),
    ("ex.agents.LSPI(0)", "LSPI: improve_every must be a whole number"),
    ("ex.agents.GreedyLearning(ex.QLearning())", "GreedyLearning: agent must be a planning agent"),
    ("ex.Sarsa(ex.step_sizes.IDBD(0.1), 0.5)", "action_step must be a number"),
    ("ex.step_sizes.IDBD(0.0)", "initial_step must be a finite number above 0"),
    ("ex.Lookahead(0.1, values='cubic')", "Lookahead: values must be 'linear' or ex.agents.NetworkValues, got 'cubic'"),
    ("ex.Lookahead(0.1, values=ex.agents.NetworkValues(), planning_update='gradient')", "planning_update='gradient' needs linear values"),
    ("ex.Lookahead(0.1, values=ex.agents.NetworkValues(), backups='pwma')", "backups='pwma' needs linear values, got values=NetworkValues()"),
    ("ex.Lookahead(0.1, values=ex.agents.NetworkValues(), options=[ex.options.BestOption(0)])", "needs linear values"),
    ("ex.Lookahead(0.1, values=ex.agents.NetworkValues(), model=ex.models.NStepExpectation(2))", "needs linear values"),
    ("ex.Lookahead(0.1, values=ex.agents.NetworkValues(), initial_value=1.0)", "initial_value=1.0 needs linear values"),
    ("ex.Lookahead(ex.step_sizes.IDBD(), values=ex.agents.NetworkValues())", "value_step=IDBD() needs linear values"),
]
OPTIONS = [
    ("ex.Lookahead(0.1, options=3)", "options must be a list of options"),
    ("ex.QPlanning(0.1, options=(ex.options.TableOption((0, 1), (0, 0)),))", "QPlanning: unknown parameter options="),
    ("ex.Lookahead.paper(0.1, options=(ex.options.TableOption((0, 1), (0, 0)),), interpretation=ex.Interpretation(stored_termination=True))", "which excludes options"),
    ("ex.Lookahead(options=(ex.options.TableOption((0, 1), (0, 0)),), model='sample', backups=ex.backups.Rollout(2))", "with options needs a linear model"),
    ("ex.options.TableOption((0, 1), (0.5,))", "as many states, got 2 and 1"),
    ("ex.options.TableOption(((0.5, 0.6),), (0.5,))", "probabilities"),
    ("ex.options.TableOption((0, -1), (0.5, 0.5))", "policy must be an action"),
    ("ex.options.TableOption((0, 1), (0.5, 1.5))", "stop must be a probability"),
    ("run(ex.Lookahead(0.1, options=(ex.options.TableOption((0, 1), (0, 0)),)), ex.Corridor(4))", "TableOption: policy must be (4, 2) probabilities or (4,) actions, got (2,)"),
    ("ex.options.BestOption(99).table(ex.domains.TwoRooms())", "state=99 must be one of a finite MDP"),
    ("ex.options.RewardRespecting(3).build(Built(ex.Corridor(3), ex.OneHot()).setting)", "feature must be below 3, got 3"),
    ("ex.options.OptionSet((ex.options.ShortestPath(1),), models='exact')", "needs options that are given"),
]
MODELS_AND_BACKUPS = [
    ("ex.models.Distribution(forgetting=1.5)", "forgetting must be a number from 0 to 1"),
    ("ex.models.Sample(distribution=ex.models.LinearExpectation())", "distribution must be a distribution model"),
    ("ex.models.NStepExpectation(2, ex.models.Distribution())", "NStepExpectation: model must be"),
    ("ex.models.NetworkExpectation(hidden=3.0)", "hidden must be a whole number, 1 or more, got 3.0"),
    ("ex.models.KalmanExpectation(-0.1)", "KalmanExpectation: process_noise must be a finite number, 0 or more, got -0.1"),
    ("ex.Lookahead(model=ex.models.KalmanExpectation(optimism=1.0), backups='mg')", "plans from single features, which needs a linear model"),
    ("ex.models.KalmanExpectation(prior=0)", "KalmanExpectation: prior must be a finite number above 0, got 0"),
    ("run(ex.Lookahead(model='kalman'), ex.Corridor(5000))", "KalmanExpectation: allows 4,096 features…got 5,000: use model=\"sparse\" or fewer features"),
    ("run(ex.Lookahead(0.1, model='exact'), ex.Corridor(3), ex.features.History(ex.OneHot(), 2))", "these remember earlier ones"),
    ("ex.backups.AllPairs().build(Built(ex.Corridor(), ex.features.History(ex.OneHot(), 2)).setting)", "AllPairs: needs features of the present state alone"),
    ("ex.backups.AllStates().build(vectors_setting())", "AllStates: needs a domain with numbered states"),
    ("ex.backups.RecencyReplay(10, math.inf)", "halflife…got inf"),
]
DOMAINS = [
    ("mdp(probabilities=changed((1, 1, 0), 0.1))", "state 1, action 1, phase 0: the probabilities must sum to 1, got 0.85"),
    ("mdp(probabilities=changed((0, 1, 0), math.nan))", "state 0, action 1, outcome 0, phase 0: a probability must be 0 or more, got nan"),
    ("mdp(rewards=[[-1.0, -2.0], [math.inf, 0.0]])", "state 1, action 0, outcome 2, phase 0: a reward must be finite, got inf"),
    ("mdp(rewards=np.zeros((3, 2)))", "rewards must have the shape (2, 2), (2, 2, 3) or…got (3, 2)"),
    ("mdp(probabilities=np.ones((2, 2)))", "probabilities must have the shape…got (2, 2)"),
    ("mdp(probabilities=np.ones((2, 2, 5)) / 5)", "5 outcomes for 2 states: give successors"),
    ("mdp(successors=np.zeros((2, 2, 2), int))", "successors must have the shape (2, 2, 3), got (2, 2, 2)"),
    ("mdp(successors=np.full((2, 2, 3), 2))", "state 0, action 0, outcome 0, phase 0: a successor must be −1 (the end) or a state from 0 to 1, got 2"),
    ("mdp(successors=0.5)", "successors must be an array of whole numbers"),
    ("mdp(start=[0.5, 0.6])", "start must be probabilities that sum to 1, got [0.5 0.6]"),
    ("mdp(start=[1.5, -0.5])", "start must be probabilities that sum to 1, got [ 1.5 -0.5]"),
    ("mdp(terminal=[5])", "terminal state 5 must be below 2"),
    ("mdp(terminal=[1], start=[0.0, 1.0])", "start must not be in a terminal state"),
    ("mdp(terminal=[0, 1])", "every state is terminal"),
    ("mdp(switch_every=10)", "is for several phases, got 10 with 1"),
    ("mdp(rewards=np.zeros((2, 2, 2, 3)))", "is for several phases, got None with 2"),
    ("ex.FiniteMDP(np.eye(2)[:, None], [[0.0], [0.0]])", "leads to state 0, which never reaches an end"),
    ("ex.FiniteMDP.from_gym('CartPole-v1')", "has no table P"),
    ("ex.domains.LocaGrid(phase_steps=(10, 10))", "LocaGrid: phase_steps must be three whole numbers"),
    ("ex.domains.Rooms('..G\\n..')", "Rooms: plan must be lines of equal length"),
    ("ex.domains.Rooms('S..')", "must have a goal G"),
    ("ex.domains.Branching(states=2, branches=3)", "branches must be at most states=2, got 3"),
    ("ex.domains.Garnet(states=2)", "branching must be at most states=2, got 3"),
    ("ex.domains.Garnet(ending=0, switch_every=5)", "Garnet: switch_every counts episodes, which ending=0 never ends"),
    ("ex.domains.RiverSwim(forward=0.8, back=0.3)", "must add up to 1 at most"),
    ("ex.exact.policy_values(ex.Corridor(), np.ones((9, 3)))", "policy must be (9, 2) probabilities or (9,) actions, got (9, 3)"),
    ("ex.exact.policy_values(ex.Corridor(), np.ones((9, 2)))", "must be probabilities that sum to 1"),
    ("ex.exact.optimal_values(ex.MountainCar())", "domain must be a finite MDP, got MountainCar"),
    ("ex.Gym('Pendulum-v1').actions", "numbered actions (Discrete)…Box…TransformAction"),
    ("ex.Gym(lambda: HallEnv(gymnasium.spaces.Dict(x=gymnasium.spaces.Discrete(2)))).states", "observations of Dict"),
    ("ex.Gym('NoSuchWorld-v1').actions", "Gym: cannot make 'NoSuchWorld-v1'"),
    ("ex.Gym('__main__:NoSuchWorld').actions", "'__main__:NoSuchWorld' is defined in a script, which other commands cannot import: move it to a module"),
    ("ex.Gym('CartPole-v1', gravitas=3).actions", "gravitas"),
    ("ex.Gym(gymnasium.vector.SyncVectorEnv([HallEnv]))", "several environments at once (gymnasium.vector): give one"),
    ("ex.Gym(7)", "environment must be an environment's id"),
    ("ex.Gym('CartPole-v1', numbered=True).states", "its observations are vectors"),
    ("ex.Gym(HallEnv(), size=3)", "options are for making an environment"),
    ("ex.Domain.from_dict({'kind': 'no_such_module:X'}, trust=True)", "cannot import 'no_such_module:X'"),
    ("ex.Domain.from_dict({'kind': 'numpy:zeros'}, trust=True)", "must be a component class, got <built-in function zeros>"),
]
FEATURES = [
    ("ex.Fourier(100).shape(Plane())", "at most 10,000 features, got order=100, which makes 10,201 in 2 dimensions"),
    ("ex.Fourier(2).shape(ex.Corridor())", "Fourier: needs a domain with bounds, Corridor has none"),
    ("ex.features.History(3, 2)", "History: base must be a feature map, such as OneHot(), got 3"),
    ("ex.features.History(ex.OneHot, 2)", "History: base must be a feature map"),
    ("ex.OneHot().shape(Plane())", "OneHot: needs a domain with numbered states"),
    ("ex.Tiles(8, (8, 0))", "Tiles: tiles must be"),
    ("ex.Tiles(8, 8, bounds=[(0, 1), (1, 1)])", "bounds must be a list of (low, high) with low below high"),
    ("ex.Tiles(8, 8, wrap=(-1,))", "wrap must be a list of whole numbers, 0 or more"),
    ("ex.Tiles(8, 8, hash_size=20)", "hash_size must be a multiple of tilings, got hash_size=20 with tilings=8"),
    ("ex.Tiles(8, (8, 8, 8), bounds=[(0, 1)])", "tiles must have a number for each of the 1 dimensions of bounds, got 3: (8, 8, 8)"),
    ("ex.Tiles(8, (8, 8, 8)).shape(Plane())", "each of the 2 dimensions of the observations of Plane, got 3"),
    ("ex.Tiles(8, 8, wrap=(2,)).shape(Plane())", "wrap must name dimensions from 0 to 1 of the observations of Plane, got 2"),
    ("ex.Tiles(8, 8).shape(ex.Corridor())", "needs a domain with bounds, Corridor has none: give bounds="),
    ("ex.Tiles(8, 8).shape(ex.Gym('CartPole-v1'))", "which must be finite…give bounds="),
    ("ex.Tiles(8, 100).shape(SimpleNamespace(bounds=((0, 1),) * 5, states=None))", "84,080,804,008 tiles are too many to be numbered"),
    ("ex.Tiles(2, 2, dimensions=(1, 1))", "dimensions must be distinct"),
    ("ex.Tiles(2, 2, dimensions=(0, 3)).shape(Plane())", "dimensions must be from 0 to 1 in Plane"),
    ("ex.features.Identity().shape(ex.Gym('CartPole-v1'))", "Identity: dimension 1…ex.features.bounds_of"),
    ("ex.features.Categorical().shape(ex.Corridor(6))", "the 6 states of Corridor are single numbers: give counts="),
    ("ex.features.Categorical((2, 2)).shape(ex.Corridor(6))", "counts must multiply to the 6 states of Corridor"),
    ("ex.features.Interpolated(4).shape(ex.domains.BoyanChain(length=3))", "size must be at most the 3 states of the domain, got 4"),
    ("ex.features.Joined(ex.OneHot(), 3)", "Joined: second must be a feature map"),
    ("ex.features.bounds_of(ex.Corridor())", "bounds_of: Corridor has no vectors for observations"),
    ("exact.feature_matrix(ex.Corridor(), ex.features.History(ex.OneHot(), 2))", "feature_matrix: features must depend on the present"),
]
EXACT = [
    ("exact.optimal_values(3)", "domain must be a finite MDP, got 3"),
    ("exact.optimal_values(ex.Corridor(), phase=1)", "phase must be below 1, got 1"),
    ("exact.optimal_values(ex.FiniteMDP(np.ones((1, 1, 1)), [[1.0]], endless=True))", "value iteration does not converge"),
    ("exact.policy_values(ex.Corridor(), np.ones((9, 2)))", "policy in state 0 must be probabilities"),
    ("exact.policy_values(ex.Corridor(), [0, -1] * 4 + [0])", "has action -1 in state 1"),
    ("exact.policy_values(ex.Corridor(), np.ones((2, 2)))", "policy must be (9, 2)"),
    ("exact.policy_values(ex.Corridor(slip=0.0), [1, 0] * 4 + [0])", "the policy never ends from state"),
    ("exact.fixed_point(ex.Corridor(), 'levi')", "update must be 'avi' or 'aavi' or 'invalid', got 'levi'"),
    ("exact.fixed_point(ex.Corridor(), 'avi', features=np.eye(3))", "features must have the shape (9, n), got (3, 3)"),
    ("exact.planning_gap(ex.Corridor(), np.ones((2, 2)))", "action_values must have the shape (9, 2)"),
    ("exact.linear_model(ex.Corridor(), np.repeat(np.eye(3), 3, axis=0))", "no linear model is aligned with these features: state"),
    ("exact.gain(ex.FiniteMDP(np.eye(2)[:, None], np.ones((2, 1)), endless=True), [0, 0])", "from state 0 it never comes to state 1…let it explore"),
    ("exact.gain(ex.Corridor(), np.zeros(9, int))", "domain must go on for ever, and an episode can end in"),
    ("exact.lstd(np.ones((3, 2)), [1, 2], np.ones((3, 2)))", "lstd: rewards must have the shape (3,), got (2,)"),
    ("exact.option_model(ex.Corridor(3), [1, 1, 1], [0.0, 2.0, 0.0], 0.9)", "state 1 must be a probability"),
    ("exact.option_model(ex.Corridor(3, slip=0.0), [1, 0, 1], [0.0, 0.0, 1.0])", "never stops from state 0"),
]
ANALYSIS = [
    ("ex.analysis.learning_curve(np.ones(3))", "returns must be"),
    ("ex.analysis.interval(np.ones((0, 3)))", "at least one run"),
    ("ex.analysis.paired_difference(np.ones(2), np.ones(2), level=95)", "level must be between 0 and 1, got 95"),
]
CHECKS_OF_PARTS = [
    ("ex.check(ex.QLearning)", "check: give a component, not its class: QLearning("),
    ("ex.check(ex.OneHot(), ex.OneHot())", "check: domain must be a domain, or None, got OneHot()"),
    ("ex.check(ex.QLearning(), features=3)", "check: features must be features, or None, got 3"),
    ("ex.check(ex.step_sizes.IDBD())", "check: IDBD: must be a domain, features, a model"),
    ("ex.check(ex.OneHot(), steps=0)", "check: steps must be a whole number, 1 or more, got 0"),
    ("ex.check(ex.QLearning(0.1), ex.Gym('FrozenLake-v1'))", "check: domain must run in compiled code"),
]
WHOLE_NUMBERS = [
    ("ex.Lookahead(0.1, planning_steps=10**30)", "Lookahead: planning_steps must be…(at most 2**63 - 1), got 1000"),
    ("run(ex.QLearning(0.1), ex.Corridor(), seed=-1)", "run: seed must be a whole number, 0 or more, got -1"),
]
# fmt: on
CODE = [
    *AGENTS,
    *OPTIONS,
    *MODELS_AND_BACKUPS,
    *DOMAINS,
    *FEATURES,
    *EXACT,
    *ANALYSIS,
    *CHECKS_OF_PARTS,
    *WHOLE_NUMBERS,
]  # fmt: skip

PROBABILITIES = np.array([[[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]], [[0.0, 0.0, 1.0], [0.25, 0.75, 0.0]]])


def changed(where: Any, value: float) -> np.ndarray:
    array = PROBABILITIES.copy()
    array[where] = value
    return array


def mdp(**changes: Any) -> ex.FiniteMDP:
    rewards = np.array([[-1.0, -2.0], [5.0, 0.0]])
    return ex.FiniteMDP(**{"probabilities": PROBABILITIES, "rewards": rewards, **changes})


def run(agent: Any, domain: Any, features: Any = None, **options: Any) -> Any:
    given = {"episodes": 1, "runs": 1, "compiled": False, "progress": False, **options}
    return ex.run(domain, features or ex.OneHot(), agent, **given)


class Stubborn(ex.QLearning):
    def build(self, context: Any) -> Any:
        return ex.QLearning(self.action_step).build(context)


class Blunt(ex.models.LinearExpectation):
    def build(self, context: Any) -> Any:
        return ex.models.LinearExpectation(self.step).build(context)


def vectors_setting() -> Any:
    setting = Built(ex.Corridor(), ex.OneHot()).setting
    return type(setting)(**{**vars(setting), "domain": SimpleNamespace(states=None)})


NAMES = {
    **{"ex": ex, "np": np, "math": math, "exact": exact, "gymnasium": gymnasium, "run": run},
    **{"Built": Built, "Plane": Plane, "HallEnv": HallEnv, "mdp": mdp},
    **{"Stubborn": Stubborn, "Blunt": Blunt},
    **{"changed": changed, "vectors_setting": vectors_setting, "SimpleNamespace": SimpleNamespace},
}


@pytest.mark.parametrize(("code", "words"), CODE, ids=[code for code, _ in CODE])
def test_a_wrong_argument_is_one_sentence(code, words):
    with refusing(words, ValueError):
        eval(code, NAMES)


def test_inherited_parameters_may_be_read_or_keep_their_defaults():
    run(Stubborn(0.3), ex.Corridor())
    run(ex.Lookahead(model=Blunt(0.3)), ex.Corridor())


MOVED_FROM = {  # agents and their parameters in 0.2.0
    ex.Lookahead: "bonus bounded_step centering_from correction_step direct doubled_steps lessons "
    "maintained relabelled replay_capacity replayed_fits rollout step_unit stored_termination "
    "ties value",
    ex.QPlanning: "invalid_update options stored_action",
    ex.CachedValues: "cache_first cached_actions printed_delta",
    ex.CachedPolicy: "entropy old_target",
    ex.QLearning: "planning_steps",
    ex.RVIQLearning: "centering discount",
}


@pytest.mark.parametrize(
    ("agent", "name"), [(agent, name) for agent in MOVED_FROM for name in MOVED_FROM[agent].split()]
)
def test_a_moved_parameter_is_one_sentence_with_its_new_place(agent, name):
    (advice,) = [moved[name] for moved in MOVED.values() if name in moved]
    words = f"{agent.__name__}: unknown parameter {name}=0.5; {advice.format(value=0.5)}"
    with refusing(words, ValueError):
        agent(**{name: 0.5})
    for known in re.findall(r"ex\.([\w.]+)", advice):
        assert operator.attrgetter(known)(ex)


def test_every_moved_parameter_is_tested():
    names = [name for names in MOVED_FROM.values() for name in names.split()]
    assert sorted(names) == sorted(name for moved in MOVED.values() for name in moved)


# ----------------------------------------------------------------------------- parts of one's own

numbers = itertools.count()


def own_parts(path: Path, *changes: tuple[str, str]) -> Any:
    """The module of right parts, with changes."""
    text = RIGHT
    for right, wrong in changes:
        assert right in text
        text = text.replace(right, wrong)
    file = path / f"own_parts_{next(numbers)}.py"
    file.write_text(text)
    return module_at(file)


STEP = "return -PRICE - action, 1.0"
START = "queue.waiting[0] = queue.room // 2"
FEATURE = "state.active[1] = features.last"
ACT = "return epsilon_greedy(agent, state, agent.weights.shape[0], agent.epsilon, rng)"
ARRIVES = "    if rng.random() < queue.arrival"
DRAW = "    copy(state, latest.state)\n    return 0\n"
STORED = "return int(latest.facts[0]), latest.facts[1], latest.facts[2]"

# fmt: off
PARTS = {  # name: (what is right, what is written instead, what must be said)
    "a reward that is missing": (STEP, "return 1.0", "step of QueuePart must return (reward, alive), got 1.0 (…own_parts_…py, line "),
    "step without return": (f"    {STEP}\n", "", "must return (reward, alive), got None: is a return missing?"),
    "a reward that is not finite": (STEP, "return float('nan'), 1.0", "must return a reward that is a finite number, got nan"),
    "a reward that is a bool": (STEP, "return action == 1, 1.0", "must return a reward that is a finite number, got"),
    "done for alive": (STEP, "return -PRICE, False", "alive as 0.0 where the episode has ended, else 1.0, got False (alive, not done)"),
    "alive of a half": (STEP, "return -PRICE, 0.5", "else 1.0, got 0.5"),
    "a state beyond the last": (START, "queue.waiting[0] = queue.room", "observation of QueuePart must hold a state's number from 0 to 7, got 8"),
    "a state's number that is no whole number": ("np.zeros(1, np.int64)", "np.zeros(1)", "must hold the number of a state as int64, got 1 as float64"),
    "an observation that is a number": ("    return queue.waiting\n", "    return queue.waiting[0]\n", "must return an array of one axis"),
    "another array every time": ("    return queue.waiting\n", "    return queue.waiting + 0\n", "must return the same array every time"),
    "an index beyond an array": ("queue.waiting[0] += 1", "queue.waiting[action + 1] += 1", "step of QueuePart: IndexError: index"),
    "a name that is not defined": ("queue.waiting[0] -= 1", "queue.waiting[0] -= won", "step of QueuePart: NameError: name 'won' is not defined (…own_parts_…py, line "),
    "a field that does not exist": ("queue.room // 2", "queue.rooms // 2", "reset of QueuePart: AttributeError: 'QueuePart' object has no attribute 'rooms'"),
    "a field that is assigned to": (START, "queue.arrival = 0.5", "a field cannot be assigned to; keep what changes in an array"),
    "a list in a field": ("QueuePart(np.zeros(1, np.int64)", "QueuePart([0]", "domain.waiting must be an array, a number or a NamedTuple, got [0]: np.array(...) makes"),
    "None in a field": ("self.room, self.arrival)", "self.room, None)", "domain.arrival must be…got None: −1 or an array of length 0"),
    "an array of objects": ("np.zeros(1, np.int64)", "np.array([None])", "domain.waiting must be an array of numbers, got dtype object"),
    "a number beyond 64 bits": ("self.room, self.arrival)", "10**30, self.arrival)", "domain.room must fit into 64 bits"),
    "a part that is no NamedTuple": ("return QueuePart(np.zeros(1, np.int64), self.room, self.arrival)", "return 7", "build of the domain must return a NamedTuple of arrays and numbers, got 7"),
    "a verb with an argument too few": ("def _(queue, action, rng):", "def _(queue, action):", "step of QueuePart: TypeError: …: the verb is step(domain, action, rng) ("),
    "division by zero": (STEP, "return -PRICE / (1 - 1), 1.0", "step of QueuePart: ZeroDivisionError"),
    "wrong bounds of a draw": (START, "queue.waiting[0] = rng.integers(5, 2)", "reset of QueuePart: ValueError: low >= high (…own_parts_…py, line "),
    "a feature beyond the last": (FEATURE, "state.active[1] = features.last + 1", "encode of PairsPart must write features from 0 to 4, got 5"),
    "a negative feature": (FEATURE, "state.active[1] = -1", "must write features from 0 to 4, got -1"),
    "more features than active ones": (FEATURE, "state.active[2] = features.last", "encode of PairsPart: IndexError: index 2 is out of bounds"),
    "an observation that features change": (f"    {FEATURE}", f"    {FEATURE}\n    observation[0] = 0", "encode of PairsPart must not change what it is given, and changed [4] to [0]"),
    "an action beyond the last": (ACT, "return 2", "act of SarsaPart must return an action, a whole number from 0 to 1, got 2"),
    "an action that is a float": (ACT, "return 1.0", "a whole number from 0 to 1, got 1.0"),
    "learn without return": ("    return abs(move(weights[transition.action]", "    abs(move(weights[transition.action]", "learn of SarsaPart must return the size of its errors, got None"),
    "weights that are too short": ("np.zeros((context.actions, context.width))", "np.zeros((context.actions, 2))", "of SarsaPart: IndexError: index…own_parts_…py, line "),
    "a preference that is no number": ("    return dot(state, agent.weights[action])\n", "    return agent.weights[action]\n", "preference of SarsaPart must return a number"),
    "a model without return": ("    return backed_up_value(model.inner", "    backed_up_value(model.inner", "backed_up_value of CautiousPart must return a number, got None"),
    "a model that promises nan": ("- model.penalty", "- model.penalty * float('nan')", "backed_up_value of CautiousPart must return a number, got nan"),
    "fit without return": ("    return fit(model.inner, transition)", "    fit(model.inner, transition)", "fit of CautiousPart must return the size of its errors, got None"),
    "a draw without a slot": (DRAW, "    copy(state, latest.state)\n", "draw of LatestPart must return a slot, a whole number from 0 on, or −1, got None"),
    "a drawn feature beyond the last": (DRAW, "    copy(state, latest.state)\n    state.active[0] = 99\n    return 0\n", "draw of LatestPart must write features from 0 to 4, got 99"),
    "a bad row in load": (DRAW, "    load(empty_table(TWO, 3), 3, state)\n    return 0\n", "draw of LatestPart: IndexError: index 3 is out of bounds…own_parts_…py, line "),
    "a stored action that does not exist": (STORED, "return 5, latest.facts[1], latest.facts[2]", "stored_transition of LatestPart must return an action, a whole number from 0 to 1, got 5"),
    "stored without alive": (STORED, "return int(latest.facts[0]), latest.facts[1]", "stored_transition of LatestPart must return (action, reward, alive), got"),
    "random numbers of Python's own": ("if rng.random() < queue.arrival", "if random.random() < queue.arrival", "step of QueuePart draws from random, which no seed reaches: draw from the rng that is passed in"),
    "a helper that draws from what is global": (STEP, "return -chance(), 1.0", "step of QueuePart draws from np.random, which no seed reaches"),
}
BESIDE = {  # what is needed beside the change
    "a bad row in load": ("PRICE = 1.0", "from expectant.core.vectors import empty_table\nfrom expectant.core.verbs import load\nTWO = ex.extend.Shape(5, 2)\nPRICE = 1.0"),
}
COUNTS = [  # what a domain says of itself
    ("    actions = 2\n", "    actions = 0\n", "Queue: actions must be a whole number, 1 or more, got 0"),
    ("    actions = 2\n", "", "Queue must define actions, see docs/own-parts.md"),
    ("property(lambda self: self.room)", "property(lambda self: self.room / 1)", "Queue: states must be a whole number, 1 or more, or None, got 8.0"),
]
LATER = {  # found by the loop, long after any trial
    "a reward that is not finite": (ARRIVES, f"    if rng.random() < 0.02:\n        return np.nan, 1.0\n{ARRIVES}", "step of QueuePart must return a reward that is a finite number, got nan, in run 0, episode"),
    "alive of a half": (ARRIVES, f"    if rng.random() < 0.02:\n        return -1.0, 0.5\n{ARRIVES}", "else 1.0, got 0.5, in run"),
    "an action out of range": (ACT, "return 9 if rng.random() < 0.02 else 1", "act of SarsaPart must return an action, a whole number from 0 to 1, got 9, in run"),
    "a state out of range": (ARRIVES, f"    if rng.random() < 0.02:\n        queue.waiting[0] = 70\n{ARRIVES}", "observation of QueuePart must hold a state's number from 0 to 7, got 70, in run"),
    "a feature out of range": (f"    {FEATURE}", "    state.active[1] = features.last if observation[0] < 4 else 5000", "encode of PairsPart must write features from 0 to 4, got 5000, in run"),
}
COMPILING = {  # what plain Python does and compiled code cannot
    "a helper that is not marked": (STEP, "return -cost(action), 1.0", "cost is called in compiled code and is not marked for it: write @expectant.core.verbs.function"),
    "a dict as a global": (STEP, "return -PRICE - NAMES['ease'], 1.0", "the global NAMES is a dict, which compiled code cannot use"),
    "a list as a global": (STEP, "return -COSTS[action], 1.0", "the global COSTS is a list, which compiled code cannot use"),
    "a global that is assigned to": (f"    {STEP}", "    global PRICE\n    PRICE = 2.0\n    return -PRICE, 1.0", "an assignment to a global: keep what changes in an array of the part ("),
    "a global array that is written to": (f"    {STEP}", "    SEEN[0] += 1.0\n    return -SEEN[0], 1.0", "Cannot modify readonly array"),
    "a method that Numba does not know": (START, "queue.waiting[0] = rng.choice(queue.room)", "rng.choice is not there in compiled code: draw with rng.random() or rng.integers(low, high) (…own_parts_…py, line "),
    "a whole number drawn with one end": (START, "queue.waiting[0] = rng.integers(queue.room)", "rng.integers(int64): missing a required argument: 'high' ("),
    "an f-string with a format": (f"    {STEP}", "    name = f'{action:d}'\n    return -PRICE, 1.0", "a part cannot be compiled: an f-string with a format ("),
    "a function that calls itself": (STEP, "return -again(3), 1.0", "compiler re-entrant to the same function signature"),
    "three numbers instead of two": (ARRIVES, f"    if rng.random() < 0.002:\n        return -1.0, 1.0, 0.0\n{ARRIVES}", "a part cannot be compiled: Can't unify return type"),
    "a method of a part": ("< queue.arrival", "< queue.chance()", "chance is no field of QueuePart, and compiled code knows nothing else of it"),
}
# fmt: on


def try_out(own: Any) -> None:
    for setup in own.setups():
        dry_run(setup, *setup.build(0))


def test_right_parts_are_right(tmp_path):
    own = own_parts(tmp_path)
    try_out(own)
    for found, verb in (
        (ex.check(own.Pairs(), own.Queue(), steps=60, compiled=False), "encode"),
        (ex.check(own.Cautious(), steps=60, compiled=False), "fit"),
        (ex.check(own.Latest(), steps=60, compiled=False), "draw"),
        (ex.check(own.SoftSarsa(0.1), steps=60, compiled=False), "act"),
    ):
        assert found.steps == 60 and found.episodes > 2 and found.calls[verb] >= 60


@pytest.mark.parametrize("name", PARTS)
def test_a_mistake_in_a_part_is_one_sentence_with_its_place(name, tmp_path):
    right, wrong, words = PARTS[name]
    beside = [BESIDE[name]] if name in BESIDE else []
    own = own_parts(tmp_path, *beside, (right, wrong))
    with refusing(words):
        try_out(own)


@pytest.mark.parametrize(("right", "wrong", "words"), COUNTS)
def test_what_a_domain_says_of_itself_is_checked(right, wrong, words, tmp_path):
    own = own_parts(tmp_path, (right, wrong))
    with refusing(words, (ValueError, NotImplementedError)):
        ex.run(own.Queue(), ex.OneHot(), ex.QLearning.paper(0.1), episodes=1, progress=False)


@pytest.mark.parametrize("name", LATER)
def test_the_loop_stops_at_a_promise_that_is_broken(name, tmp_path):
    right, wrong, words = LATER[name]
    own = own_parts(tmp_path, (right, wrong))
    with refusing(words):
        run(own.SoftSarsa(0.05), own.Queue(arrival=0.4), own.Pairs(), episodes=500)


@pytest.mark.parametrize("name", COMPILING)
def test_what_cannot_be_compiled_is_one_sentence(name, tmp_path):
    right, wrong, words = COMPILING[name]
    method = "    arrival: float\n\n    def chance(self):\n        return self.arrival\n"
    own = own_parts(tmp_path, (right, wrong), ("    arrival: float\n", method))
    rng, trace = np.random.default_rng(0), np.zeros((1, 4))
    arguments = own.Queue().build(rng), np.zeros(1, np.int64), rng, trace
    with refusing(words):
        compile_for(walk, arguments, "", Silent())


WHOLE_FILE = """
result = ex.run(Queue(), Pairs(), SoftSarsa(0.05), episodes=500, runs=2, progress=False{more})
"""


@pytest.mark.parametrize(
    ("wrong", "more", "words"),
    [
        ("queue.waiting[7]", "", "PartError: step of QueuePart: IndexError: index 7"),
        (
            "queue.waiting[70 * (rng.random() < 0.002)]",
            ", compiled=False",
            "PartError: a part indexes beyond an array: index 70 is out of bounds…, in run…, line ",
        ),
    ],
)
def test_a_script_with_a_mistake_ends_in_one_sentence(wrong, more, words, tmp_path):
    """Compiled, in a process of its own: never in a signal."""
    file = tmp_path / "parts.py"
    text = RIGHT.replace("queue.waiting[0] -= 1", f"{wrong} -= 1")
    file.write_text(text + WHOLE_FILE.format(more=more))
    done = run_file(file)
    assert done.status == 1
    assert contains(done.errors.strip().splitlines()[-1], words), done.errors


# fmt: off
CHECKED = {  # found by a check of the part alone
    "features": (FEATURE, "state.active[1] = 9", "check: Pairs: encode of PairsPart must write features from 0 to 4, got 9 (…own_parts_…py, line"),
    "model": ("- model.penalty", "- model.penalty * np.add(SEEN, 1.0, out=SEEN)[0]", "check: Cautious: run once more with the same seed, the array…came out differently: draw from the rng"),
    "backups": ("empty_state(context.shape), np.zeros(3))", "empty_state(context.shape), SHARED)", "check: Latest: two runs share the array agent.planner.backups.facts: make new arrays in build"),
    "agent": ("    return dot(state, agent.weights[action])\n", "    state.active[0] = 0\n    return dot(state, agent.weights[action])\n", "check: SoftSarsa: preference of SarsaPart must not change what it is given, and changed ["),
}
# fmt: on


@pytest.mark.parametrize("kind", CHECKED)
def test_a_check_names_what_is_wrong_with_a_part(kind, tmp_path):
    right, wrong, words = CHECKED[kind]
    own = own_parts(tmp_path, ("PRICE = 1.0", "PRICE, SHARED = 1.0, np.zeros(3)"), (right, wrong))
    check = {
        "features": lambda **k: ex.check(own.Pairs(), own.Queue(), **k),
        "model": lambda **k: ex.check(own.Cautious(), **k),
        "backups": lambda **k: ex.check(own.Latest(), **k),
        "agent": lambda **k: ex.check(own.SoftSarsa(0.1), **k),
    }[kind]
    with refusing(words):
        check(steps=60, compiled=False)


# fmt: off
DOMAIN_CHECKED = [  # by ex.check
    (STEP, "return 1.0", "step of QueuePart must return (reward, alive), got 1.0 (…own_parts_…py, line"),
    ("QueuePart(np.zeros(1, np.int64)", "QueuePart(SEEN.view(np.int64)", "two runs share the array domain.waiting: make new arrays in build"),
    ("rng.random() < queue.arrival", "np.random.default_rng().random() < queue.arrival", "draws from np.random, which no seed reaches"),
    (STEP, "return -PRICE, 0.0 if queue.waiting[0] else 1.0", "it seems to return whether the episode is done"),
    ("        return 0.0, 0.0", "        queue.waiting[0] = 0", "no episode ended within 10,000 random steps"),
    ("    states = property(lambda self: self.room)\n", "", "needs `states`, how many states it numbers, or `bounds`"),
    ("@observation.register(QueuePart)\n", "", "QueuePart does not implement the verb 'observation'"),
]
# fmt: on


@pytest.mark.parametrize(("right", "wrong", "words"), DOMAIN_CHECKED)
def test_check_domain_names_what_is_wrong(right, wrong, words, tmp_path):
    own = own_parts(tmp_path, (right, wrong))
    with refusing(f"check: Queue: …{words}"):
        ex.check(own.Queue(), episodes=2)


RUN = Setup(ex.Corridor(cells=4), ex.OneHot(), ex.QLearning.paper(0.1), episodes=1).build(0)[0]


def test_code_without_a_file_has_lines_too():
    written: dict[str, Any] = {}
    exec(
        "def act(part, state):\n    return inner(part)\n\ndef inner(part):\n    return 1 / 0\n",
        written,
    )
    with pytest.raises(PartError, match=r"\(<string>, line 5\)$"):
        Contracts(RUN)(verbs.act, written["act"], None, (RUN.state,))
