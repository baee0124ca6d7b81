"""One exported model, ready to run: the same `Session` whichever engine does the work.

Engines are imported when a session is loaded, so that importing this costs nothing.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, get_args

from pocketbert.errors import CheckpointError, InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[np.float32]]

EngineName = Literal["onnxruntime", "openvino"]
Precision = Literal["int8", "fp32", "fp16", "int8-fast"]

# Precision -> file, under the names that everybody uses; the first that is there is taken.
FILES: dict[Precision, str] = {
    "int8": "onnx/model_quantized.onnx",
    "fp32": "onnx/model.onnx",
    "fp16": "onnx/model_fp16.onnx",
    "int8-fast": "onnx/model_quantized_fast.onnx",
}
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class Engine(Protocol):
    """What runs a graph. `pocketbert.runtime.engines` has one module for each, with a function `open_engine`."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the graph's inputs."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the graph's outputs."""

    def run(self, feed: dict[str, NDArray[np.int64]]) -> list[NDArray[np.float32]]:
        """All outputs for one batch, in the order of their names."""


class Session:
    """An exported model that takes padded batches and gives its outputs by name; safe to share between threads.

    `lanes` is how many runs should go side by side. Threads that share one run of a thin model wait for each other
    more than they work, above all on integers; with a run each they do not.
    """

    def __init__(self, engine: Engine, path: Path, lanes: int = 1) -> None:
        self.path = path
        self.lanes = lanes
        self.inputs = engine.inputs
        self.outputs = engine.outputs
        self._engine: Engine | None = engine
        foreign = sorted(set(self.inputs) - set(INPUTS))
        if foreign or "input_ids" not in self.inputs:
            raise CheckpointError(
                f"{path} takes {', '.join(self.inputs)}; an encoder takes input_ids and may take "
                "attention_mask and token_type_ids"
            )

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        *,
        file: str | None = None,
        precision: Precision | None = None,
        threads: int | None = None,
        engine: EngineName = "onnxruntime",
    ) -> Session:
        """Open a model folder's ONNX file: the int8 one if there is one, else fp32, unless `precision` or `file` says.

        `threads` are by default OMP_NUM_THREADS, or one per core if that is not set. They share each run; those of an
        int8-fast file have a run each.
        """
        if engine not in get_args(EngineName):
            raise InputError(
                f"engine is {engine!r}; allowed are {', '.join(map(repr, get_args(EngineName)))}"
            )
        if threads is not None and (not isinstance(threads, int) or isinstance(threads, bool) or threads < 1):
            raise InputError(f"threads is {threads!r}; it must be a whole number from 1 up, or None")
        path = model_file(Path(folder), file=file, precision=precision)
        module = import_module(f"pocketbert.runtime.engines.{engine}")
        threads = threads or threads_of_environment()
        if engine == "onnxruntime" and path.name == Path(FILES["int8-fast"]).name:
            return cls(module.open_engine(path, 1), path, lanes=threads or cores())
        return cls(module.open_engine(path, threads), path)

    def run(
        self,
        input_ids: NDArray[np.int64],
        attention_mask: NDArray[np.int64] | None = None,
        token_type_ids: NDArray[np.int64] | None = None,
    ) -> Arrays:
        """All outputs for one batch, by name; inputs that the graph lacks are left out."""
        if self._engine is None:
            raise InputError(f"the session of {self.path} is closed; load it again")
        given = dict(zip(INPUTS, (input_ids, attention_mask, token_type_ids), strict=True))
        missing = [name for name in self.inputs if given[name] is None]
        if missing:
            raise InputError(
                f"{self.path.name} needs {', '.join(missing)} too; give an array as large as input_ids"
            )
        feed = {name: array for name, array in given.items() if name in self.inputs and array is not None}
        return dict(zip(self.outputs, self._engine.run(feed), strict=True))

    def close(self) -> None:
        """Give the memory back; the session cannot be used after that."""
        self._engine = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Session of {self.path}>"


def model_file(folder: Path, *, file: str | None = None, precision: Precision | None = None) -> Path:
    """Which ONNX file of a model folder to open."""
    if precision is not None and precision not in FILES:
        raise InputError(f"precision is {precision!r}; allowed are {', '.join(map(repr, FILES))}")
    if file is not None and precision is not None:
        raise InputError(f"file is {file!r} and precision is {precision!r}; give one of them")
    wanted = (
        [file] if file is not None else [FILES[precision]] if precision is not None else list(FILES.values())
    )
    for name in wanted:
        if (folder / name).is_file():
            return folder / name
    if not folder.is_dir():
        raise CheckpointError(f"there is no folder {folder}")
    there = sorted(str(path.relative_to(folder)) for path in folder.glob("**/*.onnx"))
    held = f"it has {', '.join(there)}" if there else "it has no ONNX file at all"
    raise CheckpointError(
        f"{folder} has no {' and no '.join(wanted)}; {held}. "
        "A model folder with weights gets its ONNX files from: pocketbert export MODEL DIR"
    )


def threads_of_environment() -> int | None:
    """What OMP_NUM_THREADS says, if it is a number from 1 up."""
    given = os.environ.get("OMP_NUM_THREADS", "").strip()
    return int(given) if given.isascii() and given.isdigit() and int(given) > 0 else None


def cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
