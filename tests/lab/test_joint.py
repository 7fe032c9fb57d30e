"""Readings changed all at once: what is drawn, what is kept, what it says."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from expectant.analysis.panel import Panel
from expectant.lab import joint as module
from expectant.lab.claims import Claim, chance_together
from expectant.lab.clauses import Clause
from expectant.lab.joint import DRAWS, Joint
from expectant.lab.joint_search import ROWS, another, found, joint_of, read_rows
from expectant.lab.joint_search import search as search_for
from expectant.lab.measures import Measure
from expectant.lab.study import the_paper
from expectant.lab.together import answer_from_rows, favoured, to_confirm
from expectant.lab.together_words import HEAD, answer_rows, in_a_sentence, spread_rows

PAPER = the_paper()
CONTEXT = 2 * 2 * 2  # combinations of it: two options of what concerns one agent, for three


def a_search(runs: int = 3, seed: int = 0) -> Joint:
    return joint_of(PAPER, runs, seed)


def search(joint: Joint, folder: Path, count: int, threads: int | None) -> list[dict[str, Any]]:
    return search_for(joint, folder, list(joint.combinations(count)), threads)


def test_contexts_come_whole_those_of_the_named_sets_first_and_no_combination_twice():
    found = list(a_search().combinations(400))
    assert len({json.dumps(chosen, sort_keys=True) for chosen in found}) == 400
    for named_set, chosen in zip(PAPER.sets, found[::CONTEXT], strict=False):
        for reading in a_search().readings:
            assert chosen[reading.name] == reading.chosen(named_set).name
            assert reading.concerns("5a") or reading.concerns("5b")
    assert list(a_search().combinations(50)) == found[:50]  # more of them are the same and more
    drawn = {(name, option) for chosen in found for name, option in chosen.items()}
    every = {(r.name, o.name) for r in a_search().readings for o in r.options}
    assert drawn <= every and {name for name, _ in every - drawn} <= {"features"}


def test_features_that_are_drawn_once_are_drawn_anew_in_every_context():
    (features,) = [reading for reading in a_search().readings if reading.name == "features"]
    draws = [option.changes.features["draw"] for option in features.options]
    assert draws == ["none", *range(DRAWS)] and len({o.name for o in features.options}) == DRAWS + 1
    chosen = [one["features"] for one in a_search().combinations(100 * CONTEXT)][::CONTEXT]
    once = [name for name in chosen if name != "for every run"]
    assert 30 < len(once) < 70 and len(set(once)) > DRAWS / 2  # as likely as for every run
    number = int(once[0].rpartition(" ")[2])
    cell = a_search().experiment("5a", {"features": once[0]}).cells()[0]
    assert vars(cell.features)["draw"] == number


def test_every_second_context_has_a_setting_that_is_favoured():
    likely = a_search().settings("q_learning", 2)
    found = list(a_search().combinations(43 * CONTEXT, likely))[::CONTEXT]
    inside = [any(one.items() <= chosen.items() for one in likely) for chosen in found]
    assert inside[: len(PAPER.sets)] == [False] * 3
    assert all(inside[4::2]) and sum(inside[3::2]) < 5
    assert {json.dumps([chosen[name] for name in likely[0]]) for chosen in found[4::2]} == {
        json.dumps([*one.values()]) for one in likely
    }
    alone = [
        {"readings": {"k": k}, "verdicts": verdicts}
        for k, verdicts in (
            ("3", {"10": "holds", "19": "unclear"}),
            ("5", {"10": "unclear", "19": "holds"}),
        )
    ]
    assert favoured(alone, [10, 11]) == [{"k": "3"}] and favoured(alone, [12]) == []


def test_what_matters_to_a_claim_is_what_touches_its_agents():
    matters = a_search().matters
    q = ("reward at the ends", "k in figure 5", "features", "step size", "ties")
    assert matters[10] == matters[11] == matters[19] == q
    assert set(matters[20]) - set(q) == {
        "replayed fits", "replay capacity", "replayed rewards", "bootstrapping",
        "action of a Q-planning backup",
    }  # fmt: skip
    assert "cached actions" in matters[15] and "cached actions" not in matters[16]


def test_all_settings_of_an_agent_that_claims_are_about_alone():
    joint = a_search()
    assert {agent: [c.id for c in own] for agent, own in joint.alone.items()} == {
        "q_learning": [10, 11, 19, 31]
    }
    every = joint.settings("q_learning", 10_000)
    assert len({json.dumps(one) for one in every}) == len(every) == 2 * 2 * (1 + DRAWS) * 2 * 2
    assert joint.settings("q_learning", 5) == every[:5]
    assert set(every[0]) == set(joint.matters[10])


def test_an_agent_may_have_as_many_settings_as_are_tried_and_not_one_more(monkeypatch):
    every = len(a_search().settings("q_learning", 10_000))
    monkeypatch.setattr(module, "MOST_ALONE", every)
    assert set(a_search().alone) == {"q_learning"}
    monkeypatch.setattr(module, "MOST_ALONE", every - 1)
    assert a_search().alone == {}


def test_the_first_runs_are_taken_unless_others_are_asked_for():
    figures, claims = ("5a", "5b"), tuple(range(10, 18))
    asked = Joint(PAPER, figures, 3, published=claims, step_limit=300)
    assert asked == joint_of(PAPER, 3) == a_search(seed=0)
    assert a_search(seed=4).seed == 4


def test_there_are_no_more_combinations_than_there_are():
    names = ("Algorithm 2's target", "cached actions", "ties")
    few = tuple(reading for reading in PAPER.readings if reading.name in names)
    joint = Joint(replace(PAPER, readings=few), ("5a", "5b"), 3)
    found = [tuple(chosen.values()) for chosen in joint.combinations(1000)]
    every = set(product(*([option.name for option in reading.options] for reading in few)))
    assert set(found) == every and len(found) == len(every)


def test_readings_of_one_agent_are_told_from_those_of_several():
    context, *own = a_search().groups
    assert [reading.name for group in own for reading in group] == [
        "action of a Q-planning backup",
        "Algorithm 2's target", "order in a backup of Algorithm 2", "cached actions",
        "order in a backup of Algorithm 3", "Algorithm 3's exploration",
    ]  # fmt: skip
    assert {"k in figure 5", "ties", "planning steps in figure 5"} < {r.name for r in context}
    assert (
        "slip of figure 3" not in a_search().touched or not (a_search().touched["slip of figure 3"])
    )
    assert a_search().touched["planning steps in figure 5"] == {
        "lookahead", "cached_values", "cached_policy",
    }  # fmt: skip


def test_eight_combinations_of_a_context_need_eight_agents():
    joint = a_search()
    second = list(joint.combinations(2 * CONTEXT))[CONTEXT:]
    for reading in joint.groups[0]:
        assert len({chosen[reading.name] for chosen in second}) == 1
    agents = {
        json.dumps([cell.agent_key, cell.identity()], sort_keys=True)
        for chosen in second
        for figure in joint.figures
        for cell in joint.experiment(figure, chosen).cells()
    }
    assert len(agents) == 1 + 2 + 1 + 2 + 2  # Q-learning, Q-planning, Algorithms 1, 2 and 3


def test_a_combination_changes_what_its_options_say():
    chosen = list(a_search().combinations(2 * CONTEXT + 1))[2 * CONTEXT]
    cells = a_search(7, 5).experiment("5b", chosen).cells()
    code = PAPER.experiment("5b", "code").cells()
    assert [cell.agent for cell in cells] == [cell.agent for cell in code]
    assert {(cell.runs, cell.seed, cell.step_limit) for cell in cells} == {(7, 5, 300)}


def test_claims_need_all_figures_of_their_clauses():
    """Claim 7 is about figure 4a, and about 4b too; 18 is about counted work."""
    found = {
        figures: {claim.id for claim in Joint(PAPER, figures, 3).claims}
        for figures in (("4a",), ("4b",), ("4a", "4b"))
    }
    assert {5, 6} <= found["4a",] and 7 not in found["4a",] | found["4b",]
    assert 7 in found["4a", "4b"]
    assert not any(18 in claims for claims in found.values())


@pytest.fixture
def computed(monkeypatch):
    """Curves of noise, the same for equal cells, and how many cells were asked for."""
    asked: list[int] = []

    def curves(cells: Any, store: Any, **options: Any) -> list[np.ndarray]:
        asked.append(len(cells))
        return [
            np.random.default_rng(len(cell.agent_key)).normal(size=(cell.runs, cell.points))
            for cell in cells
        ]

    monkeypatch.setattr(module, "compute", curves)
    monkeypatch.setattr("expectant.lab.clauses.BLOCKS", 10)  # what is judged is noise anyway
    return asked


def test_it_goes_on_where_it_was(computed, tmp_path):
    first = search(a_search(), tmp_path, CONTEXT + 1, None)
    # the second context of a named set has other values everywhere but for Q-learning
    assert len(first) == CONTEXT + 1 and computed[0] == 8 and computed[1] in (4, 5)
    with open(tmp_path / ROWS, "a") as file:
        file.write('{"readings": {"k in fig')  # stopped while it was writing
    again = search(a_search(), tmp_path, CONTEXT + 4, None)
    assert len(computed) == 3
    assert again[: CONTEXT + 1] == first
    assert {int(claim) for claim in again[0]["verdicts"]} == {
        claim.id for claim in a_search().claims
    }
    assert {10, 14, 17, 20} <= {claim.id for claim in a_search().claims}
    search(a_search(seed=1), tmp_path, 1, None)
    assert computed[-1] == 5  # another seed is another row
    assert len(read_rows(tmp_path / ROWS)) == CONTEXT + 5


def test_an_agent_that_readings_leave_alone_is_computed_once_for_all_contexts(computed, tmp_path):
    joint = a_search()
    search(joint, tmp_path, 10 * CONTEXT, None)
    distinct = {
        json.dumps(cell.identity(), sort_keys=True)
        for chosen in joint.combinations(10 * CONTEXT)
        for figure in joint.figures
        for cell in joint.experiment(figure, chosen).cells()
    }
    assert sum(computed) == len(distinct) < 8 * len(computed)


def test_an_interrupt_loses_only_the_context_it_was_in(computed, tmp_path, monkeypatch):
    compute: Any = vars(module)["compute"]
    calls: list[None] = []

    def interrupted(*args: Any, **options: Any) -> list[np.ndarray]:
        calls.append(None)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return compute(*args, **options)

    monkeypatch.setattr(module, "compute", interrupted)
    with pytest.raises(KeyboardInterrupt):
        search(a_search(), tmp_path, 3 * CONTEXT, None)
    assert len(read_rows(tmp_path / ROWS)) == 2 * CONTEXT
    monkeypatch.setattr(module, "compute", compute)
    whole = search(a_search(), tmp_path, 3 * CONTEXT, None)
    at_once = search(a_search(), tmp_path / "at-once", 3 * CONTEXT, None)
    assert [untimed(row) for row in whole] == [untimed(row) for row in at_once]
    assert len(read_rows(tmp_path / ROWS)) == 3 * CONTEXT


def untimed(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != "processor_seconds"}


def test_it_tells_how_far_it_is_and_how_long_the_rest_takes(computed, tmp_path, capsys):
    search(a_search(), tmp_path, 2 * CONTEXT, None)
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("8 of 16 combinations, seed 0, about ")
    assert told[0].endswith(" left") and told[1] == "16 of 16 combinations, seed 0, about 0 s left"


def test_all_of_it_is_one_answer(computed, tmp_path):
    joint = a_search()
    said = found(joint, tmp_path, 12, None)
    rows = read_rows(tmp_path / ROWS)
    assert [row["seed"] for row in rows if row["agent"]] == [0] * 12
    assert [row["seed"] for row in rows if not row["agent"]][:12] == [0] * 12
    assert said["combinations"] == 12 and 12 <= said["claims"][10]["settings"] <= 24
    again = [row["readings"] for row in rows if row["seed"] == 1]
    assert again == to_confirm([r for r in rows if not r["seed"] and not r["agent"]], range(10, 18))
    assert [each["settings"] for each in said["alone"]] == [12]
    asked = len(computed)
    assert found(a_search(), tmp_path, 12, None) == said and len(computed) == asked


def test_fresh_runs_have_nothing_in_common_with_those_before(computed, tmp_path):
    joint = a_search()
    search(joint, tmp_path, 1, None)
    fresh = another(joint)
    assert (fresh.seed, fresh.known, fresh.judged) == (1, {}, {}) and joint.known and joint.judged


def test_a_setting_of_a_claim_is_judged_once(computed, tmp_path, monkeypatch):
    asked: list[int] = []
    evaluate: Any = vars(module)["judge_claims"]

    def counted(claims: Any, *rest: Any) -> Any:
        asked.extend(claim.id for claim in claims)
        return evaluate(claims, *rest)

    monkeypatch.setattr(module, "judge_claims", counted)
    rows = search(a_search(), tmp_path, CONTEXT, None)
    assert len(rows) == CONTEXT
    assert [asked.count(claim) for claim in (10, 13, 16, 20)] == [1, 2, 2, 2]


def row(
    verdicts: dict[str, str], effect: float = 0.0, shown: float = 0.0, k: str = "", agent: str = ""
) -> dict[str, Any]:
    return {
        "readings": {"k": k or str(effect), "features": f"draw {effect:.0f}"},
        "agent": agent,
        "verdicts": verdicts,
        "effects": dict.fromkeys(verdicts, effect),
        "chances": dict.fromkeys(verdicts, 0.25),
        "shown": shown,
        "runs": 100,
    }


MATTERS = {10: ("k",), 11: ("k",), 12: ("k",), 20: ("k", "features")}


def test_what_the_rows_say():
    rows = [
        row({"10": "holds", "11": "holds", "12": "unclear", "20": "holds"}, 1.0),
        row({"10": "holds", "11": "equal", "12": "unclear", "20": "unclear"}, 2.0, 0.125),
        row({"10": "does not hold", "11": "equal", "12": "holds", "20": "holds"}, -3.0),
    ]
    fresh = [
        row({"10": "holds", "11": "unclear", "12": "unclear"}, 1.0),
        row({"10": "holds", "11": "unclear", "12": "unclear"}, 2.0, 0.0625),
        row({"10": "holds", "11": "unclear", "12": "holds"}, -3.0),
    ]
    assert to_confirm(rows, [10, 11, 12]) == [
        rows[place]["readings"] for place in (0, 2, 1)
    ]  # of both sets, and the likeliest
    found = answer_from_rows(rows, [10, 11, 12], MATTERS, (), fresh)
    assert found["claims"][10] == {
        "settings": 3, "holds": 2, "equal": 0, "does not hold": 1, "unclear": 0,
        "effect": [-1.0, 1.5], "chance": 0.25, "never_with": [12],
    }  # fmt: skip
    assert found["claims"][20]["never_with"] == []
    # 10 alone is part of 10 and 11; 20 is no part of the figure
    assert found["sets"] == [
        {"claims": [10, 11], "combinations": 1, "readings": rows[0]["readings"], "again": 1,
         "confirmed": 0},
        {"claims": [12], "combinations": 1, "readings": rows[2]["readings"], "again": 1,
         "confirmed": 1},
    ]  # fmt: skip
    assert found["published"] == {
        "claims": [10, 11, 12], "holds": 0, "chance": 0.125, "fresh_chance": 0.0625,
        "readings": rows[1]["readings"],
    }  # fmt: skip
    table = answer_rows(found)
    assert table[0] == ["10", "3", "2", "0", "1", "0", "−1 to 1.5", "25 %", "", "12"]
    assert [[*line[:3], line[-2]] for line in table[4:]] == [
        ["all of 10, 11", "3", "1", "0 of 1"], ["all of 12", "3", "1", "1 of 1"],
        ["all of 10 to 12", "3", "0", ""],
    ]  # fmt: skip
    assert table[-1][-3] == "12.5 %" and all(len(line) == len(HEAD) for line in table)
    assert in_a_sentence(found) == (
        "Only by luck: claims 10 to 12 all hold under none of 3 combinations, though under one "
        "of them a figure of the published size shows them all with a chance of 12.5 % (6.2 % on "
        "fresh runs). At most 2 of the 3 hold at once (10, 11): in 1 combination, and on fresh "
        "runs in 0 of 1 that were run again."
    )


def test_what_differs_in_nothing_that_matters_counts_once():
    """Four combinations, two of each k; all that is known of 10 alone is used too."""
    rows = [
        row({"10": "holds", "20": "holds"}, effect, k=k)
        for k, effect in (("3", 1.0), ("3", 2.0), ("5", 1.0), ("5", 2.0))
    ]
    found = answer_from_rows(rows, [10], MATTERS)
    assert [found["claims"][claim]["settings"] for claim in (10, 20)] == [2, 4]
    alone = [
        row({"10": verdict}, effect, k=k, agent="q")
        for k, effect, verdict in (("3", 2.0, "holds"), ("7", 10.0, "unclear"), ("8", 2.0, "equal"))
    ]
    found = answer_from_rows(rows, [10], MATTERS, alone)
    assert (found["claims"][10]["settings"], found["claims"][10]["holds"]) == (4, 2)
    assert found["alone"] == [{"agent": "q", "claims": [10], "settings": 3, "holds": 1}]
    assert "Of 3 settings of `q` that were tried, claim 10 holds in 1." in in_a_sentence(found)
    head, lines = spread_rows(found)
    assert head == ["features", "settings", "10 holds", "10, from – to"]
    assert lines == [["draw 2", "2", "1", "2 to 2"], ["draw 10", "1", "0", "10 to 10"]]


def test_the_sentence_says_what_was_found():
    none = answer_from_rows([row({"10": "unclear", "11": "unclear"})], [10, 11], MATTERS)
    assert in_a_sentence(none) == (
        "No: claims 10, 11 all hold under none of 1 combinations, and under none does a figure of "
        "the published size ever show them all. None of them holds under any."
    )
    both = answer_from_rows([row({"10": "holds", "11": "holds"})], [10, 11], MATTERS)
    assert in_a_sentence(both).startswith("Yes: claims 10, 11 all hold under 1 of 1 combinations.")


def test_empty_answers_and_times():
    rows = [row({"10": "holds"}, effect) for effect in (1.0, 2.0, 3.0)]
    found = answer_from_rows(rows, [10], MATTERS)
    assert answer_from_rows([], [10], MATTERS)["combinations"] == 0
    assert (
        answer_from_rows([], [10], MATTERS)["processor_seconds"]
        is found["processor_seconds"]
        is None
    )
    timed = [{**rows[0], "processor_seconds": 2.0}, {**rows[1], "processor_seconds": 4.0}, rows[2]]
    assert answer_from_rows(timed, [10], MATTERS)["processor_seconds"] == 9.0
    assert read_rows(Path("/nowhere")) == []


def test_a_figure_that_can_be_obtained_is_said_to_be():
    found = answer_from_rows([row({"10": "holds", "11": "holds"}, shown=0.5)], [10, 11], MATTERS)
    assert (found["published"]["holds"], found["published"]["chance"]) == (1, 0.5)


def test_the_chance_of_all_claims_is_that_of_one_figure(monkeypatch):
    """Two claims that are never shown by the same figure have no chance together."""
    rng = np.random.default_rng(0)
    curve = rng.choice([-1.0, 1.0], size=(400, 1)) + np.zeros((400, 4))
    panel = Panel("5a", "", "r", 50, None, 0.0, {"one": curve}, {"one": "one"})
    above, below = (
        Claim(id, "5a", "", (Clause(Measure("m", "m", "m", of), ("one",)),))
        for id, of in enumerate(
            (lambda panel, curves: curves[:, 0], lambda panel, curves: -curves[:, 0])
        )
    )
    sizes = {"5a": 9}  # an odd number of signs has a sum
    chances = [chance_together([claim], [panel], sizes) for claim in (above, below)]
    assert chances[0] == 1.0 - chances[1] and 0.1 < chances[0] < 0.9
    assert chance_together([above, below], [panel], sizes) == 0.0
    assert math.isnan(chance_together([above], [], sizes))


def test_a_search_makes_its_folder_and_those_above_it(tmp_path):
    assert search(a_search(), tmp_path / "new" / "joint", 0, 1) == []
    assert (tmp_path / "new" / "joint" / ROWS).read_text() == ""
