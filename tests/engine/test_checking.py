"""The checks of features, models, backups and agents of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loading import module_at

import expectant as ex
from expectant.engine.trial.checking import PartCheck

RIGHT = (Path(__file__).parent / "own_parts.py").read_text()


def parts(tmp_path: Path, right: str = "", wrong: str = "") -> Any:
    """The module of right parts, with one thing changed."""
    assert right in RIGHT
    name = f"own_parts_{abs(hash((right, wrong)))}"
    file = tmp_path / f"{name}.py"
    file.write_text(RIGHT.replace(right, wrong) if right else RIGHT)
    return module_at(file)


def checks(own: Any, **options: Any) -> dict[str, Any]:
    return {
        "features": lambda: ex.check_features(own.Pairs(), own.Queue(), **options),
        "model": lambda: ex.check_model(own.Cautious(), **options),
        "backups": lambda: ex.check_backups(own.Latest(), **options),
        "agent": lambda: ex.check_agent(own.SoftSarsa(0.1), **options),
    }


def test_right_parts_pass(tmp_path):
    for kind, check in checks(parts(tmp_path), steps=60, compiled=False).items():
        account = check()
        assert isinstance(account, PartCheck)
        assert account.steps == 60
        assert account.episodes > 2
        verb = {"features": "encode", "model": "fit", "backups": "draw", "agent": "act"}[kind]
        assert account.calls[verb] >= 60
        assert f"{verb} " in str(account)


def test_our_own_parts_pass():
    ex.check_features(ex.Tiles(4, 4), ex.MountainCar(), steps=40, compiled=False)
    ex.check_features(ex.History(ex.OneHot(), 3), steps=40, compiled=False)
    for model in (ex.LinearExpectation(), ex.Distribution(), ex.ExactExpectation(), ex.Sample()):
        ex.check_model(model, steps=40, compiled=False)
    for backups in (ex.Replay(), ex.PrioritizedSweeping(), ex.SeenStates(), ex.Trajectory()):
        ex.check_backups(backups, steps=40, compiled=False)
    for agent in (ex.QLearning(0.1), ex.CachedValues(0.1, 0.1), ex.CachedPolicy(0.1, 0.1)):
        ex.check_agent(agent, steps=40, compiled=False)


def test_compiled_code_must_give_the_same_bits():
    account = ex.check_agent(ex.QLearning(0.1), ex.Corridor(), ex.OneHot(), steps=200)
    assert account.steps == 200


WRONG = {
    "features": (
        "state.active[1] = features.last", "state.active[1] = 9",
        r"check_features: Pairs: encode of PairsPart must write features from 0 to 4, got 9 \(.*own_parts_\d+.py, line \d+",
    ),
    "model": (
        "- model.penalty", "- model.penalty * np.add(SEEN, 1.0, out=SEEN)[0]",
        "check_model: Cautious: run once more with the same seed, the array .* came out differently: draw from the rng",
    ),
    "backups": (
        "LatestPart(empty_state(site.shape), empty_state(site.shape), np.zeros(3))",
        "LatestPart(empty_state(site.shape), empty_state(site.shape), SHARED)",
        "check_backups: Latest: two runs share the array agent.planner.backups.facts: make new arrays in build",
    ),
    "agent": (
        "    return dot(state, agent.weights[action])\n",
        "    state.active[0] = 0\n    return dot(state, agent.weights[action])\n",
        r"check_agent: SoftSarsa: preference of SarsaPart must not change what it is given, and changed \[",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_part_is_told(kind, tmp_path):
    right, wrong, message = WRONG[kind]
    own = parts(tmp_path, right, wrong)
    own.SHARED = np.zeros(3)
    with pytest.raises(ex.PartError, match=message):
        checks(own, steps=60, compiled=False)[kind]()


@pytest.mark.parametrize(("call", "message"), [
    (lambda: ex.check_agent(ex.QLearning),  # type: ignore[arg-type]
      r"check_agent: agent must be one, not the class: QLearning\("),
    (lambda: ex.check_model(ex.QLearning(0.1)),  # type: ignore[arg-type]
      r"check_model: model must be derived from ex.Model, got QLearning"),
    (lambda: ex.check_backups("replay"),  # type: ignore[arg-type]
      "check_backups: backups must be derived from ex.Backups, got 'replay'"),
    (lambda: ex.check_features(ex.OneHot(), steps=0), "check_features: steps must be a whole number, 1 or more, got 0"),
    (lambda: ex.check_agent(ex.QLearning(0.1), ex.Gym("FrozenLake-v1")), "check_agent: domain must run in compiled code"),
    (lambda: ex.check_agent(ex.QLearning(0.1), compiled=1),  # type: ignore[arg-type]
      "check_agent: compiled must be True or False, got 1"),
])  # fmt: skip
def test_what_is_given_wrongly(call, message):
    with pytest.raises(ValueError, match=message):
        call()
