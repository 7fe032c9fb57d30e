"""Meanings of parameters that several components share or that are long, and synonyms.

A meaning holds for every parameter of that name; "Class.parameter" is an exception for one class.
Other parameters state their meaning in their declaration, ``parameter(..., meaning=...)``.
"""

from __future__ import annotations

MEANINGS = {
    # options
    "OptionSet.acting": "choose at every step, follow an option until it stops, or use no options",
    "OptionSet.models": "source of their models: learned or exact",
    "OptionSet.options": "the options",
    "OptionSet.step": "step size of their models, divided among the active features",
    "OptionSet.trace": "λ of their models",
    "OptionSet.bounded": "keep updates of their models from overshooting the target",
    "TableOption.policy": "action, or probabilities of all actions, in each state",
    "TableOption.stop": "probability of stopping in each state on arrival",
    "BestOption.discount": "γ of the subtask that it solves",
    "BestOption.rewarded": "count rewards on the way; False: the shortest path",
    "anywhere": "stop wherever this is worth at least as much as going on, not only at a subgoal",
    "bonus": "value of stopping with the feature",
    # features
    "Categorical.counts": "number of values of each digit of a state index; None: as observed",
    "History.actions": "encode the action that led to each observation, too",
    "bounds": "(low, high) in every dimension; None: the domain's",
    "decay": "factor by which the trace decays in every step",
    "dimensions": "components of an observation that are tiled; None: all",
    "draw": "seed of the features if all runs share them; None: each run draws its own",
    "hash_size": "hash all tiles into so many features (None: a feature for every tile)",
    "scaled": "divide every feature by the square root of its frequency's norm",
    "steps": "observations that are remembered, the present one included",
    "tiles": "tiles in every dimension, or in each",
    "tilings": "displaced grids; the number of active features",
    "wrap": "dimensions, from 0, that are circular",
    # models
    "NStepExpectation.steps": "steps from the action to the modelled outcome",
    "NStepExpectation.model": "the linear model that learns it",
    "SparseExpectation.threshold": "least error for which an entry is kept",
    "Distribution.states": "capacity for distinct states",
    "distribution": "the distribution model to sample from",
    "forgetting": "fraction by which older counts decay with every new one",
    "initial_reward": "reward predicted before learning; a high one makes the agent explore",
    "outcomes": "distinct successors of a state and action that are counted",
    "step": "step size of the model",
    # step sizes
    "bounded": "keep updates from overshooting the target",
    "initial_step": "initial value of every step size",
    "memory": "steps over which the largest gradient is remembered",
    "meta_step": "step size of the step sizes",
    "offset": "N₀: the larger, the later the step size decays",
    "per": "unit of the step: in total, divided among the active features, or for each of them",
    "power": "exponent of the decay",
    # agents and backup distributions
    "AllStates.sweeps": "visit every state once before any again, in a new random order each time",
    "PrioritizedPairs.idles": "make no backup while the queue is empty, instead of one of any pair",
    "capacity": "transitions kept (None: all)",
    "clusters": "prototypes that the states are made from",
    "centering": "η, step size of the average reward relative to the values' (0: off)",
    "discount": "γ, the discount factor",
    "epsilon": "probability of a random action, which may be the greedy one",
    "halflife": "number of newer transitions after which one is drawn half as often",
    "initial_value": "initial value of states and actions; high values make it explore",
    "reference": "the reference value f(Q): of a pair of a state and an action, or of all",
    "threshold": "least priority, in units of value, for which a state is queued",
    "untried": "draw untried actions, too, as steps that stay in the state with reward 0",
    # domains
    "Gym.options": "keyword arguments for making the environment",
    "change_after": "total number of steps after which the wall changes",
    "ending": "probability that a step ends the episode",
    "endless": "True: the end need not be reachable from every state",
    "environment": 'an id, an environment, or a function; in config files also "module:Class"',
    "forward": "probability that right moves on",
    "free_chance": "probability that a busy server becomes free in a step",
    "freed": "free servers before or after the customer is served",
    "goal_reward": "for reaching the goal",
    "high_reward": "for right in the last state, when it holds",
    "hold": "probability that right holds in the last state",
    "later_reward": "at the right exit in the second and third phase",
    "limits": "(low, high) of every component of an observation, if known",
    "n_states": "number of states, if observations are state indices",
    "noise": "probability that a random action is taken instead",
    "numbered": "treat integers as state indices or vectors (None: indices, unless too many)",
    "phase_steps": "steps of each of the three phases",
    "pit_reward": "for arriving in a pit",
    "priorities": "rewards for serving a customer of each priority",
    "probabilities": "of every outcome of every action in every state",
    "resolution": "number of cells, in either direction, that each cell is divided into",
    "reward": "of the one action that pays, in the last state",
    "rewards": "of every action in every state, or of every outcome",
    "right_reward": "at the right exit in the first phase",
    "slip": "probability that a move goes elsewhere",
    "start": "probabilities of the first state (None: uniform)",
    "step_limit": "steps after which an episode is truncated (None: as passed to run)",
    "successors": "state index that every outcome leads to, −1 for the terminal state",
    "switch_every": "episodes after which the phase changes (None: never)",
    "terminal": "terminal states",
}

STEPS = ("action_step", "value_step", "policy_step", "model_step", "step", "initial_step")

SYNONYMS = {  # names in other libraries, with the parameters that may be meant
    "alpha": STEPS,
    "batch_size": ("planning_steps",),
    "beta": ("policy_step", "model_step"),
    "buffer_size": ("replay_capacity", "capacity", "backups"),
    "eps": ("epsilon",),
    "exploration": ("epsilon",),
    "gamma": ("discount",),
    "k": ("planning_steps",),
    "lam": ("trace",),
    "lambda_": ("trace",),
    "learning_rate": STEPS,
    "lr": STEPS,
    "max_episode_steps": ("step_limit",),
    "memory_size": ("replay_capacity", "capacity", "backups"),
    "n": ("planning_steps", "size"),
    "n_jobs": ("threads",),
    "n_planning": ("planning_steps",),
    "n_planning_steps": ("planning_steps",),
    "n_tilings": ("tilings",),
    "optimistic": ("initial_value",),
    "planning": ("planning_steps",),
    "q_init": ("initial_value",),
    "step_size": STEPS,
    "total_timesteps": ("steps",),
}

# Advice for parameters of earlier versions, by a parameter that the component must have.
_SWITCH = "use .paper(..., interpretation=ex.Interpretation({name}={{value!r}}))"
MOVED = {
    "epsilon": {
        "bounded_step": "use ex.step_sizes.Fixed(step, bounded={value!r}) as a step size",
        "step_unit": "use ex.step_sizes.Fixed(step, per={value!r}) as a step size",
    },
    "backups": {
        "centering_from": "centering always learns from all updates",
        "direct": "use ex.agents.PlanningOnly(agent)",
        "lessons": "use ex.agents.FreezeAfter(agent, {value!r})",
        "replay_capacity": "use backups=ex.backups.Replay({value!r})",
        "replayed_fits": "use backups=ex.backups.Replay(model_fits={value!r})",
        "rollout": "use backups=ex.backups.Rollout({value!r})",
    },
    "model": {
        "bonus": "use model=ex.models.ExplorationBonus(model, {value!r})",
        "invalid_update": 'use model="expectation" for the invalid update, "true" for the valid',
        "maintained": 'use model="cached_lookahead"',
        "value": "use ex.Lookahead(values=ex.agents.NetworkValues())",
        "options": "use ex.Lookahead, because action values cannot plan with options",
    },
    "planning_update": {"correction_step": "use planning_update=ex.agents.Gradient({value!r})"},
    "interpretation": {
        "relabelled": _SWITCH.format(name="relabelled_rewards"),
        "doubled_steps": _SWITCH.format(name="doubled_gradients"),
        **{
            name: _SWITCH.format(name=name)
            for name in (
                "cache_first", "cached_actions", "entropy", "old_target", "printed_delta",
                "stored_action", "stored_termination", "ties",
            )
        },
        "planning_steps": "use ex.QPlanning or ex.DynaQ, because Q-learning does not plan",
    },
    "reference": {
        "centering": "RVI Q-learning has none, it subtracts the reference value",
        "discount": "RVI Q-learning has none, it maximises the average reward",
    },
}  # fmt: skip
