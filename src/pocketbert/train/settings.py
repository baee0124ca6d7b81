"""The settings of the loop: what every recipe can be told about training.

The names are those of the flags people know. A recipe subclasses `LoopSettings` and adds its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pocketbert.errors import InputError, check_folder
from pocketbert.train.fields import setting


@dataclass(frozen=True, kw_only=True)
class LoopSettings:
    """How to train; the defaults fine-tune a BERT-sized encoder."""

    output_dir: Path = setting(help="folder for weights, checkpoints, log and curves")  # noqa: RUF009
    overwrite_output_dir: bool = setting(False, help="delete an earlier run in output_dir", flag_value="true")
    resume_from_checkpoint: str | None = setting(
        None,
        help="a checkpoint folder, or 'latest' of output_dir (starts anew if there is none)",
        flag_value="latest",
    )
    seed: int = setting(42, help="seed of shuffling, initialisation and dropout")

    num_train_epochs: float = setting(3.0, help="passes over the examples")
    max_steps: int | None = setting(None, help="optimiser steps, instead of num_train_epochs")
    per_device_train_batch_size: int = setting(32, help="examples in a batch on one device")
    max_tokens_per_batch: int | None = setting(
        None, help="cap on a batch's tokens, padding included; besides per_device_train_batch_size"
    )
    gradient_accumulation_steps: int = setting(1, help="batches that make one optimiser step")
    group_by_length: bool = setting(
        True, help="batch examples of like length to spare padding", flag_value="true"
    )

    optim: Literal["adamw", "relative", "lamb"] = setting(
        "adamw", help="optimiser; relative: AdamW for folded models, with steps in proportion to the weights"
    )
    learning_rate: float = setting(5e-5, help="peak rate")
    weight_decay: float = setting(0.01, help="decay of matrices; biases and norms have none")
    adam_beta1: float = setting(0.9, help="decay of the first moment")
    adam_beta2: float = setting(0.999, help="decay of the second moment")
    adam_epsilon: float | None = setting(None, help="none: 1e-8 for adamw, 1e-6 for lamb")
    max_grad_norm: float | None = setting(1.0, help="clip the gradient to this global norm")
    lr_scheduler_type: Literal["linear", "constant"] = setting(
        "linear", help="the rate after warm-up: falls to learning_rate x lr_end_ratio, or stays"
    )
    warmup_ratio: float = setting(0.1, help="share of the steps in which the rate rises from 0")
    warmup_steps: int | None = setting(None, help="steps of warm-up, instead of warmup_ratio")
    lr_end_ratio: float = setting(0.0, help="last rate as a share of the peak")
    layer_rate_decay: float = setting(
        1.0, help="factor on the rate for each block further from the head (0.95: gentle)"
    )
    freeze_embeddings: bool = setting(False, help="do not train the embeddings", flag_value="true")
    freeze_layers: int = setting(0, help="do not train this many of the lowest blocks")
    ema_decay: float | None = setting(
        None, help="evaluate and keep an exponential moving average of the weights (such as 0.999)"
    )
    average_last: int = setting(
        0, help="average the weights of the last so many snapshots; kept if they score better"
    )
    average_steps: int | None = setting(None, help="steps between snapshots; none: save_steps")

    mixed_precision: Literal["no", "bf16", "fp16"] = setting("no", help="precision of the forward pass")
    sharding: Literal["no", "full"] = setting(
        "no", help="several processes: each has a whole copy of the model (DDP), or a shard of it (FSDP)"
    )
    ddp_find_unused_parameters: bool = setting(
        False, help="several processes: some weights get no gradient in a step", flag_value="true"
    )

    eval_strategy: Literal["epoch", "steps", "no"] = setting("epoch", help="when to evaluate")
    eval_steps: int = setting(500, help="steps between evaluations when eval_strategy is steps")
    eval_on_start: bool = setting(False, help="evaluate before the first step too", flag_value="true")
    metric_for_best_model: str | None = setting(None, help="none: the recipe's own")
    greater_is_better: bool | None = setting(None, help="of that metric; none: as the recipe says")
    load_best_model_at_end: bool = setting(True, help="end with the best weights, not the last")
    early_stopping_patience: int | None = setting(
        None, help="stop after this many evaluations without a better score"
    )

    save_steps: int = setting(500, help="steps between checkpoints")
    save_minutes: float | None = setting(5.0, help="minutes between checkpoints at most")
    save_total_limit: int = setting(2, help="how many checkpoints to keep, besides the best weights")
    logging_steps: int = setting(10, help="steps between lines of the log")
    plot_curves: bool = setting(True, help="draw loss, rate and scores to curves.png")

    def __post_init__(self) -> None:
        """Refuse values no run can use, before anything is loaded."""
        check_folder(self.output_dir)
        at_least = {
            "per_device_train_batch_size": 1, "gradient_accumulation_steps": 1, "max_steps": 1,
            "max_tokens_per_batch": 1, "eval_steps": 1, "save_steps": 1, "save_total_limit": 1,
            "logging_steps": 1, "average_steps": 1, "early_stopping_patience": 1, "warmup_steps": 0,
            "freeze_layers": 0, "average_last": 0, "seed": 0, "weight_decay": 0.0,
        }  # fmt: skip
        for name, least in at_least.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise InputError(f"{name} = {value}: must be at least {least}")
        if self.seed >= 2**63:
            raise InputError(f"seed = {self.seed}: must be below 2**63")
        positive = ("num_train_epochs", "learning_rate", "max_grad_norm", "adam_epsilon", "save_minutes")
        for name in positive:
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise InputError(f"{name} = {value}: must be above 0")
        for name in ("warmup_ratio", "lr_end_ratio", "layer_rate_decay"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} = {getattr(self, name)}: must lie in 0 … 1")
        if self.sharding == "full" and (self.ema_decay is not None or self.mixed_precision == "fp16"):
            raise InputError(
                "sharding = full goes neither with ema_decay nor with fp16: use average_last, and bf16"
            )
        if self.sharding == "full" and self.optim == "relative":
            raise InputError(
                "sharding = full has no optim = relative, which looks at whole rows and columns: use adamw"
            )
        for name in ("adam_beta1", "adam_beta2", "ema_decay"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < 1:
                raise InputError(f"{name} = {value}: must lie in 0 … 1, below 1")
