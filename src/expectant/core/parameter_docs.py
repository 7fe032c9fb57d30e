"""What the options of the package's own parts mean, in a line each.

An option means the same wherever it has the same name; where it does not, it goes by
"Class.option". A part of somebody's own says it itself, in ``option(..., meaning=…)``.
"""

from __future__ import annotations

MEANINGS = {
    # agents
    "reference": "what the rate is read off: a pair of a state and an action, or all values",
    # options: courses of action
    "OptionSet.acting": "choose at every step, keep to an option till it stops, or act without",
    "OptionSet.models": "where their models come from: learned, with rewards apart, or exact",
    "OptionSet.options": "the courses of action",
    "OptionSet.step": "step size of their models, shared out among the active features",
    "OptionSet.trace": "λ of their models: how long a step counts for what led to it",
    "OptionSet.bounded": "keep an update of their models from going beyond its target",
    "TableOption.policy": "what is done in each state: an action, or probabilities",
    "TableOption.stop": "the probability of stopping in each state that it arrives in",
    "PrioritizedPairs.idles": "make no backup while no pair waits, instead of one of any pair",
    "AllStates.sweeps": "visit every state once before any again, in a new random order each time",
    "BestOption.discount": "γ of the subtask that it solves",
    "BestOption.rewarded": "count rewards on the way; False: the shortest path",
    "anywhere": "stop wherever that is worth at least as much as going on, not in the subgoal only",
    # features
    "Categorical.counts": "how many values each digit of a state's number has; None: as observed",
    "dimensions": "which components of an observation are tiled; None: all",
    # models
    "NStepExpectation.steps": "steps from what is done to the outcome that is modelled",
    "NStepExpectation.model": "the linear model that learns it",
    "SparseExpectation.threshold": "error from which on an entry is kept",
    "Distribution.states": "how many distinct states there is room for",
    "distribution": "the distribution model that outcomes are drawn from",
    "floor": "ε of Adam, added to the root of the mean square",
    "forgetting": "share that older counts lose with every new one",
    "initial_reward": "reward predicted before anything is learned; a high one explores",
    "mean_decay": "β₁ of Adam, how slowly the mean gradient changes",
    "optimiser": "plain gradient descent, or Adam",
    "outcomes": "successors of a state and action that are told apart",
    "square_decay": "β₂ of Adam, how slowly the mean square changes",
    "step": "step size of the model",
    # step sizes that adapt or decay
    "offset": "N₀: the larger, the later the step size becomes small",
    "power": "of the number of steps that the step size falls with",
    "per": "what the step is for: in total, shared out among the active features, or each of them",
    "bounded": "keep a step from going beyond its target",
    "initial_step": "what every step size is at first",
    "memory": "over how many steps the largest gradient is remembered",
    "meta_step": "how fast the step sizes change",
    # backup distributions
    "capacity": "transitions kept (None: all)",
    "clusters": "prototypes that the states are made from",
    "halflife": "after so many newer transitions one is drawn half as often",
    "untried": "draw actions that were never tried, too, as steps that stay in the state and pay 0",
    "threshold": "the least priority, in units of value, for which a state waits for a backup",
    # features
    "History.actions": "also tell which action led to each observation",
    "draw": "number of the one draw of features that all runs have; None: each run its own",
    "bounds": "(low, high) in every dimension; None: the domain's own",
    "decay": "how much of the trace is left after a step",
    "hash_size": "put all tiles into so many features (None: a feature for every tile)",
    "scaled": "divide every feature by the root of its frequency's length",
    "steps": "observations that are remembered, the present one included",
    "tiles": "tiles in every dimension, or in each",
    "tilings": "grids, displaced against each other; as many features are active",
    "wrap": "dimensions, from 0, whose two ends are the same place",
    # domains
    "change_after": "steps in all after which the wall changes",
    "ending": "probability that a step ends the episode",
    "endless": "True: the end need not be reachable from every state",
    "environment": (
        'an id, an environment, or a function that makes one; in specs also "module:Class"'
    ),
    "forward": "probability that right leads on",
    "free_chance": "probability that a busy server becomes free in a step",
    "freed": "whether servers become free before or after the customer is served",
    "goal_reward": "for reaching the goal",
    "high_reward": "for right in the last state, when it holds",
    "hold": "probability that right holds in the last state",
    "later_reward": "at the right exit in the second and third phase",
    "left_size": "how large the left exit is",
    "left_stretch": "how much more speed counts than position in the left exit",
    "limits": "(low, high) of every number of an observation, where they are known",
    "n_states": "how many states there are, where observations are their numbers",
    "noise": "probability that a random action is taken instead",
    "numbered": "whether whole numbers are states or vectors (None: states, unless too many)",
    "Gym.options": "for making the environment",
    "phase_steps": "steps of each of the three phases",
    "pit_reward": "for arriving in a pit",
    "priorities": "what serving a customer of each priority pays",
    "probabilities": "of every outcome of every action in every state",
    "resolution": "every cell becomes so many by so many",
    "reward": "of the one action that pays, in the last state",
    "rewards": "of every action in every state, or of every outcome",
    "right_reward": "at the right exit in the first phase",
    "slip": "probability that a move goes elsewhere",
    "start": "probabilities of the first state (None: all the same)",
    "step_limit": "steps after which an episode is cut off, which is no end (None: the run's own)",
    "successors": "the state that every outcome leads to, −1 for the end",
    "switch_every": "episodes after which the phase changes (None: never)",
    "terminal": "states that end the episode",
    "zone_position": "where the zone of the second phase begins",
}

STEPS = ("action_step", "value_step", "policy_step", "model_step", "step", "initial_step")

# What options are called elsewhere; the first of these that a part has is meant.
ELSEWHERE = {
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
    "n_planning": ("planning_steps",),
    "n_planning_steps": ("planning_steps",),
    "n_tilings": ("tilings",),
    "optimistic": ("initial_value",),
    "planning": ("planning_steps",),
    "q_init": ("initial_value",),
    "step_size": STEPS,
}

# Where parameters of agents went that are gone from their signatures.
MOVED = {
    "bonus": "wrap the model: model=ex.models.ExplorationBonus(model, kappa)",
    "bounded_step": "a number is a bounded step; else ex.step_sizes.Fixed(step, bounded=False)",
    "correction_step": "give it to the update: planning_update=ex.agents.Gradient(correction_step)",
    "direct": "wrap the agent: ex.agents.PlanningOnly(agent)",
    "lessons": "wrap the agent: ex.agents.FreezeAfter(agent, steps)",
    "maintained": 'it is a model: model="cached_lookahead"',
    "replay_capacity": "give it to the replay: backups=ex.backups.Replay(capacity)",
    "replayed_fits": "give it to the replay: backups=ex.backups.Replay(model_fits=2)",
    "rollout": "it is a backup distribution: backups=ex.backups.Rollout(length)",
    "step_unit": 'a step size has its unit: ex.step_sizes.Fixed(step, per="feature")',
    "value": "it is called values, of Lookahead",
    **dict.fromkeys(
        (
            "cache_first", "cached_actions", "doubled_gradients", "doubled_steps", "entropy",
            "old_target", "printed_delta", "relabelled", "relabelled_rewards", "stored_action",
            "stored_termination", "ties",
        ),
        "it is a detail of the paper: Agent.paper(interpretation=ex.Interpretation(...))",
    ),
}  # fmt: skip


def meaning_of(owner: str, name: str, own: str = "") -> str:
    """What an option of a class means: in its own words, or in ours."""
    return own or MEANINGS.get(f"{owner}.{name}") or MEANINGS.get(name, "")


def known_elsewhere(name: str, known: list[str]) -> str:
    """A hint where a name is used elsewhere for a parameter, or where the parameter went."""
    if name in MOVED and "epsilon" in known:
        return f"; {MOVED[name]}"
    meant = [repr(option) for option in ELSEWHERE.get(name.lower(), ()) if option in known]
    return f", did you mean {' or '.join(meant)}?" if meant else ""
