"""What code and values are, in writing: the hash that no stale kernel or result survives."""
