"""Every part says what it will hold: the estimate against the arrays that are built."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from building import Built

import expectant as ex
from expectant.agents.by_name import MODELS
from expectant.agents.planning_update import UPDATES
from expectant.backups import NAMED
from expectant.core import tree
from expectant.descriptions import KINDS, written_kind
from expectant.engine.job import Job
from expectant.engine.memory.demand import demand_of

CORRIDOR = ex.Corridor(cells=40, switch_every=5)
GRID = ex.LocaGrid(rows=5, columns=9)
TABLE = ex.FiniteMDP(
    np.full((30, 3, 31), 1 / 31), np.arange(90.0).reshape(30, 3), start=np.full(30, 1 / 30)
)
CAR = ex.MountainCar()
TILES = ex.Tiles(8, 6)

FEATURES = {
    "one_hot": (CORRIDOR, ex.OneHot()),
    "random_binary": (CORRIDOR, ex.RandomBinary(100, 7)),
    "tiles": (CAR, TILES),
    "hashed": (CAR, ex.Tiles(8, 6, hash_size=128, bias=True)),
    "some_dimensions": (CAR, ex.Tiles(8, 6, dimensions=(1,))),
    "identity": (CAR, ex.Identity()),
    "categorical": (CORRIDOR, ex.Categorical((8, 5))),
    "joined": (CAR, ex.Joined(TILES, ex.Joined(ex.Identity(), ex.Fourier(4)))),
    "fourier": (CAR, ex.Fourier(9)),
    "history": (CORRIDOR, ex.History(ex.OneHot(), 5, actions=True)),
    "traces": (CAR, ex.Traces(TILES)),
    "nested": (CORRIDOR, ex.Traces(ex.History(ex.RandomBinary(50, 3), 4))),
}
DOMAINS = {
    "corridor": (CORRIDOR, ex.OneHot()),
    "one_phase": (ex.Corridor(cells=40), ex.OneHot()),
    "counterexample": (ex.Counterexample(), ex.OneHot()),
    "table": (TABLE, ex.OneHot()),
    "rooms": (ex.Rooms("S..\n.PG"), ex.OneHot()),
    "two_rooms": (ex.TwoRooms(), ex.OneHot()),
    "four_rooms": (ex.FourRooms(), ex.OneHot()),
    "loca_grid": (GRID, ex.OneHot()),
    "dyna_maze": (ex.DynaMaze(resolution=(2, 3)), ex.OneHot()),
    "blocking_maze": (ex.BlockingMaze(), ex.OneHot()),
    "shortcut_maze": (ex.ShortcutMaze(), ex.OneHot()),
    "cliff": (ex.Cliff(), ex.OneHot()),
    "branching": (ex.Branching(states=100, branches=4), ex.OneHot()),
    "lottery": (ex.Lottery(prizes=200), ex.OneHot()),
    "boyan_chain": (ex.BoyanChain(), ex.Interpolated(25)),
    "access_control": (ex.AccessControl(), ex.OneHot()),
    "two_choice": (ex.TwoChoice(length=40), ex.OneHot()),
    "river_swim": (ex.RiverSwim(length=40), ex.OneHot()),
    "transient_chain": (ex.TransientChain(length=40), ex.OneHot()),
    "mountain_car": (CAR, TILES),
    "driven_car": (ex.DrivenCar(), TILES),
    "loca_mountain_car": (ex.LocaMountainCar(), TILES),
    "outside": (ex.Outside(n_actions=2, n_states=1000), ex.OneHot()),
    "gym": (ex.Gym("CartPole-v1"), ex.Tiles(4, 2, bounds=[(-3, 3)] * 4)),
}
AGENTS = {
    "q_learning": ex.QLearning(0.1),
    "q_planning": ex.QPlanning(0.1, model="true"),
    "sarsa": ex.Sarsa(0.1, 0.9),
    "expected_sarsa": ex.ExpectedSarsa(0.1),
    "dyna_q": ex.DynaQ(0.1),
    "dyna_q_prioritized": ex.DynaQ(0.1, backups=ex.PrioritizedPairs(capacity=700, links=3)),
    "lookahead": ex.Lookahead(0.1),
    "maintained": ex.Lookahead(0.1, maintained=True),
    "imagining": ex.Lookahead(0.1, rollout=3),
    "sampling": ex.Lookahead(0.1, rollout=3, model="sample"),
    "cached_values": ex.CachedValues(0.1, 0.1),
    "network_values": ex.Lookahead(0.1, value=ex.NetworkValues(hidden=20)),
    "sampled_values": ex.CachedValues(0.1, 0.1, value=ex.NetworkValues(), model="sample"),
    "cached_policy": ex.CachedPolicy(0.1, 0.1),
}
OWN_MODELS: dict[str, ex.Model] = {
    "short_columns": ex.SparseExpectation(0.1, capacity=20),
    "adam": ex.NetworkExpectation(hidden=20, optimiser="adam"),
    "many_states": ex.Distribution(states=3000, outcomes=5),
    "true_draws": ex.Sample(ex.TrueModel()),
    "three_steps": ex.NStepExpectation(3),
}
OWN_BACKUPS: dict[str, ex.Backups] = {
    "unlimited": ex.Replay(None),
    "untried": ex.SeenPairs(untried=True, capacity=300),
    "pair_sweeping": ex.PrioritizedPairs(capacity=300),
    "unlimited_recency": ex.RecencyReplay(None),
    "small_sweeping": ex.PrioritizedSweeping(capacity=700, links=3),
    "few_clusters": ex.StateSampler(clusters=5),
}
PLANS = [
    *(ex.Lookahead(0.1, model=model) for model in MODELS),
    *(ex.Lookahead(0.1, model=model) for model in OWN_MODELS.values()),
    *(ex.Lookahead(0.1, backups=backups) for backups in NAMED),
    *(ex.Lookahead(0.1, backups=backups) for backups in OWN_BACKUPS.values()),
    ex.Lookahead(0.1, backups="mg", model="sparse"),
    ex.Lookahead(ex.Bounded(0.1), ex.Decaying(0.1)),
    ex.Lookahead(ex.IDBD(), ex.Autostep()),
    *(ex.Lookahead(0.1, planning_update=update) for update in UPDATES),
]


OPTION = ex.TableOption((0,) * 40, (0.5,) * 40)
REPERTOIRES = {
    "learned": ex.Repertoire((OPTION, OPTION.replace(policy=(1,) * 40), ex.OneStep(1))),
    "exact": ex.Repertoire((OPTION, ex.BestOption(3)), models="exact"),
    "universal": ex.Repertoire((OPTION,), models="universal"),
    "subtasks": ex.Repertoire((ex.RewardRespecting(3), ex.RewardRespecting(4), ex.ShortestPath(3))),
}


# Bytes of what nobody counts: clocks, sums and places of a few numbers each.
LEAST, MOST = 32, 88
MORE = {"counterexample": 360, "loca_mountain_car": 272}  # small tables of the domain's own
FEWER = {"subtasks": -280}  # what options share is counted for each


def held(job: Job) -> int:
    """The bytes of all distinct arrays of a built run."""
    run, _ = job.prepare(0)
    return sum({id(array): array.nbytes for _, array in tree.arrays(run)}.values())


@pytest.mark.parametrize("name", FEATURES)
def test_features_say_to_the_byte_what_they_hold(name):
    domain, features = FEATURES[name]
    built = Built(domain, features)
    actual = sum({id(array): array.nbytes for _, array in tree.arrays(built.features)}.values())
    assert sum(need.bytes for need in features.estimate_memory(built.setting)) == actual


def check(domain, features, agent, least=LEAST, most=MOST, **length):
    job = Job(
        domain,
        features,
        agent,
        episodes=length.get("episodes", 9),
        steps=length.get("steps", 0),
        bins=7,
        step_limit=20,
    )
    demand, actual = demand_of(job), held(job)
    estimate = sum(need.bytes for need in demand.needs)
    assert least <= actual - estimate <= most, f"said {estimate:,}, holds {actual:,}"


def pairs(first, second):
    return list(itertools.product(first, second))


RELATIVE = ex.RVIQLearning(0.1)


def test_relative_values_say_what_they_hold():
    check(CORRIDOR, ex.RandomBinary(100, 7), RELATIVE)


@pytest.mark.parametrize("domain", DOMAINS)
def test_domains_say_what_they_hold(domain):
    check(*DOMAINS[domain], AGENTS["q_learning"], most=MORE.get(domain, MOST))


@pytest.mark.parametrize(("features", "agent"), pairs(FEATURES, AGENTS))
def test_agents_say_what_they_hold(features, agent):
    domain, described = FEATURES[features]
    if agent == "q_planning" and (domain is CAR or described.shape(domain).remembers):
        check(domain, described, AGENTS[agent].replace(model="sample"))
    else:
        check(domain, described, AGENTS[agent])


@pytest.mark.parametrize("agent", PLANS, ids=lambda agent: f"{agent.model}-{agent.backups}")
def test_models_and_backups_say_what_they_hold(agent):
    check(CORRIDOR, ex.RandomBinary(60, 4), agent)
    check(TABLE, ex.OneHot(), agent)


@pytest.mark.parametrize("options", REPERTOIRES)
@pytest.mark.parametrize("agent", ["lookahead", "imagining", "cached_values", "cached_policy"])
def test_agents_with_options_say_what_they_hold(agent, options):
    described = AGENTS[agent].replace(options=REPERTOIRES[options], discount=0.9)
    check(CORRIDOR, ex.OneHot(), described, FEWER.get(options, LEAST))


@pytest.mark.parametrize("backups", [*NAMED, *OWN_BACKUPS.values()], ids=repr)
def test_backups_of_weighted_states_say_what_they_hold(backups):
    if backups not in ("all", "all_pairs"):  # which need numbered states
        check(CAR, ex.Fourier(5), ex.QPlanning(0.1, backups=backups))


def test_records_are_counted():
    check(CORRIDOR, ex.OneHot(), AGENTS["q_learning"], episodes=100_000)
    check(CORRIDOR, ex.OneHot(), AGENTS["q_learning"], episodes=0, steps=100_000)


def test_no_part_of_the_package_is_forgotten():
    """A new part must be added to the lists above, so that what it says is compared."""
    covered: set[str] = set()

    def cover(described):
        if isinstance(described, ex.Description):
            covered.add(written_kind(type(described)))
            for value in vars(described).values():
                cover(value)
        elif isinstance(described, tuple):
            for value in described:
                cover(value)

    for options in REPERTOIRES.values():
        cover(options)
    for domain, features in (*FEATURES.values(), *DOMAINS.values()):
        cover(domain), cover(features)
    for agent in (*AGENTS.values(), *PLANS, RELATIVE):
        cover(agent)
    for name in MODELS:
        cover(MODELS[name](0.1))
    for name in NAMED:
        cover(NAMED[name](5))
    ours = {name for name, kind in KINDS.items() if kind.__module__.startswith("expectant.")}
    assert ours == covered
