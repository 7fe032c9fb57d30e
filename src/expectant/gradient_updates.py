"""Gradient planning, which stays stable with shared features, in both of its published forms.

Wan, Zaheer, White, White & Sutton (2019): descent of the model-based projected Bellman error. For a
planned s let s̄ be the mean next state of the maximising action, δ = r + γ wᵀs̄ − R̄ − wᵀs, and h,
``helper``, the weights that estimate δ: h ← h + β (δ − hᵀs) s. Updates move w along both s and s̄,
so a step that does not overshoot the target of s may still make δ larger. With η = hᵀs and that
action held, the corrected form makes δ

    δ − a δ + b η,   a = α sᵀ(s − γ s̄),   b = α γ s̄ᵀ(s − γ s̄),

and GTD2 makes it δ − (a − b) η, where a − b = α |s − γ s̄|². ``bounded`` updates are shortened until
|a| + |b| ≤ 1, and a − b ≤ 1 for GTD2. So the error at s changes by no more than the larger of |δ|
and |η| (GTD2: than |η|), and where h is at the error, η = δ, it shrinks without changing its sign.
An error that h does not know yet can still grow in an update, as it does by LEVI.
"""

from __future__ import annotations

from expectant.features.vector import dot
from expectant.updates import correct, levi_choice, move
from expectant.verbs import (
    add_expected,
    backed_up_value,
    function,
    index,
    mean_rate,
    rate,
    size,
    value,
)


@function
def add_correction(model, state, action, weights, amount, step):
    """w ← w − α · amount · s̄, where α is the mean step size of the state."""
    if amount != 0.0:
        add_expected(model, state, action, weights, -mean_rate(step, 0, state) * amount)


@function
def own_error(model, state, action, weights, discount):
    """r + γ wᵀs̄ − wᵀs for one action."""
    return backed_up_value(model, state, action, weights, discount) - dot(state, weights)


@function
def take_back(model, state, action, weights, along, against, step, part):
    """Undo a ``part`` of w + α (along · s − against · s̄)."""
    for n in range(size(state)):
        moved = rate(step, 0, state, n) * along * value(state, n)
        weights[index(state, n)] -= part * moved
    add_correction(model, state, action, weights, -part * against, step)


@function
def share_of(change, whole):
    """|change / whole|, nothing where there was nothing to change by."""
    return abs(change / whole) if whole != 0.0 else 0.0


@function
def gradient_planning(
    model, state, actions, weights, helper, discount, step, helper_step, rate, bounded
):
    """Gradient planning, corrected (TDC's form): w ← w + α [δ s − γ (hᵀs) s̄]."""
    target, action = levi_choice(model, state, actions, weights, discount)
    expected = dot(state, helper)
    error = move(weights, state, target - rate, step)
    between = own_error(model, state, action, weights, discount) if bounded else 0.0
    add_correction(model, state, action, weights, discount * expected, step)
    if bounded:
        after = own_error(model, state, action, weights, discount)
        effect = share_of(between - rate - error, error) + share_of(after - between, expected)
        if effect > 1.0:
            part = 1.0 - 1.0 / effect
            take_back(model, state, action, weights, error, discount * expected, step, part)
    move(helper, state, error, helper_step)
    return error


@function
def gtd2_planning(
    model, state, actions, weights, helper, discount, step, helper_step, rate, bounded
):
    """Gradient planning as GTD2 has it: w ← w + α (hᵀs) (s − γ s̄)."""
    target, action = levi_choice(model, state, actions, weights, discount)
    error, expected = target - rate - dot(state, weights), dot(state, helper)
    correct(weights, state, expected, step, 0)
    add_correction(model, state, action, weights, discount * expected, step)
    if bounded:
        after = own_error(model, state, action, weights, discount) - rate
        effect = share_of(after - error, expected)
        if effect > 1.0:
            part = 1.0 - 1.0 / effect
            take_back(model, state, action, weights, expected, discount * expected, step, part)
    move(helper, state, error, helper_step)
    return error
