"""Probes of an agent on a schedule, as the curve of a run."""

from __future__ import annotations

import numpy as np
import pytest
from building import per_feature

import expectant as ex
from expectant.engine.driver import drive, new_control
from expectant.engine.loop import simulate
from expectant.engine.probe import States, ask, copy_subject, probe_agent
from expectant.engine.setup import Setup
from expectant.exact.loca_mountain_car import reference_levels
from expectant.experiments.config_file import parse_config
from expectant.experiments.curves import group_panels
from expectant.experiments.metrics import find_metric
from expectant.experiments.probes import PROBES, register_probe
from expectant.experiments.recording import (
    Record,
    evaluate_copy,
    parse_record,
    record_levels,
    record_run,
)
from expectant.experiments.runner import compute
from expectant.experiments.store import Store
from expectant.experiments.trials import Trial, trial_hash

SMALL = ex.domains.LocaGrid(rows=1, columns=4, noise=0.0, phase_steps=(600, 300, 300))
FAST = ex.Lookahead.paper(
    0.5,
    model=ex.models.LinearExpectation(per_feature(0.5), 8.0),
    initial_value=8.0,
    planning_steps=1,
    discount=0.97,
    backups="all",
)


def job_of(domain, agent):
    return Setup(domain, ex.OneHot(), agent, steps=sum(domain.phase_steps))


def greedy(every):
    return parse_record({"probe": "greedy_return", "every": every})


def run_plain(agent, domain=SMALL, every=100, number=0, loop=simulate):
    control = np.zeros(1, np.int64)
    return record_run(job_of(domain, agent), number, loop, ask, control, greedy(every))[0]


THREE = SMALL.replace(phase_steps=(10, 10, 10))
MOVING = ex.Corridor(switch_every=10)


@pytest.mark.parametrize(("domain", "length", "record", "at", "phases"), [
    (ex.Corridor(), {"episodes": 25}, {"every": 10}, [0, 10, 20, 25], [0] * 4),
    (ex.Corridor(), {"steps": 40}, {"every": 2, "growth": 2.0}, [0, 2, 6, 14, 30, 40], [0] * 6),
    (MOVING, {"episodes": 25}, {"every": 10}, [0, 10, 10, 20, 20, 25], [0, 0, 1, 1, 2, 2]),
    (MOVING, {"steps": 20}, {"every": 10}, [0, 10, 20], [0] * 3),
    (THREE, {"steps": 45}, {"every": 10}, [0, 10, 10, 20, 20, 30, 40, 45], [0, 0, 1, 1, *[2] * 4]),
    (THREE, {"steps": 12}, {"every": 10, "after": 5}, [5, 10, 10, 12], [0, 0, 1, 1]),
])  # fmt: skip
def test_schedules_of_other_runs(domain, length, record, at, phases):
    setup = Setup(domain, ex.OneHot(), FAST, **length)
    found = parse_record({"probe": "greedy_return", **record}).schedule(setup)
    assert (found[0].tolist(), found[1].tolist()) == (at, phases)


def test_an_agent_that_plans_everywhere_carries_the_news():
    found, (at, _) = run_plain(FAST), greedy(100).schedule(job_of(SMALL, FAST))
    best = [4 * (1 + 0.97 + 0.97**2 + 0.97**3) / 4, (2 + 1.94 + 2 * 0.97**2 + 1) / 4]
    assert found[at == 600].tolist() == pytest.approx([best[0], best[0] / 4])
    assert found[at == 900][0] == pytest.approx(best[1])
    assert found[-1] == pytest.approx(best[1])
    levels = record_levels(job_of(SMALL, FAST), greedy(100))
    assert [(level.start, level.end, level.name) for level in levels] == [
        (0, 600, "optimum"),
        (600, 1200, "optimum"),
        (600, 1200, "outdated policy"),
    ]
    assert [level.height for level in levels] == pytest.approx([*best, best[0] / 4])


def test_a_diverged_run_is_nan_from_there_on():
    with np.errstate(all="ignore"):
        found = run_plain(FAST.replace(value_step=per_feature(50.0)))
    assert np.isfinite(found[0])
    assert np.isnan(found[-1])


# ---------------------------------------------------------------------------------------- in specs

SPEC = """
steps = 1_200
runs = 2
record = [{ probe = "greedy_return", every = 500, horizon = 40 }]
[domain]
kind = "loca_grid"
rows = 1
columns = 4
noise = 0.0
phase_steps = [600, 300, 300]
[features]
kind = "one_hot"
[agents.lookahead]
kind = "lookahead"
preset = "paper"
value_step = 0.5
model = { kind = "linear_expectation", step = 0.5, initial_reward = 8.0 }
backups = "all"
initial_value = 8.0
planning_steps = 1
discount = 0.97
"""


def test_a_record_goes_through_the_store_and_onto_a_panel(tmp_path):
    trials = parse_config(SPEC, "test.toml").trials()
    assert trials[0].record == greedy(500) == Record("greedy_return", 500, (("horizon", 40),))
    assert trials[0].firsts.tolist() == [0, 500, 600, 600, 900, 900, 1200]
    curves = compute(trials, Store(tmp_path)).curves()
    plain = [run_plain(FAST, every=500, number=number) for number in range(2)]
    assert (curves[0] == np.stack(plain)).all()  # compiled and plain: the same bits
    (panel,) = group_panels(trials, curves)
    assert (panel.unit, panel.quantity) == ("step", "expected return of the greedy policy")
    assert panel.x.tolist() == trials[0].firsts.tolist()
    assert (panel.end, panel.breaks) == (1200.0, [600.0, 900.0])
    assert panel.levels == record_levels(trials[0].setup, greedy(500))


def test_the_code_of_a_probe_belongs_to_a_trials_identity():
    (trial,) = parse_config(SPEC, "test.toml").trials()
    settings = {name: getattr(trial, name) for name in trial.__dataclass_fields__}
    names = []
    for factor in (1.0, 2.0, 1.0):

        def of(domain, agent, seen, factor=factor):
            return factor * seen.values[:, 0]

        register_probe("one's own")(of)
        try:
            names.append(trial_hash(Trial(**{**settings, "record": Record("one's own", 500)})))
        finally:
            PROBES.pop("one's own")
    assert names[0] == names[2] != names[1]


def test_probes_may_begin_late_and_count_from_there():
    """Lessons of 30 steps, then planning: the curve begins where they end."""
    text = """
        steps = 50
        runs = 2
        record = [{ probe = "start_value", every = 5, after = 30 }]
        [domain]
        kind = "corridor"
        cells = 3
        [features]
        kind = "one_hot"
        [agents.ahead]
        kind = "freeze_after"
        steps = 30
        agent.kind = "planning_only"
        agent.agent = { kind = "lookahead", preset = "paper", value_step = 1.0, model = "exact", backups = "all" }
    """
    (trial,) = parse_config(text, "config.toml").trials()
    assert trial.record is not None and trial.record.to_dict()["after"] == 30
    setup = trial.setup
    assert trial.firsts.tolist() == [30, 35, 40, 45, 50]
    curve, _ = record_run(setup, 0, simulate, ask, np.zeros(1, np.int64), trial.record)
    assert curve[0] == 0.0 and curve[-1] > 10.0
    (panel,) = group_panels([trial], [np.stack([curve, curve])])
    assert panel.points is not None and panel.points.tolist() == [0, 5, 10, 15, 20]
    (level,) = panel.levels
    best = ex.exact.start_return(
        ex.Corridor(cells=3), ex.exact.optimal_values(ex.Corridor(cells=3))
    )
    assert level[:4] == (0.0, 20.0, pytest.approx(best), "optimum")
    two = best * np.array([[0.0, 0.0, 0.96, 1.0, 1.0], [0.0] * 5])  # the second never gets there
    assert find_metric("attainment").of(panel, two).tolist() == [10.0, 20.0]


def test_where_states_have_no_numbers_those_of_known_value_are_asked_about():
    """An episode of TD(0) with a step of a tenth, by the weights that it leaves."""
    car, features = ex.domains.DrivenCar(), ex.Tiles(2, 3)
    agent = ex.Lookahead.paper(0.1, 0.0, planning_steps=0, epsilon=0.0)
    setup = Setup(car, features, agent, episodes=1)
    record = parse_record({"probe": "known_error", "every": 1})
    curve, stop = record_run(setup, 0, simulate, ask, np.zeros(1, np.int64), record)
    known = car.reference_values(1.0)
    vectors = probe_agent(ask, copy_subject(stop.run), States(known.observations, np.full(100, -1)),
                   ("features",)).features  # fmt: skip
    values = vectors @ stop.run.agent.weights[: vectors.shape[1]]
    before, after = (known.values**2).mean(), ((values - known.values) ** 2).mean()
    np.testing.assert_allclose(curve, np.sqrt([before, after]))
    assert after < before


CAR = ex.domains.LocaMountainCar(phase_steps=(300, 100, 100))
AGENT = ex.QLearning.paper(0.3, step_unit="total", discount=0.99, initial_value=4.0)


def record(every, episodes):
    return parse_record({"probe": "episode_return", "every": every, "episodes": episodes})


def car_job(domain=CAR):
    return Setup(domain, ex.Tiles(2, 4), AGENT, steps=500)


def test_returns_are_discounted_by_hand():
    """Three steps that pay 1, 2 and 4, whatever is done."""
    chain = ex.FiniteMDP(
        probabilities=np.ones((3, 1, 1)),
        rewards=np.array([1.0, 2.0, 4.0]).reshape(3, 1, 1),
        successors=np.array([1, 2, -1]).reshape(3, 1, 1),
        start=[1.0, 0.0, 0.0],
    )
    setup = Setup(chain, ex.OneHot(), ex.QLearning.paper(0.5, discount=0.5), episodes=6)
    curve, _ = record_run(setup, 0, simulate, simulate, new_control(), record(3, 2))
    assert curve.tolist() == [1.0 + 0.5 * 2.0 + 0.25 * 4.0] * 3


def test_a_run_that_is_looked_at_is_the_same_run():
    setup = car_job()
    curve, looked_at = record_run(setup, 1, simulate, simulate, new_control(), record(100, 3))
    (alone,) = drive(setup, 1, simulate, new_control())
    assert np.array_equal(looked_at.run.agent.weights, alone.run.agent.weights)
    assert np.array_equal(looked_at.run.domain.car, alone.run.domain.car)
    assert looked_at.streams.acting.random() == alone.streams.acting.random()
    assert curve.shape == (4 + 2 + 2,)
    assert curve[3] != curve[4] or curve[3] == 0.0  # at the border the right exit pays less


def test_levels_are_those_of_the_car():
    before, local, after = reference_levels(CAR, 3)
    assert before == {"optimum": pytest.approx(1.936, abs=0.01)}
    assert local == after
    assert local["optimum"] == pytest.approx(1.309, abs=0.01)
    assert local["outdated policy"] == pytest.approx(0.484, abs=0.01)
    lines = record_levels(car_job(), record(100, 2))
    assert [(line.name, line.start, line.end) for line in lines] == [
        ("optimum", 0.0, 300.0), ("optimum", 300.0, 500.0), ("outdated policy", 300.0, 500.0),
    ]  # fmt: skip
    assert record_levels(car_job(ex.MountainCar()), record(100, 2)) == ()


def test_a_diverged_agent_earns_nothing_that_is_known():
    setup = car_job()
    run, _ = setup.build(0)
    run.agent.weights[:] = np.nan
    assert np.isnan(evaluate_copy(simulate, setup, run, 0, 0, 2, new_control())).all()
    stopped = evaluate_copy(simulate, setup, setup.build(0)[0], 0, 0, 2, np.ones(1, np.int64))
    assert np.isnan(stopped).all()  # and has not taken a step
