"""The squad recipe as a user runs it: presets, a teacher, calibration, and a folder that evaluates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import parity
from pocketbert.cli import main
from pocketbert.errors import InputError
from pocketbert.heads import build, load, save
from pocketbert.model.layers import SelfAttention
from pocketbert.recipes import _task_transfer, squad
from pocketbert.recipes.squad import Objective, Settings
from pocketbert.tasks.squad.features import featurise
from pocketbert.tasks.squad.predict import collate, predict
from pocketbert.tasks.squad.reading import read_questions
from pocketbert.text import Tokenizer
from pocketbert.train.log import read_log

ROOT = Path(__file__).resolve().parents[2]
TRAIN, DEV = ROOT / "examples" / "data" / "squad-train.json", ROOT / "examples" / "data" / "squad-dev.json"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(0)
    save(build("mobilebert-nano"), folder)
    Tokenizer.load().save(folder)
    return folder


@pytest.fixture(scope="module")
def reader(encoder, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "reader"
    arguments = ["--model", str(encoder), "--train_file", str(TRAIN), "--validation_file", str(DEV)]
    assert main(["train", "squad", "--preset", "toy", *arguments, "--output_dir", str(folder)]) == 0
    return folder


def test_the_output_is_a_model_folder(reader) -> None:
    for name in (
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "vocab.txt",
        "qa_config.json",
        "README.md",
    ):
        assert (reader / name).is_file(), name
    model = load(reader)
    assert model.kind == "question-answering"
    assert model.report.new == ()
    assert "best_f1" in json.loads((reader / "scores.json").read_text())


def test_the_output_evaluates(reader, capsys, tmp_path) -> None:
    arguments = [
        "evaluate",
        str(reader),
        "--task",
        "squad",
        "--data",
        str(DEV),
        "--out",
        str(tmp_path),
        "--json",
    ]
    assert main(arguments) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["questions"] == len(read_questions(DEV).questions)
    assert {"exact", "f1", "HasAns_f1", "NoAns_f1", "best_f1", "best_f1_thresh"} <= set(scores)
    for name in (
        "predictions.json",
        "nbest_predictions.json",
        "null_odds.json",
        "risk_coverage.png",
        "reliability.png",
    ):
        assert (tmp_path / name).stat().st_size > 0, name


def test_an_exported_file_evaluates_to_the_same(reader, capsys, tmp_path) -> None:
    assert main(["export", str(reader), str(tmp_path)]) == 0
    capsys.readouterr()
    scores = []
    for options in (["--precision", "fp32"], []):
        assert (
            main(["evaluate", str(tmp_path), "--task", "squad", "--data", str(DEV), *options, "--json"]) == 0
        )
        scores.append(json.loads(capsys.readouterr().out))
    assert scores[0]["f1"] == scores[1]["f1"]
    assert scores[0]["best_f1_thresh"] == pytest.approx(scores[1]["best_f1_thresh"], abs=1e-4)


def test_fitting_again_changes_the_calibration(reader, capsys) -> None:
    before = (reader / "qa_config.json").read_text()
    assert main(["evaluate", str(reader), "--task", "squad", "--data", str(TRAIN), "--fit"]) == 0
    assert (reader / "qa_config.json").read_text() != before


def test_evaluating_an_encoder_says_what_to_do(encoder, capsys) -> None:
    assert main(["evaluate", str(encoder), "--task", "squad", "--data", str(DEV)]) == 2
    assert "train squad" in capsys.readouterr().err


def test_predicting_in_batches_equals_one_by_one(encoder) -> None:
    tokenizer = Tokenizer.load()
    model = parity.redraw(load(encoder, head="question-answering"))
    features = featurise(read_questions([TRAIN, DEV]).questions, tokenizer, max_length=56, overlap=8)
    assert len(features) > 10
    starts, ends = predict(model, features, batch_tokens=512)
    for feature, start, end in zip(features, starts, ends, strict=True):
        assert len(start) == len(end) == len(feature)
        alone = predict(model, [feature])
        assert torch.allclose(torch.from_numpy(alone[0][0]), torch.from_numpy(start), atol=1e-4)
        assert torch.allclose(torch.from_numpy(alone[1][0]), torch.from_numpy(end), atol=1e-4)


def _settings(encoder, **changes) -> Settings:
    return Settings(model=str(encoder), train_file=(str(TRAIN),), output_dir=Path("unused"), **changes)


def test_soft_labels(encoder, tmp_path) -> None:
    """alpha 0 is the gold alone; alpha 1 with a teacher like the student has nothing left to learn."""
    model = parity.redraw(load(encoder, head="question-answering"))
    save(model, tmp_path)
    Tokenizer.load().save(tmp_path)
    features = featurise(read_questions(TRAIN).questions[:6], Tokenizer.load(), max_length=96, train=True)
    batch = collate(features)
    gold = model(**batch).loss
    plain, _ = Objective(_settings(encoder))(model, batch, 0)
    assert torch.allclose(plain, gold, atol=1e-5)
    hard, _ = Objective(_settings(encoder, teacher=str(tmp_path), alpha=0.0))(model, batch, 0)
    assert torch.allclose(hard, gold, atol=1e-5)
    same, logged = Objective(_settings(encoder, teacher=str(tmp_path), alpha=1.0))(model, batch, 0)
    assert float(same.detach()) == pytest.approx(0, abs=1e-5)
    assert set(logged) == {"hard", "soft"}
    with torch.no_grad():
        model.head.linear.weight.add_(0.1)
    other, _ = Objective(_settings(encoder, teacher=str(tmp_path), alpha=1.0))(model, batch, 0)
    assert float(other.detach()) > 1e-3


@pytest.mark.parametrize("method", ["progressive", "tinybert", "minilm"])
def test_layers_of_a_teacher_first(method, encoder, reader, tmp_path) -> None:
    """Task-specific transfer, then soft labels; resumed, it finds the transfer done."""
    flags = [
        "--model",
        str(encoder),
        "--train_file",
        str(TRAIN),
        "--validation_file",
        str(DEV),
        "max_steps=2",
    ]
    flags += ["--teacher", str(reader), "--transfer", method, "--block_steps", "1", "logging_steps=1"]
    flags += ["--output_dir", str(tmp_path / "student"), "--preset", "toy"]
    assert main(["train", "squad", *flags]) == 0
    logs = [
        read_log(folder / "log.jsonl") for folder in (tmp_path / "student" / "transfer", tmp_path / "student")
    ]
    steps = [[record for record in log if record["kind"] == "train"] for log in logs]
    name = {"progressive": "feature_map", "tinybert": "scores", "minilm": "relations"}[method]
    assert [name in record for record in steps[0]] == [True, True]
    assert all("soft" in record for record in steps[1])
    before = (tmp_path / "student" / "model.safetensors").read_bytes()
    assert main(["train", "squad", *flags, "--resume_from_checkpoint", "latest"]) == 0
    assert (tmp_path / "student" / "model.safetensors").read_bytes() == before


def test_another_transfer_is_not_taken_for_the_one_that_is_done(encoder, reader, tmp_path, capsys) -> None:
    """All have one stage of equal steps."""
    flags = ["--model", str(encoder), "--train_file", str(TRAIN), "--validation_file", str(DEV)]
    flags += ["--teacher", str(reader), "--block_steps", "1", "--preset", "toy", "max_steps=2"]
    flags += ["--output_dir", str(tmp_path / "student")]
    assert main(["train", "squad", *flags, "--transfer", "joint"]) == 0
    again = [*flags, "--resume_from_checkpoint", "latest"]
    assert main(["train", "squad", *again, "--transfer", "minilm"]) == 1
    assert "cannot be resumed exactly: transfer was joint and is now minilm" in capsys.readouterr().err
    assert main(["train", "squad", *again, "--transfer", "joint", "--teacher_layers", "0,0"]) == 1
    assert "cannot be resumed exactly: teacher_layers was uniform" in capsys.readouterr().err


def test_dropout_rests_while_layers_are_compared(encoder, reader, tmp_path, monkeypatch) -> None:
    seen, real = {}, {"transfer": _task_transfer.train, "labels": squad.train}

    def watched(when):
        def train(model, **options):
            dropped = [part.dropout for part in model.modules() if isinstance(part, SelfAttention)]
            seen[when] = max(dropped)
            return real[when](model, **options)

        return train

    monkeypatch.setattr(_task_transfer, "train", watched("transfer"))
    monkeypatch.setattr(squad, "train", watched("labels"))
    flags = ["--model", str(encoder), "--train_file", str(TRAIN), "--validation_file", str(DEV)]
    flags += ["--teacher", str(reader), "--transfer", "joint", "--block_steps", "1", "--preset", "toy"]
    flags += ["max_steps=1", "--output_dir", str(tmp_path / "student")]
    assert main(["train", "squad", *flags]) == 0
    assert seen["transfer"] == 0 < seen["labels"]


def test_transfer_needs_a_teacher(encoder) -> None:
    with pytest.raises(InputError, match="transfer = joint needs a teacher"):
        _settings(encoder, transfer="joint")


def test_label_smoothing_never_rewards_padding(encoder) -> None:
    model = parity.redraw(load(encoder, head="question-answering"))
    questions = read_questions(TRAIN).questions[:6]
    features = featurise(questions, Tokenizer.load(), max_length=96, train=True)
    objective = Objective(_settings(encoder, label_smoothing=0.2))
    together, _ = objective(model, collate(features), 0)
    alone = torch.stack([objective(model, collate([feature]), 0)[0] for feature in features]).mean()
    assert torch.allclose(together, alone, atol=1e-4)


def test_a_teacher_without_a_head_is_refused(encoder) -> None:
    with pytest.raises(InputError, match="nothing to say"):
        Objective(_settings(encoder, teacher=str(encoder)))


@pytest.mark.parametrize("preset", ["bert", "mobilebert", "reader"])
def test_every_preset_runs_two_steps(preset, encoder, tmp_path) -> None:
    arguments = ["--model", str(encoder), "--train_file", str(TRAIN), "--output_dir", str(tmp_path / "out")]
    small = ["max_steps=2", "per_device_train_batch_size=4", "max_seq_length=96", "validation_split=0.3"]
    assert main(["train", "squad", "--preset", preset, *arguments, *small]) == 0
    assert load(tmp_path / "out").kind == "question-answering"


def test_questions_that_are_left_out_are_told(encoder, tmp_path, caplog, capsys) -> None:
    document = json.loads(TRAIN.read_text())
    rows = [row for article in document["data"] for part in article["paragraphs"] for row in part["qas"]]
    answered = [row for row in rows if row["answers"]]
    for row in answered[:4]:
        row["answers"][0]["text"] = "nowhere"
    spoilt = tmp_path / "spoilt.json"
    spoilt.write_text(json.dumps(document))
    arguments = ["train", "squad", str(spoilt), "--preset", "toy", "--model", str(encoder), "max_steps=1"]
    arguments += ["--validation_file", str(DEV), "--output_dir", str(tmp_path / "out")]
    assert main(arguments) == 0
    assert "4 questions are left out, and 20 kept" in caplog.text
    assert caplog.text.count("they must be equal (the text is nowhere in the context)") == 3, "the first few"
    for row in rows:
        row["question"] = ""
    spoilt.write_text(json.dumps(document))
    assert main(arguments) == 2
    assert "holds no question to train on; the first of 24 slips is: " in capsys.readouterr().err


def test_a_share_that_holds_out_nothing_is_refused(encoder, tmp_path, capsys) -> None:
    arguments = [str(TRAIN), "--model", str(encoder), "--output_dir", str(tmp_path / "out")]
    assert main(["train", "squad", *arguments, "validation_split=0"]) == 2
    assert "leaves 24 questions to train on and 0 to evaluate on" in capsys.readouterr().err


def test_positions_grow(encoder, tmp_path, capsys) -> None:
    text = tmp_path / "text.txt"
    text.write_text("The river rises in the hills and runs past the mill to the sea. " * 60)
    arguments = ["--model", str(encoder), "--train_file", str(text), "--output_dir", str(tmp_path / "longer")]
    small = ["positions=160", "max_steps=2", "per_device_train_batch_size=2", "logging_steps=1"]
    assert main(["train", "positions", "--preset", "mobilebert-384", *arguments, *small]) == 0
    before, after = load(encoder).eval(), load(tmp_path / "longer").eval()
    assert after.config.max_position_embeddings == 160
    ids = torch.randint(1000, 20_000, (1, 128))
    assert torch.equal(before(ids).last, after(ids).last), "what was known stays as it was"
    assert after(torch.randint(1000, 20_000, (1, 160))).last.isfinite().all()
    assert main(["train", "positions", *arguments, "positions=100", "overwrite_output_dir=true"]) == 2
    assert "ask for more" in capsys.readouterr().err
