"""Learners for a loop of one's own, and their files."""
