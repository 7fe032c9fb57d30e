"""Threads and worker processes: the one place that runs work in parallel, stopped as one.

Compiled code releases Python's lock, so its runs go on threads. An environment of Gymnasium is
Python, so its runs go to processes of ``loky``, which pickles what is defined in a script or in a
notebook with ``cloudpickle``. One stop flag, ``control[0]``, ends all of it.
"""

from __future__ import annotations

import atexit
import os
import pickle
import queue
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import fields
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from expectant.core.config import Config
from expectant.core.errors import EnvCrash, EnvTimeout
from expectant.core.memory import available_memory, configured_limit
from expectant.core.tree import structure
from expectant.engine.driver import new_control
from expectant.engine.loop import EPISODE, NUMBER, STEP
from expectant.engine.memory import owner
from expectant.engine.progress import Reporter, Silent
from expectant.engine.setup import Setup, core_count, is_loop_compiled, load_loop
from expectant.jit.code_hash import digest, is_known_by_name, part_types, walk

if TYPE_CHECKING:
    from loky.process_executor import ProcessPoolExecutor

LOOK_SECONDS = 0.2
HEAD_START = 0.001  # seconds in which the first thread shows how long a piece of work takes
TINY_SECONDS = 0.0001  # threads would wait for each other longer than they work
HAND_OVER_SECONDS = 0.005  # between two batches of results of a thread
AHEAD = 4  # batches of a thread that may wait to be stored
HANG_SECONDS = 60.0  # without a step of an environment
IDLE_SECONDS = 120.0  # after which a worker gives its memory back
RUN_BYTES, COMPILE_BYTES = 2**29, 2**30  # that a worker takes
KEPT = 4  # prepared setups in a worker
BEAT, ROW = NUMBER + 1, NUMBER + 2  # after the clock: counts while no run has begun

Item = TypeVar("Item")
Found = TypeVar("Found")
OnStart = Callable[[np.ndarray], None]  # told the clock of a run before it starts
RunOne = Callable[[int, np.ndarray, OnStart], Any]  # number, control, on_start


# ------------------------------------------------------------------------------- threads


class Ended(NamedTuple, Generic[Item, Found]):
    """A piece of work that is over: its value, or the error that it raised."""

    item: Item
    value: Found | None
    error: BaseException | None

    def result(self) -> Found:
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]


def run_on_threads(
    work: Callable[[Item], Found],
    items: Iterable[Item],
    threads: int,
    control: np.ndarray,
    batch_size: int = 1000,
) -> Iterator[list[Ended[Item, Found]]]:
    """Yield what has ended since the last time, now and then, until all items are done.

    Leaving it, with an error or an interruption, sets ``control[0]``, which work under way must
    heed, and waits for the threads. One thread begins; the others join unless the pieces of work
    turn out to be tiny. Items are taken as they are needed, one thread at a time.
    """
    waiting, lock, done = iter(items), threading.Lock(), [0]
    ended: queue.Queue[list[Ended[Item, Found]] | None] = queue.Queue(AHEAD * threads)
    nothing: Any = object()

    def hand_over(batch: list[Ended[Item, Found]] | None) -> None:
        """Wait for whoever stores results; drop them if nobody does any more."""
        while not control[0]:
            with suppress(queue.Full):
                return ended.put(batch, timeout=LOOK_SECONDS)

    def take() -> None:
        """Hand results over in batches: each alone would cost more than a tiny run."""
        batch, due = list[Ended[Item, Found]](), time.perf_counter() + HAND_OVER_SECONDS
        while not control[0]:
            with lock:
                item = next(waiting, nothing)
            if item is nothing:
                break
            try:
                batch.append(Ended(item, work(item), None))
            except BaseException as error:
                batch.append(Ended(item, None, error))
            done[0] += 1
            if len(batch) >= batch_size or time.perf_counter() >= due:
                hand_over(batch)
                batch, due = [], time.perf_counter() + HAND_OVER_SECONDS
        hand_over(batch)
        hand_over(None)

    start, idle, at_work = time.perf_counter(), threads - 1, 1
    crew, patience = [_start_thread(take)], HEAD_START
    try:
        while at_work:
            batch: list[Ended[Item, Found]] | None = []
            try:
                batch = ended.get(timeout=patience)
            except queue.Empty:
                if not any(thread.is_alive() for thread in crew):
                    break  # stopped through the control
            if batch is None:
                at_work -= 1
            if at_work and time.perf_counter() - start > TINY_SECONDS * done[0]:
                crew += [_start_thread(take) for _ in range(idle)]
                at_work, idle = at_work + idle, 0
            patience = LOOK_SECONDS
            yield batch or []
    finally:
        control[0] = control[0] or at_work > 0
        for thread in crew:
            thread.join()


def _start_thread(work: Callable[[], None]) -> threading.Thread:
    """A daemon, which Python does not wait for at its end: an environment may hang."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def run_interruptibly(work: Callable[[], Found], control: np.ndarray) -> Found:
    """Do work on another thread, so that an interruption is heard and sets ``control[0]``.

    Compiled code is deaf to Ctrl-C. Only the main thread is ever interrupted.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    errors = np.geterr()  # every thread has its own

    def there(_: int) -> Found:
        with np.errstate(**errors):
            return work()

    ended = [each for batch in run_on_threads(there, [0], 1, control) for each in batch]
    return ended[0].result()


def iterate_interruptibly(steps: Iterable[Found], control: np.ndarray) -> Iterator[Found]:
    """Yield what an iterator yields, each made by :func:`run_interruptibly`."""
    course, nothing = iter(steps), object()
    while (found := run_interruptibly(lambda: next(course, nothing), control)) is not nothing:
        yield found  # type: ignore[misc]


# ----------------------------------------------------------------------- worker processes


class RunSource(Protocol):
    """Runs of a setup that a worker can do: it is pickled, and prepared there once."""

    @property
    def setup(self) -> Setup: ...

    def prepare(self) -> RunOne: ...


class Refused(Exception):
    """A worker cannot do the runs of a setup, or would do others."""


class Processes:
    """Worker processes for runs of environments, one for every thread that asks.

    A crash or a hang of an environment ends the worker of one run, and is the error of that run.
    Runs that a worker cannot import, or would import differently, are done in this process.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.payloads: dict[int, tuple[RunSource, bytes | None]] = {}
        self.waiting: list[Worker] = []
        self.of_thread: dict[int, Worker] = {}

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *error: object) -> None:
        for worker in (*self.waiting, *self.of_thread.values()):
            worker.keep()

    def start(self, source: RunSource, count: int) -> None:
        """Start workers that will be needed, while this process compiles or loads the loop."""
        if self._payload(source) is not None:
            started = [_take_idle() or Worker() for _ in range(min(count, _fitting(RUN_BYTES)))]
            self.waiting.extend(started)

    def run(
        self, source: RunSource, number: int, control: np.ndarray, on_start: OnStart, local: RunOne
    ) -> Any:
        """Do one run; None if it was stopped through ``control``."""
        while not control[0]:
            payload = self._payload(source)
            worker = None if payload is None else self._worker()
            if payload is None or worker is None:
                return local(number, control, on_start)
            try:
                return worker.run(payload, number, control, on_start, repr(source.setup.domain))
            except Refused:
                if worker.is_new:  # others would refuse it too
                    self.payloads[id(source)] = source, None
                else:  # it may have imported an earlier version
                    worker.is_busy = True
            finally:
                if worker.is_busy:  # it has crashed, hangs, was stopped, or is outdated
                    worker.end()
                    del self.of_thread[threading.get_ident()]
        return None

    def _payload(self, source: RunSource) -> bytes | None:
        """The pickled setup; None where a worker could not do it."""
        with self.lock:
            if id(source) not in self.payloads:
                self.payloads[id(source)] = source, _pickle_runs(source)
            return self.payloads[id(source)][1]

    def _worker(self) -> Worker | None:
        """The worker of this thread; None if there is no memory for one."""
        thread = threading.get_ident()
        with self.lock:
            if thread not in self.of_thread:
                worker = self.waiting.pop() if self.waiting else _take_idle()
                if worker is None and len(self.of_thread) < _fitting(RUN_BYTES):
                    worker = Worker()
                if worker is not None:
                    self.of_thread[thread] = worker
        return self.of_thread.get(thread)


class Worker:
    """A pool of one process, and a row in a memory-mapped file with the clock of its run."""

    def __init__(self) -> None:
        from loky.process_executor import ProcessPoolExecutor

        handle, self.path = tempfile.mkstemp(prefix="expectant-worker-")
        os.close(handle)
        self.row = np.memmap(self.path, np.int64, "w+", shape=ROW)
        self.executor = ProcessPoolExecutor(
            1, timeout=IDLE_SECONDS, initializer=_set_up_worker, initargs=(self.path,)
        )
        self.is_new, self.is_busy = True, False
        self.started = _submit(self.executor, _import_compiler)

    def run(
        self, payload: bytes, number: int, control: np.ndarray, on_start: OnStart, name: str
    ) -> Any:
        """Do one run; None if it was stopped."""
        from loky.process_executor import BrokenProcessPool

        self.is_busy, self.row[:] = True, 0
        on_start(self.row)
        try:
            ended = _submit(self.executor, _run_there, payload, number)
            if not self._wait_for(ended, control, f"{name}: no answer in run {number}"):
                return None
            self.is_busy = False
            answer = ended.result()
        except BrokenProcessPool as error:
            self.is_busy = True
            if not (self.is_new or self.row.any()):
                raise Refused("it was ended before the run began") from None
            status = str(error).partition("exit codes of the workers are {")[2].partition("}")[0]
            raise EnvCrash(
                f"{name}: its process has ended ({status or 'no exit status'}) in run {number}"
                f"{self._place()}: a crash of the environment or too little memory"
            ) from None
        self.is_new = False
        return answer

    def _wait_for(self, ended: Future[Any], control: np.ndarray, what: str) -> bool:
        """Wait for a run, unless its clock stands still; False if it was stopped."""
        since, seen = time.monotonic(), self.row.tolist()
        while not (wait([ended], LOOK_SECONDS).done or control[0]):
            now = self.row.tolist()
            if now != seen:
                since, seen = time.monotonic(), now
            elif time.monotonic() - since > HANG_SECONDS:
                raise EnvTimeout(f"{what}{self._place()} for {HANG_SECONDS:.0f} s")
        return ended.done()

    def _place(self) -> str:
        return f", episode {self.row[EPISODE]}, after step {self.row[STEP]}"

    def keep(self) -> None:
        """Wait for the next setup, unless it is at work or enough others wait."""
        with _lock:
            if not self.is_busy and len(_idle) < core_count():
                _idle.append(self)
                return
        self.end()

    def end(self) -> None:
        self.executor.shutdown(wait=False, kill_workers=True)
        with suppress(OSError):
            os.unlink(self.path)


_idle: list[Worker] = []
_lock = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)


def _take_idle() -> Worker | None:
    with _lock:
        return _idle.pop() if _idle else None


@atexit.register
def end_idle_workers() -> None:
    """End the workers that wait for a setup."""
    while (worker := _take_idle()) is not None:
        worker.end()


def _submit(executor: ProcessPoolExecutor, work: Callable[..., Any], *given: Any) -> Future[Any]:
    """Submit work; a process that is started for it does not hear Ctrl-C, which is ours."""
    mask = getattr(signal, "pthread_sigmask", lambda how, signals: signals)
    before = mask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return executor.submit(work, *given)
    finally:
        mask(signal.SIG_SETMASK, before)


def _fitting(size: int) -> int:
    """How many processes of a size fit into memory; none within a worker."""
    free = configured_limit() or available_memory()
    return 0 if Here.is_worker else free // size


# ---------------------------------------------------------------------------- in a worker


class Here:
    """What this process is doing, if it is a worker."""

    is_worker = False
    clock: np.ndarray | None = None
    prepared: ClassVar[dict[bytes, RunOne]] = {}


def _set_up_worker(path: str) -> None:
    Here.is_worker = True
    _ignore_interrupts()
    row, parent = np.memmap(path, np.int64, "r+"), os.getppid()

    def copy_clock() -> None:
        while os.getppid() == parent:  # else it was killed, and nobody waits for the run
            time.sleep(LOOK_SECONDS)
            if Here.clock is None:
                row[BEAT] += 1
            else:
                row[:BEAT] = Here.clock
        os._exit(1)

    _start_thread(copy_clock)


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _import_compiler() -> None:
    """Import ahead what every compiled loop needs."""
    from expectant.jit.numba_internals import set_up_compiler

    set_up_compiler()


def _prepare_there(payload: bytes) -> RunOne:
    """Unpickle runs and load their loop, in the surroundings of whoever sent them."""
    if payload in Here.prepared:
        return Here.prepared[payload]
    try:
        folder, variables, sys.path[:], pickled = pickle.loads(payload)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(variables)
        source, code, spec = pickle.loads(pickled)
        if spec is not None:
            import gymnasium

            gymnasium.registry[spec.id] = spec  # another one may have been sent before
        if _code_name(source.setup) != code:
            raise ValueError("its parts are others in this process")
        run_one: RunOne = source.prepare()
    except Exception as error:  # whoever asks does it instead, and is told what is wrong
        raise Refused(f"{type(error).__name__}: {error}") from None
    if len(Here.prepared) >= KEPT:
        Here.prepared.pop(next(iter(Here.prepared)))
    Here.prepared[payload] = run_one
    return run_one


def _run_there(payload: bytes, number: int) -> Any:
    run_one = _prepare_there(payload)
    try:
        return run_one(number, new_control(), partial(setattr, Here, "clock"))
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # whatever its class makes of that
            raise RuntimeError(f"{type(error).__name__}: {error}") from error
        raise
    finally:
        Here.clock = None


# ----------------------------------------------------------------------------- what is sent


def _pickle_runs(source: RunSource) -> bytes | None:
    """Runs, their surroundings, a name for their code, and the registered environment."""
    try:
        pickled = _pickle((source, _code_name(source.setup), _registered(source.setup.domain)))
    except Exception:  # whatever the parts of an environment raise
        return None
    return pickle.dumps((os.getcwd(), dict(os.environ), list(sys.path), pickled))


def _pickle(thing: object) -> bytes:
    """Pickle for a worker, what is defined in a script or notebook included.

    Own parts of such (NamedTuples with verbs) are not: their verbs are registered here alone. Nor
    is anything while a module is being imported, which a worker would import, and run, again.
    """
    import cloudpickle

    specs = [getattr(module, "__spec__", None) for module in list(sys.modules.values())]
    if Here.is_worker or any(getattr(spec, "_initializing", False) for spec in specs):
        raise pickle.PicklingError("modules are being imported")
    pickled: bytes = cloudpickle.dumps(thing)
    if b"expectant_main" in pickled:
        raise pickle.PicklingError("verbs of a script are registered in its process alone")
    return pickled


def _registered(domain: Any) -> Any:
    """Gymnasium's entry of an id that a script may have registered."""
    name = getattr(domain, "environment", None)
    if not isinstance(name, str) or ":" in name:
        return None
    import gymnasium

    return gymnasium.spec(name)


def _code_name(setup: Setup) -> str:
    """A hash of all code and values that decide what a setup does, as far as can be seen.

    A script may have changed them since they were imported, or a worker may have been started
    before that, and would run something else.
    """
    return digest(walk(_code_in((setup.domain, setup.features, setup.agent))))


def _code_in(part: Any) -> Iterator[Any]:
    """The classes and functions that parts are made of, but for those of this package."""
    if isinstance(part, type | FunctionType):
        if not is_known_by_name(part):
            yield part
    elif isinstance(part, tuple | list | dict):
        for each in part.values() if isinstance(part, dict) else part:
            yield from _code_in(each)
    elif isinstance(part, Config):
        if not is_known_by_name(type(part)):
            yield type(part)
        yield from _code_in([getattr(part, field.name) for field in fields(part)])  # type: ignore[arg-type]
        if hasattr(part, "make"):
            environment = layer = part.make()
            while layer is not None:
                yield type(layer)
                layer = getattr(layer, "env", None)
            environment.close()


# --------------------------------------------------------------------------- compiling ahead


class CompileOrder(NamedTuple):
    """Something to compile for a setup, and a function that tells whether it is in the cache."""

    compile: Callable[[Setup], object]
    setup: Setup
    is_there: Callable[[Setup], bool] = is_loop_compiled
    name: str = ""


def compile_loop(setup: Setup) -> None:
    """Leave the loop for a setup in the cache."""
    load_loop(setup, True, "", Silent())


def compile_ahead(orders: Sequence[CompileOrder], show: Reporter) -> None:
    """Compile several kernels at once, here and in processes, all left in the cache on disk.

    Numba compiles one function at a time in a process. Nothing depends on it: whoever needs a
    kernel that is not there compiles it, and is told what is wrong with it.
    """
    size = min(core_count(), 1 + _fitting(COMPILE_BYTES))
    wanted = _missing(orders) if size > 1 else []
    if len(wanted) < 2:
        return
    names = ", ".join(dict.fromkeys(order.name or owner(order.setup) for order, _ in wanted))
    (largest, _), *rest = wanted
    with (
        show.compilation(names, cached=False),
        _compiling_apart([pickled for _, pickled in rest], min(size - 1, len(rest))) as compiling,
    ):
        _compile_here(largest)
        for (order, _), future in reversed([*zip(rest, compiling, strict=True)]):
            if future.cancel():
                _compile_here(order)
        wait(compiling)


@contextmanager
def compile_in_background(setups: Mapping[str, Setup]) -> Iterator[dict[str, Future[None]]]:
    """Compile the loops for setups in one other process, in order; those in the cache are left out.

    So is what cannot be pickled, and everything where memory is short: it is compiled when needed.
    """
    wanted = {}
    for name, setup in setups.items():
        for _, pickled in (
            _missing([CompileOrder(compile_loop, setup)]) if _fitting(COMPILE_BYTES) else ()
        ):
            wanted[name] = pickled
    with _compiling_apart([*wanted.values()], 1) as compiling:
        yield dict(zip(wanted, compiling, strict=True))


@contextmanager
def _compiling_apart(pickled: Sequence[bytes], size: int) -> Iterator[list[Future[None]]]:
    """Compile pickled orders, the first ones first, in other processes while the context lasts."""
    from loky.process_executor import ProcessPoolExecutor

    executor = ProcessPoolExecutor(size, initializer=_ignore_interrupts)
    try:
        yield [_submit(executor, _compile_there, order) for order in pickled]
    finally:
        executor.shutdown(kill_workers=True)


def _missing(orders: Sequence[CompileOrder]) -> list[tuple[CompileOrder, bytes]]:
    """The orders that are not in the cache, pickled, one for every composition, largest first."""
    found: dict[Any, tuple[int, CompileOrder, bytes]] = {}
    for order in orders:
        with suppress(Exception):  # told where it is needed
            run = order.setup.build(0)[0]
            kind = order.compile, structure(run)
            if kind not in found and not order.is_there(order.setup):
                found[kind] = len(part_types(run)), order, _pickle(order)
    by_size = sorted(found.values(), key=lambda each: -each[0])
    return [(order, pickled) for _, order, pickled in by_size]


def _compile_here(order: CompileOrder) -> None:
    with suppress(Exception):  # told where it is needed
        order.compile(order.setup)


def _compile_there(pickled: bytes) -> None:
    _compile_here(pickle.loads(pickled))
