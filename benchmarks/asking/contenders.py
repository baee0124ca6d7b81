"""One contender of the latency benchmark: a process that reads cases and says how long each took.

    python benchmarks/asking/contenders.py NAME MODEL THREADS

JSON lines in: {"questions", "contexts", "read"}; out: [seconds, peak megabytes, windows read].

`pocketbert` is the runtime as it comes, `pocketbert-fast` with the int8-fast file. `transformers` is the
model in its eager form and `onnxruntime` a plain export of it, nothing folded, in a session with default settings; both
read every window, in padded batches of eight as they come, which is what people write by hand.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pocketbert.runtime.session import Precision

Case = dict[str, Any]
Reader = Callable[[Case], int]
BATCH = 8


def pocketbert(model: str, threads: int, precision: Precision | None = None) -> Reader:
    from pocketbert.runtime.questions import QuestionAnswerer

    reader = QuestionAnswerer.load(model, threads=threads, precision=precision)

    def read(case: Case) -> int:
        results = reader(case["questions"], case["contexts"], read=case["read"], threshold=1.0)
        return sum(result.read.windows for result in results)

    return read


def transformers(model: str, threads: int) -> Reader:
    import torch
    from transformers import AutoModelForQuestionAnswering

    torch.set_num_threads(threads)
    network = AutoModelForQuestionAnswering.from_pretrained(model, attn_implementation="eager").eval()

    def run(arrays: dict[str, Any]) -> tuple[Any, Any]:
        with torch.inference_mode():
            output = network(**{name: torch.from_numpy(array) for name, array in arrays.items()})
        return output.start_logits.numpy(), output.end_logits.numpy()

    return by_hand(model, run)


def onnxruntime(model: str, threads: int) -> Reader:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    # Exported in a process of its own, so that torch does not count as memory of onnxruntime.
    export = "import sys; from pocketbert.export import export_onnx; from pocketbert.heads import load; "
    export += "export_onnx(load(sys.argv[1]), sys.argv[2])"
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.onnx")
        subprocess.run([sys.executable, "-c", export, model, path], check=True)
        session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return by_hand(model, lambda arrays: tuple(session.run(["start_logits", "end_logits"], arrays)))


def by_hand(model: str, run: Callable[[dict[str, Any]], tuple[Any, Any]]) -> Reader:
    """Windows in padded batches, and the best start and end of each."""
    from pocketbert.text import Tokenizer, pad_windows, windows
    from pocketbert.text.calibration import Calibration
    from pocketbert.text.windows import room_and_step

    tokenizer = Tokenizer.load(model)
    settings = Calibration.load(model)

    def read(case: Case) -> int:
        parts = []
        for question, context in zip(case["questions"], case["contexts"], strict=True):
            length = sum(1 for _ in tokenizer.stream(question))
            room, _ = room_and_step(length, max_length=settings.window)
            overlap = min(settings.overlap, room // 2)  # as pocketbert does it
            parts += windows(question, context, tokenizer, max_length=settings.window, overlap=overlap)
        for start in range(0, len(parts), BATCH):
            starts, ends = run(pad_windows(parts[start : start + BATCH], tokenizer).arrays())
            starts.argmax(-1), ends.argmax(-1)
        return len(parts)

    return read


CONTENDERS: dict[str, Callable[[str, int], Reader]] = {
    "transformers": transformers,
    "onnxruntime": onnxruntime,
    "pocketbert": pocketbert,
    "pocketbert-fast": partial(pocketbert, precision="int8-fast"),
}


def main() -> None:
    name, model, threads = sys.argv[1:]
    read = CONTENDERS[name](model, int(threads))
    for line in sys.stdin:
        case = json.loads(line)
        before = time.perf_counter()
        windows = read(case)
        seconds = time.perf_counter() - before
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        print(json.dumps([seconds, peak, windows]), flush=True)


if __name__ == "__main__":
    main()
