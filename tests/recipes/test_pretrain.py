"""Pre-training as a user runs it: every preset, from scratch and from checkpoints, killed and resumed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import processes
import small_corpus
from pocketbert.cli import main
from pocketbert.data.objectives import bert
from pocketbert.data.objectives.pairs import pair_rows
from pocketbert.heads import build, load, save
from pocketbert.model import preset
from pocketbert.text import Tokenizer
from pocketbert.train.catalogue import find, presets_of
from pocketbert.train.log import read_log
from tiny_tokenizers import write_xlnet

NANO = {
    "ib-bert-large": "ib-bert-nano",
    "ib-bert-bench": "ib-bert-bench",
    "mobilebert-bench": "mobilebert-bench",
    "bert-base": "bert-nano",
    "roberta-base": "roberta-nano",
    "albert-base": "albert-nano",
    "distilbert-base": "distilbert-nano",
    "xlnet-large": "xlnet-nano",
}
SMALL = ["max_steps=2", "per_device_train_batch_size=4", "gradient_accumulation_steps=2", "max_seq_length=48"]
SMALL += ["max_eval_samples=8", "validation_split=0.1", "plot_curves=false"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    return small_corpus.write(tmp_path_factory.mktemp("corpus") / "small.txt")


@pytest.fixture(scope="module")
def words(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("words")
    small_corpus.tokenizer().save(folder)
    return folder


def scores(folder: Path) -> dict[str, float]:
    return json.loads((folder / "scores.json").read_text())


def losses(folder: Path) -> list[tuple[int, float, float]]:
    lines = read_log(folder / "log.jsonl")
    return [(line["step"], line["loss"], line["gradient_norm"]) for line in lines if line["kind"] == "train"]


def test_every_preset_is_tested() -> None:
    assert set(presets_of(find("pretrain"))) == {*NANO, "domain"}


@pytest.mark.parametrize("name", NANO)
def test_every_preset_runs_two_steps(name, corpus, words, tmp_path) -> None:
    files = ["--train_file", str(corpus), "--tokenizer", str(words), "--output_dir", str(tmp_path)]
    assert main(["train", "pretrain", "--preset", name, *files, f"model={NANO[name]}", *SMALL]) == 0
    model = load(tmp_path)
    assert model.config.vocab_size == 120
    found = scores(tmp_path)
    task = "permutation_lm" if name == "xlnet-large" else "masked_lm"
    assert 0 <= found[f"{task}_accuracy"] <= 1
    assert found[f"{task}_loss"] > 0
    assert found["unigram_loss"] < 4.8, "a word by its frequency is better than any of 120 alike"
    assert ("sentence_accuracy" in found) == (model.kind == "pretraining")
    assert Tokenizer.load(tmp_path).fingerprint == Tokenizer.load(words).fingerprint
    assert "base_model" not in (tmp_path / "README.md").read_text()


def test_runs_of_all_seeds_are_measured_by_the_same_words(corpus, words, tmp_path) -> None:
    """Other words would move the score of the most frequent one, too."""
    found = []
    for seed in ("0", "7"):
        folder = tmp_path / seed
        files = ["--train_file", str(corpus), "--tokenizer", str(words), "--output_dir", str(folder)]
        assert main(["train", "pretrain", *files, "model=mobilebert-nano", f"seed={seed}", *SMALL]) == 0
        found.append(scores(folder))
    first, second = found
    assert first["unigram_loss"] == second["unigram_loss"]
    assert first["masked_lm_loss"] != second["masked_lm_loss"]


def test_examples_are_planned_once_for_all_runs_of_a_seed(corpus, words, tmp_path, monkeypatch) -> None:
    planned = []

    def counting(tokens, *arguments, **options):
        planned.append(len(tokens))
        return pair_rows(tokens, *arguments, **options)

    monkeypatch.setattr(bert, "pair_rows", counting)
    tokens = tmp_path / "tokens"
    files = ["--train_file", str(corpus), "--tokenizer", str(words), "--tokens_dir", str(tokens)]

    def run(name: str, *more: str) -> list:
        given = [*files, "--output_dir", str(tmp_path / name), "model=mobilebert-nano", *SMALL, *more]
        assert main(["train", "pretrain", *given]) == 0
        return losses(tmp_path / name)

    def whole() -> int:
        """How often the larger part of the corpus was planned, not what is held out of it."""
        return sum(count > max(planned) / 2 for count in planned)

    first = run("first")
    assert whole() == 1
    assert run("second") == first
    assert whole() == 1
    assert run("other-seed", "seed=7") != first
    assert run("denser", "short_seq_prob=0.9") != first
    assert whole() == 3
    assert len(list((tokens / "examples").glob("*.npy"))) == 3
    for file in (tokens / "examples").glob("*.npy"):
        file.write_bytes(file.read_bytes()[:-8])
    assert run("damaged") == first
    assert whole() == 4


def test_learning_beats_the_unigram_baseline(tmp_path) -> None:
    """Made-up sentences have few words: a small encoder soon knows more than their frequencies."""
    corpus = small_corpus.write(tmp_path / "corpus.txt", small_corpus.documents(150))
    small_corpus.tokenizer(size=300).save(tmp_path / "words")
    files = [
        "--train_file",
        str(corpus),
        "--tokenizer",
        str(tmp_path / "words"),
        "--output_dir",
        str(tmp_path),
    ]
    small = ["model=mobilebert-nano", "objective=masked", "max_seq_length=24", "validation_split=0.1"]
    steps = ["max_steps=150", "learning_rate=0.005", "per_device_train_batch_size=32", "plot_curves=false"]
    assert main(["train", "pretrain", *files, *small, *steps]) == 0
    found = scores(tmp_path)
    assert found["masked_lm_accuracy"] > found["unigram_accuracy"] + 0.2
    assert found["masked_lm_loss"] < found["unigram_loss"] - 1.5


@pytest.mark.parametrize("objective", ["bert", "sentence-order", "masked", "full-sentences"])
def test_the_objective_is_one_parameter(objective, corpus, words, tmp_path) -> None:
    files = [
        "--train_file",
        str(corpus),
        "--tokenizer",
        str(words),
        "--output_dir",
        str(tmp_path / objective),
    ]
    small = [*SMALL, "model=albert-nano", f"objective={objective}", "whole_word_mask=true"]
    assert main(["train", "pretrain", *files, *small, f"tokens_dir={tmp_path}/tokens"]) == 0
    assert not (tmp_path / objective / "tokens").exists()


def test_killed_and_resumed_with_the_same_losses(corpus, words, tmp_path) -> None:
    """A real process, SIGKILL while it trains, then resumed: the same masks, the same losses, over several epochs."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    command = [
        "train",
        "pretrain",
        "--train_file",
        str(corpus),
        "--tokenizer",
        str(words),
        "model=ib-bert-nano",
    ]
    command += ["max_steps=90", "per_device_train_batch_size=32", "max_seq_length=48", "logging_steps=1"]
    command += [
        "validation_split=0.1",
        "plot_curves=false",
        "save_steps=7",
        "eval_strategy=steps",
        "eval_steps=40",
    ]
    assert main([*command, "--output_dir", str(whole)]) == 0
    assert read_log(whole / "log.jsonl")[-3]["epoch"] > 4
    process = subprocess.Popen(
        [sys.executable, "-m", "pocketbert", *command, "--output_dir", str(killed)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while len(losses(killed)) < 40:
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert len(losses(killed)) < 90
    assert main([*command, "--output_dir", str(killed), "--resume_from_checkpoint", "latest"]) == 0
    assert losses(killed) == losses(whole)
    assert scores(killed) == scores(whole)
    for name, weight in load(whole).named_parameters():
        assert torch.equal(weight, load(killed).get_parameter(name)), name


def test_two_processes_are_one_large_batch(corpus, words, tmp_path) -> None:
    """Masks follow from the example, not from the process that sees it."""
    config = replace(preset("mobilebert-nano"), attention_probs_dropout_prob=0.0)
    (tmp_path / "config.json").write_text(json.dumps(config.to_hf()))
    command = ["train", "pretrain", "--train_file", str(corpus), "--tokenizer", str(words)]
    command += [f"model={tmp_path / 'config.json'}", "max_steps=12", "max_seq_length=48", "logging_steps=1"]
    command += ["validation_split=0.1", "plot_curves=false", "eval_strategy=steps", "eval_steps=6"]
    alone, both = tmp_path / "alone", tmp_path / "both"
    assert main([*command, "--output_dir", str(alone), "per_device_train_batch_size=32"]) == 0
    shared = [*command, "--output_dir", str(both), "per_device_train_batch_size=16"]
    processes.launch([sys.executable, "-m", "pocketbert", *shared])
    for first, second in zip(losses(alone), losses(both), strict=True):
        assert first == pytest.approx(second, rel=1e-4)
    assert scores(both) == pytest.approx(scores(alone), rel=1e-3)


def domain(model: Path, corpus: Path, output: Path, *more: str) -> list[str]:
    files = ["--model", str(model), "--train_file", str(corpus), "--output_dir", str(output)]
    return ["train", "pretrain", "--preset", "domain", *files, *SMALL, *more]


def test_going_on_from_an_encoder_without_a_head(corpus, words, tmp_path, capsys) -> None:
    torch.manual_seed(0)
    save(build("mobilebert-nano"), tmp_path / "encoder")
    Tokenizer.load().save(tmp_path / "encoder")
    frozen = ["freeze_embeddings=true", "freeze_layers=2"]
    assert main(domain(tmp_path / "encoder", corpus, tmp_path / "out", *frozen)) == 0
    assert "trained_anew: the masked-lm head" in capsys.readouterr().out
    before, after = load(tmp_path / "encoder"), load(tmp_path / "out")
    assert after.kind == "masked-lm"
    ids = torch.arange(100, 120).unsqueeze(0)
    assert torch.equal(before.eval()(ids).last, after.encoder.eval()(ids).last), (
        "the frozen body stays as it was"
    )
    assert main(domain(tmp_path / "out", corpus, tmp_path / "again")) == 0
    assert "trained_anew" not in capsys.readouterr().out, "its head is there by now"
    assert main(domain(tmp_path / "out", corpus, tmp_path / "pairs", "objective=bert")) == 0
    assert "trained_anew: the head for pairs of sentences" in capsys.readouterr().out


def test_a_masked_lm_head_serves_pre_training(tmp_path) -> None:
    torch.manual_seed(0)
    model = build("bert-nano", "masked-lm")
    save(model, tmp_path)
    both = load(tmp_path, head="pretraining")
    assert both.report.new == ("the pooler", "the head for pairs of sentences")
    for name, weight in model.head.named_parameters():
        assert torch.equal(both.head.masked_lm.get_parameter(name), weight), name


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["model=bert-nan"], "bert-nano"),
        (
            ["model=roberta-nano", "objective=bert"],
            "a Roberta model has no head for it; it can learn by full-sentences, masked",
        ),
        (["model=xlnet-nano", "objective=masked"], "it can learn by permutation"),
        (["model=bert-nano", "max_seq_length=999"], "999, but the encoder has 128 positions"),
        (["model=bert-nano", "format=jsonl"], "line 1 is not a JSON object"),
        (["model=bert-nano", "validation_split=0"], "validation_split = 0.0: must lie between 0 and 1"),
        (["model=bert-nano", "dupe_factor=0"], "dupe_factor = 0: must be 1 or more"),
        (["model=bert-nano", "objective=electra"], "allowed is bert"),
        (["model=bert-nano", "train_file=nowhere.txt"], "no such file"),
        (
            ["model=xlnet-nano", "objective=permutation", "whole_word_mask=true"],
            "goes with objectives that mask",
        ),
        (
            ["model=xlnet-nano", "objective=permutation", "max_predictions_per_seq=4"],
            "max_predictions_per_seq = 4: permutation guesses one token in six",
        ),
        (["model=bert-nano", f"output_dir={__file__}"], "test_pretrain.py is a file; give another name"),
        (
            ["model=bert-nano", f"tokens_dir={__file__}/tokens"],
            "test_pretrain.py is a file; give another name",
        ),
    ],
)
def test_what_cannot_be_trained_says_so(changes, message, corpus, words, tmp_path, capsys) -> None:
    given = dict(change.split("=") for change in ["tokenizer=" + str(words), *changes])
    given = {"train_file": str(corpus), "output_dir": str(tmp_path / "out"), "max_steps": "1", **given}
    assert main(["train", "pretrain", *(f"{name}={value}" for name, value in given.items())]) in (1, 2)
    assert message in capsys.readouterr().err
    assert not list((tmp_path / "out").glob("checkpoint-*"))


def test_segments_that_an_encoder_lacks_are_said(corpus, tmp_path, capsys) -> None:
    write_xlnet(tmp_path / "xlnet")
    flags = ["objective=masked", f"tokenizer={tmp_path / 'xlnet'}", f"train_file={corpus}", "max_steps=1"]
    for model in ("bert-nano", "albert-nano", "mobilebert-nano"):
        assert main(["train", "pretrain", f"model={model}", f"output_dir={tmp_path / 'out'}", *flags]) == 2
        assert "marks segments up to 3, but the encoder's table ends at 1" in capsys.readouterr().err


def test_another_task_is_not_resumed(corpus, words, tmp_path, capsys) -> None:
    flags = [
        "model=bert-nano",
        f"tokenizer={words}",
        f"train_file={corpus}",
        f"output_dir={tmp_path / 'out'}",
    ]
    flags += [
        "max_seq_length=32",
        "per_device_train_batch_size=2",
        "max_eval_samples=4",
        "validation_split=0.2",
    ]
    assert main(["train", "pretrain", *flags, "max_steps=1"]) == 0
    changed = ["max_steps=2", "resume_from_checkpoint=latest", "mlm_probability=0.5"]
    assert main(["train", "pretrain", *flags, *changed]) == 1
    assert "cannot be resumed exactly: mlm_probability was 0.15 and is now 0.5" in capsys.readouterr().err


def test_a_checkpoint_keeps_its_tokenizer(corpus, words, tmp_path, capsys) -> None:
    save(build("bert-nano"), tmp_path / "encoder")
    Tokenizer.load().save(tmp_path / "encoder")
    assert main(domain(tmp_path / "encoder", corpus, tmp_path / "out", f"tokenizer={words}")) == 2
    assert "a tokenizer of its own" in capsys.readouterr().err


def test_a_config_file_gives_fresh_weights(corpus, words, tmp_path) -> None:
    save(build("bert-nano"), tmp_path / "shape")
    (tmp_path / "shape" / "model.safetensors").unlink()
    assert (
        main(domain(tmp_path / "shape" / "config.json", corpus, tmp_path / "out", f"tokenizer={words}")) == 0
    )
    assert load(tmp_path / "out").config.vocab_size == 120
