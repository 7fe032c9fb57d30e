"""Studies as folders of data: read, run, and told what is wrong with them."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loading import module_at
from typer.testing import CliRunner

import expectant as ex
from expectant.cli import app
from expectant.experiments.claims import judge_claims
from expectant.experiments.metrics import METRICS, find_metric
from expectant.experiments.probes import PROBES
from expectant.experiments.reproduce import read_stored, reproduce
from expectant.experiments.study import StudyConfig, find_config, packaged_studies, read_study
from expectant.experiments.toml_tables import ConfigError

DOCS = Path(__file__).parents[2] / "docs"
FILES = {
    "study.toml": 'title = "Parity"\nsource = "Somebody (2026)"\n',
    "corridor.toml": (
        "episodes = 60\nruns = 4\nbin = 20\n[domain]\nkind = 'corridor'\nslip = 0.1\n"
        "switch_every = 20\n[features]\nkind = 'one_hot'\n"
        "[agents.plain]\nkind = 'q_learning'\npreset = 'paper'\naction_step = 0.1\n"
        "[agents.other]\nlabel = 'The other'\nkind = 'q_learning'\npreset = 'paper'\naction_step = 0.0\n"
    ),
    "claims.toml": (
        "[names]\nplain = 'Q-learning'\n"
        "[[claims]]\nid = 1\nfigure = 'corridor'\nclaim = 'Learning pays.'\n"
        "clauses = [{ metric = 'mean', of = ['plain'], minus = ['other'] }]\n"
        "[[claims]]\nid = 2\nfigure = 'corridor'\nclaim = 'It does not.'\n"
        "clauses = [{ metric = 'final', of = ['other'], minus = ['plain'] }]\n"
    ),
}


def write(folder: Path, **changed: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in {**FILES, **{f"{k}.toml": v for k, v in changed.items()}}.items():
        (folder / name).write_text(text)
    return folder


def test_a_study_of_ones_own_is_run_and_read_again(tmp_path):
    study = read_study(write(tmp_path / "parity"))
    out = tmp_path / "out"
    verdicts = reproduce(StudyConfig(study, study.figures), out)
    assert [(v.id, v.verdict) for v in verdicts] == [(1, "holds"), (2, "does not hold")]
    assert "Return of Q-learning minus that of other is above 0 by more than 0." in verdicts[0].rule
    assert {path.name for path in out.iterdir()} >= {
        "report.html", "claims.json", "curves.parquet", "figure.png", "figure.svg", "runs",
    }  # fmt: skip
    request, panels = read_stored(out)
    assert request.study == study
    fresh = ex.run(
        ex.Corridor(slip=0.1, switch_every=20), ex.OneHot(), ex.QLearning.paper(0.1), episodes=60, runs=4,
        progress=False,
    )  # fmt: skip
    binned = ex.analysis.learning_curve(fresh.returns, 20)
    assert np.array_equal(panels[0].curves["plain"], binned)
    found = json.loads((out / "claims.json").read_text())
    assert [entry["claim"] for entry in found] == ["Learning pays.", "It does not."]
    page = (out / "report.html").read_text()  # both are about the figure that is there
    assert page.count("It does not.") >= 1 and "Claims without a figure" not in page


def test_only_undecided_claims_get_all_their_runs(tmp_path, capsys):
    """Four runs are drawn; claims are judged by ten, and the third, on the border, by 40."""
    border = (
        "[[claims]]\nid = 3\nfigure = 'corridor'\nclaim = 'It earns more than 5.75.'\n"
        "clauses = [{ metric = 'mean', of = ['plain'], low = 5.75 }]\n"
    )
    (folder := tmp_path / "parity").mkdir()
    text = f"{FILES['study.toml']}[claim_runs]\ncorridor = 40\n"
    study = read_study(write(folder, study=text, claims=FILES["claims.toml"] + border))
    config, out = StudyConfig(study, study.figures), tmp_path / "out"
    verdicts = reproduce(config, out)
    assert [(v.verdict, v.runs) for v in verdicts] == [
        ("holds", 10), ("does not hold", 10), ("unclear", 40),
    ]  # fmt: skip
    assert [v.level for v in verdicts] == pytest.approx([0.999, 0.999, 0.951])
    assert f"first page: {out / 'report.html'}" in capsys.readouterr().err
    assert "first page" not in (out / "report.html").read_text()
    again, panels = read_stored(out)
    assert {key: len(curve) for key, curve in panels[0].curves.items()} == {
        "plain": 40,
        "other": 10,
    }
    assert judge_claims(study.claims, panels, study.sizes, again.looks) == verdicts
    assert reproduce(config, out) == verdicts  # nothing is computed again
    assert "first page" not in capsys.readouterr().err


def test_a_variant_has_the_figures_that_its_detail_concerns(tmp_path):
    script = module_at(DOCS.parent / "benchmarks" / "vary_details.py")
    details = (
        "[[details]]\nname = 'step'\nfigures = ['second']\nchoices = [\n"
        "{ name = 'small', interpretations = ['a'], changes.agents.action_step = 0.2 },\n"
        "{ name = 'large', changes.agents.action_step = 0.5 } ]\n"
        "[[details]]\nname = 'slip'\nchoices = [\n"
        "{ name = 'none', interpretations = ['a'], changes.domain.slip = 0.0 },\n"
        "{ name = 'some', changes.domain.slip = 0.3 } ]\n"
    )
    folder = write(
        tmp_path / "two",
        study="interpretations = ['a']",
        second=FILES["corridor.toml"],
        interpretations=details,
    )
    study = read_study(folder)
    found = {
        variant.name: {
            (c.experiment, vars(c.agent)["action_step"].step, vars(c.domain)["slip"], c.seed)
            for c in trials
        }
        for variant in script.list_variants(study)
        if (trials := variant.trials(StudyConfig(study, study.figures, seed=7)))
    }
    assert found == {
        "a": {
            ("corridor", 0.1, 0.0, 7), ("corridor", 0.0, 0.0, 7), ("second", 0.2, 0.0, 7),
        },
        "a, step: large": {("second", 0.5, 0.0, 7)},
        "a, slip: some": {
            ("corridor", 0.1, 0.3, 7), ("corridor", 0.0, 0.3, 7), ("second", 0.2, 0.3, 7),
        },
    }  # fmt: skip


PANELS = (
    "episodes = 6\nruns = 2\nbin = 2\n[domain]\nkind = 'corridor'\n[features]\nkind = 'one_hot'\n"
    "[[panels]]\nname = 'left'\n[panels.agents.one]\nkind = 'q_learning'\npreset = 'paper'\naction_step = 0.1\n"
    "[[panels]]\nname = 'right'\n[panels.agents.two]\nkind = 'q_learning'\npreset = 'paper'\naction_step = 0.1\n"
)


def test_a_claim_about_a_panel_names_agents_of_that_panel(tmp_path):
    claim = (CLAIM % "metric = 'mean', of = ['two'], low = 1, high = 4").replace("corridor", "both")
    claims = claim.replace("id = 1", "id = 1\npanel = '%s'")
    right = read_study(write(tmp_path / "right", both=PANELS, claims=claims % "right"))
    (clause,) = right.claims[0].clauses
    assert clause.statement == ("about", 2.5, 1.5)  # from 1 to 4
    left = write(tmp_path / "left", both=PANELS, claims=claims % "left")
    with pytest.raises(ConfigError, match="no agent in this figure: 'two'"):
        read_study(left)


CLAIM = "[[claims]]\nid = 1\nfigure = 'corridor'\nclaim = 'x'\nclauses = [{ %s }]\n"
OF = "metric = 'mean', of = ['plain']"
DETAIL = "[[details]]\nname = 'r'\nchoices = [{ name = 'o'%s }]"
MISTAKES = [
    ({"study": "titel = 'x'"}, "study.toml: titel: unknown key, did you mean 'title'?"),
    ({"study": "metrics = ['no_such_module']"}, "study.toml: metrics: cannot import 'no_such_module'"),
    ({"study": "claim_runs = { coridor = 3 }"}, "study.toml: claim_runs: no figure 'coridor', did you mean 'corridor'?"),
    ({"claims": CLAIM % "metric = 'recoverry', of = ['plain']"}, "claims.toml: claims.0.clauses.0.metric: unknown 'recoverry', did you mean 'recovery'?"),
    ({"claims": CLAIM % "metric = 'mean', of = ['plian']"}, "claims.0.clauses.0.of: no agent in this figure: 'plian', did you mean 'plain'?"),
    ({"claims": CLAIM % f"{OF}, low = 2, high = 1"}, "claims.0.clauses.0.high: must be above low (2), got 1"),
    ({"claims": CLAIM % OF.replace("mean", "mean@1")}, "claims.0.clauses.0.metric: 'mean' has no switch '1'"),
    ({"claims": 2 * (CLAIM % OF)}, "claims.1.id: must be unique, got 1 twice"),
    ({"claims": CLAIM % f"{OF}, relative_margin = 0.1"}, "claims.0.clauses.0.relative_margin: goes with margin, for a number above low"),
    ({"claims": CLAIM % f"{OF}, beyond = {{ of = ['plian'] }}"}, "claims.0.clauses.0.beyond.of: no agent in this figure: 'plian', did you mean 'plain'?"),
    ({"claims": "[[claims]]\nid = 1\nfigure = 'corridor'\nclaim = 'x'\n"}, "claims.0: must have clauses, or work, and not both"),
    ({"study": "interpretations = ['a']", "interpretations": DETAIL % ""}, "interpretations.toml: details.0.choices: one must be in 'a', got 0"),
]  # fmt: skip


@pytest.mark.parametrize(("changed", "message"), MISTAKES, ids=[said[:50] for _, said in MISTAKES])
def test_what_is_wrong_is_said(changed, message, tmp_path):
    folder = write(tmp_path / "parity", **changed)
    with pytest.raises(ConfigError) as caught:
        read_study(folder, trust=True)
    assert str(caught.value).startswith(f"{folder}: ") and message in str(caught.value)


def test_studies_and_configs_are_found_by_name():
    with pytest.raises(ConfigError, match="unknown 'cart-poel', did you mean 'cart-pole'"):
        read_study("cart-poel")
    assert find_config("cart-pole").name == "cart-pole.toml"
    assert find_config("loca/planning") == packaged_studies()["loca"] / "planning.toml"


def test_curves_are_not_shown_under_settings_that_have_changed_since(tmp_path):
    """Of a study, and of a spec; what is not of a setting may change."""
    study, out = write(tmp_path / "parity"), tmp_path / "out"
    spec = tmp_path / "alone.toml"
    spec.write_text(FILES["corridor.toml"])
    commands = (["reproduce", str(study), "--out", str(out), "--runs", "1"],
                ["run", str(spec), "--out", str(tmp_path / "run")])  # fmt: skip
    for command in commands:
        assert CliRunner().invoke(app, command).exit_code == 0
    alone = tmp_path / "run"

    def report(folder: Path, command: str) -> Any:
        return CliRunner().invoke(app, [command, str(folder)])

    for edited, folder in ((study / "corridor.toml", out), (alone / "config.toml", alone)):
        before = edited.read_text()
        edited.write_text(before.replace("'The other'", "'Another'"))
        assert report(folder, "report").exit_code == 0
        edited.write_text(before.replace("action_step = 0.1", "action_step = 0.9"))
        done = report(folder, "report")
        assert done.exit_code == 2, done.output
        assert "1 of its curves" in done.stderr and "/plain' first, are of other" in done.stderr
        assert "compute them again with `expectant r" in done.stderr
        assert f"--out {folder}`" in done.stderr


def test_a_metric_of_ones_own_can_be_claimed(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "my_metrics_for_a_test.py").write_text(
        "import expectant as ex\n"
        "@ex.extend.register_metric('first bin', 'the first bin')\n"
        "def first(panel, curves):\n    return curves[..., 0]\n"
    )
    claims = CLAIM % "metric = 'first bin', of = ['plain'], low = -100.0"
    study = "metrics = ['my_metrics_for_a_test']"
    try:
        folder = write(tmp_path / "own", claims=claims, study=study)
        with pytest.raises(ConfigError, match="which would be imported and run; pass trust=True"):
            read_study(folder)
        found = read_study(folder, trust=True)
        (verdict,) = reproduce(StudyConfig(found, found.figures), tmp_path / "out")
        assert verdict.verdict == "holds"
        assert "First bin: the first bin." in verdict.rule
    finally:
        METRICS.pop("first bin", None)
        sys.modules.pop("my_metrics_for_a_test", None)


def test_the_page_lists_every_metric_and_runs_its_study(tmp_path):
    text = (DOCS / "own-study.md").read_text()
    for heading, known in (("metric", METRICS), ("probe", PROBES)):
        table = re.search(rf"^\| {heading} \| is \|\n(.*?)\n\n", text, re.MULTILINE | re.DOTALL)
        assert table is not None
        listed = re.findall(
            r"`([a-z_-]+)`", "".join(re.findall(r"^\|([^|]*)\|", table[1], re.MULTILINE))
        )
        assert set(listed) == set(known)
    batches = re.findall(r"`parity/(\w+\.toml)`:\n\n```toml\n(.*?)```", text, re.DOTALL)
    folder = tmp_path / "parity"
    folder.mkdir()
    for name, content in batches:
        (folder / name).write_text(content)
    assert len(read_study(folder).claims) == 2
    with pytest.raises(ValueError, match="--metric: unknown 'maen', did you mean 'mean'"):
        find_metric("maen", "--metric")
