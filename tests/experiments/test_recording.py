"""Probes of an agent on a schedule, as the curve of a run."""

from __future__ import annotations

import numpy as np
import pytest
from building import per_feature

import expectant as ex
from expectant.engine.loop import Budget, simulate
from expectant.engine.probe import States, all_states, ask, copy_subject, probe_agent
from expectant.engine.setup import Setup
from expectant.experiments.config_file import parse_config
from expectant.experiments.curves import group_panels
from expectant.experiments.metrics import find_metric
from expectant.experiments.probes import PROBES, register_probe
from expectant.experiments.recording import (
    Record,
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


@pytest.mark.parametrize(
    ("domain", "length", "at", "phases"),
    [
        (ex.Corridor(), {"episodes": 25}, [0, 10, 20, 25], [0] * 4),
        (ex.Corridor(), {"steps": 20}, [0, 10, 20], [0] * 3),
        (
            ex.Corridor(switch_every=10),
            {"episodes": 25},
            [0, 10, 10, 20, 20, 25],
            [0, 0, 1, 1, 2, 2],
        ),
        (ex.Corridor(switch_every=10), {"steps": 20}, [0, 10, 20], [0] * 3),
        (
            SMALL.replace(phase_steps=(10, 10, 10)),
            {"steps": 45},
            [0, 10, 10, 20, 20, 30, 40, 45],
            [0, 0, 1, 1, 2, 2, 2, 2],
        ),
        (SMALL.replace(phase_steps=(10, 10, 10)), {"steps": 12}, [0, 10, 10, 12], [0, 0, 1, 1]),
    ],
)
def test_schedules_of_other_runs(domain, length, at, phases):
    when = greedy(10).schedule(Setup(domain, ex.OneHot(), FAST, **length))
    assert when.at.tolist() == at
    assert when.phases.tolist() == phases


def test_an_agent_that_plans_everywhere_carries_the_news():
    found, when = run_plain(FAST), greedy(100).schedule(job_of(SMALL, FAST))
    best = [4 * (1 + 0.97 + 0.97**2 + 0.97**3) / 4, (2 + 1.94 + 2 * 0.97**2 + 1) / 4]
    assert found[when.at == 600].tolist() == pytest.approx([best[0], best[0] / 4])
    assert found[when.at == 900][0] == pytest.approx(best[1])
    assert found[-1] == pytest.approx(best[1])
    levels = record_levels(job_of(SMALL, FAST), greedy(100))
    assert [(level.start, level.end, level.name) for level in levels] == [
        (0, 600, "optimum"),
        (600, 1200, "optimum"),
        (600, 1200, "outdated policy"),
    ]
    assert [level.height for level in levels] == pytest.approx([*best, best[0] / 4])


def test_looking_leaves_no_trace():
    weights = []
    for every in (7, 140):
        prepared, rng = job_of(SMALL, FAST).build(0)
        for step in range(every, 141, every):
            simulate(prepared, Budget(2**62, step, 100), rng, np.zeros(1, np.int64))
            probe_agent(ask, copy_subject(prepared), all_states(4), ("preferences",))
        weights.append(prepared.agent.weights.copy())
    assert (weights[0] == weights[1]).all()


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
    when = trial.record.schedule(setup)
    assert when.at.tolist() == [30, 35, 40, 45, 50]
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
