"""Errors in user code are reported with file and line, wrong parameters without."""

from __future__ import annotations

import re

import numpy as np
import pytest

import expectant as ex
from expectant.core.errors import describe_error, user_location


class Forgetful(ex.Model):
    def build(self, context):
        return self.nothing_like_that  # type: ignore[attr-defined]  # the line that is told


def test_the_place_is_the_users_line_that_ours_called():
    with pytest.raises(ex.PartError) as caught:
        ex.check(Forgetful())
    assert re.search(r"test_errors\.py, line \d+", describe_error(caught.value))


def test_what_ours_refuses_and_what_was_never_called_by_ours_has_no_place():
    for call in (ex.Corridor, np.zeros):
        with pytest.raises(ValueError, match=r"-1|negative") as caught:
            call(-1)
        assert user_location(caught.value) is None
    assert describe_error(ValueError("so")) == "ValueError: so"
