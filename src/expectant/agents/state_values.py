"""State values as the paper's three algorithms learn them: TD(0) and planning updates of w."""

from __future__ import annotations

from expectant.agents.centering import center_reward, update_average_reward
from expectant.core.updates import displacement, move, td_target
from expectant.core.vectors import state_value
from expectant.core.verbs import function, improve, mean_rate, on_priority, on_value_update


@function
def learn_state_values(agent, transition):
    """TD(0) on w; returns δ. Without learning from real steps only R̄ moves."""
    weights, step, centering = agent.weights, agent.value_step, agent.centering
    state = transition.state
    target = td_target(weights, center_reward(centering, transition), agent.discount)
    if agent.learn_from_real_steps:
        error = move(weights, state, target, step)
        moved = displacement(weights, state, error, step)
        announce_value_update(agent, state, error, moved)
    else:
        error = target - state_value(weights, state)
    update_average_reward(centering, centering.real, step, 0, state, error)
    return error


@function
def plan_state_values(agent, state, discount):
    """One planning update of w in a state; returns δ."""
    planner, step, centering = agent.planner, agent.value_step, agent.centering
    error, moved = improve(
        agent.update,
        planner.model,
        planner.actions,
        agent.weights,
        state,
        discount,
        step,
        centering.rate[0],
    )
    update_average_reward(centering, centering.planned, step, 0, state, error)
    announce_value_update(agent, state, error, moved)
    return error


@function
def announce_value_update(agent, state, error, moved):
    """Tell the model and the backup distribution that w has moved in a state."""
    change = mean_rate(agent.value_step, 0, state) * error
    on_value_update(agent.planner.model, state, change, agent.discount)
    on_priority(agent.planner.backups, state, moved, error - moved)
