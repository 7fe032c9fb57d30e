"""Threads and worker processes, stopped together by one flag, ``control[0]``.

Compiled code releases Python's lock, so its runs go on threads. A Gymnasium environment is Python
code, so its runs go to processes of ``loky``, with classes of scripts and notebooks pickled by
``cloudpickle``.
"""

from __future__ import annotations

import atexit
import math
import os
import pickle
import queue
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import fields
from functools import cached_property, lru_cache, partial
from itertools import islice
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from expectant.core.config import Config
from expectant.core.errors import EnvCrash, EnvTimeout
from expectant.core.memory import memory_limit
from expectant.core.tree import structure
from expectant.engine.driver import new_control
from expectant.engine.loop import EPISODE, NUMBER, STEP
from expectant.engine.progress import Reporter, Silent
from expectant.engine.setup import Setup, core_count, is_loop_compiled, load_loop
from expectant.jit.code_hash import digest, is_known_by_name, part_types, walk

if TYPE_CHECKING:
    from loky.process_executor import ProcessPoolExecutor

POLL_SECONDS = 0.2
ITEMS_AHEAD = 64  # taken before a thread is free: results may be stored meanwhile
PATIENCE_SECONDS = 0.2  # before another worker is started
HANG_SECONDS = 60.0  # without a step of an environment
IDLE_SECONDS = 120.0  # after which a worker gives its memory back
RUN_BYTES, COMPILE_BYTES = 2**29, 2**30  # memory of a worker
PREPARED_SETUPS = 4  # kept by a worker
BEAT, ROW = NUMBER + 1, NUMBER + 2  # after the clock: counts while no run has started

Item = TypeVar("Item")
Value = TypeVar("Value")
OnStart = Callable[[np.ndarray], None]  # receives the clock of a run before it starts
RunOne = Callable[[int, np.ndarray, OnStart], Any]  # number, control, on_start


# ------------------------------------------------------------------------------- threads


def run_on_threads(
    work: Callable[[Item], Value],
    items: Iterable[Item],
    threads: int,
    control: np.ndarray,
    batch_size: int = 1000,
) -> Iterator[list[tuple[Item, Future[Value]]]]:
    """Do work on threads; yield the items that have ended since the last time, until all are done.

    Leaving it, with an error or an interruption, sets ``control[0]``, which work under way must
    heed, and waits for the threads.
    """
    remaining, under_way, pool = iter(items), 0, ThreadPoolExecutor(threads)
    results: queue.SimpleQueue[tuple[Item, Future[Value]]] = queue.SimpleQueue()
    try:
        while True:
            for item in islice(remaining, threads + ITEMS_AHEAD - under_way):
                under_way += 1
                future = pool.submit(work, item)
                future.add_done_callback(lambda future, item=item: results.put((item, future)))  # type: ignore[misc]
            if not under_way:
                return
            batch: list[tuple[Item, Future[Value]]] = []
            with suppress(queue.Empty):
                batch.append(results.get(timeout=POLL_SECONDS))
                while len(batch) < batch_size:
                    batch.append(results.get_nowait())
            under_way -= len(batch)
            yield batch
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        control[0] = control[0] or under_way > 0
        pool.shutdown()


def gather(
    work: Callable[[Item], Value],
    items: Sequence[Item],
    threads: int,
    control: np.ndarray,
    show_fraction: Callable[[float], None] = lambda fraction: None,
    under_way: Callable[[], float] = lambda: 0.0,
) -> dict[Item, Value]:
    """Do work on threads and return the values by item; the first error is raised.

    ``under_way`` returns the work that is done of unfinished items, for the fraction shown.
    """
    values: dict[Item, Value] = {}
    for batch in run_on_threads(work, items, threads, control):
        values.update({item: future.result() for item, future in batch})
        show_fraction((len(values) + under_way()) / len(items))
    return values


# ----------------------------------------------------------------------- worker processes


class RunSource:
    """Runs of a ``setup``: pickled, sent to workers, and prepared once by each."""

    setup: Setup

    def prepare(self) -> RunOne:
        raise NotImplementedError

    @cached_property
    def payload(self) -> bytes | None:
        """The pickled runs with all that decides what they do; None if no worker can do them."""
        domain = self.setup.domain
        try:
            pickled = _pickle((self, _hash_code(self.setup), _registry_entry(domain)))
        except Exception:  # whatever the parts of an environment raise
            return None
        return pickle.dumps((os.getcwd(), dict(os.environ), list(sys.path), pickled))


class Refused(Exception):
    """A worker cannot do the runs of a setup, or would do others."""


def start_worker(source: RunSource) -> None:
    """Start the first worker while this process compiles or loads the loop."""
    if source.payload is not None and not _idle and _count_fitting(RUN_BYTES):
        _idle.append(Worker())


def run_in_worker(
    source: RunSource, number: int, control: np.ndarray, on_start: OnStart, local: RunOne
) -> Any:
    """Do one run in a worker process; None if it was stopped through ``control``.

    A crash or a hang of the environment ends one worker, and is the error of one run. Runs that a
    worker cannot import, or would import differently, are done by ``local`` in this process.
    """
    while not control[0]:
        worker = _take_worker(control) if source.payload is not None else None
        if worker is None:
            return local(number, control, on_start)
        try:
            return worker.run(source, number, control, on_start)
        except Refused:
            if worker.is_new:  # others would refuse it too
                vars(source)["payload"] = None
            else:  # it may have imported an earlier version
                worker.is_busy = True
        finally:
            _busy.discard(worker)
            # Never reuse a busy worker: its late reply would be attributed to the next run.
            if worker.is_busy or len(_idle) >= core_count():
                worker.end()
            else:
                _idle.append(worker)
    return None


def _take_worker(control: np.ndarray) -> Worker | None:
    """Return an idle worker or, if none becomes idle soon, a new one; None if none fits.

    Another one takes most of a second of processor time to start: short runs end earlier.
    """
    patient_until = math.inf
    while True:
        with suppress(IndexError):
            worker = _idle.pop()
            break
        if patient_until == math.inf and all(other.started.done() for other in list(_busy)):
            patient_until = time.monotonic() + PATIENCE_SECONDS
        if not _busy or control[0] or time.monotonic() > patient_until:
            if not _count_fitting(RUN_BYTES):
                return None
            worker = Worker()
            break
        time.sleep(POLL_SECONDS / 10)
    _busy.add(worker)
    return worker


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

    def run(self, source: RunSource, number: int, control: np.ndarray, on_start: OnStart) -> Any:
        """Do one run; None if it was stopped."""
        from loky.process_executor import BrokenProcessPool

        self.is_busy, self.row[:] = True, 0
        on_start(self.row)
        name, since, clock = repr(source.setup.domain), time.monotonic(), self.row.tolist()
        try:
            future = _submit(self.executor, _run_in_worker, source.payload, number)
            while not (wait([future], POLL_SECONDS).done or control[0]):
                if self.row.tolist() != clock:
                    since, clock = time.monotonic(), self.row.tolist()
                elif time.monotonic() - since > HANG_SECONDS:
                    where = f"{name}: no answer in run {number}{self._position()}"
                    raise EnvTimeout(f"{where} for {HANG_SECONDS:.0f} s")
            if not future.done():
                return None
            self.is_busy = False
            answer = future.result()
        except BrokenProcessPool as error:
            self.is_busy = True
            if not (self.is_new or self.row.any()):
                raise Refused("it was ended before the run began") from None
            status = str(error).partition("exit codes of the workers are {")[2].partition("}")[0]
            raise EnvCrash(
                f"{name}: its process has ended ({status or 'no exit status'}) in run {number}"
                f"{self._position()}: a crash of the environment or too little memory"
            ) from None
        self.is_new = False
        return answer

    def _position(self) -> str:
        return f", episode {self.row[EPISODE]}, after step {self.row[STEP]}"

    def end(self) -> None:
        self.executor.shutdown(wait=False, kill_workers=True)
        with suppress(OSError):
            os.unlink(self.path)


_idle: list[Worker] = []
_busy: set[Worker] = set()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)
    os.register_at_fork(after_in_child=_busy.clear)


@atexit.register
def end_idle_workers() -> None:
    """End the workers that wait for runs."""
    with suppress(IndexError):
        while True:
            _idle.pop().end()


def _submit(executor: ProcessPoolExecutor, work: Callable[..., Any], *args: Any) -> Future[Any]:
    """Submit work; a process that is started for it does not receive Ctrl-C, which is ours."""
    mask = getattr(signal, "pthread_sigmask", lambda how, signals: signals)
    before = mask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return executor.submit(work, *args)
    finally:
        mask(signal.SIG_SETMASK, before)


def _count_fitting(size: int) -> int:
    """Return how many processes of a size fit into memory; none within a worker."""
    return 0 if InWorker.is_worker else int(memory_limit() // size)


# ---------------------------------------------------------------------------- in a worker


class InWorker:
    """The state of this process, if it is a worker."""

    is_worker = False
    clock: np.ndarray | None = None


def _set_up_worker(path: str) -> None:
    InWorker.is_worker = True
    _ignore_interrupts()
    row, parent = np.memmap(path, np.int64, "r+"), os.getppid()

    def copy_clock() -> None:
        while os.getppid() == parent:  # else it was killed, and nobody waits for the run
            time.sleep(POLL_SECONDS)
            if InWorker.clock is None:
                row[BEAT] += 1
            else:
                row[:BEAT] = InWorker.clock
        os._exit(1)

    threading.Thread(target=copy_clock, daemon=True).start()


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _import_compiler() -> None:
    from expectant.jit.numba_internals import set_up_compiler

    set_up_compiler()


@lru_cache(PREPARED_SETUPS)
def _prepare_in_worker(payload: bytes) -> RunOne:
    """Unpickle runs and load their loop, in the environment of the process that sent them."""
    try:
        folder, variables, sys.path[:], pickled = pickle.loads(payload)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(variables)
        source, code, spec = pickle.loads(pickled)
        if spec is not None:
            import gymnasium

            gymnasium.registry[spec.id] = spec  # another one may have been sent before
        if _hash_code(source.setup) != code:
            raise ValueError("its parts are others in this process")
        run_one: RunOne = source.prepare()
    except Exception as error:  # the sender does the runs itself, and raises what is wrong
        raise Refused(f"{type(error).__name__}: {error}") from None
    return run_one


def _run_in_worker(payload: bytes, number: int) -> Any:
    run_one = _prepare_in_worker(payload)
    try:
        return run_one(number, new_control(), partial(setattr, InWorker, "clock"))
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # whatever its class makes of that
            raise RuntimeError(f"{type(error).__name__}: {error}") from error
        raise
    finally:
        InWorker.clock = None


# ------------------------------------------------------------------------------- pickling


def _pickle(thing: object) -> bytes:
    """Pickle for a worker, with classes that are defined in a script or notebook.

    Users' parts (NamedTuples with verbs) of a script are refused: their verbs are registered in
    this process alone. So is everything while a module is being imported, which a worker would
    import, and run, again.
    """
    import cloudpickle

    specs = [getattr(module, "__spec__", None) for module in list(sys.modules.values())]
    if InWorker.is_worker or any(getattr(spec, "_initializing", False) for spec in specs):
        raise pickle.PicklingError("modules are being imported")
    pickled: bytes = cloudpickle.dumps(thing)
    if b"expectant_main" in pickled:
        raise pickle.PicklingError("verbs of a script are registered in its process alone")
    return pickled


def _registry_entry(domain: Any) -> Any:
    """Return Gymnasium's entry of an id that a script may have registered."""
    name = getattr(domain, "environment", None)
    if not isinstance(name, str) or ":" in name:
        return None
    import gymnasium

    return gymnasium.spec(name)


def _hash_code(setup: Setup) -> str:
    """Hash the user's code in a setup, which may differ between this process and a worker."""
    return digest(walk(_code_in((setup.domain, setup.features, setup.agent))))


def _code_in(part: Any) -> Iterator[Any]:
    """Yield the classes and functions that parts are made of, except this package's."""
    if isinstance(part, type | FunctionType):
        if not is_known_by_name(part):
            yield part
    elif isinstance(part, tuple | list | dict):
        for item in part.values() if isinstance(part, dict) else part:
            yield from _code_in(item)
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
    """A kernel to compile for a setup, and a function that looks for it in the cache."""

    compile: Callable[[Setup], object]
    setup: Setup
    is_cached: Callable[[Setup], bool] = is_loop_compiled
    name: str = ""


def compile_loop(setup: Setup) -> None:
    """Leave the loop for a setup in the cache."""
    load_loop(setup, True, "", Silent())


def compile_ahead(orders: Sequence[CompileOrder], show: Reporter) -> None:
    """Compile several kernels at once, here and in processes, all left in the cache on disk.

    Numba compiles one function at a time in a process. Errors are ignored: a kernel that is missing
    is compiled, and its errors raised, when it is needed.
    """
    size = min(core_count(), 1 + _count_fitting(COMPILE_BYTES))
    missing = _find_missing(orders) if size > 1 else []
    if len(missing) < 2:
        return
    names = ", ".join(dict.fromkeys(order.name or order.setup.title for order, _ in missing))
    (largest, _), *rest = missing
    processes = _compile_in_processes([pickled for _, pickled in rest], min(size - 1, len(rest)))
    with show.compilation(names, cached=False), processes as futures:
        _compile(largest)
        for (order, _), future in reversed([*zip(rest, futures, strict=True)]):
            if future.cancel():
                _compile(order)
        wait(futures)


@contextmanager
def compile_in_background(setups: Mapping[str, Setup]) -> Iterator[dict[str, Future[None]]]:
    """Compile the missing loops for setups in one other process, in order, if memory allows."""
    orders = [CompileOrder(compile_loop, setup, name=name) for name, setup in setups.items()]
    missing = _find_missing(orders) if _count_fitting(COMPILE_BYTES) else []
    missing.sort(key=lambda pair: [*setups].index(pair[0].name))
    with _compile_in_processes([pickled for _, pickled in missing], 1) as futures:
        yield {order.name: future for (order, _), future in zip(missing, futures, strict=True)}


@contextmanager
def _compile_in_processes(pickled: Sequence[bytes], size: int) -> Iterator[list[Future[None]]]:
    """Compile pickled orders in other processes while the context lasts."""
    from loky.process_executor import ProcessPoolExecutor

    # Numba's memory of what it compiled is no leak, and a worker that is restarted loses it.
    environment = {"LOKY_MAX_MEMORY_LEAK_SIZE": "1e12"}
    executor = ProcessPoolExecutor(size, initializer=_ignore_interrupts, env=environment)
    try:
        yield [_submit(executor, _compile, order) for order in pickled]
    finally:
        executor.shutdown(kill_workers=True)


def _find_missing(orders: Sequence[CompileOrder]) -> list[tuple[CompileOrder, bytes]]:
    """Return the orders that are not cached, pickled, one per composition, largest first."""
    missing: dict[Any, tuple[int, CompileOrder, bytes]] = {}
    for order in orders:
        with suppress(Exception):  # raised where the kernel is needed
            run = order.setup.build(0)[0]
            composition = order.compile, structure(run)
            if composition not in missing and not order.is_cached(order.setup):
                missing[composition] = len(part_types(run)), order, _pickle(order)
    by_size = sorted(missing.values(), key=lambda entry: -entry[0])
    return [(order, pickled) for _, order, pickled in by_size]


def _compile(order: CompileOrder | bytes) -> None:
    with suppress(Exception):  # raised where the kernel is needed
        order = pickle.loads(order) if isinstance(order, bytes) else order
        order.compile(order.setup)
