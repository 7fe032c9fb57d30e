"""Tests of backup distributions; a package, so that they can share features with values."""
