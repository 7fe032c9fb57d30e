"""Tests of the laboratory; a package, so that its folders are not taken for others."""
