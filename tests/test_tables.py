"""The tables of the documentation are those of the stored results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from test_docs import DOCS, ROOT, rows
from test_site import context

from expectant.experiments.config_file import read_config
from expectant.experiments.grid import settings_of
from expectant.experiments.study import packaged_studies, read_study
from expectant.experiments.trials import Trial

tables = context("fill_tables")


@pytest.mark.parametrize("page", tables.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_table_is_the_one_that_is_stored(page):
    text = page.read_text("utf-8")
    assert tables.fill_page(text) == text, "python docs/site/fill_tables.py writes it again"


# ----------------------------------------------------------------------- what pages say of the results


def test_verdicts_are_on_the_claims_of_the_paper_and_do_not_depend_on_the_seed():
    """None flips with another seed, and at most one in twenty moves to or from "unclear"."""
    first, second = (
        {(one["id"], one["interpretation"]): one["verdict"] for one in tables.read(name)}
        for name in (tables.PAPER, "measured/second-seed-claims")
    )
    assert {key for key, _ in first} == {claim.id for claim in read_study().claims}
    moved = [(first[key], second[key]) for key in first if first[key] != second[key]]
    assert all("unclear" in pair for pair in moved) and len(moved) <= len(first) / 20


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


# ------------------------------------------------------------------- studies whose arms were tuned

STUDIES = sorted(
    path.name.removesuffix("-tuning.json") for path in (DOCS / "measured").glob("*-tuning.json")
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
