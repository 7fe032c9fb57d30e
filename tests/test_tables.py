"""The tables, numbers and statements of the documentation agree with the stored results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from test_docs import DOCS, ROOT, rows
from test_site import context

import expectant as ex
from expectant.experiments.config_file import read_config
from expectant.experiments.grid import settings_of
from expectant.experiments.study import packaged_studies, read_study
from expectant.experiments.trials import Trial

tables = context("fill_tables")


AGAIN = "python docs/site/fill_tables.py writes it again"


@pytest.mark.parametrize("page", tables.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_table_and_number_is_the_one_that_is_stored(page):
    text = page.read_text("utf-8")
    assert tables.fill_page(text) == text, AGAIN


def test_csv_files_have_the_stored_results():
    for path, text in tables.csv_files():
        assert path.read_text("utf-8") == text, AGAIN


def test_a_wrong_number_would_be_noticed():
    right = "holds in 11<!-- =claims every --> cases, 54.8 %<!-- =measured/joint:published/replication_probability|.1% -->"
    assert tables.fill_page(right.replace("11", "12").replace("54.8", "3")) == right


# ----------------------------------------------------------------------- what pages say of the results


def test_verdicts_are_on_the_claims_of_the_paper_and_do_not_depend_on_the_seed():
    """None flips with another seed, and at most one in twelve moves to or from "unclear"."""
    first, second = (
        {(one["id"], one["interpretation"]): one["verdict"] for one in tables.read(name)}
        for name in (tables.PAPER, "measured/second-seed-claims")
    )
    assert {key for key, _ in first} == {claim.id for claim in read_study().claims}
    moved = [(first[key], second[key]) for key in first if first[key] != second[key]]
    assert all("unclear" in pair for pair in moved) and len(moved) <= len(first) / 12


def test_the_adaptation_test_confirms_what_is_published():
    verdicts = {(row["agent"], row["backups"]): row for row in tables.read("loca:rows")}
    near = ("replay", "recency", "trajectory", "current")
    for (agent, backups), row in verdicts.items():
        if agent == "published":
            assert row["verdict"] == {"adapts": "adaptive"}.get(row["published"], "not adaptive")
        elif agent not in ("q_learning", "cached_policy"):
            assert row["verdict"] == ("not adaptive" if backups in near else "adaptive")


def test_the_settings_of_the_adaptation_test_are_those_of_its_study():
    trials = {
        trial.base_panel or trial.experiment: trial.agent
        for experiment in read_study(packaged_studies()["loca"]).experiments.values()
        for trial in experiment.trials()
    }
    names = ["q_learning", "q_planning_distribution", "q_planning_expectation", "lookahead",
             "cached_values", "cached_policy"]  # fmt: skip
    listed = rows(DOCS / "adaptation.md", "| agent | grid | chosen |")
    inside = {"forgetting": "model.forgetting", "model_step": "model.step",
              "entropy": "interpretation.entropy"}  # fmt: skip
    for name, (_, grid, chosen) in zip(names, listed, strict=True):
        found = settings_of(trials[name].to_dict())
        for part, number in zip(grid.split("; "), chosen.split("; "), strict=True):
            option = re.match(r"[a-z ]+(?= )", part)[0].replace(" ", "_")  # type: ignore[index]
            assert found[inside.get(option, option)] == float(number), (name, option)


def test_claim_22_compares_printed_step_sizes_with_the_best_that_was_found():
    found = {
        one["agent"]: one
        for one in tables.read("measured/parameters:choices")
        if one["interpretation"] == "preferred" and one["figure"][0] == "5"
    }
    trials = {
        trial.agent_key: trial.agent for trial in read_study().experiments["ablation-22"].trials()
    }
    agents = {"q": "q_learning", "ahead": "lookahead", "values": "cached_values"}
    for short, agent in agents.items():
        for which in ("printed", "best"):
            own = trials[f"{short}_{which}"]
            steps = {name: getattr(own, name).step for name in found[agent][which]}
            assert steps == found[agent][which], (agent, which)


def test_the_guide_advises_what_its_study_shows():
    """Each sentence of advice that rests on a number, as a condition on the stored numbers."""
    found = {(one["problem"], one["agent"]): one for one in tables.read("which-agent")}
    planners = ("q_planning", "lookahead", "cached_values")

    def surely_more(problem, agent, other):
        return found[problem, agent]["reported"]["low"] > found[problem, other]["reported"]["high"]

    moving, maze = "a corridor whose goal moves", "a maze, every step costs 1"
    crowded, car = "the corridor with too few features", "the mountain car, tile coding"
    for problem in ("a corridor that stays", moving, maze):
        assert all(surely_more(problem, agent, "q_learning") for agent in planners)
        for agent in planners:
            steps, models = (
                found[problem, agent][f"by_{name}"] for name in ("planning_steps", "model_step")
            )
            assert steps["20"] > steps["1"] and models["0.5"] > models["0.1"]
    assert surely_more(moving, "lookahead", "q_planning")
    slow = [found[maze, agent]["by_model_step"]["0.1"] for agent in planners]
    assert max(slow) < found[maze, "q_learning"]["reported"]["low"]
    for agent in planners:
        means = [found[crowded, each]["reported"]["mean"] for each in (agent, "q_learning")]
        by = found[crowded, agent]["by_model_step"]
        assert means[0] < means[1] and by["0.5"] < by["0.1"]
    assert not surely_more(car, "lookahead", "cached_values")
    less = {row["agent"]: row["less"] for row in tables.read("untuned:counts")}
    assert less["Algorithm 1"] == less["Algorithm 2"] == 0 < less["Algorithm 3"]


def verdicts_of(study: str, question: str, *panels: str) -> set[str]:
    """The verdicts on a question of a study in some panels, or in all that are about returns."""
    found = {
        row["panel"]: row["verdict"]
        for row in tables.read(f"measured/{study}-claims")
        if question in row["claim"]
    }
    return {found[panel] for panel in panels or found}


def test_open_questions_are_answered_as_their_studies_do():
    ask = verdicts_of
    swept = "Does prioritized sweeping earn more"
    assert ask("backup-distributions", swept, "50 cells, one-hot") == {"holds"}
    for question in (swept, "from distinct states earn more", "learned sampler earn more"):
        assert ask("backup-distributions", question, "mountain car, tiles") == {"does not hold"}
    few = ("9 cells, d = 8, k = 3", "9 cells, d = 5, k = 2", "50 cells, d = 25, k = 5")
    fine = ("9 cells, one-hot", "9 cells, d = 50, k = 5", "9 cells, d = 14, k = 5",
            "50 cells, one-hot", "mountain car, 4 × 8²")  # fmt: skip
    for planner in ("Q-planning with an expectation model", "Algorithm 1", "Algorithm 2"):
        question = f"Does {planner} earn more than Q-learning?"
        assert ask("function-approximation", question, *fine) == {"holds"}
        assert ask("function-approximation", question, *few) <= {"does not hold", "unclear"}
        assert ask("function-approximation", question, "50 cells, d = 80, k = 5") == {
            "does not hold"
        }
    rollouts = "Do one-step backups of means earn more than rollouts of five means?"
    assert "holds" not in ask("iterated-backups", rollouts)
    assert ask("iterated-backups", rollouts, "50 cells, slip 0.1") == {"does not hold"}
    assert ask("iterated-backups", rollouts, "9 cells, slip 0.1", "9 cells, slip 1/3") == {
        "unclear"
    }
    averaged = "Do one-step backups of ten averaged samples earn more than those of one sample?"
    assert ask("iterated-backups", averaged) == {"holds"}
    averaged = "Do one-step backups of means earn more than one-step backups of ten averaged"
    assert "holds" not in ask("iterated-backups", averaged)
    for other in ("one-step backups of samples", "rollouts of five samples"):
        question = f"Do one-step backups of means earn more than {other}?"
        assert ask("iterated-backups", question, "50 cells, slip 0.1", "room, slip 0.2") == {
            "holds"
        }
    assert "holds" not in ask(
        "model-kinds", "Does an expectation model earn more than a distribution"
    )
    assert ask("model-kinds", "Do ten draws earn more than one?") == {"holds", "unclear"}
    assert ask("model-kinds", "Does a tabular expectation model by least squares") == {"holds"}
    network = "Does a network earn more with distributions than with means?"
    assert ask("nonlinear-values", network) == {"holds"}
    episodic = "Does a network earn more with distributions than with episodic means?"
    assert ask("nonlinear-values", episodic) == {"holds"}
    linear = "Do linear values earn more with distributions than with means?"
    given = ("corridor, given models", "room, given models")
    assert ask("nonlinear-values", linear, *given) == {"equal", "unclear"}


def test_exact_numbers_in_the_text_are_right():
    shown = rows(DOCS / "what-holds.md", "| slip |")
    slips = [0, 0.1, 0.3, 1 / 3, 0.35, 0.4]
    domains = [ex.Corridor(slip=slip) for slip in slips]
    gaps = [ex.exact.planning_gap(domain).max() for domain in domains]
    points = [ex.exact.fixed_point(domain, "invalid") for domain in domains]
    errors = [
        abs(point.action_values - ex.exact.optimal_action_values(domain)).max()
        for domain, point in zip(domains, points, strict=True)
    ]
    returns = [ex.exact.epsilon_greedy_optimal_return(domain, 0.1) for domain in domains]
    exact = [gaps, errors, returns, [point.start_return for point in points]]
    for row, numbers in zip(shown, exact, strict=True):
        assert [float(cell) for cell in row[1:]] == pytest.approx(numbers, abs=6e-3)
    trap = ex.Counterexample(exit_reward=-1.0)
    right = ex.exact.epsilon_greedy_optimal_return(trap, 0.1)
    wrong = 0.95 * -1 + 0.05 * (-0.25)
    assert f"earns {right:.4f} an episode and choosing B {wrong:.4f}".replace("-", "−") in (
        (DOCS / "idea.md").read_text()
    )
    maze = ex.domains.DynaMaze()
    evenly = np.full((maze.states, maze.actions), 1 / maze.actions)
    lengths = ex.exact.option_durations(maze, evenly, np.zeros(maze.states), discount=1.0)
    text = f"exactly {maze.mdp().outcomes.start @ lengths:.1f} steps"
    assert text in (DOCS / "textbook.md").read_text()


def test_statements_about_interpretations_hold():
    spread = {row["choice"]: row["claims"]["10"] for row in tables.read("measured/joint:spread")}
    assert spread["for every run"]["holds"] == 0 < sum(row["holds"] for row in spread.values())
    choices = tables.read("measured/parameters:choices")
    smaller = [row["printed"][key] < row["best"][key] for row in choices for key in row["printed"]]
    larger = [row["printed"][key] > row["best"][key] for row in choices for key in row["printed"]]
    assert sum(smaller) > 2 * sum(larger)
    assert {row["verdict"] for row in tables.read("measured/parameters:verdicts")} == {
        "does not hold"
    }
    moved = tables.read("measured/interpretations:rows")
    for row in moved:
        if row["detail"].startswith(("order in a backup", "ties")):
            assert row["interpretation"] != "preferred" or not any(
                claim["matters"] for claim in row["moved"].values()
            )


# ------------------------------------------------------------------- studies whose arms were tuned

PLANNING_PAYS = "planning-pays"  # where only the model-free agents are tuned
STUDIES = sorted(
    {path.name.removesuffix("-tuning.json") for path in (DOCS / "measured").glob("*-tuning.json")}
    - {PLANNING_PAYS}
)


def trials_of(study: str) -> Iterator[tuple[str, Trial]]:
    for name, experiment in read_study(packaged_studies()[study]).experiments.items():
        for trial in experiment.trials():
            yield name, trial


@pytest.mark.parametrize("study", STUDIES)
def test_every_arm_has_the_settings_that_were_chosen_for_it(study):
    stored = tables.read(f"measured/{study}-tuning")
    chosen = {(one["figure"], one["panel"], one["agent"]): one for one in stored}
    arms: dict[str, dict[tuple[str, str], Any]] = {}
    for name, trial in trials_of(study):
        has = settings_of({"agent": trial.agent.to_dict()})
        wanted = chosen[name.removesuffix("-error"), trial.panel, trial.agent_key]["settings"]
        assert {key: has[key] for key in wanted} == wanted, trial.id
        arm = (trial.domain, trial.features, trial.agent, trial.step_limit)
        arms.setdefault(name, {})[trial.panel, trial.agent_key] = arm
    for name, own in arms.items():  # errors are measured in the same agents
        assert own == arms[name.removesuffix("-error")]


@pytest.mark.parametrize("study", STUDIES)
def test_arms_were_tuned_alike_and_on_other_seeds(study):
    experiments = read_study(packaged_studies()[study]).experiments
    tried: dict[tuple[str, str], set[int]] = {}
    for one in tables.read(f"measured/{study}-tuning"):
        tried.setdefault((one["figure"], one["panel"]), set()).add(one["tried"])
        assert one["seed"] != experiments[one["figure"]].seed
        spec = read_config(packaged_studies()[study] / f"{one['figure']}-tuning.toml")
        assert (spec.runs, spec.seed) == (one["runs"], one["seed"])
    assert all(len(counts) == 1 for counts in tried.values()), tried


def test_planners_have_one_set_of_settings_and_model_free_agents_the_chosen_ones():
    stored = tables.read(f"measured/{PLANNING_PAYS}-tuning")
    chosen = {(one["panel"], one["agent"]): one["settings"] for one in stored}
    planners: dict[str, set[Any]] = {}
    tuned = 0
    for name, trial in trials_of(PLANNING_PAYS):
        wanted = chosen.get((trial.panel, trial.agent_key), {})
        if name in ("reporting", "corridors") and wanted:
            has = settings_of({"agent": trial.agent.to_dict()})
            assert {key: has[key] for key in wanted} == wanted, trial.id
            tuned += 1
        else:
            planners.setdefault(f"{name}/{trial.agent_key}", set()).add(trial.agent)
    assert tuned == len(chosen) and all(len(agents) == 1 for agents in planners.values())
    assert all(one["seed"] == 1000 for one in stored)
    problems = {trial.panel for name, trial in trials_of(PLANNING_PAYS) if name == "choosing"}
    assert not problems & {panel for panel, _ in chosen}
