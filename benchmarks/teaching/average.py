"""One model from several that learnt different things after the same start: the mean of their weights.

    python benchmarks/teaching/average.py FOLDER… --output FOLDER [--shares 1 1 2]

The folders hold the same architecture, each trained on from the one before or from a common one, so that what lies
between them is a good model, too (arXiv 2109.01903, 2311.13534). All but the weights is copied from the last.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

ON_THE_WAY = ("checkpoint-*", "best-*")  # what a run leaves in its folder beside the model


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--shares", type=float, nargs="*", help="how much each counts [the same]")
    options = parser.parse_args()
    shares = options.shares or [1.0] * len(options.folders)
    if len(shares) != len(options.folders) or min(shares) < 0 or sum(shares) <= 0:
        sys.exit(
            f"{len(options.folders)} folders and the shares {shares}: give one for each, none below nought"
        )
    last = options.folders[-1]
    within = (path.relative_to(last) for path in last.rglob("*.safetensors"))
    files = sorted(file for file in within if not any(file.parent.match(name) for name in ON_THE_WAY))
    kept = shutil.ignore_patterns(*ON_THE_WAY, "onnx", "*.jsonl", "curves.png", "*.safetensors")
    shutil.copytree(last, options.output, ignore=kept)
    for file in files:
        save_file(
            mean([load_file(folder / file) for folder in options.folders], shares), options.output / file
        )
    print(f"{options.output}: {len(files)} files of weights, the mean of {len(shares)}")


def mean(models: list[dict[str, torch.Tensor]], shares: list[float]) -> dict[str, torch.Tensor]:
    """The weighted mean of every tensor."""
    names = models[0].keys()
    if any(model.keys() != names for model in models):
        sys.exit("the models have different parts; give folders of the same architecture")
    whole = sum(shares)
    return {
        name: torch.stack(
            [share / whole * model[name] for share, model in zip(shares, models, strict=True)]
        ).sum(0)
        for name in names
    }


if __name__ == "__main__":
    main()
