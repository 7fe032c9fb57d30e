from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import expectant as ex
from expectant.lab.specs.grid import word
from expectant.lab.specs.spec import SpecError, experiment_of, parse_spec, spec_hash
from expectant.lab.specs.toml import to_toml
from expectant.lab.sweep import Sweep

SPEC = """
episodes = 20
runs = 3

[domain]
kind = "corridor"
grid = { cells = [5, 9] }

[features]
kind = "one_hot"

[agents.plain]
kind = "q_learning"

[agents.ahead]
label = "Look-ahead"
kind = "lookahead"
value_step = 0.1
model = { kind = "linear_expectation", step = 0.5 }

[grid]
agents.plain.action_step = [0.1, 0.2]
agents.ahead.model.step = [0.01, 1.0]

[[linked]]
domain.slip = [0.0, 0.3]
agents.ahead.epsilon = [0.1, 0.2]

[variants.paper]
[variants.patient]
agents = { "*" = { discount = 0.5, replay_capacity = 70 } }
"""


def cells_of(text):
    return {cell.id: cell for cell in parse_spec(text, "x.toml").cells()}


def test_everything_that_can_be_varied():
    cells = cells_of(SPEC)
    assert len(cells) == 2 * 2 * 2 * (2 + 2)  # variants, cells, slips; then two of each agent
    cell = cells["patient domain.cells=9 domain.slip=0.3/ahead epsilon=0.2 model.step=1"]
    assert cell.domain == ex.Corridor(cells=9, slip=0.3)
    model = ex.LinearExpectation(step=1.0)
    assert cell.agent == ex.Lookahead(
        0.1, model=model, epsilon=0.2, discount=0.5, replay_capacity=70
    )
    assert cell.label == "Look-ahead, model.step 1.0, epsilon 0.2"
    plain = cells["paper domain.cells=5 domain.slip=0.3/plain action_step=0.2"]
    assert plain.agent == ex.QLearning(0.2)  # the part of a link that is another agent's is not its


def test_a_setting_of_every_agent_is_one_of_those_that_have_it():
    text = SPEC[: SPEC.index("[grid]")].replace("grid = { cells = [5, 9] }", "")
    text = text.replace('kind = "q_learning"', 'kind = "q_learning"\naction_step = 0.1')
    text += '[grid]\nagents."*".epsilon = [0.1, 0.2]\nagents."*".replay_capacity = [30, 40, 50]\n'
    keys = [cell.agent_key for cell in parse_spec(text, "x").cells()]
    assert [key for key in keys if key.startswith("plain")] == [
        "plain epsilon=0.1", "plain epsilon=0.2",
    ]  # fmt: skip
    assert len([key for key in keys if key.startswith("ahead")]) == 6


def test_values_that_are_parts_are_told_apart_in_ids():
    text = SPEC.replace(
        "agents.ahead.model.step = [0.01, 1.0]",
        'agents.ahead.model = ["exact", { kind = "linear_expectation", step = 0.1 }, { step = 0.2, kind = "linear_expectation" }]',
    )
    keys = {cell.agent_key for cell in parse_spec(text, "x").cells() if "ahead" in cell.agent_key}
    assert keys == {
        f"ahead epsilon={epsilon} model={model}"
        for epsilon in (0.1, 0.2)
        for model in ("exact", "linear_expectation(step=0.1)", "linear_expectation(step=0.2)")
    }


def test_words_are_the_same_for_equal_settings():
    assert word({"kind": "a", "x": 1.0, "b": True}) == word({"b": True, "x": 1, "kind": "a"})
    assert word({"kind": "a", "x": 1.0, "b": True}) == "a(b=true,x=1)"
    assert [word(value) for value in (0.1, 1e-1, 1e20, [1.0, 2], "none")] == [
        "0.1",
        "0.1",
        "1e+20",
        "[1,2]",
        "none",
    ]


def shuffled(data, order):
    """The same data, every table and list of values in another order."""
    if isinstance(data, dict):
        keys = list(data)
        order.shuffle(keys)
        return {key: shuffled(data[key], order) for key in keys}
    if isinstance(data, list) and all(isinstance(item, float | int) for item in data):
        return data
    return [shuffled(item, order) for item in data] if isinstance(data, list) else data


def reversed_lists(data):
    if isinstance(data, dict):
        return {key: reversed_lists(item) for key, item in data.items()}
    return [reversed_lists(item) for item in data[::-1]] if isinstance(data, list) else data


@settings(max_examples=8, deadline=None)
@given(order=st.randoms(use_true_random=False))
def test_ids_do_not_depend_on_any_order(order):
    data = tomllib.loads(SPEC)
    for other in (shuffled(data, order), reversed_lists(shuffled(data, order))):
        cells = {cell.id: cell.identity() for cell in experiment_of(other, "x").cells()}
        assert cells == {cell: found.identity() for cell, found in cells_of(SPEC).items()}
    assert spec_hash(shuffled(data, order)) == spec_hash(data)


def test_a_range_is_for_a_search():
    text = SPEC.replace("[0.01, 1.0]", "{ low = 0.01, high = 1.0 }")
    experiment = parse_spec(text, "x")
    with pytest.raises(
        SpecError, match=r"grid\.agents\.ahead\.model\.step: is a range, which only a search"
    ):
        experiment.cells()


def test_a_budget_of_steps_and_what_is_recorded():
    text = SPEC.replace("episodes = 20", "steps = 250\nbins = 100")
    cell = parse_spec(text, "x").cells()[0]
    assert (cell.episodes, cell.steps, cell.bins, cell.points, cell.width) == (0, 250, 100, 84, 3)
    assert parse_spec(text.replace("bins = 100", ""), "x").cells()[0].bins == 100
    few = parse_spec(text.replace("steps = 250\nbins = 100", "steps = 7"), "x").cells()[0]
    assert (few.bins, few.points, few.width) == (7, 7, 1)
    longer = parse_spec('record = ["return", "length"]\n' + SPEC, "x").cells()[0]
    assert longer.lengths and not parse_spec(SPEC, "x").cells()[0].lengths
    assert longer.identity() != parse_spec(SPEC, "x").cells()[0].identity()


def test_the_same_sweep_from_python():
    sweep = Sweep(
        name="x",
        title="x",
        domain=ex.Corridor(),
        features=ex.OneHot(),
        agents={"ahead": ex.Lookahead(0.1, replay_capacity=None)},
        episodes=20,
        runs=3,
        grid={"domain.cells": [5, 9], "agents.ahead.value_step": [0.1, 0.2]},
        linked=[{"domain.slip": [0.0, 0.3], "agents.ahead.epsilon": [0.1, 0.2]}],
        variants={"paper": {}, "patient": {"agents": {"*": {"discount": 0.5}}}},
    )
    assert len(sweep.cells()) == 16
    assert vars(sweep.cells()[0].agent)["replay_capacity"] is None
    again = Sweep.from_toml(sweep.to_toml())
    assert again == sweep and again.cells() == sweep.cells()
    assert hash(again) == hash(sweep)
    assert again != Sweep.from_toml(sweep.to_toml().replace("runs = 3", "runs = 4"))
    with pytest.raises(SpecError, match="Sweep: domain: Corridor: unknown option slipp"):
        Sweep(
            domain={"kind": "corridor", "slipp": 1},
            features=ex.OneHot(),
            agents={"q": ex.QLearning(0.1)},
            episodes=1,
        )


texts = st.text(max_size=8)
data = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(data=st.dictionaries(texts, data, max_size=4))
def test_toml_goes_there_and_back(data):
    assert tomllib.loads(to_toml(data)) == data
