"""LoRA (arXiv 2106.09685): narrow matrices beside the blocks' linear layers learn, and the layers stay as they are.

    identity = add_lora(model, settings)      # a recipe calls this before the loop,
    result = train(model, …, identity=identity)
    merge_lora(model, settings)               # and this after it

`peft` puts the matrices in and adds them to the layers at the end, so what is saved is an ordinary model. What stands
above the blocks, the head and its pooler, learns as ever. Checkpoints hold only what learns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from pocketbert import checkpoint
from pocketbert.checkpoint import NameTable
from pocketbert.errors import InputError, require
from pocketbert.heads import Model
from pocketbert.model import architecture
from pocketbert.train import state
from pocketbert.train.fields import setting
from pocketbert.train.parts import part_of
from pocketbert.train.settings import LoopSettings
from pocketbert.train.together import processes

_BLOCKS = "encoder.blocks."
_NAME = "default"  # of the adapter, within peft
_MATRICES = ("lora_A", "lora_B")


@dataclass(frozen=True, kw_only=True)
class LoraSettings(LoopSettings):
    """Whether only narrow matrices and the head learn, and how narrow."""

    lora_rank: int | None = setting(
        None,
        help="train matrices of this rank beside the blocks' layers (LoRA) and the head; none: everything",
    )
    lora_alpha: float = setting(16.0, help="scale of what these matrices add; it is divided by lora_rank")
    lora_dropout: float = setting(0.0, help="dropout of what these matrices read")
    lora_targets: tuple[str, ...] = setting(
        ("all",), help="the layers that get them: all, attention, feed_forward, or names such as query,value"
    )

    def __post_init__(self) -> None:
        """Refuse what no run can use."""
        super().__post_init__()
        if self.lora_rank is None:
            return
        if self.lora_rank < 1 or self.lora_alpha <= 0 or not 0 <= self.lora_dropout < 1:
            raise InputError(
                f"lora_rank = {self.lora_rank}, lora_alpha = {self.lora_alpha:g}, lora_dropout = "
                f"{self.lora_dropout:g}: the rank must be 1 or more, alpha above 0, dropout in 0 … 1, below 1"
            )
        if self.sharding != "no":
            raise InputError(
                "lora_rank does not go with sharding = full; what LoRA trains is small enough without"
            )


def add_lora(model: Model, settings: LoraSettings) -> dict[str, Any]:
    """Put the matrices in, and let only them and what stands above the blocks learn.

    Returns what a resumed run must find unchanged, the layers that stay as they are among it; nothing without LoRA.
    """
    if settings.lora_rank is None:
        return {}
    require("peft", extra="lab")
    from peft import inject_adapter_in_model

    targets = targets_of(model, settings.lora_targets)
    inject_adapter_in_model(_config(settings, targets), model, adapter_name=_NAME)
    for name, weight in model.named_parameters():
        weight.requires_grad_(part_of(name) == "head" or any(part in name.split(".") for part in _MATRICES))
    still = {name: weight for name, weight in model.named_parameters() if not weight.requires_grad}
    state.hold(model, still)
    return {
        "lora": [settings.lora_rank, settings.lora_alpha, settings.lora_dropout, targets],
        "base_weights": _digest(list(still.values())),
    }


def merge_lora(model: Model, settings: LoraSettings) -> None:
    """Write the matrices to `output_dir/adapter`, as peft reads them, and add them to the layers for good."""
    if settings.lora_rank is None:
        return
    from peft.tuners.tuners_utils import BaseTunerLayer

    if processes().is_main_process:
        save_adapter(model, settings, settings.output_dir / "adapter")
    layers = {name: part for name, part in model.named_modules() if isinstance(part, BaseTunerLayer)}
    for name, layer in layers.items():
        layer.merge(safe_merge=True)
        place, _, leaf = name.rpartition(".")
        setattr(model.get_submodule(place), leaf, layer.get_base_layer())
    del model.peft_config
    state.hold(model, ())
    model.requires_grad_(True)


def save_adapter(model: Model, settings: LoraSettings, folder: Path) -> None:
    """Write adapter_config.json and adapter_model.safetensors, with the head that was trained along.

    Names are Hugging Face's, so that peft puts the adapter on transformers' own model. An architecture that keeps a
    target there in another form than a linear layer, as XLNet its projections, gets ours: peft puts it on our model.
    """
    modules = dict(model.named_modules())
    targets = [name for name, part in modules.items() if hasattr(part, "lora_A")]
    tops = sorted(
        {
            name.rpartition(".")[0]
            for name, _ in model.named_parameters()
            if part_of(name) == "head" and "lora_" not in name and (model.kind or name.startswith("encoder."))
        }
    )
    theirs = _their_names(model, [*targets, *tops])
    tensors: dict[str, Tensor] = {}
    for name in targets:
        for part in _MATRICES:
            matrix = modules[name].get_submodule(f"{part}.{_NAME}").get_parameter("weight")
            tensors[f"base_model.model.{theirs[name]}.{part}.weight"] = matrix
    for name in tops:
        for leaf, weight in modules[name].named_parameters(recurse=False):
            tensors[f"base_model.model.{theirs[name]}.{leaf}"] = weight
    config = _config(settings, [theirs[name] for name in targets])
    config.modules_to_save = [theirs[name] for name in tops]
    data = config.to_dict() | {
        "base_model_name_or_path": getattr(settings, "model", None),
        "inference_mode": True,
        "target_modules": sorted(theirs[name] for name in targets),
    }
    folder.mkdir(parents=True, exist_ok=True)
    whole = {name: weight.detach().cpu().contiguous() for name, weight in tensors.items()}
    save_file(whole, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    checkpoint.write_json(folder / "adapter_config.json", data)


def targets_of(model: Model, wanted: Sequence[str]) -> list[str]:
    """The linear layers inside the blocks that some words name: all of them, a part such as attention, or a layer."""
    layers = [
        name
        for name, part in model.named_modules()
        if isinstance(part, nn.Linear) and name.startswith(_BLOCKS)
    ]
    inside = {name: name.removeprefix(_BLOCKS).partition(".")[2] for name in layers}  # attention.query
    known = {word for place in inside.values() for word in (place, *place.split(".")) if not word.isdigit()}
    unknown = [word for word in wanted if word not in known | {"all"}]
    if unknown or not wanted:
        allowed = ", ".join(["all", *sorted(word for word in known if "." not in word)])
        raise InputError(
            f"lora_targets = {','.join(wanted) or 'none'}: {unknown[0] if unknown else 'nothing'} is no layer of this "
            f"encoder's blocks; allowed are {allowed}"
        )
    return [
        name
        for name, place in inside.items()
        if any(word in ("all", place, *place.split(".")) for word in wanted)
    ]


def _config(settings: LoraSettings, targets: Sequence[str]) -> Any:
    from peft import LoraConfig

    alpha = settings.lora_alpha
    scale: Any = (
        int(alpha) if alpha == int(alpha) else alpha
    )  # peft takes a fraction too, and writes what it was given
    return LoraConfig(
        r=settings.lora_rank or 0,
        lora_alpha=scale,
        lora_dropout=settings.lora_dropout,
        target_modules=list(targets),
    )


def _their_names(model: Model, modules: Sequence[str]) -> dict[str, str]:
    """Our names of linear layers to Hugging Face's; ours stay where theirs are no linear layers.

    A model without one of their heads, such as one for sentence vectors, is a bare encoder there.
    """
    family = architecture(model.config.model_type)
    encoder = NameTable(family.names(model.config))
    head = NameTable(family.heads[model.kind].names if model.kind else {})
    found: dict[str, str] = {}
    for name in modules:
        part, _, inner = name.partition(".")
        weight = f"{inner}.weight"
        theirs = (encoder if part == "encoder" else head).to_theirs([weight])[weight]
        if not theirs.endswith(".weight"):
            return {each: each for each in modules}
        found[name] = (f"{family.base}." if part == "encoder" and model.kind else "") + theirs.removesuffix(
            ".weight"
        )
    return found


def _digest(weights: Sequence[Tensor]) -> str:
    digest = hashlib.sha256()
    for weight in weights:
        digest.update(weight.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
