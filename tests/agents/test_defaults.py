"""One set of defaults per agent, and the paper's agents by name, in Python and in data."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import expectant as ex
from expectant.experiments.config_file import parse_config
from expectant.experiments.study import read_study

ROOT = Path(__file__).parents[2]
ALL: list[Any] = [getattr(ex.agents, name) for name in ex.agents.__all__]
AGENTS: list[Any] = [
    kind for kind in ALL
    if issubclass(kind, ex.Agent) and hasattr(kind, "kind")
    if "agent" not in inspect.signature(kind).parameters
]  # fmt: skip
OTHER: dict[str, Any] = {  # of parameters that are no numbers
    "value_step": ex.step_sizes.Fixed(0.07, per="feature"),
    "model_step": 0.07,
    "capacity": 10,
    "reference": (1, 1),
    "model": "sparse",
    "backups": ex.backups.Replay(10),
    "planning_update": ex.agents.Gradient(0.2),
    "options": ex.options.OptionSet([ex.options.TableOption((0, 0), (0.5, 0.5))]),
    "values": ex.agents.NetworkValues(),
}


def parameters(kind: Any) -> dict[str, Any]:
    """The parameters of a constructor with their defaults."""
    return {name: p.default for name, p in inspect.signature(kind).parameters.items()}


def other_value(kind: Any, name: str) -> Any:
    """Another value than the default."""
    if name in OTHER:
        return OTHER[name]
    default = parameters(kind)[name]
    return default + 1 if isinstance(default, int) else 0.5 * default or 0.5


EVERY_PARAMETER = [(kind, name) for kind in AGENTS for name in parameters(kind)]
every_parameter = pytest.mark.parametrize(
    ("kind", "name"), EVERY_PARAMETER, ids=[f"{k.__name__}-{name}" for k, name in EVERY_PARAMETER]
)


@pytest.mark.parametrize("kind", AGENTS)
def test_an_agent_needs_no_arguments_and_takes_at_most_12(kind):
    assert len(parameters(kind)) <= 12
    agent = kind()
    assert agent == ex.Agent.from_dict(agent.to_dict()) == ex.Agent.from_dict({"kind": kind.kind})
    assert repr(agent) == f"{kind.__name__}()"


@every_parameter
def test_giving_a_default_changes_nothing(kind, name):
    assert kind(**{name: parameters(kind)[name]}) == kind()


@every_parameter
def test_giving_a_parameter_changes_that_one_only(kind, name):
    value = other_value(kind, name)
    changed, plain = kind(**{name: value}), kind()
    assert getattr(changed, name) == value != getattr(plain, name)
    assert changed.replace(**{name: getattr(plain, name)}) == plain
    assert plain.replace(**{name: value}) == changed


CHOSEN = {
    "q_learning": ex.QLearning, "sarsa": ex.Sarsa, "lookahead": ex.Lookahead,
    "cached_values": ex.CachedValues, "cached_policy": ex.CachedPolicy,
}  # fmt: skip


@pytest.mark.parametrize("name", CHOSEN)
def test_defaults_are_what_the_stored_grid_has_chosen(name):
    """The first of docs/defaults.json, in which the best of every agent come first."""
    stored = json.loads((ROOT / "docs/defaults.json").read_text())
    rows = stored["best"][name]
    assert [row["score"] for row in rows] == sorted((row["score"] for row in rows), reverse=True)
    agent: Any = CHOSEN[name]()
    settings = dict(rows[0]["settings"])
    for key, value in settings.items():
        step = ex.extend.Config.from_dict(value) if isinstance(value, dict) else value
        assert getattr(agent, key) == step
    each = rows[0]["each"]
    assert len(each) == len(stored["problems"]) and stored["runs"] >= 10
    assert rows[0]["score"] == pytest.approx(np.mean(each), abs=1e-3)


@pytest.mark.parametrize("kind", [*CHOSEN.values(), ex.agents.LSPI])
def test_they_learn_a_corridor(kind):
    """Random play earns about 2 in it, the best 17."""
    found = ex.run(
        ex.Corridor(slip=0.0), ex.OneHot(), kind(), episodes=120, runs=1, compiled=False,
        progress=False,
    )  # fmt: skip
    assert np.isfinite(found.returns).all()
    assert found.returns[:, -40:].mean() > 11.0


# ------------------------------------------------------------------------ the paper's, by name


def alpha(step: float) -> ex.step_sizes.Fixed:
    return ex.step_sizes.Fixed(step, per="feature", bounded=False)


def test_the_papers_agents_are_written_out():
    assert ex.QLearning.paper(0.1) == ex.QLearning(alpha(0.1), discount=1.0)
    assert ex.Lookahead.paper(0.1, 0.2, replay_capacity=50) == ex.Lookahead(
        alpha(0.1),
        alpha(0.2),
        discount=1.0,
        planning_steps=5,
        planning_update="levi",
        backups=ex.backups.Replay(50, model_fits=0),
    )


IN_DATA: list[tuple[dict[str, Any], ex.Agent]] = [
    ({"kind": "q_learning"}, ex.QLearning()),
    (
        {"kind": "q_learning", "preset": "paper", "action_step": 0.2, "step_unit": "total"},
        ex.QLearning.paper(0.2, step_unit="total"),
    ),
    (
        {"kind": "lookahead", "backups": {"kind": "replay", "capacity": 9, "model_fits": 1}},
        ex.Lookahead(backups=ex.backups.Replay(9, model_fits=1)),
    ),
    (
        {"kind": "lookahead", "preset": "paper", "value_step": 0.1, "replay_capacity": "none"},
        ex.Lookahead.paper(0.1, replay_capacity=None),
    ),
    (
        {
            "kind": "cached_values",
            "preset": "paper",
            "value_step": 0.1,
            "action_step": 0.2,
            "interpretation": "authors",
        },
        ex.CachedValues.paper(0.1, 0.2, interpretation="authors"),
    ),
    (
        {
            "kind": "cached_policy",
            "preset": "paper",
            "value_step": 0.1,
            "policy_step": 0.2,
            "interpretation": {"old_target": True, "replayed_fits": "planning_steps"},
        },
        ex.CachedPolicy.paper(
            0.1,
            0.2,
            interpretation=ex.Interpretation(old_target=True, replayed_fits="planning_steps"),
        ),
    ),
    (
        {"kind": "freeze_after", "steps": 9, "agent": {"kind": "lookahead", "planning_steps": 2}},
        ex.agents.FreezeAfter(ex.Lookahead(planning_steps=2), 9),
    ),
]


def in_toml(value: Any) -> str:
    """A value as TOML has it, tables inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {in_toml(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)


def agents_of(data: dict[str, Any], more: str = "") -> list[ex.Agent]:
    """The agents of all trials of a config file with one agent."""
    text = f"""
        episodes = 1
        domain = {{kind = "corridor"}}
        features = {{kind = "one_hot"}}
        agents = {{only = {in_toml(data)}}}
        {more}
    """
    return [trial.agent for trial in parse_config(text, "a test").trials()]


def in_python(agent: ex.Agent, **more: Any) -> list[ex.Agent]:
    sweep = ex.Sweep(
        domain=ex.Corridor(), features=ex.OneHot(), agents={"only": agent}, episodes=1, **more
    )
    return [trial.agent for trial in sweep.trials()]


@pytest.mark.parametrize("kind", AGENTS)
def test_config_files_and_python_mean_the_same_agents(kind):
    """At the defaults, with one parameter in a grid, and as the paper prints them."""
    data = {"kind": kind.kind}
    assert agents_of(data) == in_python(kind()) == [kind()]
    name = next(iter(parameters(kind)))
    varied = [kind(**{name: value}) for value in (1, 2)]
    assert agents_of(data, f"grid = {{agents.only.{name} = [1, 2]}}") == varied
    assert in_python(kind(), grid={f"agents.only.{name}": [1, 2]}) == varied
    if hasattr(kind, "paper"):
        steps = {name: 0.1 for name in parameters(kind) if name.endswith("_step")}
        printed = kind.paper(**steps)
        assert agents_of({**data, "preset": "paper", **steps}) == in_python(printed) == [printed]
        assert printed != kind(**steps)


@pytest.mark.parametrize(("data", "agent"), IN_DATA, ids=[repr(agent) for _, agent in IN_DATA])
def test_agents_in_data_are_those_of_the_constructors(data, agent):
    if "none" not in data.values():  # which TOML needs, and data do not
        assert ex.Agent.from_dict(data) == agent
    assert ex.Agent.from_dict(json.loads(json.dumps(agent.to_dict()))) == agent
    assert agents_of(data) == [agent]


@pytest.mark.parametrize("kind", [ex.Sarsa, ex.Lookahead])
def test_a_preset_that_does_not_exist_is_refused(kind):
    with pytest.raises(ValueError, match=f"{kind.__name__}: unknown preset 'book'"):
        ex.Agent.from_dict({"kind": kind.kind, "preset": "book"})


INTERPRETATIONS = ("literal", "preferred", "authors")


@pytest.mark.parametrize("name", INTERPRETATIONS)
def test_interpretations_by_name_are_those_of_the_papers_study(name):
    """Each has the switches that the details give to all agents, and to those of one kind."""
    switches: dict[str, Any] = {}
    for detail in read_study().details:
        changes = detail.choice_in(name).changes
        for table in (changes.agents, *changes.kinds.values()):
            switches |= table.get("interpretation", {})
    assert len(switches) == len(ex.Interpretation().to_dict()) - 1  # and the kind
    agent = ex.Lookahead.paper(0.1, interpretation=name)
    assert agent.interpretation == ex.Interpretation(**switches)


@pytest.mark.parametrize("name", INTERPRETATIONS)
def test_a_study_has_the_agents_of_the_interpretations_by_name(name):
    """Those of figure 5b, whose exploration and replay are details of their own."""
    trials = read_study().experiment("5b", name).trials()
    assert {type(trial.agent) for trial in trials} == {
        ex.QLearning, ex.Lookahead, ex.CachedValues, ex.CachedPolicy,
    }  # fmt: skip
    for trial in trials:
        agent: Any = trial.agent
        doubled = 2.0 if name == "authors" else 1.0
        steps = {
            key: value.scale(1.0 / doubled if key in ("value_step", "action_step") else 1.0)
            for key, value in vars(agent).items()
            if key.endswith("_step")
        }
        own = {} if isinstance(agent, ex.QLearning) else {"planning_steps": agent.planning_steps}
        if own:
            own["replay_capacity"] = agent.backups.capacity
        expected = type(agent).paper(**steps, **own, epsilon=agent.epsilon, interpretation=name)
        if not isinstance(agent, ex.CachedPolicy):  # the only one that has an entropy
            agent = agent.replace(
                interpretation=agent.interpretation.replace(entropy=expected.interpretation.entropy)
            )
        assert agent == expected
