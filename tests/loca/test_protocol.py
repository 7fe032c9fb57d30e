from __future__ import annotations

import errno
import json
import re

import numpy as np
import pytest
from faults import unreadable

import expectant as ex
from expectant.engine.asking import ask
from expectant.engine.look import all_states, look, set_aside
from expectant.engine.loop import DIVERGED, DONE, Budget, simulate
from expectant.lab.store.sealed_tables import StoreError
from expectant.lab.store.sealing import sealed_text
from expectant.loca.cases import AGENTS, BACKUPS, LABELS, Case, cases
from expectant.loca.protocol import (
    Kernels,
    course,
    job_of,
    measured_run,
    scored,
)
from expectant.loca.report import rows_as_data, write_report
from expectant.loca.rows import Row, load_row, row_path, save_row
from expectant.loca.runs import Request, adaptation_test

SMALL = ex.LocaGrid(rows=1, columns=4, noise=0.0, phase_steps=(600, 300, 300))
PLAIN = Kernels(simulate, ask)
FAST = ex.Lookahead(
    0.5,
    model=ex.LinearExpectation(0.5, 8.0),
    backups="all",
    initial_value=8.0,
    planning_steps=1,
    discount=0.97,
)


def run_plain(agent, domain=SMALL, every=100, number=0):
    control = np.zeros(1, np.int64)
    return measured_run(job_of(domain, agent, 0), PLAIN, number, course(domain, every), control)


def test_measures_come_at_both_sides_of_every_border():
    when = course(ex.LocaGrid(phase_steps=(1000, 700, 500)))
    assert when.steps.tolist() == [0, 500, 1000, 1000, 1500, 1700, 1700, 2200]
    assert when.phases.tolist() == [0, 0, 0, 1, 1, 1, 2, 2]


def test_the_published_test_has_403_measures():
    assert course(ex.LocaGrid()).steps.size == 201 + 101 + 101


def test_an_agent_that_plans_everywhere_carries_the_news():
    found, when = run_plain(FAST), course(SMALL, 100)
    best = [4 * (1 + 0.97 + 0.97**2 + 0.97**3) / 4, (2 + 1.94 + 2 * 0.97**2 + 1) / 4]
    assert found[when.steps == 600].tolist() == pytest.approx([best[0], best[0] / 4])
    assert found[when.steps == 900][0] == pytest.approx(best[1])
    assert found[-1] == pytest.approx(best[1])


def test_an_agent_that_does_not_plan_does_not():
    grid = SMALL.replace(phase_steps=(3000, 300, 300))
    found = run_plain(ex.QLearning(0.5, epsilon=0.5, discount=0.97), grid)
    outdated = (1 + 0.97 + 0.97**2 + 0.97**3) / 4
    steps = course(grid, 100).steps
    assert found[steps == 3000] == pytest.approx([4 * outdated, outdated])
    assert found[steps == 3300][0] <= outdated + 1e-9


def test_measuring_leaves_no_trace():
    weights = []
    for every in (7, 140):
        prepared, rng = job_of(SMALL, FAST, 0).prepare(0)
        for step in range(every, 141, every):
            simulate(prepared, Budget(2**62, step, 100), rng, np.zeros(1, np.int64))
            look(ask, set_aside(prepared), all_states(4), ("preferences",))
        weights.append(prepared.agent.weights.copy())
    assert (weights[0] == weights[1]).all()


def test_a_diverged_run_is_nan_from_there_on():
    wild = FAST.replace(value_step=50.0)
    with np.errstate(all="ignore"):
        found = run_plain(wild)
    assert np.isfinite(found[0])
    assert np.isnan(found[-1])


def test_what_is_measured_after_a_divergence_does_not_count():
    """Weights may still be finite when an error is not."""
    statuses = [DONE, DONE, DIVERGED, DONE, DONE]
    kernels = Kernels(lambda *_: statuses.pop(0), ask)
    when = course(SMALL, 600)  # 0, 600, 600, 900, 900, 1200
    found = measured_run(job_of(SMALL, FAST, 0), kernels, 0, when, np.zeros(1, np.int64))
    assert np.isnan(found).tolist() == [False, False, True, True, True, True]


def test_every_phase_is_scored_with_its_own_rewards():
    table = np.tile([0.0, 1.0, 0.0, 0.0], (2, 4, 1))  # always right
    when = course(SMALL, 600)._replace(steps=np.array([0, 600]), phases=np.array([0, 1]))
    before, after = scored(SMALL, table, when)
    assert before == pytest.approx(4 * after)


# ---------------------------------------------------------------------------------------- cases


def test_every_agent_meets_every_distribution():
    found = cases()
    assert len(found) == 1 + len(AGENTS) * len(BACKUPS)
    assert len({(case.agent, case.backups) for case in found}) == len(found)
    for case in found:
        assert case.description.epsilon == 0.1
        assert case.description.discount == 0.97
        assert case.agent in LABELS
        job_of(ex.LocaGrid(), case.description, 0).prepare(0)


def test_cases_by_name():
    assert [case[:2] for case in cases(["q_learning"])] == [("q_learning", "none")]
    assert [case[:2] for case in cases(["lookahead"], ["seen", "all"])] == [
        ("lookahead", "all"),
        ("lookahead", "seen"),
    ]
    with pytest.raises(ValueError, match=r"--agent: unknown 'lookahed', did you mean 'lookahead'"):
        cases(["lookahed"])
    with pytest.raises(ValueError, match=r"--backups: unknown 'sean', did you mean 'seen'"):
        cases([], ["sean"])
    with pytest.raises(ValueError, match="q_learning does not plan"):
        cases(["q_learning"], ["seen"])


# ----------------------------------------------------------------------------------- on the disk


def test_a_row_goes_through_its_file_with_what_diverged(tmp_path):
    case, length = Case("lookahead", "all", FAST), course(SMALL).steps.size
    measures = np.arange(2.0 * length).reshape(2, length)
    measures[1, 3:] = np.nan
    save_row(tmp_path / "row.json", Row(case, measures), SMALL, 0)
    found = load_row(tmp_path / "row.json", case, SMALL, 0, 2)
    assert found is not None
    np.testing.assert_array_equal(found.measures, measures)
    assert load_row(tmp_path / "row.json", case, SMALL, 0, 3) is None  # another number of runs
    assert load_row(tmp_path / "row.json", case, ex.LocaGrid(), 0, 2) is None


def test_an_interrupted_test_goes_on(tmp_path, monkeypatch, capsys):
    case = Case("lookahead", "all", FAST)
    request = Request([case], runs=2, domain=SMALL)
    rows = adaptation_test(request, tmp_path)
    plain = [run_plain(FAST, every=500, number=number) for number in range(2)]
    assert (rows[0].measures == np.stack(plain)).all()  # compiled and plain: the same bits

    def never(*args):
        raise AssertionError("what is there is not computed again")

    monkeypatch.setattr("expectant.loca.runs.run_case", never)
    again = adaptation_test(request, tmp_path)
    assert (again[0].measures == rows[0].measures).all()
    with pytest.raises(AssertionError):
        adaptation_test(Request([case], runs=2, seed=1, domain=SMALL), tmp_path)
    slower = Case("lookahead", "all", FAST.replace(value_step=0.25))
    with pytest.raises(AssertionError):
        adaptation_test(Request([slower], runs=2, domain=SMALL), tmp_path)

    path = row_path(tmp_path, case, SMALL, 0, 2)
    text = path.read_text()
    digit = text.index("measures") + 15
    other = row_path(tmp_path, slower, SMALL, 0, 2)
    for spoilt in (
        text[:100],
        text[:digit] + str((int(text[digit]) + 1) % 10) + text[digit + 1 :],
        sealed_text({"measures": json.loads(text)["measures"]}),  # of an earlier version
    ):
        path.write_text(spoilt)
        with pytest.raises(AssertionError):
            adaptation_test(request, tmp_path)
        assert "1 rows in" in capsys.readouterr().err
    other.write_text(text)
    with pytest.raises(AssertionError):
        adaptation_test(Request([slower], runs=2, domain=SMALL), tmp_path)
    path.write_text(text)
    with unreadable(monkeypatch, path, errno.EACCES), pytest.raises(StoreError, match=f"cannot read .*{path.name}: Permission"):  # fmt: skip
        adaptation_test(request, tmp_path)
    assert path.read_text() == text
    again = adaptation_test(request, tmp_path)
    assert (again[0].measures == rows[0].measures).all()

    written = {path.name: path for path in write_report(rows, request, tmp_path)}
    assert set(written) == {"loca.json", "loca.png", "loca.svg", "loca.html"}
    data = json.loads(written["loca.json"].read_text())
    assert data["rows"] == rows_as_data(rows, request)
    assert data["rows"][0]["agent"] == "lookahead"
    assert len(data["rows"][0]["phase1"]) == len(data["rows"][0]["phase2"]) == 2
    page = written["loca.html"].read_text()
    assert "Look-ahead" in page
    outside = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r'(src|href)="(?!#)', outside)  # nothing is loaded from elsewhere
