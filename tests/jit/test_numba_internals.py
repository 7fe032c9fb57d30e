"""Where a later Numba lacks a private name, the public way gives the same numbers."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import expectant as ex

SCRIPT = """
import sys, types, warnings
import numpy as np
import numba

module, name = sys.argv[1:3]
whole = __import__(module, fromlist=[name])
hidden = types.ModuleType(module)
hidden.__dict__.update({key: value for key, value in vars(whole).items() if key != name})
sys.modules[module] = hidden

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import expectant as ex
    agent = ex.QLearning()
    result = ex.run(ex.Corridor(), ex.OneHot(), agent, episodes=30, runs=3, seed=2,
                    progress=False, keep_agents=True)
    for number in range(200):  # references of arrays and generators are counted here
        ex.run(ex.Corridor(), ex.OneHot(), agent, episodes=1, runs=1, progress=False)
print(*[str(each.message) for each in caught if "Numba" in str(each.message)], sep="\\n")
np.savez(sys.argv[3], returns=result.returns, weights=result.kept[2][0].agent.weights)
"""


@pytest.mark.parametrize("hidden", ["numba.core.codegen JITCodeLibrary"])
def test_without_a_private_name_the_numbers_are_the_same(hidden, tmp_path):
    agent = ex.QLearning()
    expected = ex.run(
        ex.Corridor(), ex.OneHot(), agent, episodes=30, runs=3, seed=2, compiled=False,
        keep_agents=True,
    )  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *hidden.split(), tmp_path / "found.npz"],
        check=False, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (warning,) = done.stdout.splitlines()
    assert hidden.replace(" ", ".") in warning
    with np.load(tmp_path / "found.npz") as found:
        np.testing.assert_array_equal(found["returns"], expected.returns)
        np.testing.assert_array_equal(found["weights"], expected.kept[2][0].agent.weights)
