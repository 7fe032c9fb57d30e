"""Tests of the report; a package, so that its conftest is not taken for the one above."""
