"""All looks of the package are known to whoever asks for one."""

from __future__ import annotations

import subprocess
import sys


def test_a_look_of_ones_own_cannot_take_the_name_of_one_that_comes_later():
    code = """
import expectant as ex
from expectant.lab.looks import LOOKS, look_as
known = set(LOOKS)
import expectant.lab.records
assert set(LOOKS) == known and len(known) == 13, sorted(LOOKS)
try:
    ex.look_as("value_change", "mine")(print)
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "look: the name 'value_change' is taken\n"
