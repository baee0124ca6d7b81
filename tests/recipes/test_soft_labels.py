"""Soft labels of a teacher that reads every window once: the same lessons as from one that reads along."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import parity
from pocketbert.cli import main
from pocketbert.errors import CheckpointError, InputError
from pocketbert.heads import build, load, save
from pocketbert.recipes._soft_labels import soft_labels
from pocketbert.recipes.squad import Told, collate_told
from pocketbert.tasks.squad.features import featurise
from pocketbert.tasks.squad.predict import predict
from pocketbert.tasks.squad.reading import read_questions
from pocketbert.text import Tokenizer
from pocketbert.train.log import read_log

ROOT = Path(__file__).resolve().parents[2]
TRAIN, DEV = ROOT / "examples" / "data" / "squad-train.json", ROOT / "examples" / "data" / "squad-dev.json"


@pytest.fixture(scope="module")
def teacher(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("teacher")
    torch.manual_seed(0)
    save(parity.redraw(build("mobilebert-nano", "question-answering")), folder)
    Tokenizer.load().save(folder)
    return folder


@pytest.fixture(scope="module")
def features():
    questions = read_questions(TRAIN).questions
    return featurise(questions, Tokenizer.load(), max_length=64, overlap=16, train=True)


def test_the_labels_are_the_teachers_logits(teacher, features, tmp_path) -> None:
    kept = soft_labels(str(teacher), features, tmp_path, shard=5)
    again = soft_labels(str(teacher), features, tmp_path, shard=5)
    wanted = predict(load(teacher), features)
    for side in range(2):
        assert len(kept[side]) == len(features)
        for ours, read, theirs in zip(kept[side], again[side], wanted[side], strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-4)
            np.testing.assert_array_equal(ours, read)


def test_labels_stand_at_their_tokens(teacher, features) -> None:
    """In a padded batch, wherever the layout puts the tokens."""
    starts, ends = predict(load(teacher), features[:4])
    batch = collate_told([Told(*row) for row in zip(features[:4], starts, ends, strict=True)])
    output = load(teacher).eval()(
        **{name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
    )
    real = batch["attention_mask"].bool()
    assert not real.all()
    torch.testing.assert_close(batch["soft_starts"][real], output.start_logits[real], atol=1e-4, rtol=0)
    torch.testing.assert_close(batch["soft_ends"][real], output.end_logits[real], atol=1e-4, rtol=0)


def test_only_what_is_missing_is_read(teacher, features, tmp_path) -> None:
    whole = soft_labels(str(teacher), features, tmp_path, shard=5)
    files = sorted(tmp_path.glob("*.safetensors"))
    assert len(files) > 2
    stamps = {file: file.stat().st_mtime_ns for file in files}
    files[1].unlink()
    again = soft_labels(str(teacher), features, tmp_path, shard=5)
    assert [file for file in files if file.stat().st_mtime_ns != stamps[file]] == [files[1]]
    np.testing.assert_array_equal(np.concatenate(whole[0]), np.concatenate(again[0]))


@pytest.mark.parametrize("change", ["teacher", "windows"])
def test_labels_of_something_else_are_refused(change, teacher, features, tmp_path) -> None:
    soft_labels(str(teacher), features, tmp_path / "labels")
    if change == "teacher":
        other = tmp_path / "other"
        shutil.copytree(teacher, other)
        model = load(other)
        with torch.no_grad():
            model.head.linear.bias.add_(1)
        save(model, other)
        with pytest.raises(InputError, match=r"another teacher .* give another --cache_dir"):
            soft_labels(str(other), features, tmp_path / "labels")
    else:
        with pytest.raises(InputError, match="other windows"):
            soft_labels(str(teacher), features[1:], tmp_path / "labels")


def test_a_torn_file_is_named(teacher, features, tmp_path) -> None:
    soft_labels(str(teacher), features, tmp_path)
    file = next(tmp_path.glob("*.safetensors"))
    file.write_bytes(file.read_bytes()[:40])
    with pytest.raises(CheckpointError, match=f"{file.name} cannot be read.*delete this file"):
        soft_labels(str(teacher), features, tmp_path)


def test_an_exported_teacher(teacher, features, tmp_path) -> None:
    exported = tmp_path / "exported"
    assert main(["export", str(teacher), str(exported)]) == 0
    (exported / "model.safetensors").unlink(missing_ok=True)
    starts, _ = soft_labels(str(exported), features, tmp_path / "labels")
    wanted, _ = predict(load(teacher), features)
    np.testing.assert_allclose(np.concatenate(starts), np.concatenate(wanted), atol=1e-3)


def test_a_run_with_kept_labels_has_the_losses_of_one_without(teacher, tmp_path) -> None:
    losses = []
    student = tmp_path / "student"
    torch.manual_seed(1)
    save(build("mobilebert-nano"), student)
    Tokenizer.load().save(student)
    for name, flags in (("live", []), ("kept", ["--cache_dir", str(tmp_path / "labels")])):
        output = tmp_path / name
        command = ["train", "squad", "--preset", "toy", "--model", str(student), "--teacher", str(teacher)]
        files = ["--train_file", str(TRAIN), "--validation_file", str(DEV), "--output_dir", str(output)]
        assert main([*command, *files, "--max_steps", "4", "--logging_steps", "1", *flags]) == 0
        losses.append([line["loss"] for line in read_log(output / "log.jsonl") if line["kind"] == "train"])
    assert len(losses[0]) == 4
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    saved = json.loads((tmp_path / "labels" / "labels.json").read_text())
    assert saved["name"] == str(teacher)
