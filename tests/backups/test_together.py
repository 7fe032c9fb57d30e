"""What every backup distribution must do: compose, compile to the same bits, refuse clearly."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from backups.weighted import Values

import expectant as ex
from expectant.backups import NAMED
from expectant.engine.compile import compiling
from expectant.engine.job import Job
from expectant.engine.loop import simulate

# small enough to be full and to wrap around within a few episodes
SMALL: dict[str, ex.Backups] = {
    "replay": ex.Replay(20),
    "recency": ex.RecencyReplay(20, halflife=5),
    "trajectory": ex.Trajectory(4, capacity=20),
    "current": ex.CurrentState(),
    "seen": ex.SeenStates(5),
    "pairs": ex.SeenPairs(5),
    "pairs_untried": ex.SeenPairs(5, untried=True),
    "prioritized_pairs": ex.PrioritizedPairs(5, links=2),
    "all": ex.AllStates(),
    "all_pairs": ex.AllPairs(),
    "prioritized": ex.PrioritizedSweeping(5, links=2),
    "sampler": ex.StateSampler(3),
}
PAIRS = ("pairs", "pairs_untried", "prioritized_pairs")
STORING = ("replay", "recency", "trajectory", *PAIRS)

AGENTS: dict[str, Any] = {
    "lookahead": lambda **k: ex.Lookahead(0.1, 0.1, planning_steps=3, **k),
    "cached_values": lambda **k: ex.CachedValues(0.1, 0.1, 0.1, planning_steps=3, **k),
    "cached_policy": lambda **k: ex.CachedPolicy(0.1, 0.1, 0.1, planning_steps=3, **k),
    "q_planning": lambda **k: ex.QPlanning(0.1, 0.1, planning_steps=3, **k),
}

# every distribution compiled, with action values and without, and both kinds of vectors
COMPILED = [
    ("recency", "lookahead", ex.RandomBinary(14, 5)),
    ("trajectory", "q_planning", Values()),
    ("current", "q_planning", ex.RandomBinary(14, 5)),
    ("seen", "lookahead", ex.RandomBinary(14, 5)),
    ("sampler", "lookahead", ex.RandomBinary(14, 5)),
    ("prioritized", "lookahead", ex.RandomBinary(14, 5)),
]


def flat(part: Any) -> list[Any]:
    if isinstance(part, tuple):
        return [array for item in part for array in flat(item)]
    return [part if isinstance(part, np.random.Generator) else np.array(part)]


@pytest.mark.parametrize(("name", "agent", "features"), COMPILED, ids=str)
def test_the_whole_state_is_the_same_after_a_compiled_and_a_plain_run(name, agent, features):
    options = {"replayed_fits": 2, "relabelled": True} if name in STORING else {}
    described = AGENTS[agent](backups=SMALL[name], **options)
    job = Job(
        ex.Corridor(slip=0.3, switch_every=5), features, described, episodes=20, step_limit=40
    )
    ends = []
    for compiled in (True, False):
        prepared, streams = job.prepare(0)
        kernel = compiling.kernel_for(prepared) if compiled else simulate
        assert kernel(prepared, job.budget(), streams, np.zeros(1, np.int64)) == 0
        ends.append([*flat(prepared), np.array([rng.random() for rng in streams.named().values()])])
    for one, other in zip(*ends, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("name", SMALL)
def test_every_distribution_composes_with_every_agent(name, agent):
    for features in (ex.OneHot(), ex.RandomBinary(14, 5), Values()):
        for model in ("expectation", "distribution", "true"):
            if model == "true" and name == "sampler":
                continue
            described = AGENTS[agent](backups=SMALL[name], model=model)
            domain = ex.Corridor(cells=5, slip=0.2)
            result = ex.run(domain, features, described, episodes=3, runs=1, compiled=False)
            assert np.isfinite(result.returns).all()


FEATURE_WISE = {
    "features": ex.SingleFeatures(),
    "pwma": ex.FeatureSweeping(0.1),
    "mg": ex.RowSweeping(0.1),
}


@pytest.mark.parametrize("name", NAMED)
def test_names_stand_for_descriptions(name):
    small = {**SMALL, **FEATURE_WISE}[name]
    agent = ex.Lookahead(0.1, backups=name, replay_capacity=77)
    described = agent.distribution()
    assert type(described) is type(small)
    assert getattr(described, "capacity", None) == (
        77
        if name in ("replay", "recency", "trajectory")
        else getattr(type(described)(), "capacity", None)
    )
    for again in (agent, ex.Lookahead(0.1, backups=small)):
        assert ex.Description.from_dict(json.loads(json.dumps(again.to_dict()))) == again


@pytest.mark.parametrize(
    "name", [name for name in SMALL if name not in ("replay", "current", "all", "all_pairs")]
)
def test_options_are_run_time_numbers(name):
    """The same kernel serves other options, given as whole numbers or not."""
    others = {
        "recency": ex.RecencyReplay(7, halflife=3),
        "trajectory": ex.Trajectory(1, capacity=9),
        "seen": ex.SeenStates(77),
        "pairs": ex.SeenPairs(77),
        "pairs_untried": ex.SeenPairs(77, untried=True),
        "prioritized_pairs": ex.PrioritizedPairs(99, threshold=1, links=5),
        "prioritized": ex.PrioritizedSweeping(99, threshold=1, links=5),
        "sampler": ex.StateSampler(8),
    }

    def types(backups: ex.Backups) -> list[Any]:
        job = Job(
            ex.Corridor(),
            ex.OneHot(),
            AGENTS["lookahead"](backups=backups),
            episodes=1,
            step_limit=9,
        )
        parts = flat(job.prepare(0)[0])
        return [(part.dtype, part.ndim) for part in parts]

    assert types(SMALL[name]) == types(others[name])


BAD: list[tuple[Any, str]] = [
    (lambda: ex.RecencyReplay(0), "RecencyReplay: capacity must be a whole number, 1 or more"),
    (lambda: ex.RecencyReplay(10, 0.5), "halflife must be a finite number, 1 or more, got 0.5"),
    (lambda: ex.RecencyReplay(10, float("inf")), "halflife .* got inf"),
    (lambda: ex.Trajectory(0), "Trajectory: length must be a whole number, 1 or more, got 0"),
    (lambda: ex.Trajectory(2, -1), "Trajectory: capacity .* got -1"),
    (lambda: ex.SeenStates(None), "SeenStates: capacity must be a whole number, 1 or more"),  # type: ignore[arg-type]
    (lambda: ex.SeenStates(2.5), "capacity .* got 2.5"),  # type: ignore[arg-type]
    (lambda: ex.PrioritizedSweeping(0), "PrioritizedSweeping: capacity .* got 0"),
    (lambda: ex.PrioritizedSweeping(threshold=-1), "threshold must be a finite number, 0 or more"),
    (lambda: ex.PrioritizedSweeping(links=0), "links must be a whole number, 1 or more, got 0"),
    (lambda: ex.PrioritizedSweeping(tresh=1), "unknown option tresh=1, did you mean 'threshold'"),  # type: ignore[call-arg]
    (lambda: ex.StateSampler(0), "StateSampler: clusters must be a whole number, 1 or more"),
    (lambda: ex.CurrentState(capacity=5), "CurrentState: unknown option capacity=5"),  # type: ignore[call-arg]
    (lambda: ex.Lookahead(0.1, backups="prioritised"), "backups must be 'replay' or 'recency'"),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_bad_options_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("given", ["name", "description"])
@pytest.mark.parametrize("option", [
    {"replayed_fits": 2}, {"replayed_fits": "planning_steps"}, {"relabelled": True},
    {"stored_termination": True}, {"stored_action": True},
], ids=str)  # fmt: skip
def test_what_needs_stored_transitions_is_refused_without_them(name, given, option):
    make = AGENTS["q_planning" if "stored_action" in option else "lookahead"]
    if given == "name" and name not in NAMED:
        pytest.skip("has no name")
    backups = name if given == "name" else SMALL[name]
    pairs = name == "prioritized" and given == "name" and "stored_action" in option
    if name in STORING or pairs:  # that name means pairs where one action is backed up
        make(backups=backups, **option)
        return
    argument = next(iter(option))
    with pytest.raises(ValueError, match=f"{argument}=.* needs stored transitions, and backups="):
        make(backups=backups, **option)


def test_given_models_and_no_planning_fit_nothing():
    ex.Lookahead(0.1, backups="seen", model="true", replayed_fits=3)
    ex.Lookahead(0.1, backups="seen", planning_steps=0, replayed_fits="planning_steps")


@pytest.mark.parametrize(
    "model",
    [
        "true",
        "exact",
        "true_sample",
        ex.TrueModel(),
        ex.ExactExpectation(),
        ex.Sample(ex.TrueModel()),
    ],
    ids=str,
)
def test_models_that_look_up_places_are_refused_to_the_sampler(model):
    for backups in ("sampler", ex.StateSampler(2)):
        with pytest.raises(
            ValueError, match="looks up the environment's own state, which backups="
        ):
            ex.Lookahead(0.1, backups=backups, model=model)
    for backups in ("seen", "prioritized", "current"):
        ex.Lookahead(0.1, backups=backups, model=model)
