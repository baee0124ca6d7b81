"""LoRA as a user runs it: only narrow matrices and the head move, and what is saved is an ordinary model."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from pocketbert.cli import main
from pocketbert.errors import InputError
from pocketbert.heads import build, load, save
from pocketbert.heads.pooler import leave_out_pooler
from pocketbert.recipes.classify import Settings
from pocketbert.text import Tokenizer
from pocketbert.train.log import read_log
from pocketbert.train.lora import LoraSettings, add_lora, merge_lora, save_adapter, targets_of

DATA = Path(__file__).resolve().parents[2] / "examples" / "data"
REVIEWS = [str(DATA / "reviews.csv"), "--text", "review", "--label", "verdict"]
RATE = ["learning_rate=1e-2", "per_device_train_batch_size=4", "max_seq_length=32", "plot_curves=false"]
FAMILIES = ["mobilebert", "bert", "roberta", "distilbert", "albert", "xlnet"]
IDS = torch.tensor([[101, 7, 11, 23, 102], [101, 9, 31, 5, 102]])


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(0)
    save(build("mobilebert-nano"), folder)
    Tokenizer.load().save(folder)
    return folder


def arguments(encoder: Path, out: Path, *more: str) -> list[str]:
    given = ["--model", str(encoder), "--output_dir", str(out), "--lora_rank", "4"]
    return ["train", "classify", *REVIEWS, *given, *RATE, *more]


def settings(folder: Path, **more) -> LoraSettings:
    return LoraSettings(output_dir=folder, lora_rank=4, lora_alpha=8.0, **more)


def redrawn(name: str):
    torch.manual_seed(1)
    model = build(name, "classification", labels=3).eval()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.2)
    return model


def stir(model) -> None:
    """As if it had learnt: matrices that add nothing prove nothing."""
    torch.manual_seed(2)
    for name, weight in model.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(weight, std=0.3)


@pytest.mark.parametrize("family", FAMILIES)
def test_merged_says_what_unmerged_says(family, tmp_path) -> None:
    model = redrawn(f"{family}-nano")
    names = [name for name, _ in model.named_parameters()]
    before = model(IDS).logits
    add_lora(model, settings(tmp_path))
    torch.testing.assert_close(model(IDS).logits, before)
    stir(model)
    unmerged = model(IDS).logits
    assert (unmerged - before).abs().max() > 0.01
    merge_lora(model, settings(tmp_path))
    torch.testing.assert_close(model(IDS).logits, unmerged, atol=1e-4, rtol=1e-4)
    assert [name for name, _ in model.named_parameters()] == names
    assert all(weight.requires_grad for weight in model.parameters())
    save(model, tmp_path)
    torch.testing.assert_close(load(tmp_path).eval()(IDS).logits, unmerged, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_peft_reads_the_adapter(family, tmp_path) -> None:
    """On transformers' own model; on ours where transformers has no linear layer to put it on."""
    import transformers
    from peft import PeftModel

    model = redrawn(f"{family}-nano")
    if family == "mobilebert":
        leave_out_pooler(model)
    save(model, tmp_path / "base")
    add_lora(model, settings(tmp_path))
    stir(model)
    with torch.no_grad():
        model.head.linear.weight.add_(0.1)
    expected = model(IDS).logits
    save_adapter(model, settings(tmp_path), tmp_path / "adapter")
    if family == "xlnet":
        theirs = load(tmp_path / "base")
    else:
        theirs = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "base")
    adapted = PeftModel.from_pretrained(theirs, tmp_path / "adapter").eval()
    found = adapted(IDS, attention_mask=torch.ones_like(IDS)).logits
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_only_the_adapter_and_the_head_move(encoder, tmp_path) -> None:
    out = tmp_path / "out"
    more = ["max_steps=6", "save_steps=3", "--lora_targets", "query,value"]
    assert main(arguments(encoder, out, *more)) == 0
    before, after = load(encoder), load(out)
    assert after.report.new == ()
    moved = {
        name
        for name, weight in after.encoder.named_parameters()
        if not name.startswith("pooler.") and not torch.equal(weight, before.get_parameter(name))
    }
    assert moved == {
        f"blocks.{block}.attention.{part}.weight" for block in (0, 1) for part in ("query", "value")
    }
    kept = load_file(out / "checkpoint-6" / "model.safetensors")
    assert kept
    assert all("lora_" in name or name.startswith(("head.", "encoder.pooler.")) for name in kept)
    config = json.loads((out / "adapter" / "adapter_config.json").read_text())
    assert config["r"] == 4
    assert config["target_modules"] == sorted(
        f"mobilebert.encoder.layer.{block}.attention.self.{part}"
        for block in (0, 1)
        for part in ("query", "value")
    )


def test_a_killed_run_goes_on_with_the_same_losses(encoder, tmp_path) -> None:
    more = ["max_steps=24", "save_steps=4", "logging_steps=1", "--lora_dropout", "0.1", "eval_strategy=no"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    command = [sys.executable, "-m", "pocketbert", *arguments(encoder, killed, *more)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert main(arguments(encoder, whole, *more)) == 0
    deadline = time.monotonic() + 120
    while not (killed / "checkpoint-4").is_dir():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert main(arguments(encoder, killed, *more, "--resume_from_checkpoint")) == 0
    assert losses(killed) == losses(whole)
    assert len(losses(whole)) == 24
    for name, weight in load_file(whole / "model.safetensors").items():
        assert torch.equal(weight, load_file(killed / "model.safetensors")[name]), name


def losses(folder: Path) -> list[tuple[int, float]]:
    return [
        (record["step"], record["loss"])
        for record in read_log(folder / "log.jsonl")
        if record["kind"] == "train"
    ]


def test_another_base_cannot_be_resumed_on(encoder, tmp_path, capsys) -> None:
    other, out = tmp_path / "other", tmp_path / "out"
    torch.manual_seed(5)
    save(build("mobilebert-nano"), other)
    Tokenizer.load().save(other)
    assert main(arguments(encoder, out, "max_steps=2")) == 0
    assert main(arguments(other, out, "max_steps=2", "--resume_from_checkpoint")) == 1
    assert "base_weights" in capsys.readouterr().err


def test_targets_are_named_by_parts() -> None:
    model = build("mobilebert-nano", "classification")
    assert len(targets_of(model, ["all"])) == 22
    assert len(targets_of(model, ["attention"])) == 8
    assert len(targets_of(model, ["feed_forward"])) == 8
    assert targets_of(model, ["attention.query"]) == targets_of(model, ["query"])
    with pytest.raises(InputError, match=r"q_proj is no layer .* all, attention, .*feed_forward.*query"):
        targets_of(model, ["query", "q_proj"])


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"lora_rank": 0}, "lora_rank = 0"),
        ({"lora_rank": 4, "lora_alpha": 0.0}, "lora_alpha = 0"),
        ({"lora_rank": 4, "lora_dropout": 1.0}, "lora_dropout = 1"),
        ({"lora_rank": 4, "sharding": "full"}, "sharding"),
    ],
)
def test_what_cannot_work_is_refused(given, complaint, tmp_path) -> None:
    with pytest.raises(InputError, match=complaint):
        Settings(output_dir=tmp_path, model="m", train_file=("x",), text="a", label="b", **given)
