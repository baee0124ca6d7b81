"""The same parts on Ray Data: a pool of workers, each with the model loaded, on one machine or on a cluster.

Ray carries part numbers, not rows: a worker reads its rows from the shared folder and writes its part there. A worker
that dies takes at most the part with it that it was at, and Ray gives that part to the worker's successor, for ever.
So each try leaves a mark in the folder, and a part that has killed several workers ends the run instead.
"""

from __future__ import annotations

import logging
import os
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pocketbert.bulk.jobs import Job, Opened
from pocketbert.bulk.parts import DRAFT, make_part
from pocketbert.bulk.plan import Part
from pocketbert.errors import BulkError, InputError, PocketbertError, check_count, require

TRIES = 4
"""So many workers may die of a part before the run gives up."""
MOST_BLOCKS = 10_000  # Ray's driver keeps a few kilobytes for each
STORE = 128 << 20  # bytes that a Ray of our own keeps for what passes between processes: part numbers
HERE = "127.0.0.1"


def on_ray(
    job: Job,
    opened: Opened,
    parts: Sequence[Part],
    out: Path,
    plan: str,
    *,
    threads: int,
    address: str | None,
) -> Iterator[Part]:
    """Make parts on Ray, and give each as it is done."""
    check_count("threads", threads)
    numbered = {part.number: part for part in parts}
    with connected(address) as ray:
        for number in _made(ray, job, opened.fingerprint, parts, out, plan, threads):
            yield numbered[number]


@contextmanager
def connected(address: str | None = None) -> Iterator[Any]:
    """Ray: that of this process if it has one, that of a cluster, or one of our own that is closed afterwards.

    One of our own listens on the loopback address alone, has no dashboard, and sends nobody usage statistics.
    """
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if address == "local":
        # All are read when ray is imported. The first is Ray's name for "this is no cluster": its processes then take
        # the loopback address for the machine's own.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
        os.environ.setdefault("RAY_worker_niceness", "0")  # as considerate as the command itself, and no more
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    ray = require("ray", extra="ray")
    if ray.is_initialized():
        yield ray
        return
    quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
    try:
        if address == "local":
            ray.init(
                address=address,
                include_dashboard=False,
                object_store_memory=STORE,
                _node_ip_address=HERE,
                **quiet,
            )
            _check_loopback(ray)
        else:
            ray.init(address=address, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise BulkError(
            f"no Ray at {address!r}: {error}; a cluster is started with ray start --head, and its address is printed"
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


class Worker:
    """What Ray runs: a model that stays loaded, and parts one after the other."""

    def __init__(self, job: Job, fingerprint: str, out: str, plan: str, threads: int) -> None:
        self.job, self.fingerprint, self.out, self.plan = job, fingerprint, Path(out), plan
        self.threads = threads
        self._opened: Opened | None = None

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """Make the parts of a batch; an error is a result like others, or Ray would hide it among its own."""
        errors, kinds = [], []
        for number, file, first, rows in zip(*(batch[name].tolist() for name in FIELDS), strict=True):
            error, kind = "", ""
            try:
                self._make(Part(number, Path(file), first, rows))
            except PocketbertError as refused:
                error, kind = str(refused), "input" if isinstance(refused, InputError) else "other"
            except Exception:
                error, kind = traceback.format_exc(), "other"
            errors.append(error)
            kinds.append(kind)
        return {"number": batch["number"].tolist(), "error": errors, "kind": kinds}

    def _make(self, part: Part) -> None:
        if self._opened is None:
            opened = self.job.open(self.threads)
            if opened.fingerprint != self.fingerprint:
                raise BulkError(
                    "a worker has another model under the same name than the machine that began the run; "
                    "put the same files on all machines, or give a folder that all of them see"
                )
            self._opened = opened
        with tried(part, self.out):
            make_part(part, self.job.reads, self._opened, self.out, self.plan)


@contextmanager
def tried(part: Part, out: Path) -> Iterator[None]:
    """Mark that a part was begun, for as long as its worker lives and afterwards if it dies."""
    marks = [out / f".{part.name}.{number}{DRAFT}" for number in range(TRIES)]
    mark = next((mark for mark in marks if not mark.exists()), None)
    if mark is None:
        raise BulkError(
            f"{TRIES} workers have died at rows {part.first} to {part.first + part.rows - 1} of {part.file}. Often "
            "that is memory: give fewer rows a part, or fewer workers with more threads each. What is done is kept"
        )
    mark.touch()
    yield
    for each in marks:
        each.unlink(missing_ok=True)


FIELDS = ("number", "file", "first", "rows")


def _made(
    ray: Any, job: Job, fingerprint: str, parts: Sequence[Part], out: Path, plan: str, threads: int
) -> Iterator[int]:
    """The numbers of parts as they are done."""
    data = require("ray.data", extra="ray")
    with warnings.catch_warnings():  # Ray warns of its own old settings as it makes them
        warnings.filterwarnings("ignore", category=DeprecationWarning, module="ray")
        context = data.DataContext.get_current().copy()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    cpus = int(ray.cluster_resources().get("CPU", 0))
    if cpus < threads:
        raise InputError(
            f"each worker is to have {threads} threads, but Ray has {cpus} processors; say fewer"
        )
    items = [
        {"number": part.number, "file": str(part.file), "first": part.first, "rows": part.rows}
        for part in parts
    ]
    with _quiet(), data.DataContext.current(context):
        rows = data.from_items(items, override_num_blocks=min(len(items), MOST_BLOCKS)).map_batches(
            Worker,
            batch_size=1,
            compute=data.ActorPoolStrategy(
                min_size=1,
                max_size=min(len(items), cpus // threads),
                initial_size=min(len(items), cpus // threads),
                max_tasks_in_flight_per_actor=2,
            ),
            fn_constructor_args=(job, fingerprint, str(out.absolute()), plan, threads),
            num_cpus=threads,
        )
        for row in rows.iter_rows():
            if row["kind"]:
                raise (InputError if row["kind"] == "input" else BulkError)(row["error"])
            yield int(row["number"])


def _check_loopback(ray: Any) -> None:
    """Ray was perhaps imported before we could tell it where to listen."""
    found = [node["NodeManagerAddress"] for node in ray.nodes()]
    if found != [HERE]:
        ray.shutdown()
        raise BulkError(
            f"Ray would listen on {', '.join(found)}, not on {HERE} alone: it was imported before Pocketbert could "
            "say so. Set RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 first, or call ray.init yourself"
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the messages of Ray Data about itself; what goes wrong is told by us."""
    logger = logging.getLogger("ray.data")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
