from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from expectant.backups.heap import empty_heap, set_priority


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 6)), max_size=60))
def test_the_highest_is_always_first_whatever_changed(changes):
    """Against a dictionary of the priorities above the threshold."""
    heap, reference, threshold = empty_heap(12), dict[int, float](), 1.0
    for thing, priority in changes:
        set_priority(heap, thing, float(priority), threshold)
        reference[thing] = float(priority)
        waiting = {key: value for key, value in reference.items() if value > threshold}
        length = heap.length[0]
        assert length == len(waiting)
        assert set(heap.order[:length].tolist()) == set(waiting)
        assert [heap.positions[thing] for thing in heap.order[:length]] == list(range(length))
        assert (heap.positions >= 0).sum() == length
        ordered = heap.priorities[heap.order[:length]]
        assert all(ordered[(n - 1) // 2] >= ordered[n] for n in range(1, length))
        if length:
            assert heap.priorities[heap.order[0]] == max(waiting.values())
