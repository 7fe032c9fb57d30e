"""A learner's file that is right; the tests of mistakes edit it between writing and loading."""

import json
import tempfile
from pathlib import Path

import numpy as np

import expectant as ex

AGENT = ex.Lookahead(0.1, backups=ex.Replay(7), planning_steps=2)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "learner.npz"
    learner = ex.Learner(AGENT, ex.RandomBinary(5, 2), 2, states=6, compiled=False)
    learner.start(0)
    for seen in range(20):
        learner.step(1.0, seen % 6, False)
    learner.save(path)
    arrays = dict(np.load(path))
    facts = json.loads(arrays.pop("expectant").tobytes())
    # the mistake
    text = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    np.savez(path, expectant=text, **arrays)
    # the damage
    learner = ex.Learner.load(path, compiled=False)
    learner.step(1.0, 3, False)
