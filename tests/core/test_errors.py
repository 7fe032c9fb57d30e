"""Errors in user code are reported with file and line, wrong parameters without."""

from __future__ import annotations

import re

import numpy as np

import expectant as ex
from expectant.core.errors import describe_error, user_location


def caught(call, *arguments):
    try:
        call(*arguments)
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


class Forgetful(ex.Model):
    def build(self, context):
        return self.nothing_like_that  # type: ignore[attr-defined]  # the line that is told


def test_the_place_is_the_users_line_that_ours_called():
    error = caught(ex.check, Forgetful())
    assert re.search(r"test_errors\.py, line \d+", describe_error(error)), describe_error(error)


def test_what_ours_refuses_and_what_was_never_called_by_ours_has_no_place():
    assert user_location(caught(ex.Corridor, -1)) is None
    assert user_location(caught(np.zeros, -1)) is None
    assert describe_error(ValueError("so")) == "ValueError: so"
