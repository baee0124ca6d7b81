"""Make a small reader of a large one: leave out the blocks it misses least, teach the rest, and again.

    python benchmarks/shrink.py --questions FOLDER --work runs/mini [--blocks 16,12,10,8,7,6] [--steps 200,...]

At every stage the distance is that of its answers' distributions to the large reader's, on windows of FOLDER/train.json
(`teaching/questions.py`); then the smaller reader learns from the large one's soft labels: on the way from a few
questions of FOLDER/train.json, with the last number of blocks from many of FOLDER/wide.json, where more of them have no
answer, or of another file there (--from). A number of blocks that comes twice goes on where it ended. The large reader
reads every window once. WORK keeps all: what is done is not done again, and what was killed goes on. The last stage is
scored on FOLDER/held-out.json. Written to results/compress.json.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pocketbert.heads import Model, load, save
from pocketbert.recipes.squad import Told, collate_told
from pocketbert.tasks.squad.features import featurise
from pocketbert.tasks.squad.reading import read_questions
from pocketbert.text import Tokenizer
from pocketbert.transfer.removal import least_missed, with_blocks
from record import record
from teaching.draw import drawn
from teaching.runs import Run, read

WINDOWS, BATCH = 96, 32
Logits = list[tuple[Tensor, Tensor]]


def main() -> None:
    options = arguments()
    blocks = [int(number) for number in options.blocks.split(",")]
    steps = [int(number) for number in options.steps.split(",")]
    rates = [float(rate) for rate in options.rates.split(",")]
    if not len(blocks) == len(steps) == len(rates):
        sys.exit("give as many --steps and --rates as --blocks")
    torch.set_num_threads(options.threads)
    examiner: Examiner | None = None
    source = options.reader
    stages = []
    for stage, (count, number, rate) in enumerate(zip(blocks, steps, rates, strict=True)):
        again = blocks[:stage].count(count)
        name = f"{count}-{again + 1}" if again else str(count)
        start = options.work / f"start-{name}"
        if not (start / "removed.json").is_file():
            examiner = examiner or Examiner(options)
            examiner.shrink(source, start, count)
        last = stage == len(blocks) - 1
        taught = Run(
            options.work / f"blocks-{name}",
            ("train", "squad"),
            flags(options, start, number, rate, final=count == blocks[-1], last=last, again=again),
        )
        taught = replace(taught, done="scores.json" if last else "model.safetensors")
        taught.finish(options.threads)
        stages.append({"blocks": count, "steps": number, "rate": rate, **read(start / "removed.json")})
        source = str(taught.folder)
    measured = {
        "stages": stages,
        "scores": read(Path(source) / "scores.json"),
        "precision": options.precision,
    }
    if not options.dry:
        record("compress", {options.key: measured})
    print(json.dumps(measured))


class Examiner:
    """Some windows, and what the large reader says of them."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.tokenizer = Tokenizer.load()
        self.batches = self._windows()
        self.expected = self.logits(load(options.reader, head="question-answering").eval())

    def _windows(self) -> list[dict[str, Tensor]]:
        questions = list(
            read_questions((str(self.options.questions / "train.json"),), on_bad="skip").questions
        )
        drawn = random.Random(3).sample(questions, min(len(questions), WINDOWS // 2))
        length = self.options.length
        features = featurise(
            drawn, self.tokenizer, max_length=length, overlap=length // 2, train=True, on_long="skip"
        )[:WINDOWS]
        parts = [features[begin : begin + BATCH] for begin in range(0, len(features), BATCH)]
        return [collate_told([Told(one) for one in part], pad_id=self.tokenizer.pad_id) for part in parts]

    def logits(self, model: Model) -> Logits:
        """Of starts and ends, for every batch; padding is out."""
        found = []
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=self.options.precision == "bf16"):
            for batch in self.batches:
                output = model(*(batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")))
                padding = batch["attention_mask"] == 0
                start, end = (
                    logits.float().masked_fill(padding, -1e9).log_softmax(-1)
                    for logits in (output.start_logits, output.end_logits)
                )
                found.append((start, end))
        return found

    def distance(self, model: Model) -> float:
        """The mean divergence of a start or an end from the large reader's."""
        rows = [
            (taught.exp() * (taught - told)).sum(-1)
            for expected, given in zip(self.expected, self.logits(model), strict=True)
            for taught, told in zip(expected, given, strict=True)
        ]
        return float(torch.cat(rows).mean())

    def shrink(self, source: str, folder: Path, count: int) -> None:
        """Write a reader of `count` blocks, and which blocks have gone."""
        model = load(source, head="question-answering").eval()
        gone: list[dict[str, Any]] = []

        def each(block: int, distance: float) -> None:
            gone.append({"block": block, "distance": round(distance, 4)})
            print(f"{source} without block {block}: {distance:.4f}", file=sys.stderr, flush=True)

        smaller = with_blocks(model, least_missed(model, self.distance, count, each=each))
        # Whoever learns from soft labels needs no noise.
        smaller.encoder.config = replace(smaller.config, attention_probs_dropout_prob=0.0)
        save(smaller, folder)
        self.tokenizer.save(folder, model_max_length=smaller.config.longest)
        (folder / "removed.json").write_text(json.dumps({"removed": gone}), encoding="utf-8")


def flags(
    options: argparse.Namespace,
    start: Path,
    steps: int,
    rate: float,
    *,
    final: bool,
    last: bool,
    again: int,
) -> dict[str, Any]:
    """How a stage learns; `final` ones have the blocks that stay, and one of them is the `last`."""
    count = int(start.name.split("-")[1])
    name, questions = (options.source, options.many) if final else ("train.json", options.few)
    file = options.work / f"{questions}-of-{name}"
    return {
        "model": start,
        "teacher": options.reader,
        "cache_dir": options.work / f"labels-{file.stem}",
        "train_file": drawn(options.questions / name, file, questions),
        "validation_file": options.questions / "held-out.json",
        "max_seq_length": options.length,
        "doc_stride": options.length // 2,
        "per_device_train_batch_size": options.batch,
        "max_steps": steps,
        "optim": "relative",
        "learning_rate": rate,
        "warmup_ratio": 0.02 if steps > 1000 else 0.05,
        "alpha": 1.0 if final else 0.8,
        **({"ema_decay": 0.998} if steps > 1000 else {}),
        **({"eval_steps": steps} if last else {}),
        "eval_strategy": "steps" if last else "no",
        "save_steps": 250,
        "mixed_precision": options.precision,
        "seed": count + 100 * again,  # other stages, other windows
        "resume_from_checkpoint": "latest",
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--reader", default="pocketbert/reader", help="the large reader: a folder or a hub name"
    )
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder for all stages")
    parser.add_argument("--blocks", default="16,12,10,8,7,6", help="how many stay, stage by stage")
    parser.add_argument("--steps", default="200,250,300,400,400,10000", help="of learning, stage by stage")
    parser.add_argument(
        "--rates", default="4e-4,5e-4,5e-4,1e-3,1e-3,1e-3", help="peak rates, relative to the weights"
    )
    parser.add_argument("--few", type=int, default=5000, help="questions for all stages but the last blocks'")
    parser.add_argument("--many", type=int, default=40000, help="questions for the blocks that stay")
    parser.add_argument("--from", dest="source", default="wide.json", help="the file in FOLDER they are from")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--precision", default="no", choices=("no", "bf16"), help="of the forward passes")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--key", default="removal")
    parser.add_argument("--dry", action="store_true", help="record nothing")
    return parser.parse_args()


if __name__ == "__main__":
    main()
