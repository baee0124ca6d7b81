"""One contender: a process that reads cases and says how long each took.

    python benchmarks/embedding/contenders.py KIND FOLDER THREADS

JSON lines in: {"task", "texts" or "pairs", "vectors"}; out: {"seconds", "megabytes", "found"}. With `vectors`, a path,
an embedder saves there what it made of the texts, after the clock has stopped.

Kinds: `torch` is sentence-transformers as it comes; `fp32`, `int8` and `int8-fast` are Pocketbert with that file;
`cross` is Pocketbert's reranker.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

Case = dict[str, Any]
Task = Callable[[Case], Any]
FORMS = ("fp32", "int8", "int8-fast")


def torch(folder: str, threads: int) -> dict[str, Task]:
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.util import paraphrase_mining

    torch.set_num_threads(threads)
    model = SentenceTransformer(folder, device="cpu")
    return {
        "encode": lambda case: model.encode(case["texts"]),
        "pair": lambda case: paraphrase_mining(model, case["texts"], max_pairs=1, top_k=1)[0],
    }


def pocketbert(folder: str, threads: int, form: Any) -> dict[str, Task]:
    from pocketbert import Embedder, paraphrase_mining

    model = Embedder.load(folder, precision=form, threads=threads)
    return {
        # Cut where sentence-transformers cuts, so that both read the same tokens.
        "encode": lambda case: model.encode(case["texts"], long="truncate"),
        "pair": lambda case: paraphrase_mining(model, case["texts"], max_pairs=1)[0],
    }


def cross(folder: str, threads: int) -> dict[str, Task]:
    from pocketbert import Reranker

    model = Reranker.load(folder, threads=threads)
    return {"cross": lambda case: len(model.predict(case["pairs"]))}


def main() -> None:
    import warnings

    warnings.simplefilter("ignore")
    kind, folder, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    tasks = (
        pocketbert(folder, threads, kind)
        if kind in FORMS
        else {"torch": torch, "cross": cross}[kind](folder, threads)
    )
    for line in sys.stdin:
        case = json.loads(line)
        before = time.perf_counter()
        found = tasks[case["task"]](case)
        seconds = time.perf_counter() - before
        if case.get("vectors"):
            import numpy as np

            np.save(case["vectors"], found)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        said = {"seconds": seconds, "megabytes": peak, "found": found if case["task"] == "pair" else None}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
