"""The four variants of the paper, LayerNorm or NoNorm with GELU or ReLU, at 1x128. Written to results/variants.json.

    python benchmarks/variants.py [--rounds 30] [--threads 1]

Table 7 of the paper (arXiv 2004.02984) has 192 ms for LayerNorm & GELU, 167 for LayerNorm & ReLU, 138 for NoNorm & GELU
and 113 for NoNorm & ReLU on a phone. Here each variant runs with random weights in onnxruntime, as it is and folded,
in turns; medians of processor time.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from pocketbert.export import export_onnx, fold
from pocketbert.heads import build
from pocketbert.model import preset
from pocketbert.runtime.session import Session
from record import record

LENGTH = 128


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dry", action="store_true", help="record nothing")
    options = parser.parse_args()

    sessions = {}
    with tempfile.TemporaryDirectory() as folder:
        for norm, activation in itertools.product(("layer_norm", "no_norm"), ("gelu", "relu")):
            torch.manual_seed(0)
            config = replace(preset("mobilebert"), normalization_type=norm, hidden_act=activation)
            model = build(config, "question-answering").eval()
            for form, network in (("as it is", model), ("folded", fold(model))):
                name = f"{norm} & {activation}, {form}"
                export_onnx(network, Path(folder) / "model.onnx")
                sessions[name] = Session.load(folder, file="model.onnx", threads=options.threads)
    ids = np.random.default_rng(0).integers(1000, 30000, (1, LENGTH))
    batch = (ids, np.ones_like(ids), np.zeros_like(ids))
    seconds: dict[str, list[float]] = {name: [] for name in sessions}
    for turn in range(options.rounds + 2):
        for name, session in sessions.items():
            before = time.process_time()
            session.run(*batch)
            if turn >= 2:  # the first runs warm up
                seconds[name].append(time.process_time() - before)
    measured = {name: round(1000 * statistics.median(times), 2) for name, times in seconds.items()}
    if not options.dry:
        record("variants", {"milliseconds at 1x128": measured})
    print(json.dumps(measured, indent=2))


if __name__ == "__main__":
    main()
