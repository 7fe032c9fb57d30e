"""Config files: what they mean, and what is said of mistakes in them."""

from __future__ import annotations

import contextlib
import dataclasses
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import expectant as ex
from expectant.experiments.config_file import (
    Changes,
    ConfigFile,
    experiment_of,
    parse_config,
    read_config,
)
from expectant.experiments.grid import agent_label
from expectant.experiments.sweep import Sweep
from expectant.experiments.toml_tables import ConfigError, hash_data, to_toml

GOOD = """
name = "mine"
episodes = 100
runs = 4
bin = 10
notes = ["one", "two"]
domain = { kind = "corridor", slip = 0.2 }
features = { kind = "random_binary", size = 14, active = 5 }
agents.plain = { kind = "q_learning", preset = "paper", action_step = 0.1 }
[agents.ahead]
label = "Look-ahead"
kind = "lookahead"
preset = "paper"
value_step = 0.1
replay_capacity = "none"
[[panels]]
name = "short"
domain = { cells = 5 }
[[panels]]
name = "long"
title = "The long one"
domain = { cells = 15 }
agents = { plain = { action_step = 0.2 } }
"""
VARIED = """
episodes = 20
runs = 3
domain = { kind = "corridor", grid = { cells = [5, 9] } }
features = { kind = "one_hot" }
agents.plain = { kind = "q_learning", preset = "paper", action_step = 0.1 }
[agents.ahead]
label = "Look-ahead"
kind = "lookahead"
preset = "paper"
value_step = 0.1
model = { kind = "linear_expectation", step = 0.5 }
[grid]
agents.plain.action_step = [0.1, 0.2]
agents.ahead.model.step = [0.01, 1.0]

[[linked]]
domain.slip = [0.0, 0.3]
agents.ahead.epsilon = [0.1, 0.2]

[[panels]]
name = "paper"
[[panels]]
name = "patient"
agents = { "*" = { discount = 0.5, replay_capacity = 70 } }
"""


def trials_of(text):
    return {trial.id: trial for trial in parse_config(text, "x.toml").trials()}


def test_a_config_becomes_trials():
    experiment = parse_config(GOOD, "mine.toml")
    trials = experiment.trials("text")
    assert [(c.panel, c.agent_key, c.domain.to_dict()["cells"]) for c in trials] == [
        ("short", "plain", 5), ("short", "ahead", 5), ("long", "plain", 15), ("long", "ahead", 15),
    ]  # fmt: skip
    assert trials[2].agent == ex.QLearning.paper(0.2)
    assert trials[1].agent == ex.Lookahead.paper(0.1, replay_capacity=None)
    assert trials[1].label == "Look-ahead"
    assert (trials[0].runs, trials[0].bin, trials[0].step_limit) == (4, 10, None)
    assert trials[0].id == "text/short/plain"
    assert not experiment.is_sweep
    titles = {trial.panel: trial.panel_title for trial in trials}
    assert titles == {"short": "", "long": "The long one"}


def test_an_agent_named_after_its_kind_has_the_algorithms_number():
    assert agent_label("lookahead", {"kind": "lookahead"}) == "Lookahead (Algorithm 1)"
    assert agent_label("mine", {"kind": "lookahead"}) == "mine"
    assert agent_label("lookahead", {"kind": "lookahead", "label": "A"}) == "A"


def test_changes_go_where_they_apply():
    changed = parse_config(GOOD, "x").with_changes(
        Changes(
            domain={"slip": 0.4, "exit_reward": 1.0},
            features={"active": 3},
            agents={
                "interpretation": {"doubled_gradients": True, "replayed_fits": "planning_steps"}
            },
            kinds={"lookahead": {"planning_steps": 7}},
        )
    )
    plain, ahead = changed.trials()[:2]
    assert plain.domain.to_dict()["slip"] == 0.4 and plain.features.to_dict()["active"] == 3
    chosen = ex.Interpretation(doubled_gradients=True, replayed_fits="planning_steps")
    assert plain.agent == ex.QLearning.paper(0.1, interpretation=chosen)
    assert ahead.agent == ex.Lookahead.paper(
        0.1, replay_capacity=None, planning_steps=7, interpretation=chosen
    )


def test_everything_that_can_be_varied():
    trials = trials_of(VARIED)
    assert len(trials) == 2 * 2 * 2 * (2 + 2)  # panels, cells, slips; then two of each agent
    assert parse_config(VARIED, "x").is_sweep
    trial = trials["patient domain.cells=9 domain.slip=0.3/ahead epsilon=0.2 model.step=1"]
    assert trial.domain == ex.Corridor(cells=9, slip=0.3)
    model = ex.models.LinearExpectation(step=1.0)
    assert trial.agent == ex.Lookahead.paper(
        0.1, model=model, epsilon=0.2, discount=0.5, replay_capacity=70
    )
    assert trial.label == "Look-ahead, model.step 1.0, epsilon 0.2"
    plain = trials["paper domain.cells=5 domain.slip=0.3/plain action_step=0.2"]
    # the part of a link that is another agent's is not its
    assert plain.agent == ex.QLearning.paper(0.2)


def test_a_setting_of_every_agent_is_one_of_those_that_have_it():
    text = VARIED[: VARIED.index("[grid]")].replace(", grid = { cells = [5, 9] }", "")
    text += '[grid]\nagents."*".epsilon = [0.1, 0.2]\nagents."*".replay_capacity = [30, 40, 50]\n'
    keys = [trial.agent_key for trial in parse_config(text, "x").trials()]
    plain = [key for key in keys if key.startswith("plain")]
    assert plain == ["plain epsilon=0.1", "plain epsilon=0.2"]
    assert len([key for key in keys if key.startswith("ahead")]) == 6


def test_values_that_are_parts_are_told_apart_in_ids():
    text = VARIED.replace(
        "agents.ahead.model.step = [0.01, 1.0]",
        'agents.ahead.model = ["exact", { kind = "linear_expectation", step = 0.1 }]',
    )
    keys = {trial.agent_key for trial in trials_of(text).values()}
    assert keys - {"plain action_step=0.1", "plain action_step=0.2"} == {
        f"ahead epsilon={epsilon} model={model}"
        for epsilon in (0.1, 0.2)
        for model in ("exact", "linear_expectation(step=0.1)")
    }


def turned(data):
    """The same data, every table and every list in the opposite order."""
    if isinstance(data, dict):
        return {key: turned(data[key]) for key in reversed(data)}
    return [turned(item) for item in data[::-1]] if isinstance(data, list) else data


def test_ids_do_not_depend_on_any_order():
    data, trials = tomllib.loads(VARIED), trials_of(VARIED)
    found = {trial.id: trial.identity() for trial in experiment_of(turned(data), "x").trials()}
    assert found == {name: trial.identity() for name, trial in trials.items()}
    assert list(found) != list(trials)
    assert hash_data(dict(reversed(data.items()))) == hash_data(data)


def test_a_budget_of_steps_and_what_is_recorded():
    text = VARIED.replace("episodes = 20", "steps = 250\nbins = 100")
    trial = parse_config(text, "x").trials()[0]
    assert (trial.episodes, trial.steps, trial.bins) == (0, 250, 100)
    assert (trial.firsts.size, trial.width) == (84, 3)
    assert parse_config(text.replace("bins = 100", ""), "x").trials()[0].bins == 100
    few = parse_config(text.replace("steps = 250\nbins = 100", "steps = 7"), "x").trials()[0]
    assert (few.bins, few.firsts.size, few.width) == (7, 7, 1)
    lengths = parse_config('record = ["length"]\n' + VARIED, "x").trials()[0]
    plain = parse_config(VARIED, "x").trials()[0]
    assert lengths.curve == "length" and lengths.identity() != plain.identity()


def test_the_same_sweep_from_python():
    sweep = Sweep(
        name="x",
        title="x",
        domain=ex.Corridor(),
        features=ex.OneHot(),
        agents={"ahead": ex.Lookahead.paper(0.1, replay_capacity=None)},
        episodes=20,
        grid={"domain.cells": [5, 9], "agents.ahead.value_step": [0.1, 0.2]},
        linked=[{"domain.slip": [0.0, 0.3], "agents.ahead.epsilon": [0.1, 0.2]}],
        panels=[{"name": "paper"}, {"name": "patient", "agents": {"*": {"discount": 0.5}}}],
    )
    assert len(sweep.trials()) == 16
    assert vars(sweep.trials()[0].agent)["backups"] == ex.backups.Replay(None, model_fits=0)
    again = Sweep.from_toml(sweep.to_toml())
    assert again == sweep and again.trials() == sweep.trials() and hash(again) == hash(sweep)


def replaced(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


BAD = [
    ("episodes = ", "not TOML"),
    (replaced("episodes = 100", "episodez = 100"), "episodez: unknown key, did you mean 'episodes'"),
    ("steps = 100\n" + GOOD, "episodes: must be given, or steps instead of it"),
    (replaced("bin = 10", "bin = 1000"), r"bin: must be at most episodes \(100\), got 1000"),
    (replaced('name = "mine"', 'name = "../mine"'), "name: must be the name of a folder"),
    ('record = ["lenght"]\n' + GOOD, "record: unknown 'lenght', did you mean 'length'"),
    (replaced('"corridor"', '"coridor"'), "domain.kind: unknown 'coridor', did you mean 'corridor'"),
    (replaced("active = 5", "active = 50"), "features: RandomBinary: active must be at most size"),
    (replaced('label = "Look-ahead"', "label = 1"), "agents.ahead.label: must be a text, got 1"),
    (replaced("domain = { cells = 5 }", "domian = 5"), "panels.0.domian: unknown key, did you mean 'domain'"),
    ('episodes = 3\n[domain]\nkind = "corridor"', "agents: at least one is needed"),
    (GOOD + "[grid]\n'domain.slip' = [0.1, 7]", "domain: Corridor: slip must be a number from 0 to 1, got 7"),
    (GOOD + "[grid]\n'agents.plane.epsilon' = [0.1]", "there is no agent 'plane', did you mean 'plain'"),
    (GOOD + "[grid]\n'agents.*.epsilom' = [0.1]", "no agent has the parameter 'epsilom', did you mean 'epsilon'"),
    (
        GOOD + "[grid]\n'agents.*.epsilon' = [0.1]\n'agents.plain.epsilon' = [0.2]",
        r"grid.agents.plain.epsilon: must be varied in one place, got grid.agents.\*.epsilon as well",
    ),
    (
        GOOD + f"[grid]\n'agents.ahead.planning_steps' = {list(range(400))}\n'domain.cells' = {list(range(2, 400))}",
        "grid: must ask for at most 100,000 trials, got",
    ),
    (GOOD + "[[linked]]\n'domain.slip' = [0.1]\n'domain.cells' = [3, 4]", "linked.0: must be lists of one length"),
    (
        GOOD + "[agents.'plain epsilon=0.2']\nkind = 'q_learning'\n[grid]\n'agents.plain.epsilon' = [0.1, 0.2]",
        "two trials have the id .*; rename a panel or an agent",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), BAD, ids=[m[:45] for _, m in BAD])
def test_mistakes_name_file_table_key_value_and_rule(text, message):
    with pytest.raises(ConfigError, match=message) as caught:
        parse_config(text, "some/mine.toml")
    assert str(caught.value).startswith("some/mine.toml: ")


def test_a_file_that_cannot_be_read(tmp_path):
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_config(tmp_path / "binary.toml")


words = st.sampled_from(
    ["none", "corridor", "lookahead", "one_hot", "x", "domain", "agents", "*", "slip", "grid", "", "a.b", "domain.slip"]
)  # fmt: skip
values = st.recursive(
    st.booleans() | st.integers() | st.floats() | words | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from([*(field.name for field in dataclasses.fields(ConfigFile)), "nonsense"])


@settings(max_examples=200, deadline=None)
@given(
    changes=st.dictionaries(keys, values, max_size=3),
    part=st.sampled_from(["domain", "features"]),
    inner=st.dictionaries(words, values, max_size=2),
)
def test_no_data_ends_in_anything_but_an_experiment_or_a_config_error(changes, part, inner):
    data = {**tomllib.loads(GOOD), **changes}
    if isinstance(data.get(part), dict):
        data[part] = {**data[part], **inner}
    with contextlib.suppress(ConfigError):
        experiment_of(data, "fuzz.toml").trials()


OWN = """
import expectant as ex

class Short(ex.Domain):
    cells: int = ex.parameter(ex.rules.whole(1), default=3)
    actions = 2
    states = property(lambda self: self.cells)

    def build(self, rng):
        return ex.Corridor(cells=self.cells).build(rng)
"""


def test_a_part_of_ones_own_is_imported_by_its_place(tmp_path, monkeypatch):
    (tmp_path / "my_worlds.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    text = (
        'episodes = 1\n[domain]\nkind = "my_worlds:Short"\n[features]\nkind = "one_hot"\n'
        '[agents.plain]\nkind = "q_learning"\n[grid]\ndomain.cells = [4, 5]\n'
    )
    with pytest.raises(ConfigError, match="own: domain: kind: names the class 'my_worlds:Short'"):
        parse_config(text, "own")
    trials = parse_config(text, "own", trust=True).trials()
    assert [trial.domain.to_dict()["cells"] for trial in trials] == [4, 5]
    with pytest.raises(ConfigError, match="domain: kind: cannot import 'my_worlds:Long'"):
        parse_config(text.replace("Short", "Long"), "own", trust=True).trials()


texts = st.text(max_size=8)
data = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None)
@given(data=st.dictionaries(texts, data, max_size=4))
def test_toml_goes_there_and_back(data):
    assert tomllib.loads(to_toml(data)) == data
