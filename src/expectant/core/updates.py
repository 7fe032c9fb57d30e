"""The published updates, one small function each.

Equation names follow Kudashkina, Wan, Naik & Sutton, *Planning with Expectation Models for
Control*; S&B is Sutton & Barto, *Reinforcement Learning: An Introduction* (2018). Every update
returns its error δ. Termination travels in the discount: a transition to the end has discount 0,
so no update has a branch for it.
"""

from __future__ import annotations

import math

from expectant.core import verbs
from expectant.core.reductions import add_to_row
from expectant.core.vectors import add, dot, max_action_value, state_value
from expectant.core.verbs import adapt, function, index, optional, rate, size, value

__all__ = [
    "accumulate", "add_columns", "add_process_noise", "bound_trace", "bound_traces", "clear_trace",
    "correct", "displacement", "enter_trace", "entropy_of", "epsilon_greedy_value",
    "estimation_variance", "expected_sarsa", "follow_gain", "follow_trace", "follow_traces",
    "gradient_planning", "leave_trace", "levi_choice", "levi_target", "move",
    "move_row", "policy_gradient", "q_learning", "q_target", "rvi_q_learning", "sarsa",
    "shrink_covariance", "softmax", "td_target", "true_online_sarsa",
]  # fmt: skip


@optional
def correct(weights, state, error, step, row):
    """w_i ← w_i + α_i δ s_i, where w is row number ``row`` of the weights that share ``step``.

    A step size is a number or a part that adapts (:mod:`expectant.step_sizes`). Non-linear values
    implement w ← w + α δ ∇v̂(s, w).
    """
    adapt(step, row, state, error)
    for n in range(size(state)):
        weights[index(state, n)] += rate(step, row, state, n) * error * value(state, n)


@optional
def displacement(weights, state, error, step):
    """Change of v̂(s) by the last :func:`correct` with this error."""
    return verbs.value_change(step, 0, state, error)


@function
def move_row(weights, state, target, step, row):
    """Do as :func:`move` with row number ``row`` of weights (A, D)."""
    error = target - dot(state, weights[row])
    correct(weights[row], state, error, step, row)
    return error


@function
def move(weights, state, target, step):
    """w ← w + α (g − v̂(s)) ∇v̂(s), the semi-gradient step; for weights (D,) v̂ = wᵀs and ∇v̂ = s."""
    error = target - state_value(weights, state)
    correct(weights, state, error, step, 0)
    return error


@function
def td_target(weights, transition, discount):
    """R + γ v̂(s') (S&B eq. 9.24 for n = 1)."""
    future = state_value(weights, transition.next_state)
    return transition.reward + discount * transition.alive * future


@function
def q_target(weights, transition, discount):
    """R + γ max_a' q̂(s', a'), weights (A, D)."""
    future = max_action_value(weights, transition.next_state)
    return transition.reward + discount * transition.alive * future


@function
def q_learning(weights, transition, discount, step):
    """Q-learning (Watkins 1989; S&B eq. 6.8) with linear action values, weights (A, D)."""
    target = q_target(weights, transition, discount)
    return move_row(weights, transition.state, target, step, transition.action)


@function
def levi_target(model, state, actions, weights, discount):
    """LEVI: max_a [r(s, a) + γ wᵀs̄(s, a)] (AVI or EVI with a model of another kind)."""
    best = -math.inf
    for action in range(actions):
        candidate = verbs.backed_up_value(model, state, action, weights, discount)
        if candidate > best:
            best = candidate
    return best


@function
def levi_choice(model, state, actions, weights, discount):
    """LEVI: the target and the first action that attains it."""
    best, chosen = -math.inf, 0
    for action in range(actions):
        candidate = verbs.backed_up_value(model, state, action, weights, discount)
        if candidate > best:
            best, chosen = candidate, action
    return best, chosen


@function
def softmax(policy, state, probabilities):
    """π_θ(a | s) ∝ exp(θ_aᵀ s), written into ``probabilities`` (A,)."""
    top = max_action_value(policy, state)
    total = 0.0
    for action in range(policy.shape[0]):
        probabilities[action] = math.exp(dot(state, policy[action]) - top)
        total += probabilities[action]
    for action in range(policy.shape[0]):
        probabilities[action] /= total


@function
def entropy_of(probabilities):
    """−Σ π log π."""
    total = 0.0
    for action in range(probabilities.shape[0]):
        if probabilities[action] > 0.0:
            total -= probabilities[action] * math.log(probabilities[action])
    return total


@function
def policy_gradient(policy, state, action, error, bonus, probabilities, step):
    """θ ← θ + α [δ ∇log π_θ(a | s) + bonus · ∇H(π_θ(· | s))] (S&B ch. 13), softmax over θ_bᵀ s.

    ``probabilities`` holds π_θ(· | s) already. ∇ log π is (1[b = a] − π_b) s in θ_b, and ∇H is
    −π_b (log π_b + H) s.
    """
    entropy = entropy_of(probabilities) if bonus != 0.0 else 0.0
    for other in range(policy.shape[0]):
        probability = probabilities[other]
        gradient = error * ((1.0 if other == action else 0.0) - probability)
        if bonus != 0.0 and probability > 0.0:
            gradient -= bonus * probability * (math.log(probability) + entropy)
        correct(policy[other], state, gradient, step, other)


@function
def sarsa(weights, transition, next_action, discount, step):
    """Sarsa (Rummery & Niranjan 1994; S&B eq. 6.7) with linear action values, weights (A, D)."""
    future = dot(transition.next_state, weights[next_action])
    target = transition.reward + discount * transition.alive * future
    return move_row(weights, transition.state, target, step, transition.action)


@function
def epsilon_greedy_value(weights, state, epsilon):
    """Σ_a π(a | s) w_aᵀ s of the ε-greedy policy π."""
    mean = 0.0
    for action in range(weights.shape[0]):
        mean += dot(state, weights[action]) / weights.shape[0]
    return (1.0 - epsilon) * max_action_value(weights, state) + epsilon * mean


@function
def expected_sarsa(weights, transition, epsilon, discount, step):
    """Expected Sarsa (van Seijen et al. 2009; S&B eq. 6.9) for the ε-greedy policy."""
    future = epsilon_greedy_value(weights, transition.next_state, epsilon)
    target = transition.reward + discount * transition.alive * future
    return move_row(weights, transition.state, target, step, transition.action)


@function
def follow_traces(weights, traces, amount):
    """w ← w + amount · z, for all actions."""
    for action in range(weights.shape[0]):
        follow_trace(weights[action], traces[action], amount)


@function
def accumulate(traces, state, action, decay, weight):
    """z ← decay · z + weight · x, where x is the state in the row of the action."""
    for other in range(traces.shape[0]):
        leave_trace(traces[other], decay)
    add(state, traces[action], weight)


@function
def bound_traces(traces, state, action, step):
    """z ← z / max(1, α zᵀx), so that an update cannot overshoot its target."""
    reach = step * dot(state, traces[action])
    if reach > 1.0:
        for other in range(traces.shape[0]):
            for j in range(traces.shape[1]):
                traces[other, j] /= reach


@function
def true_online_sarsa(
    weights, traces, expected, transition, next_action, discount, trace, step, bounded
):
    """True online Sarsa(λ), with dutch traces (van Seijen et al. 2016; S&B section 12.7).

    ``expected`` (1,) is the value of the present action before the last update; 0 at first. Traces
    are shortened if ``bounded``.
    """
    state, action = transition.state, transition.action
    now = dot(state, weights[action])
    future = transition.alive * dot(transition.next_state, weights[next_action])
    error = transition.reward + discount * future - now
    shrunk = 1.0 - step * discount * trace * dot(state, traces[action])
    accumulate(traces, state, action, discount * trace, shrunk)
    if bounded:
        bound_traces(traces, state, action, step)
    since = now - expected[0]
    follow_traces(weights, traces, step * (error + since))
    add(state, weights[action], -step * since)
    expected[0] = future
    return error


@function
def rvi_q_learning(weights, transition, reference, step):
    """RVI Q-learning (Abounadi, Bertsekas & Borkar 2001), given f(Q) of the relative values."""
    future = transition.alive * max_action_value(weights, transition.next_state)
    target = transition.reward - reference + future
    return move_row(weights, transition.state, target, step, transition.action)


# Traces of off-policy learning: e ← ρ(e + s), w ← w + α δ e, e ← γλ(1 − β) e, as in GTD(λ) and in
# Sutton et al. (2023). A trace (D,) is dense.


@function
def add_columns(rows, action, state, weights, amount):
    """w += amount · F_a s, where row j of ``rows`` is column j of F_a (or of an option's F_o)."""
    for n in range(size(state)):
        j, change = index(state, n), amount * value(state, n)
        for i in range(weights.shape[0]):
            weights[i] += change * rows[action, j, i]


@function
def enter_trace(trace, state, ratio):
    """e ← ρ (e + s)."""
    add(state, trace, 1.0)
    for j in range(trace.shape[0]):
        trace[j] *= ratio


@function
def bound_trace(trace, state, step):
    """e ← e / max(1, α eᵀs), so that an update cannot overshoot its target.

    It limits ratios ρ to 1 / (α sᵀs), which grows without bound as the step size falls.
    """
    reach = step * dot(state, trace)
    if reach > 1.0:
        for j in range(trace.shape[0]):
            trace[j] /= reach


@function
def follow_trace(weights, trace, change):
    """w ← w + change · e."""
    for j in range(trace.shape[0]):
        weights[j] += change * trace[j]


@function
def leave_trace(trace, decay):
    """e ← decay · e, where the decay is γλ(1 − β)."""
    for j in range(trace.shape[0]):
        trace[j] *= decay


@function
def clear_trace(trace):
    """e ← 0, at the start of an episode."""
    for j in range(trace.shape[0]):
        trace[j] = 0.0


# -------------------------------------------------------------------------- recursive least squares
#
# A Kalman filter for the weights of a linear model (Kalman 1960; Sutton 1992, "Gain adaptation
# beats least squares?"). C, ``covariance`` (A, d, D), is the covariance of the weights of all
# outputs of an action, in units of the variance of an outcome, and with v = C s, h = sᵀC s:
#
#     g = v / (1 + h),   F ← F + (s' − F s) gᵀ,   b ← b + (r − bᵀs) g,   C ← C − g vᵀ.
#
# Weights that may drift have process noise, which grows C along the active features. Without it
# this is recursive least squares: ridge regression on all data so far, with ridge 1 / C_ii of the
# first C.


@function
def add_process_noise(covariance, action, state, noise, limit):
    """C_ii ← min(C_ii + q, limit) for active i, so that unobserved directions do not wind up."""
    for n in range(size(state)):
        i = index(state, n)
        if value(state, n) != 0.0 and covariance[action, i, i] < limit:
            covariance[action, i, i] = min(covariance[action, i, i] + noise, limit)


@function
def estimation_variance(covariance, action, state, gain):
    """h = sᵀC s, the variance of a prediction; writes C s into ``gain`` (1, D)."""
    verbs.sum_through(state, covariance, action, gain[0])
    return max(dot(state, gain[0]), 0.0)


@function
def follow_gain(rewards, rows, action, gain, variance, reward_error, errors):
    """F ← F + (s' − F s) gᵀ and b ← b + (r − bᵀs) g, with C s in ``gain`` and ``errors`` (1, D)."""
    for j in range(rows.shape[1]):
        if gain[0, j] != 0.0:
            change = gain[0, j] / (1.0 + variance)
            rewards[action, j] += change * reward_error
            add_to_row(rows, action, j, change, errors[0])


@function
def shrink_covariance(covariance, action, gain, variance):
    """C ← C − u uᵀ with u = C s / √(1 + h), which is symmetric to the bit; overwrites ``gain``."""
    root = math.sqrt(1.0 + variance)
    for j in range(gain.shape[1]):
        gain[0, j] /= root
    for j in range(covariance.shape[1]):
        if gain[0, j] != 0.0:
            add_to_row(covariance, action, j, -gain[0, j], gain[0])


# ------------------------------------------------------------------------------ gradient planning
#
# Stable with shared features (Wan, Zaheer, White, White & Sutton 2019): descent of the model-based
# projected Bellman error. For a planned s let s̄ be the mean next state of the maximising action,
# δ = r + γ wᵀs̄ − R̄ − wᵀs, and h, ``helper``, the weights that estimate δ: h ← h + β (δ − hᵀs) s.
# Updates move w along both s and s̄, so a step that does not overshoot the target of s may still
# make δ larger. With η = hᵀs and that action held, an update makes δ
#
#     δ − a δ + b η,   a = α sᵀ(s − γ s̄),   b = α γ s̄ᵀ(s − γ s̄).
#
# ``bounded`` updates are shortened until |a| + |b| ≤ 1. So the error at s changes by no more than
# the larger of |δ| and |η|, and where h is at the error, η = δ, it shrinks without changing its
# sign. An error that h does not know yet can still grow in an update, as it does by LEVI.


@function
def add_correction(model, state, action, weights, amount, step):
    """w ← w − α · amount · s̄, where α is the mean step size of the state."""
    if amount != 0.0:
        verbs.add_expected(model, state, action, weights, -verbs.mean_rate(step, 0, state) * amount)


@function
def error_of(model, state, action, weights, discount):
    """r + γ wᵀs̄ − wᵀs for one action."""
    return verbs.backed_up_value(model, state, action, weights, discount) - dot(state, weights)


@function
def take_back(model, state, action, weights, along, against, step, part):
    """Undo a ``part`` of w + α (along · s − against · s̄)."""
    for n in range(size(state)):
        moved = rate(step, 0, state, n) * along * value(state, n)
        weights[index(state, n)] -= part * moved
    add_correction(model, state, action, weights, -part * against, step)


@function
def relative_change(change, whole):
    """|change / whole|, 0 if ``whole`` is 0."""
    return abs(change / whole) if whole != 0.0 else 0.0


@function
def gradient_planning(
    model, state, actions, weights, helper, discount, step, helper_step, rate, bounded
):
    """Gradient planning with TDC's correction: w ← w + α [δ s − γ (hᵀs) s̄]."""
    target, action = levi_choice(model, state, actions, weights, discount)
    expected = dot(state, helper)
    error = move(weights, state, target - rate, step)
    between = error_of(model, state, action, weights, discount) if bounded else 0.0
    add_correction(model, state, action, weights, discount * expected, step)
    if bounded:
        after = error_of(model, state, action, weights, discount)
        effect = relative_change(between - rate - error, error) + relative_change(
            after - between, expected
        )
        if effect > 1.0:
            part = 1.0 - 1.0 / effect
            take_back(model, state, action, weights, error, discount * expected, step, part)
    move(helper, state, error, helper_step)
    return error
