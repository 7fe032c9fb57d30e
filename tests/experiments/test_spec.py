from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import expectant as ex
from expectant.experiments.spec import Changes, SpecError, parse_spec, read_spec

GOOD = """
name = "mine"
title = "A title"
episodes = 100
runs = 4
bin = 10
notes = ["one", "two"]

[domain]
kind = "corridor"
slip = 0.2

[features]
kind = "random_binary"
size = 14
active = 5

[agents.plain]
kind = "q_learning"
action_step = 0.1

[agents.ahead]
label = "Look-ahead"
kind = "lookahead"
value_step = 0.1
replay_capacity = "none"

[[panels]]
name = "short"
domain = { cells = 5 }

[[panels]]
name = "long"
domain = { cells = 15 }
agents = { plain = { action_step = 0.2 } }
"""


def test_a_spec_becomes_cells():
    experiment = parse_spec(GOOD, "mine.toml")
    cells = experiment.cells("text")
    assert [(c.panel, c.agent_key, c.domain.cells) for c in cells] == [
        ("short", "plain", 5), ("short", "ahead", 5), ("long", "plain", 15), ("long", "ahead", 15),
    ]  # fmt: skip
    assert cells[2].agent == ex.QLearning(0.2)
    assert cells[1].agent == ex.Lookahead(0.1, replay_capacity=None)
    assert cells[1].label == "Look-ahead"
    assert (cells[0].runs, cells[0].bin, cells[0].step_limit) == (4, 10, 10_000)


def test_changes_go_where_they_apply():
    changed = parse_spec(GOOD, "x").changed(
        Changes(
            domain={"slip": 0.4, "exit_reward": 1.0},
            features={"active": 3},
            agents={"doubled_steps": True, "replayed_fits": "planning_steps"},
            kinds={"lookahead": {"planning_steps": 7}},
        )
    )
    plain, ahead = changed.cells()[:2]
    assert (plain.domain.slip, plain.features.active) == (0.4, 3)
    assert plain.agent == ex.QLearning(0.1, doubled_steps=True)
    assert (ahead.agent.planning_steps, ahead.agent.replayed_fits) == (7, "planning_steps")


def replaced(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


BAD = [
    ("episodes = ", "TOML"),
    (
        replaced("episodes = 100", "episodez = 100"),
        "episodez: unknown key, did you mean 'episodes'",
    ),
    (
        replaced("episodes = 100\n", ""),
        "episodes: is missing; it must be a whole number, 1 or more",
    ),
    (replaced("runs = 4", "runs = 0"), "runs: must be a whole number, 1 or more, got 0"),
    (replaced("runs = 4", 'runs = "4"'), "runs: must be a whole number, 1 or more, got '4'"),
    (replaced("bin = 10", "bin = 1000"), r"bin: must be at most episodes \(100\), got 1000"),
    (replaced("bin = 10", "bin = 2.5"), "bin: must be a whole number"),
    (replaced('name = "mine"', "name = 3"), "name: must be a text, got 3"),
    (replaced('title = "A title"', "title = []"), r"title: must be a text, got \[\]"),
    (replaced('["one", "two"]', '"one"'), "notes: must be a list of texts, got 'one'"),
    (replaced('kind = "corridor"\n', ""), r"domain.kind: is missing \(known: corridor"),
    (
        replaced('"corridor"', '"coridor"'),
        "domain.kind: unknown 'coridor', did you mean 'corridor'",
    ),
    (replaced('"corridor"', '"q_learning"'), "domain.kind: unknown 'q_learning'"),
    (
        replaced("slip = 0.2", "slip = 2.0"),
        "domain: Corridor: slip must be a number from 0 to 1, got 2.0",
    ),
    (
        replaced("slip = 0.2", "slipp = 0.2"),
        "domain: Corridor: unknown option slipp=0.2, did you mean 'slip'",
    ),
    (replaced("active = 5", "active = 50"), "features: RandomBinary: active must be at most size"),
    (replaced("size = 14\n", ""), "features: .*size"),
    (
        replaced('kind = "q_learning"', 'kind = "q_lerning"'),
        "agents.plain.kind: unknown 'q_lerning', did you mean 'q_learning'",
    ),
    (
        replaced("value_step = 0.1", "value_step = -0.1"),
        "agents.ahead: Lookahead: value_step must be a finite number, 0 or more, got -0.1",
    ),
    (
        replaced("value_step = 0.1", "value_step = nan"),
        "agents.ahead: Lookahead: value_step must be",
    ),
    (replaced('label = "Look-ahead"', "label = 1"), "agents.ahead.label: must be a text, got 1"),
    (
        replaced('[[panels]]\nname = "short"', '[[panels]]\nname = "long"'),
        "panels.0.name: must be a text of its own",
    ),
    (replaced('name = "short"\n', ""), "panels.0.name: must be a text of its own, got None"),
    (
        replaced("domain = { cells = 5 }", "domian = { cells = 5 }"),
        "panels.0.domian: unknown key, did you mean 'domain'",
    ),
    (replaced("domain = { cells = 5 }", "domain = 5"), "panels.0.domain: must be a table, got 5"),
    (
        replaced("domain = { cells = 5 }", "domain = { cells = 0 }"),
        "domain: Corridor: cells must be a whole number, 1 or more, got 0",
    ),
    (
        replaced("[agents.plain]", "[agents]\nplain = 3\n[agents.other]"),
        "agents.plain: must be a table, got 3",
    ),
    ("episodes = 3\nagents = 4", "agents: must be a table, got 4"),
    ("episodes = 3\npanels = 4", "panels: must be a list of tables, got 4"),
    ('episodes = 3\n[domain]\nkind = "corridor"', "agents: at least one is needed"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=[m[:45] for _, m in BAD])
def test_mistakes_name_file_key_value_and_rule(text, message):
    with pytest.raises(SpecError, match=message) as caught:
        parse_spec(text, "some/mine.toml")
    assert str(caught.value).startswith("some/mine.toml: ")


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(SpecError, match="cannot be read"):
        read_spec(tmp_path / "nothing.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="cannot be read"):
        read_spec(tmp_path / "binary.toml")


values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 30) | st.floats() | st.sampled_from(["none", "corridor", "lookahead", "x"]),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=3,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    line=st.integers(0, len(GOOD.splitlines()) - 1),
    text=st.text(max_size=12) | values.map(lambda v: f"slip = {v!r}") | st.just(""),
)
def test_no_text_ends_in_anything_but_a_spec_or_a_spec_error(line, text):
    lines = GOOD.splitlines()
    lines[line] = text
    with contextlib.suppress(SpecError):
        parse_spec("\n".join(lines), "fuzz.toml")


def test_a_grid_becomes_one_agent_per_combination():
    text = GOOD.replace(
        '[[panels]]\nname = "short"',
        "[agents.ahead.grid]\nplanning_steps = [1, 5]\nmodel = ['expectation', 'exact']\n\n[[panels]]\nname = \"short\"",
    )
    cells = [cell for cell in parse_spec(text, "x").cells() if cell.panel == "short"]
    assert [cell.agent_key for cell in cells] == [
        "plain",
        "ahead model=expectation planning_steps=1",
        "ahead model=exact planning_steps=1",
        "ahead model=expectation planning_steps=5",
        "ahead model=exact planning_steps=5",
    ]
    assert cells[2].agent == ex.Lookahead(
        0.1, replay_capacity=None, planning_steps=1, model="exact"
    )
    assert cells[2].label == "Look-ahead, planning_steps 1, model exact"
    for bad in ("planning_steps = 3", "planning_steps = []"):
        with pytest.raises(SpecError, match=r"agents\.ahead\.grid\.planning_steps: must be a list"):
            parse_spec(text.replace("planning_steps = [1, 5]", bad), "x")
