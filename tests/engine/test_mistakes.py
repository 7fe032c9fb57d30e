"""Mistakes in parts of one's own end in one sentence, never in a signal or a wrong number."""

from __future__ import annotations

from pathlib import Path

import pytest
from each_in_a_process import run_file

HERE = Path(__file__).parent
RIGHT = (HERE / "own_parts.py").read_text()
FILE = (HERE / "own_file.py").read_text()
EVALUATING, LOADING = "evaluated: ", "loaded: "

# name: (what is right, what is written instead, what must be said)
MISTAKES: dict[str, tuple[str, str, str]] = {
    "a reward that is missing": (
        "return -PRICE - action, 1.0", "return 1.0",
        "step of QueuePart must return (reward, alive), got 1.0",
    ),
    "step without return": (
        "    return -PRICE - action, 1.0\n", "",
        "step of QueuePart must return (reward, alive), got None: is a return missing?",
    ),
    "a reward that is not finite": (
        "return -PRICE - action, 1.0", "return float('nan'), 1.0",
        "step of QueuePart must return a reward that is a finite number, got nan",
    ),
    "a reward that is a bool": (
        "return -PRICE - action, 1.0", "return action == 1, 1.0",
        "step of QueuePart must return a reward that is a finite number, got",
    ),
    "a reward that is a string": (
        "return -PRICE - action, 1.0", "return '-1', 1.0", "finite number, got '-1'",
    ),
    "done for alive": (
        "return -PRICE - action, 1.0", "return -PRICE, False",
        "must return alive as 0.0 where the episode has ended, else 1.0, got False (alive, not done",
    ),
    "alive of a half": (
        "return -PRICE - action, 1.0", "return -PRICE, 0.5", "else 1.0, got 0.5",
    ),
    "a state beyond the last": (
        "queue.waiting[0] = queue.room // 2", "queue.waiting[0] = queue.room",
        "observation of QueuePart must hold a state's number from 0 to 7, got 8",
    ),
    "a state below the first": (
        "queue.waiting[0] = queue.room // 2", "queue.waiting[0] = -3",
        "observation of QueuePart must hold a state's number from 0 to 7, got -3",
    ),
    "a state's number that is no whole number": (
        "np.zeros(1, np.int64)", "np.zeros(1)", "use int64, got float64",
    ),
    "an observation that is a number": (
        "    return queue.waiting\n", "    return queue.waiting[0]\n",
        "observation of QueuePart must return an array of one axis",
    ),
    "an observation that is another array every time": (
        "    return queue.waiting\n", "    return queue.waiting + 0\n",
        "observation of QueuePart must return the same array every time",
    ),
    "an index beyond an array in step": (
        "queue.waiting[0] += 1", "queue.waiting[action + 1] += 1",
        "step of QueuePart: IndexError: index",
    ),
    "an index beyond an array in reset": (
        "queue.waiting[0] = queue.room // 2", "queue.waiting[5] = 0",
        "reset of QueuePart: IndexError: index 5 is out of bounds for axis 0 with size 1",
    ),
    "a name that is not defined": (
        "queue.waiting[0] -= 1", "queue.waiting[0] -= won",
        "step of QueuePart: NameError: name 'won' is not defined",
    ),
    "a field that does not exist": (
        "queue.room // 2", "queue.rooms // 2",
        "reset of QueuePart: AttributeError: 'QueuePart' object has no attribute 'rooms'",
    ),
    "a field that is assigned to": (
        "queue.waiting[0] = queue.room // 2", "queue.arrival = 0.5",
        "a field cannot be assigned to; keep what changes in an array",
    ),
    "a list in a field": (
        "QueuePart(np.zeros(1, np.int64)", "QueuePart([0]",
        "QueuePart: the field waiting must be an array, a number or a NamedTuple, got [0]",
    ),
    "None in a field": (
        "self.room, self.arrival)", "self.room, None)",
        "QueuePart: the field arrival must be an array, a number or a NamedTuple, got None",
    ),
    "a string in a field": (
        "self.room, self.arrival)", "'room', self.arrival)",
        "QueuePart: the field room must be an array, a number or a NamedTuple, got 'room'",
    ),
    "a dict in a field": (
        "self.room, self.arrival)", "{}, self.arrival)", "QueuePart: the field room must be",
    ),
    "an array of objects": (
        "np.zeros(1, np.int64)", "np.array([None])",
        "QueuePart: the array waiting must hold numbers, got dtype object",
    ),
    "a number beyond 64 bits": (
        "self.room, self.arrival)", "10**30, self.arrival)",
        "QueuePart: the field room must fit into 64 bits",
    ),
    "a part that is no NamedTuple": (
        "return QueuePart(np.zeros(1, np.int64), self.room, self.arrival)", "return 7",
        "build of the domain must return a NamedTuple of arrays and numbers, got 7",
    ),
    "a verb with an argument too few": (
        "def _(queue, action, rng):", "def _(queue, action):",
        "step of QueuePart takes (queue, action), and the verb is step(domain, action, rng)",
    ),
    "a verb that is missing": (
        "@observation.register(QueuePart)\n", "", "QueuePart does not implement the verb 'observation'",
    ),
    "division by zero": (
        "return -PRICE - action, 1.0", "return -PRICE / (1 - 1), 1.0",
        "step of QueuePart: ZeroDivisionError",
    ),
    "a feature beyond the last": (
        "state.active[1] = features.last", "state.active[1] = features.last + 1",
        "encode of PairsPart must write features from 0 to 4, got 5",
    ),
    "a feature in the padding": (
        "state.active[1] = features.last", "state.active[1] = 7",
        "encode of PairsPart must write features from 0 to 4, got 7",
    ),
    "a negative feature": (
        "state.active[1] = features.last", "state.active[1] = -1",
        "encode of PairsPart must write features from 0 to 4, got -1",
    ),
    "more features than active ones": (
        "state.active[1] = features.last", "state.active[2] = features.last",
        "encode of PairsPart: IndexError: index 2 is out of bounds for axis 0 with size 2",
    ),
    "values where there are none": (
        "state.active[1] = features.last", "state.values[1] = 1.0",
        "encode of PairsPart: AttributeError: 'Binary' object has no attribute 'values'",
    ),
    "values that are not finite": (
        "active=2)", "active=2, weighted=True)\n\n    wrong = True",
        "encode of PairsPart must write finite values",
    ),
    "an action beyond the last": (
        "return epsilon_greedy(agent, state, agent.weights.shape[0], agent.epsilon, rng)", "return 2",
        "act of SarsaPart must return an action, a whole number from 0 to 1, got 2",
    ),
    "an action below the first": (
        "return epsilon_greedy(agent, state, agent.weights.shape[0], agent.epsilon, rng)", "return -1",
        "act of SarsaPart must return an action, a whole number from 0 to 1, got -1",
    ),
    "an action that is a float": (
        "return epsilon_greedy(agent, state, agent.weights.shape[0], agent.epsilon, rng)", "return 1.0",
        "act of SarsaPart must return an action, a whole number from 0 to 1, got 1.0",
    ),
    "an action that is not returned": (
        "return epsilon_greedy(agent, state, agent.weights.shape[0], agent.epsilon, rng)", "pass",
        "got None: is a return missing?",
    ),
    "learn without return": (
        "    return abs(move(weights[transition.action]", "    abs(move(weights[transition.action]",
        "learn of SarsaPart must return the size of its errors, got None: is a return missing?",
    ),
    "weights that are too short": (
        "weights = np.zeros((site.actions, site.width))", "weights = np.zeros((site.actions, 2))",
        "of SarsaPart: IndexError: index",
    ),
    "a preference that nobody asks for until it is compiled": (
        "return epsilon_greedy(agent, state, agent.weights.shape[0], agent.epsilon, rng)",
        "return int(rng.random() * 2)",
        "preference of SarsaPart: IndexError: index 2 is out of bounds for axis 0 with size 2",
    ),
    "a preference that is no number": (
        "    return dot(state, agent.weights[action])\n", "    return agent.weights[action]\n",
        "preference of SarsaPart must return a number",
    ),
    "a model without return": (
        "    return backed_up_value(model.inner", "    backed_up_value(model.inner",
        "backed_up_value of CautiousPart must return a number, got None",
    ),
    "a model that promises nan": (
        "- model.penalty", "- model.penalty * float('nan')",
        "backed_up_value of CautiousPart must return a finite number, got nan",
    ),
    "fit without return": (
        "    return fit(model.inner, transition)", "    fit(model.inner, transition)",
        "fit of CautiousPart must return the size of its errors, got None",
    ),
    "a draw without a slot": (
        "    copy(state, latest.state)\n    return 0\n", "    copy(state, latest.state)\n",
        "draw of LatestPart must return a slot, a whole number from 0 on, or −1, got None",
    ),
    "a drawn feature beyond the last": (
        "    copy(state, latest.state)\n    return 0\n",
        "    copy(state, latest.state)\n    state.active[0] = 99\n    return 0\n",
        "draw of LatestPart must write features from 0 to 4, got 99",
    ),
    "a stored action that does not exist": (
        "return int(latest.facts[0]), latest.facts[1], latest.facts[2]",
        "return 5, latest.facts[1], latest.facts[2]",
        "stored of LatestPart must return an action, a whole number from 0 to 1, got 5",
    ),
    "stored without alive": (
        "return int(latest.facts[0]), latest.facts[1], latest.facts[2]",
        "return int(latest.facts[0]), latest.facts[1]",
        "stored of LatestPart must return (action, reward, alive), got",
    ),
    "a helper that is not marked": (
        "return -PRICE - action, 1.0", "return -cost(action), 1.0",
        "cost is called in compiled code and is not marked for it: write @expectant.verbs.function",
    ),
    "a dict as a global": (
        "return -PRICE - action, 1.0", "return -PRICE - NAMES['ease'], 1.0",
        "the global NAMES is a dict, which compiled code cannot use",
    ),
    "a list as a global": (
        "return -PRICE - action, 1.0", "return -COSTS[action], 1.0",
        "the global COSTS is a list, which compiled code cannot use",
    ),
    "a set as a global": (
        "return -PRICE - action, 1.0", "return -PRICE - (action in CHEAP), 1.0",
        "the global CHEAP is a set, which compiled code cannot use",
    ),
    "a global that is assigned to": (
        "    return -PRICE - action, 1.0", "    global PRICE\n    PRICE = 2.0\n    return -PRICE, 1.0",
        "a part cannot be compiled: an assignment to a global: keep what changes in an array of the part (",
    ),
    "a global array that is written to": (
        "    return -PRICE - action, 1.0", "    SEEN[0] += 1.0\n    return -SEEN[0], 1.0",
        "Cannot modify readonly array",
    ),
    "a method of the generator that Numba does not know": (
        "queue.waiting[0] = queue.room // 2", "queue.waiting[0] = rng.choice(queue.room)",
        "a part cannot be compiled: rng.choice is not there in compiled code: draw with rng.random() or rng.integers(low, high) (",
    ),
    "a whole number drawn with one end": (
        "queue.waiting[0] = queue.room // 2", "queue.waiting[0] = rng.integers(queue.room)",
        "a part cannot be compiled: rng.integers(int64): missing a required argument: 'high' (",
    ),
    "a method of a part": (
        "    arrival: float\n\n\n@reset", "    arrival: float\n\n    def chance(self):\n        return self.arrival\n\n\n@reset",
        "a part cannot be compiled: chance is no field of QueuePart, and compiled code knows nothing else of it",
    ),
    "an f-string with a format": (
        "    return -PRICE - action, 1.0", "    name = f'{action:d}'\n    return -PRICE, 1.0",
        "a part cannot be compiled: an f-string with a format (",
    ),
    "a function that calls itself": (
        "return -PRICE - action, 1.0", "return -again(3), 1.0",
        "a part cannot be compiled: compiler re-entrant to the same function signature",
    ),
    "an error that is caught by its kind": (
        "    return -PRICE - action, 1.0",
        "    try:\n        price = 1.0 / action\n    except ZeroDivisionError:\n        price = 0.0\n    return -price, 1.0",
        "a part cannot be compiled: exception_match(none, ZeroDivisionError)",
    ),
    "random numbers of Python's own": (
        "if rng.random() < queue.arrival", "if random.random() < queue.arrival",
        "step of QueuePart draws from random.random, which no seed reaches: draw from the rng that is passed in",
    ),
    "random numbers of NumPy's own": (
        "return epsilon_greedy(agent, state, agent.weights.shape[0], agent.epsilon, rng)",
        "return np.random.randint(2)",
        "act of SarsaPart draws from np.random.randint, which no seed reaches",
    ),
    "a helper that draws from what is global": (
        "return -PRICE - action, 1.0", "return -chance(), 1.0",
        "step of QueuePart draws from np.random.random, which no seed reaches",
    ),
    "an observation that features change": (
        "    state.active[1] = features.last", "    state.active[1] = features.last\n    observation[0] = 0",
        "encode of PairsPart must not change what it is given, and changed [4] to [0]",
    ),
    "no actions at all": ("    actions = 2\n", "    actions = 0\n", "Queue: actions must be a whole number, 1 or more, got 0"),
    "actions that are a bool": ("    actions = 2\n", "    actions = True\n", "Queue: actions must be a whole number, 1 or more, got True"),
    "actions that are not said": ("    actions = 2\n", "", "Queue: needs `actions`, how many there are"),
    "states that are a float": (
        "property(lambda self: self.room)", "property(lambda self: self.room / 1)",
        "Queue: states must be a whole number, 1 or more, or None, got 8.0",
    ),
    "states below zero": (
        "property(lambda self: self.room)", "property(lambda self: -8)",
        "Queue: states must be a whole number, 1 or more, or None, got -8",
    ),
    "a reward that is not finite later on": (
        "    if rng.random() < queue.arrival",
        "    if rng.random() < 0.002:\n        return np.nan, 1.0\n    if rng.random() < queue.arrival",
        "step of QueuePart must return a reward that is a finite number, got nan, in run",
    ),
    "alive of a half later on": (
        "    if rng.random() < queue.arrival",
        "    if rng.random() < 0.002:\n        return -1.0, 0.5\n    if rng.random() < queue.arrival",
        "must return alive as 0.0 where the episode has ended, else 1.0, got 0.5, in run",
    ),
    "three numbers instead of two later on": (
        "    if rng.random() < queue.arrival",
        "    if rng.random() < 0.002:\n        return -1.0, 1.0, 0.0\n    if rng.random() < queue.arrival",
        "a part cannot be compiled: Can't unify return type",
    ),
    "an action out of range later on": (
        "return epsilon_greedy(agent, state, agent.weights.shape[0], agent.epsilon, rng)",
        "return 9 if rng.random() < 0.002 else 1",
        "act of SarsaPart must return an action from 0 to 1, got 9, in run",
    ),
    "an index beyond an array later on, every index checked": (
        "    if rng.random() < queue.arrival",
        "    if rng.random() < 0.002:\n        queue.waiting[70] = 1\n    if rng.random() < queue.arrival",
        "a part indexes beyond an array: index is out of bounds, in run",
    ),
    "a state out of range later on": (
        "    if rng.random() < queue.arrival", "    if rng.random() < 0.002:\n        queue.waiting[0] = 70\n    if rng.random() < queue.arrival",
        "observation of QueuePart must hold a state's number from 0 to 7, got 70, in run",
    ),
    "a feature out of range later on": (
        "    state.active[1] = features.last", "    state.active[1] = features.last if observation[0] < 7 else 5000",
        "encode of PairsPart must write features from 0 to 4, got 5000, in run",
    ),
}  # fmt: skip

AFTERWARDS = {  # what is needed beside the change
    "a method of a part": ("< queue.arrival", "< queue.chance()"),
    "an index beyond an array later on, every index checked": (
        '"progress": False}',
        '"progress": False, "checked": True}',
    ),
    "values that are not finite": ("state.active[1] = features.last", "state.values[1] = np.inf"),
    "a feature out of range later on": ("default=0.2", "default=0.45"),
    "a preference that nobody asks for until it is compiled": (
        "    return dot(state, agent.weights[action])\n",
        "    return dot(state, agent.weights[action + 1])\n",
    ),
}

EVALUATED = [  # what is wrong with a domain in which somebody is evaluated
    "a reward that is missing", "step without return", "a reward that is not finite",
    "done for alive", "a state beyond the last", "an observation that is a number",
    "an index beyond an array in step", "an index beyond an array in reset",
    "a name that is not defined", "a list in a field", "a verb with an argument too few",
    "a state out of range later on", "alive of a half later on", "a reward that is not finite later on",
    "random numbers of Python's own",
]  # fmt: skip

# name: (what is done to a learner's file, what must be said)
FILES: dict[str, tuple[str, str]] = {
    "a feature that does not exist": (
        'arrays["agent.planner.backups.states.active"][0, 0] = 99', "does not fit its own settings",
    ),
    "a negative feature": (
        'arrays["state.active"][0] = -1', "does not fit its own settings",
    ),
    "a stored action that does not exist": (
        'arrays["agent.planner.backups.actions"][0] = 7', "does not fit its own settings",
    ),
    "more stored than there is room for": (
        'arrays["agent.planner.backups.counters"][:] = 1000', "does not fit its own settings",
    ),
    "weights that are too short": (
        'arrays["agent.weights"] = np.zeros(2)',
        "the array agent.weights has the shape (2,), and not (8,)",
    ),
    "weights of another kind": (
        'arrays["agent.weights"] = np.zeros(8, np.float32)', "the array agent.weights is float32",
    ),
    "columns for rows": (
        'arrays["agent.planner.model.rows"] = np.asfortranarray(arrays["agent.planner.model.rows"])',
        "the array agent.planner.model.rows has its entries in another order",
    ),
    "an array that is missing": (
        'del arrays["agent.planner.model.rewards"]',
        "the array agent.planner.model.rewards is missing",
    ),
    "settings of something larger": (
        'facts["features"]["size"] = 50', "does not fit its own settings",
    ),
    "settings of something huge": (
        'facts["reading"].update(states=20_000_000, counts=[20_000_000])',
        "does not fit its own settings: these need",
    ),
    "an action that was never chosen": ('facts["action"] = 2', "learner.npz: "),
    "settings that are missing": ('del facts["agent"]', "'agent' is missing"),
    "another format": ('facts["format"] = 1', "has format 1, this version reads format"),
    "settings that are none": ('facts["agent"]["planning_steps"] = -1', "planning_steps must be"),
}  # fmt: skip


TRIED_ALONE_BY = {  # the check of that kind of part, at the end of the sentence
    "done for alive": "domain",
    "a list in a field": "domain",
    "a verb with an argument too few": "domain",
    "a part that is no NamedTuple": "domain",
    "a negative feature": "features",
    "a feature out of range later on": "features",
    "an action that is a float": "agent",
    "an action out of range later on": "agent",
    "fit without return": "model",
    "stored without alive": "backups",
    "evaluated: done for alive": "domain",
    "evaluated: a state out of range later on": "domain",
}


def changed(name: str) -> str:
    """The file with one mistake in it."""
    if name.startswith(EVALUATING):
        text = changed(name.removeprefix(EVALUATING))
        return text.replace("\n    learned()\n", "\n    evaluated()\n")
    if name.startswith(LOADING):
        return FILE.replace("# the mistake", FILES[name.removeprefix(LOADING)][0])
    if not name:  # not compiled: the page about parts of one's own compiles such as these
        text = RIGHT.replace('"progress": False}', '"progress": False, "compiled": False}', 1)
        return text.replace("\n    learned()\n", "\n    learned()\n    evaluated()\n")
    right, wrong, _ = MISTAKES[name]
    assert right in RIGHT, name
    text = RIGHT.replace(right, wrong)
    for before, after in [AFTERWARDS[name]] if name in AFTERWARDS else []:
        assert before in text, name
        text = text.replace(before, after)
    return text


ALL = [*MISTAKES, *(EVALUATING + name for name in EVALUATED), *(LOADING + name for name in FILES)]


def what_is_said(name: str) -> str:
    if name.startswith(LOADING):
        return FILES[name.removeprefix(LOADING)][1]
    said = MISTAKES[name.removeprefix(EVALUATING)][2]
    return said.removesuffix(", in run") if name.startswith(EVALUATING) else said


@pytest.fixture
def ending(name: str, tmp_path: Path) -> tuple[int, str]:
    """How the file with a mistake ended: (status, what it wrote)."""
    file = tmp_path / "parts.py"
    file.write_text(FILE if name == LOADING else changed(name))
    done = run_file(file)
    return done.status, done.errors


@pytest.mark.parametrize("name", ["", LOADING])
def test_the_parts_and_the_file_are_right_without_a_mistake(name, ending):
    assert ending == (0, "")


@pytest.mark.parametrize("name", ALL)
def test_a_mistake_ends_in_one_sentence(name, ending):
    status, written = ending
    last = written.strip().splitlines()[-1]
    assert status == 1, f"{name}: ended with {status}: {last}"
    assert what_is_said(name) in last
    kinds = ("expectant.engine.trial.mistakes.PartError: ", "TypeError: ")
    assert last.startswith("ValueError: " if name.startswith(LOADING) else kinds)
    if name in TRIED_ALONE_BY:
        assert last.endswith(f"; ex.check_{TRIED_ALONE_BY[name]}(…) tries it alone")


def test_there_are_enough_of_them():
    assert len(ALL) >= 100
    assert set(TRIED_ALONE_BY) <= set(ALL)
