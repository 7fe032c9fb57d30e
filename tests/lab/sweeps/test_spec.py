from __future__ import annotations

import contextlib
import dataclasses
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import expectant as ex
from expectant.lab.specs.spec import (
    Changes,
    ConfigFile,
    SpecError,
    experiment_of,
    parse_spec,
    read_spec,
)

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
    assert [(c.panel, c.agent_key, c.domain.to_dict()["cells"]) for c in cells] == [
        ("short", "plain", 5), ("short", "ahead", 5), ("long", "plain", 15), ("long", "ahead", 15),
    ]  # fmt: skip
    assert cells[2].agent == ex.QLearning(0.2)
    assert cells[1].agent == ex.Lookahead(0.1, replay_capacity=None)
    assert cells[1].label == "Look-ahead"
    assert (cells[0].runs, cells[0].bin, cells[0].step_limit) == (4, 10, None)
    assert cells[0].id == "text/short/plain"


@pytest.mark.parametrize(("variants", "expected"), [
    ("", {"short": "", "long": "The long one"}),
    ("[variants.wet]\ndomain = { slip = 0.4 }\n", {"short, wet": "", "long, wet": "The long one, wet"}),
], ids=["alone", "varied"])  # fmt: skip
def test_a_panel_has_the_title_that_it_was_given_or_none(variants, expected):
    named = replaced('name = "long"', 'name = "long"\ntitle = "The long one"')
    cells = parse_spec(f"{named}\n{variants}", "mine.toml").cells()
    assert {cell.panel: cell.panel_title for cell in cells} == expected


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
    assert plain.domain.to_dict()["slip"] == 0.4 and plain.features.to_dict()["active"] == 3
    assert plain.agent == ex.QLearning(0.1, doubled_steps=True)
    fits = ahead.agent.to_dict()["replayed_fits"]
    assert (ahead.agent.to_dict()["planning_steps"], fits) == (7, "planning_steps")


def replaced(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


RANGED = replaced("value_step = 0.1", "grid.value_step = { low = 0.01, high = 1.0, log = true }")


def more(lines: str) -> str:
    """Keys at the top of the spec."""
    return lines + "\n" + GOOD


def last(lines: str) -> str:
    """Tables at the end of the spec."""
    return GOOD + "\n" + lines


BAD = [
    ("episodes = ", "not TOML"),
    ("a = " + "[" * 5000, "not TOML"),
    ("seed = " + "1" * 5000, "not TOML"),
    (
        replaced("episodes = 100", "episodez = 100"),
        "episodez: unknown key, did you mean 'episodes'",
    ),
    (
        replaced("episodes = 100\n", ""),
        "episodes: is missing; it must be a whole number, 1 or more",
    ),
    (more("steps = 100"), "steps: must not be given together with episodes, got 100 and 100"),
    (replaced("episodes = 100", "steps = 0"), "steps: must be a whole number, 1 or more, got 0"),
    (
        replaced("episodes = 100", "steps = 100"),
        "bin: does not go with steps, which has bins instead",
    ),
    (more("bins = 5"), "bins: does not go with episodes, which has bin instead"),
    (
        replaced("episodes = 100\nruns = 4\nbin = 10", "steps = 50\nbins = 60"),
        r"bins: must be at most steps \(50\), got 60",
    ),
    (replaced("runs = 4", "runs = 0"), "runs: must be a whole number, 1 or more, got 0"),
    (replaced("runs = 4", 'runs = "4"'), "runs: must be a whole number, 1 or more, got '4'"),
    (replaced("runs = 4", "runs = true"), "runs: must be a whole number, 1 or more, got True"),
    (more("seed = -1"), "seed: must be a whole number, 0 or more, got -1"),
    (more("step_limit = 0"), "step_limit: must be a whole number, 1 or more, got 0"),
    (replaced("bin = 10", "bin = 1000"), r"bin: must be at most episodes \(100\), got 1000"),
    (replaced("bin = 10", "bin = 2.5"), "bin: must be a whole number"),
    (replaced('name = "mine"', "name = 3"), "name: must be the name of a folder, .* got 3"),
    (replaced('name = "mine"', 'name = "../mine"'), "name: must be the name of a folder"),
    (replaced('name = "mine"', 'name = ""'), "name: must be the name of a folder"),
    (replaced('title = "A title"', "title = []"), r"title: must be a text, got \[\]"),
    (replaced('["one", "two"]', '"one"'), "notes: must be a list of texts, got 'one'"),
    (more('record = "return"'), "record: must be a list of texts, got 'return'"),
    (more('record = ["lenght"]'), "record: unknown 'lenght', did you mean 'length'"),
    (more("record = []"), "record: must contain 'return'"),
    (replaced('kind = "corridor"\n', ""), r"domain.kind: is missing \(known: .*corridor"),
    (
        replaced('"corridor"', '"coridor"'),
        "domain.kind: unknown 'coridor', did you mean 'corridor'",
    ),
    (replaced('"corridor"', '"q_learning"'), "domain.kind: unknown 'q_learning'"),
    (replaced('"corridor"', "[3]"), r"domain.kind: unknown \[3\]"),
    (
        replaced("slip = 0.2", "slip = 2.0"),
        "domain: Corridor: slip must be a number from 0 to 1, got 2.0",
    ),
    (
        replaced("slip = 0.2", "slip = 1979-05-27"),
        "domain: Corridor: slip must be a number from 0 to 1",
    ),
    (
        replaced("slip = 0.2", "slipp = 0.2"),
        "domain: Corridor: unknown option slipp=0.2, did you mean 'slip'",
    ),
    (replaced('kind = "corridor"\nslip = 0.2', 'kind = "gym"'), "domain: Gym: needs environment"),
    (replaced("active = 5", "active = 50"), "features: RandomBinary: active must be at most size"),
    (replaced("size = 14\n", ""), "features: .*size"),
    (
        replaced('kind = "q_learning"', 'kind = "q_lerning"'),
        "agents.plain.kind: unknown 'q_lerning', did you mean 'q_learning'",
    ),
    (
        replaced("value_step = 0.1", "value_step = -0.1"),
        "agents.ahead: Lookahead: value_step must be a finite number, 0 or more, or .*, got -0.1",
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
    (replaced('name = "short"\n', ""), "panels.0.name: is missing; it must be a text"),
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
    (more("grid = 3"), "grid: must be a table, got 3"),
    (
        last("[grid]\n'domain.slip' = 3"),
        r"grid.domain.slip: must be a list of values, or a range .*, got 3",
    ),
    (last("[grid]\n'domain.slip' = []"), r"grid.domain.slip: must be a list of values, or a range"),
    (
        last("[grid]\n'domain.slip' = [0.1, 0.10]"),
        r"grid.domain.slip: must be a list of different values, got \[0.1, 0.1\]",
    ),
    (last("[grid]\n'domain.slipp' = [0.1]"), "domain: Corridor: unknown option slipp=0.1"),
    (
        last("[grid]\n'domain.slip' = [0.1, 7]"),
        "domain: Corridor: slip must be a number from 0 to 1, got 7",
    ),
    (
        last("[grid]\n'domian.slip' = [0.1]"),
        "grid.domian.slip: must begin with domain, features or agents, got 'domian', did you mean 'domain'",
    ),
    (last("[grid]\ndomain = [0.1]"), "grid.domain: must name a setting, such as domain.slip"),
    (
        last("[grid]\n'agents.plane.epsilon' = [0.1]"),
        "grid.agents.plane.epsilon: there is no agent 'plane', did you mean 'plain'",
    ),
    (
        last("[grid]\n'agents.*.epsilom' = [0.1]"),
        r"grid.agents.\*.epsilom: no agent has the option 'epsilom', did you mean 'epsilon'",
    ),
    (
        last("[grid]\n'agents.ahead.model.step' = [0.1]"),
        "agents.ahead.model.step: model must be a table with a kind before its settings can be listed, got None",
    ),
    (
        last("[grid]\n'agents.*.epsilon' = [0.1]\n'agents.plain.epsilon' = [0.2]"),
        r"grid.agents.plain.epsilon: must be varied in one place, got grid.agents.\*.epsilon as well",
    ),
    (
        last("[grid]\n'domain.slip' = { low = 0.0, hihg = 1.0 }"),
        "grid.domain.slip.low: must be a list of values",
    ),
    (
        last("[grid]\n'domain.slip' = { low = 0.0 }"),
        "grid.domain.slip.high: is missing; it must be a finite number",
    ),
    (
        last("[grid]\n'domain.slip' = { low = 0.5, high = 0.1 }"),
        "grid.domain.slip: must have low < high",
    ),
    (
        last("[grid]\n'domain.slip' = { low = 0.0, high = 1.0, log = true }"),
        "grid.domain.slip: must have 0 < low < high",
    ),
    (
        last("[grid]\n'domain.slip' = { low = 0.1, high = 1.0, log = 1 }"),
        "grid.domain.slip.log: must be True or False, got 1",
    ),
    (
        last("[grid]\n'domain.slip' = { low = 0.5, high = 1.5 }"),
        "domain: Corridor: slip must be a number from 0 to 1, got 1.5",
    ),
    (
        last(
            "[grid]\n"
            + "\n".join(
                f"'agents.*.{name}' = {list(range(100))}" for name in ("epsilon", "discount", "x")
            )
        ),
        "no agent has the option 'x'",
    ),
    (
        last(
            f"[grid]\n'agents.ahead.planning_steps' = {list(range(400))}\n'domain.cells' = {list(range(2, 400))}"
        ),
        "grid: must ask for at most 100,000 cells, got",
    ),
    (more("linked = 3"), "linked: must be a list of tables, got 3"),
    (
        last("[[linked]]\n'domain.slip' = [0.1]\n'domain.cells' = [3, 4]"),
        "linked.0: must be lists of one length, got {'domain.slip': 1, 'domain.cells': 2}",
    ),
    (
        last("[[linked]]\n'domain.slip' = 3"),
        "linked.0.domain.slip: must be a list of values, got 3",
    ),
    (last("[[linked]]\n'domain.slip' = [0.1, 0.1]"), "linked.0: must be different combinations"),
    (more("variants = 3"), "variants: must be a table, got 3"),
    (last("[variants]\nsmall = 3"), "variants.small: must be a table, got 3"),
    (
        last("[variants.small]\ndomian = { cells = 3 }"),
        "variants.small.domian: unknown key, did you mean 'domain'",
    ),
    (last("[variants.small]\nagents = { new = { epsilon = 0.5 } }"), "agents.new.kind: is missing"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=[m[:45] for _, m in BAD])
def test_mistakes_name_file_key_value_and_rule(text, message):
    with pytest.raises(SpecError, match=message) as caught:
        parse_spec(text, "some/mine.toml")
    assert str(caught.value).startswith("some/mine.toml: ")


def test_a_mistake_in_a_table_is_told_by_its_name_not_by_that_of_a_cell():
    text = last("[grid]\nagents.plain.action_step = [0.1, 0.2]").replace(
        '"q_learning"', '"q_lerning"'
    )
    with pytest.raises(SpecError, match=r"agents\.plain\.kind: unknown 'q_lerning', did you mean"):
        parse_spec(text, "mine.toml").cells()


def test_there_are_many_kinds_of_mistakes():
    assert len(BAD) >= 70


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(SpecError, match=r"nothing\.toml: there is no such file$"):
        read_spec(tmp_path / "nothing.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="cannot be read"):
        read_spec(tmp_path / "binary.toml")


words = st.sampled_from(
    ["none", "corridor", "lookahead", "one_hot", "x", "domain", "agents", "*", "slip", "grid", "", "a.b", "domain.slip"]
)  # fmt: skip
values = st.recursive(
    st.booleans() | st.integers() | st.floats() | words | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from([*(field.name for field in dataclasses.fields(ConfigFile)), "nonsense"])


@settings(max_examples=300, deadline=None)
@given(line=st.integers(0, len(GOOD.splitlines()) - 1), text=st.text(max_size=12))
def test_no_text_ends_in_anything_but_a_spec_or_a_spec_error(line, text):
    lines = GOOD.splitlines()
    lines[line] = text
    with contextlib.suppress(SpecError):
        parse_spec("\n".join(lines), "fuzz.toml")


@settings(max_examples=400, deadline=None)
@given(
    changes=st.dictionaries(keys, values, max_size=3),
    part=st.sampled_from(["domain", "features"]),
    inner=st.dictionaries(words, values, max_size=2),
)
def test_no_data_ends_in_anything_but_a_spec_or_a_spec_error(changes, part, inner):
    data = {**tomllib.loads(GOOD), **changes}
    if isinstance(data.get(part), dict):
        data[part] = {**data[part], **inner}
    with contextlib.suppress(SpecError):
        experiment_of(data, "fuzz.toml").cells()


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


OWN = """
import numpy as np
import expectant as ex

@ex.description
class Short(ex.Domain):
    cells: int = ex.option(ex.rules.whole(1), default=3)
    actions = 2
    states = property(lambda self: self.cells)

    def build(self, rng):
        return ex.Corridor(cells=self.cells).build(rng)
"""


def test_a_part_of_ones_own_is_imported_by_its_place(tmp_path, monkeypatch):
    (tmp_path / "my_worlds.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    text = """
        episodes = 1
        [domain]
        kind = "my_worlds:Short"
        [features]
        kind = "one_hot"
        [agents.plain]
        kind = "q_learning"
        action_step = 0.1
        [grid]
        domain.cells = [4, 5]
    """
    with pytest.raises(SpecError, match="own: domain: kind: names the class 'my_worlds:Short'"):
        parse_spec(text, "own")
    found = [cell.domain.to_dict()["cells"] for cell in parse_spec(text, "own", trust=True).cells()]
    assert found == [4, 5]
    with pytest.raises(SpecError, match="domain: kind: cannot import 'my_worlds:Long'"):
        parse_spec(text.replace("Short", "Long"), "own", trust=True).cells()


def test_cells_of_the_same_id_are_refused():
    """An agent by the name that a grid gives to another one."""
    text = GOOD.replace(
        '[[panels]]\nname = "short"',
        "[agents.'plain epsilon=0.2']\nkind = 'q_learning'\naction_step = 0.5\n"
        '[agents.plain.grid]\nepsilon = [0.1, 0.2]\n\n[[panels]]\nname = "short"',
    )
    with pytest.raises(SpecError, match=r"two cells have the id .*; name panels and agents apart"):
        parse_spec(text, "x")
