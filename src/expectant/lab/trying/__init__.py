"""Trying agents on somebody's environment within a promised time: ``ex.try_on``."""
