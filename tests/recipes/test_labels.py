"""The recipes with labels as a user runs them: classify, glue, tags and choice, from a table to a model folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import parity
from pocketbert.cli import main
from pocketbert.errors import InputError
from pocketbert.heads import build, load, save
from pocketbert.recipes import tags
from pocketbert.tasks.tags.features import featurise
from pocketbert.tasks.tags.sentences import read_sentences
from pocketbert.text import Tokenizer
from pocketbert.train.log import read_log

DATA = Path(__file__).resolve().parents[2] / "examples" / "data"
REVIEWS, NAMES, QUIZ = DATA / "reviews.csv", DATA / "names.conll", DATA / "quiz.csv"
# What each recipe is told besides --model and --output_dir.
GIVEN = {
    "classify": [str(REVIEWS), "--text", "review", "--label", "verdict"],
    "glue": ["--task", "sst-2", "--data_dir", str(DATA / "glue")],
    "tags": [str(NAMES)],
    "choice": [str(QUIZ), "--text", "question", "--candidates", "first,second,third", "--label", "right"],
}
KINDS = {"classify": "classification", "glue": "classification", "tags": "tags", "choice": "choice"}

LEARNING = ["max_steps=80", "learning_rate=1e-2", "eval_strategy=steps", "eval_steps=80", "plot_curves=false"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(0)
    save(build("mobilebert-nano"), folder)
    Tokenizer.load().save(folder)
    return folder


def run(recipe: str, model: Path, out: Path, *more: str, preset: str = "toy") -> int:
    arguments = ["--preset", preset, "--model", str(model), "--output_dir", str(out)]
    return main(["train", recipe, *GIVEN[recipe], *arguments, *more])


@pytest.fixture(scope="module")
def inferred(encoder, tmp_path_factory) -> Path:
    """A model that has learnt MNLI."""
    out = tmp_path_factory.mktemp("runs") / "mnli"
    given = ["--task", "mnli", "--data_dir", str(DATA / "glue"), "--model", str(encoder), "--preset", "toy"]
    assert main(["train", "glue", *given, "--output_dir", str(out), "--do_predict"]) == 0
    return out


@pytest.fixture(scope="module")
def trained(encoder, tmp_path_factory) -> dict[str, Path]:
    """A model of each recipe."""
    folder = tmp_path_factory.mktemp("runs")
    for recipe in GIVEN:
        more = ["--do_predict"] if recipe == "glue" else []
        assert run(recipe, encoder, folder / recipe, *more) == 0
    return {recipe: folder / recipe for recipe in GIVEN}


@pytest.mark.parametrize("recipe", GIVEN)
def test_the_output_is_a_model_folder(recipe, trained) -> None:
    folder = trained[recipe]
    for name in (
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "README.md",
        "settings.json",
        "run.json",
    ):
        assert (folder / name).is_file(), name
    model = load(folder)
    assert model.kind == KINDS[recipe]
    assert model.report.new == ()
    scores = json.loads((folder / "scores.json").read_text())
    assert all(0 <= value <= 100 for value in scores.values())
    assert "pipeline_tag: " in (folder / "README.md").read_text()
    assert json.loads((folder / "run.json").read_text())["data"]


def test_labels_are_saved_where_transformers_reads_them(trained) -> None:
    config = json.loads((trained["classify"] / "config.json").read_text())
    assert config["id2label"] == {"0": "bad", "1": "good", "2": "mixed"}
    assert config["problem_type"] == "single_label_classification"
    named = json.loads((trained["tags"] / "config.json").read_text())["id2label"]
    assert list(named.values()) == ["O", "B-person", "I-person", "B-place", "I-place"]
    assert "`good` (7)" in (trained["classify"] / "README.md").read_text(), "one of eight was held out"
    assert (trained["classify"] / "confusion.png").stat().st_size > 1000
    assert set(json.loads((trained["tags"] / "scores_by_kind.json").read_text())) >= {"person"}


@pytest.mark.parametrize(
    ("recipe", "auto"),
    [
        ("classify", "AutoModelForSequenceClassification"),
        ("tags", "AutoModelForTokenClassification"),
        ("choice", "AutoModelForMultipleChoice"),
    ],
)
def test_transformers_says_the_same(recipe, auto, trained) -> None:
    transformers = pytest.importorskip("transformers")
    theirs = getattr(transformers, auto).from_pretrained(trained[recipe]).eval()
    ours = load(trained[recipe]).eval()
    ids = torch.randint(1000, 20_000, (2, 3, 9) if recipe == "choice" else (2, 9))
    with torch.no_grad():
        torch.testing.assert_close(ours(ids).logits, theirs(ids).logits, atol=1e-5, rtol=1e-4)


def test_test_predictions_are_written_as_the_server_takes_them(trained) -> None:
    lines = (trained["glue"] / "submission" / "SST-2.tsv").read_text().splitlines()
    assert lines[0] == "index\tprediction"
    assert [line.split("\t")[0] for line in lines[1:]] == ["0", "1", "2"]
    assert {line.split("\t")[1] for line in lines[1:]} <= {"0", "1"}


@pytest.mark.parametrize(
    ("recipe", "arguments", "counted"),
    [
        ("classify", ["--data", str(REVIEWS)], {"texts": 24}),
        ("glue", ["--data", str(DATA / "glue")], {"task": "SST-2", "texts": 4}),
        ("tags", ["--data", str(NAMES)], {"sentences": 10, "windows": 10}),
        ("choice", ["--data", str(QUIZ)], {"choices": 10}),
    ],
)
def test_the_output_evaluates_in_torch_and_exported(
    recipe, arguments, counted, trained, tmp_path, capsys
) -> None:
    command = ["--task", recipe, *arguments, "--json", "--out", str(tmp_path / "out")]
    assert main(["evaluate", str(trained[recipe]), *command]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert counted.items() <= scores.items()
    written = {"glue": "SST-2.tsv", "tags": "predictions.conll"}.get(recipe, "predictions.jsonl")
    assert (tmp_path / "out" / written).stat().st_size > 0
    assert main(["export", str(trained[recipe]), str(tmp_path / "exported")]) == 0
    capsys.readouterr()
    shutil.copy(trained[recipe] / "settings.json", tmp_path / "exported")
    assert main(["evaluate", str(tmp_path / "exported"), *command, "--precision", "fp32"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert {name: again[name] for name in counted} == counted
    measured = [name for name, value in scores.items() if isinstance(value, float)]
    assert measured
    assert [again[name] for name in measured] == pytest.approx([scores[name] for name in measured])


def test_predictions_stand_beside_the_truth(trained, tmp_path, capsys) -> None:
    command = ["evaluate", str(trained["classify"]), "--task", "classify", "--data", str(REVIEWS)]
    assert main([*command, "--limit", "2", "--out", str(tmp_path)]) == 0
    rows = [json.loads(line) for line in (tmp_path / "predictions.jsonl").read_text().splitlines()]
    assert [row["true"] for row in rows] == ["good", "bad"]
    assert {row["label"] for row in rows} <= {"good", "bad", "mixed"}
    command = ["evaluate", str(trained["choice"]), "--task", "choice", "--data", str(QUIZ), "--json"]
    capsys.readouterr()
    assert main([*command, "--out", str(tmp_path)]) == 0
    rows = [json.loads(line) for line in (tmp_path / "predictions.jsonl").read_text().splitlines()]
    assert (rows[0]["text"], rows[0]["true"]) == ("Where do you keep milk cold?", "first")
    assert sum(rows[0]["scores"].values()) == pytest.approx(1, abs=1e-3)
    right = [row["true"] == row["choice"] for row in rows]
    assert json.loads(capsys.readouterr().out)["accuracy"] == pytest.approx(100 * np.mean(right))


def test_evaluating_says_what_is_wrong(trained, encoder, tmp_path, capsys) -> None:
    def complaint(*arguments: str) -> str:
        assert main(["evaluate", *arguments]) == 2
        return capsys.readouterr().err

    data = ["--task", "classify", "--data", str(REVIEWS)]
    assert "train classify" in complaint(str(encoder), *data)
    assert "did you mean 'review'?" in complaint(str(trained["classify"]), *data, "--text", "reviews")
    assert "--fit is for --task squad" in complaint(str(trained["classify"]), *data, "--fit")
    assert "knows the labels bad, good, mixed, but SST-2 has 0, 1" in complaint(
        str(trained["classify"]), "--task", "glue", "--name", "sst-2", "--data", str(DATA / "glue")
    )
    assert "which column holds the text? Name it by --text" in complaint(str(trained["glue"]), *data)
    quiz = ["--task", "choice", "--data", str(QUIZ)]
    assert "has no choice head; train one with: pocketbert train choice" in complaint(str(encoder), *quiz)
    assert "--text is for --task classify or choice" in complaint(
        str(trained["tags"]), "--task", "tags", "--data", str(NAMES), "--text", "review"
    )
    shutil.copytree(trained["choice"], tmp_path / "bare")
    (tmp_path / "bare" / "settings.json").unlink()
    assert "Name them by --candidates a,b,c" in complaint(str(tmp_path / "bare"), *quiz)


def test_a_bad_table_ends_the_run_with_its_row(encoder, tmp_path, capsys) -> None:
    table, dev = tmp_path / "bad.csv", tmp_path / "dev.csv"
    table.write_text("review,verdict\nFine.,good\n,bad\n")
    given = ["train", "classify", str(table), "--label", "verdict", "--model", str(encoder)]
    given += ["--output_dir", str(tmp_path / "out")]
    assert main([*given, "--text", "review"]) == 2
    assert capsys.readouterr().err == (
        f"pocketbert: {table}, line 3: 'review' is empty; every row needs a text there: fill it in, or delete the row\n"
    )
    assert main([*given, "--text", "reveiw"]) == 2
    assert capsys.readouterr().err == (
        f"pocketbert: {table} has no column 'reveiw'; it has 'review', 'verdict': did you mean 'review'?\n"
    )
    table.write_text("review,verdict\nFine.,good\nPoor.,bad\n")
    dev.write_text("review,verdict\nFine too.,god\n")
    assert main([*given, "--text", "review", "--validation_file", str(dev)]) == 2
    assert capsys.readouterr().err == (
        f"pocketbert: {dev}, line 2: the label 'god' is unknown; allowed are bad, good: did you mean 'good'?\n"
    )
    assert main([*given, "--text", "review", "--problem", "regression"]) == 2
    assert "line 2: 'verdict' is 'good'; a number such as 3.5 is needed" in capsys.readouterr().err
    assert not (tmp_path / "out").exists(), "nothing was begun"


def test_a_score_and_several_labels(encoder, tmp_path) -> None:
    table = tmp_path / "many.jsonl"
    rows = [
        {"a": f"text {n}", "b": "second", "tags": ["x"] * (n % 2) + ["y"] * (n % 3 > 0)} for n in range(12)
    ]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    many = [
        "train",
        "classify",
        str(table),
        "--text",
        "a",
        "--text_pair",
        "b",
        "--label",
        "tags",
        "--preset",
        "toy",
    ]
    many += ["--model", str(encoder), "--class_weights", "balanced"]
    assert main([*many, "--output_dir", str(tmp_path / "many")]) == 0
    assert (
        json.loads((tmp_path / "many" / "config.json").read_text())["problem_type"]
        == "multi_label_classification"
    )
    assert "micro_f1" in json.loads((tmp_path / "many" / "scores.json").read_text())
    score = ["train", "classify", str(REVIEWS), "--text", "review", "--label", "stars", "--preset", "toy"]
    assert main([*score, "--model", str(encoder), "--output_dir", str(tmp_path / "score")]) == 0
    config = json.loads((tmp_path / "score" / "config.json").read_text())
    assert (config["problem_type"], config["id2label"]) == ("regression", {"0": "stars"})
    assert "spearman" in json.loads((tmp_path / "score" / "scores.json").read_text())
    assert not (tmp_path / "score" / "confusion.png").exists()


def test_a_model_with_other_labels_keeps_its_encoder(trained, tmp_path, caplog) -> None:
    """As an MNLI model is the start for RTE: the encoder stays, the head is new; with the same labels both stay."""
    still = ["--learning_rate", "1e-12"]
    assert run("glue", trained["classify"], tmp_path / "glue", *still) == 0
    assert "its encoder is kept, and a new classification head put on for 2 labels" in caplog.text
    before, after = load(trained["classify"]), load(tmp_path / "glue")
    for name, value in before.encoder.named_parameters():
        torch.testing.assert_close(after.encoder.get_parameter(name), value, atol=1e-6, rtol=0)
    assert after.head.linear.weight.shape[0] == 2
    caplog.clear()
    assert run("glue", tmp_path / "glue", tmp_path / "again", *still) == 0
    assert "new classification head" not in caplog.text
    torch.testing.assert_close(
        load(tmp_path / "again").head.linear.weight, after.head.linear.weight, atol=1e-6, rtol=0
    )


@pytest.mark.parametrize("recipe", GIVEN)
def test_resumed_is_uninterrupted(recipe, encoder, tmp_path) -> None:
    more = ["max_steps=4", "save_steps=2", "eval_strategy=no", "warmup_ratio=0"]
    assert run(recipe, encoder, tmp_path / "whole", *more) == 0
    shutil.copytree(tmp_path / "whole", tmp_path / "cut")
    shutil.rmtree(tmp_path / "cut" / "checkpoint-4")
    (tmp_path / "cut" / "model.safetensors").unlink()
    assert run(recipe, encoder, tmp_path / "cut", *more, "--resume_from_checkpoint", "latest") == 0
    resumed, whole = (read_log(tmp_path / name / "log.jsonl") for name in ("cut", "whole"))
    losses = [[line["loss"] for line in log if line["kind"] == "train"] for log in (resumed, whole)]
    assert losses[0] == losses[1]
    assert len(losses[0]) == 4
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("cut", "whole")]
    assert weights[0] == weights[1]


@pytest.mark.parametrize("recipe", GIVEN)
@pytest.mark.parametrize("preset", ["bert", "mobilebert"])
def test_every_preset_runs_two_steps(recipe, preset, encoder, tmp_path) -> None:
    small = ["max_steps=2", "per_device_train_batch_size=4", "max_seq_length=32"]
    assert run(recipe, encoder, tmp_path / "out", *small, preset=preset) == 0
    model = load(tmp_path / "out")
    assert model.kind == KINDS[recipe]
    if preset == "mobilebert" and recipe != "tags":
        assert model.config.classifier_activation is False
        assert not [name for name, _ in model.named_parameters() if "pooler" in name]


def test_a_pooler_that_cannot_be_left_out(tmp_path, capsys) -> None:
    save(build("bert-nano"), tmp_path / "bert")
    Tokenizer.load().save(tmp_path / "bert")
    assert run("classify", tmp_path / "bert", tmp_path / "out", "--pooler", "no") == 2
    assert "the family bert cannot do without one: give pooler = auto" in capsys.readouterr().err


@pytest.mark.parametrize("recipe", ["classify", "tags"])
def test_a_teacher_is_learnt_from(recipe, encoder, trained, tmp_path, capsys) -> None:
    flags = ["--teacher", str(trained[recipe]), "--transfer", "joint", "--block_steps", "1", "--alpha", "0.7"]
    assert run(recipe, encoder, tmp_path / "student", *flags) == 0
    steps = [line for line in read_log(tmp_path / "student" / "log.jsonl") if line["kind"] == "train"]
    assert all(
        line["loss"] == pytest.approx(0.7 * line["soft"] + 0.3 * line["hard"], rel=1e-4) for line in steps
    )
    assert (tmp_path / "student" / "transfer" / "log.jsonl").is_file()
    assert run(recipe, encoder, tmp_path / "none", "--teacher", str(encoder)) == 2
    assert "so it has nothing to say" in capsys.readouterr().err
    assert run(recipe, encoder, tmp_path / "none", "--alpha", "2") == 2
    assert "alpha must lie in 0 … 1" in capsys.readouterr().err


def test_a_teacher_of_other_labels_is_refused(encoder, trained, tmp_path, capsys) -> None:
    assert run("classify", encoder, tmp_path / "out", "--teacher", str(trained["glue"])) == 2
    assert "knows the labels 0, 1, and the data have bad, good, mixed" in capsys.readouterr().err


def test_the_diagnostic_set_cannot_be_trained_on(encoder, tmp_path, capsys) -> None:
    arguments = ["--model", str(encoder), "--output_dir", str(tmp_path)]
    assert main(["train", "glue", "--task", "ax", *arguments]) == 2
    assert "AX has nothing to train on; train MNLI with --do_predict" in capsys.readouterr().err


def test_mnli_answers_the_diagnostic_set_where_it_is_there(
    encoder, inferred, tmp_path, caplog, capsys
) -> None:
    def submitted(folder: Path) -> list[str]:
        return sorted(file.name for file in (folder / "submission").iterdir())

    assert {"accuracy", "accuracy_mm"} <= set(json.loads((inferred / "scores.json").read_text()))
    assert submitted(inferred) == ["MNLI-m.tsv", "MNLI-mm.tsv"], "without a folder of the diagnostic set"
    shutil.copytree(DATA / "glue" / "MNLI", tmp_path / "glue" / "MNLI")
    arguments = ["--model", str(inferred), "--preset", "toy", "max_steps=1", "--do_predict"]
    command = ["train", "glue", "--task", "mnli", *arguments]
    capsys.readouterr()
    data = str(tmp_path / "glue" / "MNLI")
    assert main([*command, "--data_dir", data, "--output_dir", str(tmp_path / "own")]) == 0
    assert f"{data}: no test set of AX is there, so no predictions are written for it" in caplog.text
    assert "accuracy_mm: " in capsys.readouterr().out
    (tmp_path / "glue" / "diagnostic").mkdir()
    shutil.copy(
        DATA / "glue" / "MNLI" / "test_matched.tsv", tmp_path / "glue" / "diagnostic" / "diagnostic.tsv"
    )
    out = tmp_path / "all"
    assert main([*command, "--data_dir", str(tmp_path / "glue"), "--output_dir", str(out)]) == 0
    assert submitted(out) == ["AX.tsv", "MNLI-m.tsv", "MNLI-mm.tsv"]


def test_rte_starts_from_mnli(inferred, tmp_path, caplog) -> None:
    assert load(inferred).labels == ("entailment", "neutral", "contradiction")
    given = ["--task", "rte", "--data_dir", str(DATA / "glue"), "--model", str(inferred), "--preset", "toy"]
    still = ["--output_dir", str(tmp_path / "rte"), "--learning_rate", "1e-12"]
    assert main(["train", "glue", *given, *still]) == 0
    assert "its encoder is kept, and a new classification head put on for 2 labels" in caplog.text
    before, after = load(inferred), load(tmp_path / "rte")
    assert after.labels == ("entailment", "not_entailment")
    assert after.head.linear.weight.shape[0] == 2
    for name, value in before.encoder.named_parameters():
        torch.testing.assert_close(after.encoder.get_parameter(name), value, atol=1e-6, rtol=0)


def test_a_class_is_learnt_from_a_word(encoder, tmp_path) -> None:
    """From a table to the right labels on other texts: whatever went astray on the way would show here."""
    nouns = ["pot", "lamp", "clock", "chair", "fan", "rug", "bell", "cup", "door", "shelf"]
    lines = [f"the {noun} is {word},{word[::-1]}" for noun in nouns for word in ("fine", "poor", "odd")]
    (tmp_path / "train.csv").write_text("text,label\n" + "\n".join(lines) + "\n")
    (tmp_path / "dev.csv").write_text(
        "text,label\nmy desk is poor,roop\nmy bed is odd,ddo\nmy hat is fine,enif\n"
    )
    given = [str(tmp_path / "train.csv"), "--text", "text", "--label", "label", "--model", str(encoder)]
    given += ["--validation_file", str(tmp_path / "dev.csv"), "--output_dir", str(tmp_path / "out")]
    assert main(["train", "classify", *given, "per_device_train_batch_size=30", *LEARNING]) == 0
    assert json.loads((tmp_path / "out" / "scores.json").read_text())["accuracy"] == 100


def test_tags_are_learnt_from_words(encoder, tmp_path) -> None:
    blocks = [f"the\tO\n{noun}\tB-thing\nof\tO\n{name}\tB-name\nHolt\tI-name\n" for noun in ("pot", "lamp", "clock")
              for name in ("Ada", "Mira", "Anselm")]  # fmt: skip
    (tmp_path / "train.conll").write_text("\n".join(blocks))
    given = [str(tmp_path / "train.conll"), "--model", str(encoder), "--output_dir", str(tmp_path / "out")]
    assert main(["train", "tags", *given, "validation_split=0.3", *LEARNING]) == 0
    assert json.loads((tmp_path / "out" / "scores.json").read_text())["f1"] == 100


def test_a_tag_that_is_held_out_is_known(encoder, tmp_path) -> None:
    """One sentence alone has the tag, and whichever side it is on, the model has a label for it."""
    blocks = [f"Ada\tB-name\nsang\tO\n{number}\tO\n" for number in range(4)] + ["to\tO\nRome\tB-place\n"]
    (tmp_path / "train.conll").write_text("\n".join(blocks))
    given = [str(tmp_path / "train.conll"), "--model", str(encoder), "--preset", "toy", "max_steps=1"]
    for seed in (1, 2):
        command = ["train", "tags", *given, "--output_dir", str(tmp_path / str(seed)), f"seed={seed}"]
        assert main([*command, "validation_split=0.5"]) == 0
        named = json.loads((tmp_path / str(seed) / "config.json").read_text())["id2label"]
        assert list(named.values()) == ["O", "B-name", "I-name", "B-place", "I-place"]


def test_another_scheme_of_entities_is_learnt_as_ours(encoder, tmp_path, caplog, capsys) -> None:
    blocks = [f"Ada\tB-name\nMay\tI-name\nHolt\tE-name\nleft\tO\n{place}\tS-place\n" for place in "ABCD"]
    file = tmp_path / "train.conll"
    file.write_text("\n".join(blocks))
    command = ["train", "tags", str(file), "--model", str(encoder), "--preset", "toy", "max_steps=1"]
    command += ["validation_split=0.3", "--output_dir", str(tmp_path / "out")]
    assert main(command) == 0
    assert "the tags are of the scheme BIOES; they are turned into B-…, I-… and O" in caplog.text
    named = json.loads((tmp_path / "out" / "config.json").read_text())["id2label"]
    assert list(named.values()) == ["O", "B-name", "I-name", "B-place", "I-place"]
    assert "f1" in json.loads((tmp_path / "out" / "scores.json").read_text())
    capsys.readouterr()
    assert main(["evaluate", str(tmp_path / "out"), "--task", "tags", "--data", str(file), "--json"]) == 0
    assert "f1" in json.loads(capsys.readouterr().out)


def test_soft_tags_stand_at_their_words(encoder) -> None:
    """Alpha 1 with a teacher like the student leaves nothing to learn, however the batch is padded."""
    model = parity.redraw(load(encoder, head="tags", labels=["O", "B-x", "I-x"])).eval()
    sentences = read_sentences([NAMES])
    features = featurise(sentences, Tokenizer.load(), dict.fromkeys(_tags(sentences), 1), max_length=12)
    words = tags._word_logits(model, Tokenizer.load(), sentences, 12)
    told = [tags.Told(feature, words[feature.sentence_index][feature.words]) for feature in features]
    settings = tags.Settings(model="x", train_file=("x",), output_dir=Path("x"), alpha=1.0, temperature=1.0)
    same, logged = tags.Objective(settings)(model, tags.collate_told(told), 0)
    assert float(same.detach()) == pytest.approx(0, abs=1e-4)
    assert logged["hard"] > 0.01
    with torch.no_grad():
        model.head.linear.weight.mul_(-1)
    assert float(tags.Objective(settings)(model, tags.collate_told(told), 0)[0].detach()) > 0.01


def _tags(sentences) -> list[str]:
    return [tag for sentence in sentences for tag in sentence.tags]


def test_choice_has_no_teacher(encoder, tmp_path) -> None:
    from pocketbert.recipes.choice import Settings as ChoiceSettings

    with pytest.raises(InputError, match="leave out --teacher"):
        ChoiceSettings(
            model="x",
            train_file=("x",),
            text="x",
            candidates=("a", "b"),
            label="x",
            output_dir=tmp_path,
            teacher="y",
        )
