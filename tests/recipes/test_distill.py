"""Distillation as a user runs it: every method, exact stages, exact resuming, and errors before or at the step."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import processes
from pocketbert.cli import main
from pocketbert.errors import InputError, TrainingError
from pocketbert.heads import build, load, save
from pocketbert.model import Encoder, preset
from pocketbert.recipes import distill
from pocketbert.text import Tokenizer
from pocketbert.train import catalogue
from pocketbert.train.log import read_log
from pocketbert.train.plan import saved_bytes
from pocketbert.train.state import checkpoints, read_folder
from pocketbert.transfer.methods import METHODS
from recipes import lessons


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    return lessons.write_corpus(tmp_path_factory.mktemp("texts") / "corpus.txt")


@pytest.fixture(scope="module")
def teacher(corpus: Path, tmp_path_factory) -> Path:
    return lessons.make_teacher(corpus, tmp_path_factory.mktemp("teachers") / "teacher")


@pytest.fixture
def given(corpus: Path, teacher: Path, tmp_path: Path) -> dict:
    return {"teacher": str(teacher), "train_file": [str(corpus)], "output_dir": str(tmp_path / "student")}


def test_the_verb_writes_a_model_folder(
    given: dict, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--teacher", given["teacher"], "--train_file", str(corpus), "--output_dir", given["output_dir"]]
    assert main(["distill", "--preset", "toy", *flags, "--json"]) == 0
    scores = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {"masked_lm_accuracy", "masked_lm_loss", "feature_map_distance", "attention_distance"} <= set(
        scores
    )
    folder = Path(given["output_dir"])
    student = load(folder)
    assert (student.kind, student.report.new) == ("pretraining", ())
    assert Tokenizer.load(folder).size == student.config.vocab_size
    rows = json.loads((folder / "distances.json").read_text())["layers"]
    assert [(row["student"], row["teacher"]) for row in rows] == [(0, 0), (1, 1)]
    assert "fill-mask" in (folder / "README.md").read_text()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns(method: str, given: dict) -> None:
    changes = {"student": "2", "initialise": "ends"} if method == "distilbert" else {}
    distill.run(lessons.settings_of(**given, method=method, **changes))
    records = [
        record for record in read_log(Path(given["output_dir"]) / "log.jsonl") if record["kind"] == "train"
    ]
    assert len(records) == 9, "two blocks of three steps, and three"
    first, last = records[0], records[-1]
    expected = {
        "tinybert": {"scores", "hidden", "embeddings"},
        "minilm": {"relations"},
        "none": {"hard", "soft", "sentence"},
        "distilbert": {"hard", "soft", "cosine"},
        "auxiliary": {"feature_map", "attention", "mean", "variance", "hard", "soft", "sentence"},
    }.get(method, {"feature_map", "attention", "mean", "variance"})
    assert expected <= set(first)
    assert {"hard", "soft"} <= set(last)
    assert ("feature_map" in last) == (method == "auxiliary")


@pytest.mark.parametrize("lower_rate", [0.0, 0.1])
def test_progressive_stages_train_the_block_they_say(given: dict, lower_rate: float) -> None:
    settings = lessons.settings_of(**given, lower_rate=lower_rate, save_steps=3, save_total_limit=9)
    distill.run(settings)
    folder = Path(given["output_dir"])
    master = dict(load(given["teacher"]).named_parameters())
    first, second, last = (read_folder(folder / f"checkpoint-{step}").tensors["model"] for step in (3, 6, 9))

    def moved(one: dict, other: dict) -> set[str]:
        names = {name for name in one if not torch.equal(one[name], other[name])}
        return {".".join(name.split(".")[2:4]) if "blocks" in name else name.split(".")[1] for name in names}

    # The ends are the teacher's to the bit until they are distilled (a NoNorm's own weights are fitted, not copied).
    ends = [name for name in second if "blocks" not in name and "embeddings.norm" not in name]
    assert len(ends) > 8
    for name in ends:
        assert torch.equal(second[name], master[name.removeprefix("student.")]), name
    assert moved(first, second) == ({"blocks.1"} if lower_rate == 0 else {"blocks.0", "blocks.1"})
    assert moved(second, last) == {"blocks.0", "blocks.1", "encoder", "head"}
    distill.run(
        lessons.settings_of(
            **given, lower_rate=lower_rate, max_steps=1, save_steps=1, overwrite_output_dir=True
        )
    )
    begun = read_folder(folder / "checkpoint-1").tensors["model"]
    assert moved(begun, first) == {"blocks.0"}


def test_a_line_of_the_log_may_span_stages(given: dict) -> None:
    """A loss is meant over the steps in which it lived: six of transfer, three of words."""
    folder = Path(given["output_dir"])
    distill.run(lessons.settings_of(**given))
    lines = [dict(line) for line in lessons.losses(folder)]
    distill.run(lessons.settings_of(**{**given, "logging_steps": 9}, overwrite_output_dir=True))
    (line,) = (dict(line) for line in lessons.losses(folder))
    assert line["feature_map"] == pytest.approx(sum(one["feature_map"] for one in lines[:6]) / 6)
    assert line["soft"] == pytest.approx(sum(one["soft"] for one in lines[6:]) / 3)


def test_killed_in_a_stage_and_resumed(given: dict, tmp_path: Path) -> None:
    """SIGKILL while the second block learns: the same losses to the last bit."""
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    settings = {**given, "block_steps": 6, "distillation_steps": 5, "save_steps": 4}
    distill.run(lessons.settings_of(**{**settings, "output_dir": str(whole)}))
    settings["output_dir"] = str(killed)
    command = [sys.executable, lessons.__file__, json.dumps([settings]), "slow"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    deadline = time.monotonic() + 120
    while not (killed / "log.jsonl").exists() or len(lessons.losses(killed)) < 10:
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert 10 <= len(lessons.losses(killed)) < 17
    distill.run(lessons.settings_of(**settings, resume_from_checkpoint="latest"))
    assert lessons.losses(killed) == lessons.losses(whole)
    expected, found = (load_file(folder / "model.safetensors") for folder in (whole, killed))
    assert all(torch.equal(found[name], weight) for name, weight in expected.items())


def test_two_processes_get_the_losses_of_one(given: dict, tmp_path: Path) -> None:
    """With a copy of the student each (DDP), and with a shard each (FSDP)."""
    alone = tmp_path / "alone"
    common = {**given, "method": "progressive", "block_steps": 2, "distillation_steps": 2}
    distill.run(lessons.settings_of(**{**common, "output_dir": str(alone)}, per_device_train_batch_size=8))
    runs = [
        {**common, "output_dir": str(tmp_path / sharding), "sharding": sharding}
        for sharding in ("no", "full")
    ]
    processes.launch([sys.executable, lessons.__file__, json.dumps(runs)])
    for sharding in ("no", "full"):
        for expected, found in zip(lessons.losses(alone), lessons.losses(tmp_path / sharding), strict=True):
            assert dict(found) == pytest.approx(dict(expected), rel=2e-3, abs=1e-5), sharding
        student = load(tmp_path / sharding)
        weight = student.encoder.blocks[1].output.weight
        assert torch.allclose(weight, load(alone).encoder.blocks[1].output.weight, atol=1e-4)


def test_a_cache_teaches_like_the_teacher(given: dict, tmp_path: Path) -> None:
    """The second run finds every shard; losses differ by fp16 and no more."""
    settings = {**given, "cache_dir": str(tmp_path / "cache"), "method": "auxiliary", "max_steps": 3}
    distill.run(lessons.settings_of(**settings))
    shards = {file: file.stat().st_mtime_ns for file in (tmp_path / "cache").glob("shard-*")}
    assert shards
    cached = lessons.losses(Path(given["output_dir"]))
    distill.run(lessons.settings_of(**settings, overwrite_output_dir=True))
    assert lessons.losses(Path(given["output_dir"])) == cached
    distill.run(
        lessons.settings_of(**{**settings, "method": "none"}, overwrite_output_dir=True)
    )  # needs less
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "cache").glob("shard-*")} == shards
    distill.run(lessons.settings_of(**{**settings, "cache_dir": None}, overwrite_output_dir=True))
    live = lessons.losses(Path(given["output_dir"]))
    assert dict(live[0]) == pytest.approx(dict(cached[0]), rel=2e-2, abs=1e-3)
    with pytest.raises(InputError, match="do not hold what this method looks at"):
        distill.run(lessons.settings_of(**{**settings, "method": "minilm"}, overwrite_output_dir=True))
    with pytest.raises(InputError, match="are of other data"):
        distill.run(lessons.settings_of(**settings, max_seq_length=24, overwrite_output_dir=True))


def test_with_a_cache_every_epoch_is_masked_alike(given: dict, tmp_path: Path) -> None:
    """Three epochs of one step each, at a rate that moves nothing: the same words, so the same losses."""
    still = {"per_device_train_batch_size": 200, "learning_rate": 1e-9, "max_steps": 3, "method": "none"}
    still |= {"validation_split": 0.85, "max_eval_samples": 8}
    distill.run(lessons.settings_of(**{**given, **still}, cache_dir=str(tmp_path / "cache")))
    cached = [dict(line) for line in lessons.losses(Path(given["output_dir"]))]
    assert [line["epoch"] for line in cached] == [1, 2, 3]
    assert [line["hard"] for line in cached] == pytest.approx([cached[0]["hard"]] * 3, rel=1e-6)
    distill.run(lessons.settings_of(**{**given, **still}, overwrite_output_dir=True))
    live = [dict(line)["hard"] for line in lessons.losses(Path(given["output_dir"]))]
    assert max(live) > min(live) * 1.0001, "without one, masks are drawn anew"


def test_a_part_of_the_corpus_is_cached_and_learnt(given: dict, tmp_path: Path) -> None:
    """Each example has its own view, wherever in the corpus it stands: losses are those of the teacher itself."""
    part = {**given, "method": "auxiliary", "max_train_samples": 12, "per_device_train_batch_size": 4}
    part |= {"max_steps": 4, "cache_dir": str(tmp_path / "cache")}
    distill.run(lessons.settings_of(**part))
    assert json.loads((tmp_path / "cache" / "cache.json").read_text())["examples"] == 12
    cached = [dict(line) for line in lessons.losses(Path(given["output_dir"]))]
    assert [line["epoch"] for line in cached] == pytest.approx([1 / 3, 2 / 3, 1, 4 / 3], abs=1e-3)
    distill.run(lessons.settings_of(**{**part, "cache_dir": None}, overwrite_output_dir=True))
    live = [dict(line) for line in lessons.losses(Path(given["output_dir"]))]
    # Without a cache the second epoch has other masks.
    for expected, found in zip(live[:3], cached[:3], strict=True):
        assert found == pytest.approx(expected, rel=2e-2, abs=1e-3)
    with pytest.raises(InputError, match="are of 12 examples, not of 11"):
        distill.run(lessons.settings_of(**{**part, "max_train_samples": 11}, overwrite_output_dir=True))


def test_a_nan_leaves_the_last_checkpoint(given: dict, teacher: Path, tmp_path: Path) -> None:
    """A teacher whose second block is broken: the first stage is fine, the second fails at its first step."""
    broken = tmp_path / "broken"
    shutil.copytree(teacher, broken, ignore=shutil.ignore_patterns("checkpoint-*", "best-*", "tokens"))
    weights = load_file(broken / "model.safetensors")
    name = next(name for name in weights if "layer.1.output.dense.weight" in name)
    weights[name][0, 0] = float("nan")
    save_file(weights, broken / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(
        TrainingError,
        match=r"step 4: the loss is nan, .*feature_map nan.* lower the learning rate.* checkpoint is .*checkpoint-2",
    ):
        distill.run(lessons.settings_of(**{**given, "teacher": str(broken)}, save_steps=2))
    (last,) = checkpoints(Path(given["output_dir"]))
    assert all(tensor.isfinite().all() for tensor in read_folder(last).tensors["model"].values())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"teacher_layers": "0,1,1"}, "teacher_layers is 0,1,1"),
        ({"teacher_layers": "0,7"}, "7 is none of them"),
        ({"student": "mobilebert"}, "a deeper student needs a list"),
        ({"method": "progressive", "initialise": "blocks"}, "their shapes differ"),
        ({"objective": "permutation"}, "choose another objective"),
        ({"max_seq_length": 200}, "128 positions"),
        ({"alpha": 2.0}, "alpha is 2.0"),
        ({"temperature": -1.0}, "temperature is -1.0; it must be above 0"),
        ({"method": "minilm", "relation_heads": 5}, "relation_heads is 5"),
        ({"method": "minilm", "relation_heads": -4}, "relation_heads = -4: must be 1 or more"),
        ({"temperature": 0.0}, "temperature is 0.0; it must be above 0"),
        ({"stage_warmup_steps": -3}, "stage_warmup_steps = -3"),
        ({"method": "distilbert", "alpha": 0.9}, "alpha = 0.9: --method distilbert has no use for it"),
        ({"method": "none", "feature_map_weight": 3.0}, "feature_map_weight = 3.0: --method none has no use"),
        ({"method": "joint", "lower_rate": 0.7}, "lower_rate = 0.7: .* only progressive: leave it out"),
        ({"validation_split": 0.0}, "validation_split = 0.0: must lie between 0 and 1"),
        ({"max_train_samples": 0}, "max_train_samples = 0: must be 1 or more"),
        ({"seed": 2**63}, "below 2"),
        ({"teacher": "mobilebert-nano"}, "a preset, a shape without weights: train it first"),
        ({"num_train_epochs": 5.0}, "num_train_epochs = 5.0: .* block_steps and distillation_steps"),
        ({"early_stopping_patience": 2}, "early_stopping_patience = 2: with --method progressive"),
        (
            {"student": "mobilebert", "teacher_layers": "0," * 23 + "1", "initialise": "ends"},
            "initialise = ends",
        ),
    ],
)
def test_what_cannot_be_is_said_before_the_first_step(given: dict, changes: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        distill.run(lessons.settings_of(**{**given, **changes}))
    assert not list(Path(given["output_dir"]).glob("checkpoint-*"))


def test_another_vocabulary_is_said(given: dict, teacher: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(teacher, other, ignore=shutil.ignore_patterns("checkpoint-*", "tokens"))
    words = list(Tokenizer.load(teacher).vocabulary())
    words[2000], words[2001] = words[2001], words[2000]
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        (other / name).unlink(missing_ok=True)
    Tokenizer.from_vocabulary(words).save(other)
    with pytest.raises(InputError, match=r"2 differ, .*must have the same vocabulary"):
        distill.run(lessons.settings_of(**{**given, "student": str(other)}))


def test_a_frozen_block_that_is_to_learn_is_said(given: dict) -> None:
    with pytest.raises(
        TrainingError, match=r"every rate is 0 at step 0, .* frozen \(freeze_embeddings, freeze_layers\)"
    ):
        distill.run(lessons.settings_of(**given, freeze_layers=1))


def test_a_longer_word_table_is_said(given: dict, teacher: Path, tmp_path: Path) -> None:
    """The same words, but a table with rows to spare, as accelerators like them."""
    config = replace(load(teacher).config, vocab_size=load(teacher).config.vocab_size + 8)
    save(build(config, "pretraining"), tmp_path / "padded")
    Tokenizer.load(teacher).save(tmp_path / "padded")
    with pytest.raises(InputError, match="so their words cannot be compared"):
        distill.run(lessons.settings_of(**{**given, "student": str(tmp_path / "padded")}))
    assert not list(Path(given["output_dir"]).glob("checkpoint-*"))


@pytest.fixture(scope="module")
def electra(tmp_path_factory) -> Path:
    """A teacher that is not of the house, as transformers writes it."""
    folder = tmp_path_factory.mktemp("teachers") / "electra"
    config = transformers.ElectraConfig(
        vocab_size=Tokenizer.load().size, hidden_size=48, embedding_size=32, num_hidden_layers=3,
        num_attention_heads=6, intermediate_size=64, max_position_embeddings=64,
    )  # fmt: skip
    torch.manual_seed(5)
    transformers.ElectraForMaskedLM(config).save_pretrained(folder)
    Tokenizer.load().save(folder)
    return folder


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"method": "progressive", "attention_weight": 0.0}, "feature_map"),
        ({"method": "minilm"}, "relations"),
        ({"method": "distilbert", "initialise": "fresh"}, "cosine"),
    ],
)
def test_a_teacher_of_transformers(given: dict, electra: Path, changes: dict, expected: str) -> None:
    distill.run(lessons.settings_of(**{**given, "teacher": str(electra)}, **changes))
    lines = [dict(line) for line in lessons.losses(Path(given["output_dir"]))]
    assert len(lines) == 9
    assert expected in lines[0]
    assert 0 < lines[-1]["soft"] < float("inf")
    assert load(given["output_dir"]).report.new == ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"method": "progressive"}, "4 attention heads and the teacher 6"),
        (
            {"method": "joint", "attention_weight": 0.0},
            "no soft labels: give --alpha 1 .* or --distillation_",
        ),
        ({"method": "distilbert"}, "no soft labels: use --method joint with --distillation_steps 0"),
        ({"method": "minilm", "initialise": "ends"}, "initialise = ends: .* not of the house"),
        (
            {"method": "minilm", "max_seq_length": 100},
            "max_seq_length = 100, but the teacher .* cannot read so many",
        ),
    ],
)
def test_a_teacher_of_transformers_is_refused_before_the_first_step(
    given: dict, electra: Path, changes: dict, said: str, tmp_path: Path
) -> None:
    teacher = electra
    if "soft" in said:
        teacher = tmp_path / "headless"
        transformers.ElectraModel.from_pretrained(electra).save_pretrained(teacher)
        Tokenizer.load().save(teacher)
    with pytest.raises(InputError, match=said):
        distill.run(lessons.settings_of(**{**given, "teacher": str(teacher)}, **changes))
    assert not Path(given["output_dir"]).exists()


def test_an_empty_corpus_is_said(given: dict, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(InputError, match=r"empty\.txt|no text|no document|nothing"):
        distill.run(lessons.settings_of(**{**given, "train_file": [str(tmp_path / "empty.txt")]}))


def test_a_run_is_resumed_with_its_own_teacher_and_stages(given: dict, teacher: Path, tmp_path: Path) -> None:
    distill.run(lessons.settings_of(**given, max_steps=2))
    with pytest.raises(TrainingError, match="cannot be resumed exactly: stages was"):
        distill.run(lessons.settings_of(**{**given, "block_steps": 4}, resume_from_checkpoint="latest"))
    other = tmp_path / "other"
    shutil.copytree(teacher, other, ignore=shutil.ignore_patterns("checkpoint-*", "tokens"))
    weights = load_file(other / "model.safetensors")
    weights["mobilebert.embeddings.position_embeddings.weight"][0, 0] += 1
    save_file(weights, other / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(TrainingError, match="cannot be resumed exactly: teacher was"):
        distill.run(lessons.settings_of(**{**given, "teacher": str(other)}, resume_from_checkpoint="latest"))


def test_a_run_is_resumed_on_its_own_terms(given: dict, tmp_path: Path) -> None:
    distill.run(lessons.settings_of(**given, max_steps=2))
    changed = {"alpha": 0.9, "teacher_layers": "0,0", "mlm_probability": 0.4, "initialise": "fresh"}
    for name, value in changed.items():
        with pytest.raises(TrainingError, match=f"cannot be resumed exactly: {name} was"):
            distill.run(lessons.settings_of(**{**given, name: value}, resume_from_checkpoint="latest"))
    with pytest.raises(TrainingError, match="cannot be resumed exactly: cached was"):
        distill.run(
            lessons.settings_of(**given, cache_dir=str(tmp_path / "views"), resume_from_checkpoint="latest")
        )


def test_a_corpus_that_has_moved_is_the_same_corpus(given: dict, corpus: Path, tmp_path: Path) -> None:
    """Two students, each with its own copy of the texts, and one cache."""
    copy = shutil.copy(corpus, tmp_path / "copy.txt")
    cached = {**given, "cache_dir": str(tmp_path / "views")}
    distill.run(lessons.settings_of(**cached))
    distill.run(
        lessons.settings_of(**{**cached, "train_file": [str(copy)], "output_dir": str(tmp_path / "other")})
    )
    first, second = (lessons.losses(folder) for folder in (Path(given["output_dir"]), tmp_path / "other"))
    assert first == second


def test_what_could_not_be_copied_is_told(given: dict, electra: Path) -> None:
    told = distill.run(lessons.settings_of(**{**given, "teacher": str(electra)}, method="distilbert"))
    assert told["trained_anew"] == "embeddings, head"
    told = distill.run(lessons.settings_of(**given, overwrite_output_dir=True))
    assert "trained_anew" not in told


@pytest.mark.parametrize("method", ["joint", "minilm"])
def test_a_head_that_was_never_taught_is_not_saved(given: dict, method: str) -> None:
    changes = {"distillation_steps": 0, "method": method, "initialise": "fresh", "eval_strategy": "steps"}
    told = distill.run(lessons.settings_of(**{**given, **changes}, eval_steps=2))
    assert told["head"].startswith("none, for no stage taught one")
    assert not [name for name in told if name.startswith("masked_lm")], "what noise scores is no score"
    folder = Path(given["output_dir"])
    assert isinstance(load(folder), Encoder)
    assert "pipeline_tag: feature-extraction" in (folder / "README.md").read_text()
    with (folder / "scores.json").open() as file:
        assert json.load(file) == {}
    kept = {**changes, "student": str(folder), "distillation_steps": 2}
    told = distill.run(lessons.settings_of(**{**given, **kept, "output_dir": f"{folder}-taught"}))
    assert "head" not in told
    assert load(f"{folder}-taught").kind == "pretraining"


def test_a_head_that_was_copied_or_loaded_is_saved(given: dict) -> None:
    folder = Path(given["output_dir"])
    layers_only = {**given, "distillation_steps": 0, "eval_strategy": "steps", "eval_steps": 6}
    told = distill.run(lessons.settings_of(**layers_only))
    assert told["masked_lm_accuracy"] >= 0
    assert load(folder).kind == "pretraining"
    loaded = {"student": str(folder), "output_dir": f"{folder}-again", "method": "minilm"}
    assert "head" not in distill.run(lessons.settings_of(**{**layers_only, **loaded}))
    assert load(f"{folder}-again").kind == "pretraining"


def test_a_run_that_ends_amid_the_transfer_keeps_its_last_weights(given: dict) -> None:
    """Not those of the evaluation by words, which nothing has taught yet."""
    distill.run(lessons.settings_of(**given, max_steps=4, eval_strategy="steps", eval_steps=1))
    assert not list(Path(given["output_dir"]).glob("best-*"))


@pytest.mark.parametrize("kept", [False, True])
def test_dropout_rests_while_layers_are_compared(
    kept: bool, given: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    real = distill.train

    def watched(lesson: torch.nn.Module, **options: object) -> object:
        seen.extend(part.p for part in lesson.modules() if isinstance(part, torch.nn.Dropout))
        return real(lesson, **options)

    monkeypatch.setattr(distill, "train", watched)
    distill.run(
        lessons.settings_of(**{**given, "student": "bert-nano"}, method="minilm", student_dropout=kept)
    )
    assert (max(seen) > 0) == kept


@pytest.mark.parametrize("preset", sorted(set(catalogue.presets_of(catalogue.find("distill"))) - {"toy"}))
def test_every_preset_runs_two_steps(preset: str, given: dict, corpus: Path) -> None:
    flags = ["--teacher", given["teacher"], "--train_file", str(corpus), "--output_dir", given["output_dir"]]
    small = ["student=2", "max_steps=2", "per_device_train_batch_size=2", "gradient_accumulation_steps=1"]
    small += ["max_seq_length=32", "validation_split=0.3", "dupe_factor=1"]
    small += ["relation_heads=4"] if preset == "minilm" else []
    assert main(["distill", "--preset", preset, *flags, *small]) == 0
    assert load(given["output_dir"]).config.num_hidden_layers == 2


def test_plans_need_neither_weights_nor_texts(capsys: pytest.CaptureFixture[str]) -> None:
    flags = [
        "--preset",
        "mobilebert",
        "--teacher",
        "ib-bert-large",
        "--processes",
        "256",
        "--flops_per_second",
        "1e14",
    ]
    assert main(["plan", "distill", *flags, "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["steps"], plan["sequences_per_step"]) == (740_000, 2048)
    assert plan["tokens"] == 740_000 * 2048 * 512
    first, last = plan["phases"][0], plan["phases"][-1]
    assert len(plan["phases"]) == 25
    assert last["seconds"] == pytest.approx(last["total_flops"] / (256 * 1e14))
    assert last["flops"] > 10 * first["flops"], "the first block needs neither the others nor the word table"
    assert plan["memory"]["moments"] == 8 * 36_597_564, (
        "the published size of MobileBERT with its pre-training heads"
    )
    fewer = [*flags, "--max_steps", "10500", "--json"]
    assert main(["plan", "distill", *fewer]) == 0
    assert [phase["steps"] for phase in json.loads(capsys.readouterr().out)["phases"]] == [10_000, 500]
    assert main(["plan", "distill", *flags]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].split() == ["stage", "steps", "tokens", "FLOPs", "time"]
    assert shown[-1].startswith("memory of a process: weights 146.4 MB")
    assert main(["plan", "squad"]) == 2
    assert "there are plans for: distill, pretrain" in capsys.readouterr().err


@pytest.mark.parametrize("method", ["joint", "minilm"])
def test_a_plan_counts_what_losses_keep(method: str, capsys: pytest.CaptureFixture[str]) -> None:
    flags = [
        "--teacher",
        "bert-nano",
        "--student",
        "bert-nano",
        "--method",
        method,
        "--max_seq_length",
        "128",
    ]
    flags += ["--distillation_steps", "0", "--per_device_train_batch_size", "8", "--flops_per_second", "1e9"]
    assert main(["plan", "distill", *flags, "--json"]) == 0
    kept = json.loads(capsys.readouterr().out)["memory"]["activations"]
    assert kept > 1.1 * saved_bytes(preset("bert-nano"), batch=8, length=128)


def test_a_plan_measures_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--model", "bert-nano", "--max_steps", "10", "--max_seq_length", "16", "--json"]
    assert main(["plan", "pretrain", *arguments]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["measured"] is True
    assert plan["flops_per_second"] > 1e6
    assert plan["seconds"] > 0
    assert main(["plan", "pretrain", "--model", "bert-nano"]) == 2
    assert "a plan needs --max_steps" in capsys.readouterr().err
    for wrong in (["--processes", "0"], ["--processes", "-2"], ["--flops_per_second", "0"]):
        assert main(["plan", "pretrain", *arguments, *wrong]) == 2
        assert "there must be 1 process at least, and a speed above 0" in capsys.readouterr().err


def test_a_plan_counts_the_words_of_the_tokenizer(teacher: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = []
    for more in ([], ["--tokenizer", str(teacher)]):
        flags = ["--model", "bert-nano", "--max_steps", "10", "--flops_per_second", "1e9", "--json", *more]
        assert main(["plan", "pretrain", *flags]) == 0
        weights.append(json.loads(capsys.readouterr().out)["memory"]["weights"])
    config, words = preset("bert-nano"), Tokenizer.load(teacher).size
    fewer = config.vocab_size - words
    assert weights[0] - weights[1] == 4 * fewer * (config.hidden_size + 1), (
        "a row of the table, and a bias of the head"
    )
