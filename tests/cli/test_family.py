"""The whole way of every relative through the command line: trained, measured, exported, asked, looked into."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch

import parity
from pocketbert.cli import main
from pocketbert.heads import build, load, save
from pocketbert.model import Config, preset
from pocketbert.tasks import trust
from pocketbert.tasks.squad.features import featurise
from pocketbert.tasks.squad.predict import predict
from pocketbert.tasks.squad.questions import Question
from pocketbert.tasks.squad.reading import read_questions
from pocketbert.text import Tokenizer
from pocketbert.text.calibration import Calibration
from pocketbert.text.windows import room_and_step
from tiny_tokenizers import TEXT, write_albert, write_roberta, write_xlnet

ROOT = Path(__file__).resolve().parents[2]
TRAIN, DEV = (ROOT / "examples" / "data" / f"squad-{part}.json" for part in ("train", "dev"))
SMALL = {"hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4}


def write_wordpiece(folder: Path) -> Path:
    """Some words and all their letters, as the vocab.txt that DistilBERT and TinyBERT come with."""
    text = TEXT.lower() + "".join(path.read_text(encoding="utf-8").lower() for path in (TRAIN, DEV))
    letters = sorted({letter for letter in text if letter.isprintable() and not letter.isspace()})
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = dict.fromkeys([*letters, *(f"##{letter}" for letter in letters), *re.findall("[a-z]+", text)])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join([*special, *words]) + "\n", encoding="utf-8")
    return folder


@dataclass(frozen=True)
class Relative:
    """A member of the family: its shape, its tokenizer, its frame round two texts, and who guesses words for it."""

    config: Config
    write: Callable[[Path], Path]
    frame: str
    guesser: str

    def save(self, folder: Path, head: str | None) -> Tokenizer:
        """A folder as its makers publish one, with small random weights that matter; returns its tokenizer."""
        tokenizer = Tokenizer.load(self.write(folder))
        config = replace(self.config, **SMALL, vocab_size=tokenizer.size, pad_token_id=tokenizer.pad_id)
        save(parity.redraw(build(config, head)), folder)
        return tokenizer


BERT = "[CLS] first [SEP] second [SEP]"
RELATIVES = {
    "roberta": Relative(
        preset("roberta-nano"), write_roberta, "<s> first </s> </s> second </s>", "RobertaForMaskedLM"
    ),
    "distilbert": Relative(preset("distilbert-nano"), write_wordpiece, BERT, "DistilBertForMaskedLM"),
    "albert": Relative(preset("albert-nano"), write_albert, BERT, "AlbertForMaskedLM"),
    "tinybert": Relative(preset("tinybert-4"), write_wordpiece, BERT, "BertForMaskedLM"),
    "xlnet": Relative(
        preset("xlnet-nano"), write_xlnet, "first <sep> second <sep> <cls>", "XLNetLMHeadModel"
    ),
}


def run(*arguments: object) -> str:
    """What a command prints that must not fail."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main([str(argument) for argument in arguments]) == 0
    return printed.getvalue()


@dataclass(frozen=True)
class Home:
    """All folders of one relative, and what `export` said of the last two."""

    relative: Relative
    encoder: Path
    reader: Path
    fp32: Path
    int8: Path
    exports: list[dict]


@pytest.fixture(scope="module", params=RELATIVES)
def home(request, tmp_path_factory) -> Home:
    """From a published encoder to a reader in two precisions, by `train squad` and `export`."""
    relative, folder = RELATIVES[request.param], tmp_path_factory.mktemp(request.param)
    encoder, reader, *exported = (folder / part for part in ("encoder", "reader", "fp32", "int8"))
    relative.save(encoder, None)
    torch.manual_seed(0)  # of the head, which is new
    files = ["--model", encoder, "--train_file", TRAIN, "--validation_file", DEV, "--output_dir", reader]
    run("train", "squad", *files, "max_steps=2", "per_device_train_batch_size=4", "max_seq_length=96")
    model = load(reader)
    model.head.linear.weight.data *= 30  # two steps teach nothing: now it is at least decided
    save(model, reader)
    run("evaluate", reader, "--task", "squad", "--data", DEV, "--fit")
    gate = ["--data", DEV, "--tolerance", "100", "--json"]
    rows = [json.loads(run("export", reader, place, "--precision", place.name, *gate)) for place in exported]
    return Home(relative, encoder, reader, *exported, [row for group in rows for row in group])


def test_training_moves_every_part_and_keeps_the_tokenizer(home) -> None:
    before, after = load(home.encoder), load(home.reader)
    assert after.kind == "question-answering"
    assert after.report.new == after.report.unused == ()
    given = dict(before.named_parameters())
    still = [name for name, value in after.encoder.named_parameters() if torch.equal(value, given[name])]
    assert still == (["embeddings.query"] if home.relative.config.model_type == "xlnet" else [])
    text = "The owner's café sells résumés, 1,200 of them."
    assert Tokenizer.load(home.encoder).encode(text) == Tokenizer.load(home.reader).encode(text)


def test_torch_and_the_export_score_the_same(home, tmp_path) -> None:
    data = ["--task", "squad", "--data", DEV, "--json"]
    torch_scores = json.loads(run("evaluate", home.reader, *data, "--out", tmp_path))
    exported = json.loads(run("evaluate", home.fp32, *data, "--precision", "fp32"))
    assert torch_scores["questions"] == len(read_questions(DEV).questions)
    assert exported.keys() == torch_scores.keys()
    assert exported["f1"] == torch_scores["f1"]
    assert exported["best_f1_thresh"] == pytest.approx(torch_scores["best_f1_thresh"], abs=1e-2)
    predictions = json.loads((tmp_path / "predictions.json").read_text())
    contexts = {question.id: question.context for question in read_questions(DEV).questions}
    assert all(text and text in contexts[key] for key, text in predictions.items())


def test_exports_pass_the_gate(home) -> None:
    plain, small = home.exports
    assert plain["comparison"]["error"] < 1e-4
    assert plain["comparison"]["equal"] == 100
    assert small["comparison"]["error"] < 0.2
    assert small["bytes"] < 0.5 * plain["bytes"]


def test_the_gate_refuses_what_is_worse(home, tmp_path, capsys, monkeypatch) -> None:
    from pocketbert.export import fold, folder, onnx

    def spoilt(model, *_rest):
        copy = fold(model)
        copy.encoder.blocks[-1].feed_forward.down.weight.data *= -1
        return onnx.to_onnx(copy)

    monkeypatch.setitem(folder._MAKERS, "fp32", spoilt)
    assert main(["export", str(home.reader), str(tmp_path / "out")]) == 1
    assert "nothing was written" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("temperature", [1.0, 0.05], ids=["spread over all windows", "the best wins clearly"])
def test_asking_gives_what_torch_would_say(temperature, home, tmp_path) -> None:
    """Two ways to the same words: windows, padding and the null of the runtime, and those of the lab."""
    tokenizer, asked = Tokenizer.load(home.reader), "???"  # no words that would make a window promise more
    calibration = replace(Calibration.load(home.reader), overlap=10, temperature=temperature)
    text = almost_two_windows(tokenizer, calibration, asked)
    question = Question("1", "", asked, text, (), impossible=False)
    features = featurise([question], tokenizer, max_length=calibration.window, overlap=calibration.overlap)
    long, short = map(len, features)
    assert 0 < long - short <= 3, "near enough to be read at once, and one of them padded"
    logits = predict(load(home.reader), features, pad_id=tokenizer.pad_id)
    (expected,) = trust.read_all(calibration, [question], features, *logits)
    calibration.save(shutil.copytree(home.fp32, tmp_path / "reader"))
    (tmp_path / "page.txt").write_text(text, encoding="utf-8")
    options = ["--read", "all", "--threshold", "1", "--json", "--model", tmp_path / "reader"]
    found = json.loads(run("ask", tmp_path / "page.txt", "-q", asked, *options))
    assert found["no_answer"] == pytest.approx(expected.no_answer, abs=1e-5)
    answer, best = found["answers"][0], expected.answers[0]
    assert text[answer["start"] : answer["end"]] == answer["text"]
    if temperature < 1:
        assert answer["start"] <= best.start < best.end <= answer["end"], "the same, in whole words"


def almost_two_windows(tokenizer: Tokenizer, calibration: Calibration, question: str) -> str:
    """A text that fills one window and all but two tokens of the next."""
    text = "\n".join(dict.fromkeys(each.context for each in read_questions([TRAIN, DEV]).questions))
    asked, special = len(tokenizer.encode(question, special=False)), tokenizer.layout.special_tokens(2)
    room, step = room_and_step(
        asked, max_length=calibration.window, overlap=calibration.overlap, special=special
    )
    return text[: tokenizer.encode(text, special=False).offsets[step + room - 3][1]]


def test_asking_needs_no_torch(home, tmp_path) -> None:
    page = tmp_path / "page.txt"
    page.write_text(TEXT, encoding="utf-8")
    words = ["ask", str(page), "Who wrote the letters?", "--model", str(home.int8), "--threshold", "1"]
    program = f"""if True:
        import sys
        from pocketbert.cli import main
        status = main({words!r})
        assert "torch" not in sys.modules
        sys.exit(status)"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "**" in done.stdout


def test_info_knows_the_folder(home) -> None:
    found = json.loads(run("info", home.reader, "--json"))
    encoder = load(home.reader, head="none")
    assert found["family"] == home.relative.config.model_type
    assert found["head"] == "question-answering"
    counted = {id(part): part.numel() for name, part in encoder.named_parameters() if "pooler" not in name}
    assert found["parameters"] - found["pooler"] == sum(counted.values())


def test_tokens_shows_the_frame(home) -> None:
    texts = ("The library opens at nine.", "Who waits?")
    shown = json.loads(run("tokens", texts[0], "--pair", texts[1], "--model", home.reader, "--json"))
    order = {None: None, 0: "first", 1: "second"}
    frame = [order[row["sequence"]] or row["token"] for row in shown["tokens"]]
    kept = [part for number, part in enumerate(frame) if part not in frame[max(0, number - 1) : number]
            or part not in ("first", "second")]  # fmt: skip
    assert " ".join(kept) == home.relative.frame
    for row in shown["tokens"]:
        if row["sequence"] is not None:
            assert row["text"] == texts[row["sequence"]][row["start"] : row["end"]]


def test_attention_shows_what_the_encoder_saw(home, tmp_path) -> None:
    told = json.loads(run("attention", home.reader, "Who waits?", "--out", tmp_path / "page.html", "--json"))
    encoding = Tokenizer.load(home.reader).encode("Who waits?")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
    assert data["tokens"] == list(encoding.tokens)
    assert data["shape"] == [told["layers"], told["heads"], len(encoding.ids), len(encoding.ids)]
    rows = [torch.tensor([row]) for row in (encoding.ids, encoding.attention_mask, encoding.type_ids)]
    with torch.no_grad():
        maps = load(home.reader, head="none").eval()(*rows, attentions=True).attentions
    given = np.frombuffer(base64.b64decode(data["weights"]), dtype=np.uint8).reshape(data["shape"]) / 255
    np.testing.assert_allclose(given, torch.cat(maps).numpy(), atol=0.5 / 255 + 1e-6)


@pytest.mark.parametrize("name", RELATIVES)
def test_fill_guesses_what_transformers_guesses(name, tmp_path) -> None:
    import transformers

    relative = RELATIVES[name]
    head = "permutation-lm" if name == "xlnet" else "masked-lm"
    tokenizer = relative.save(tmp_path, head)
    gaps = json.loads(
        run("fill", "the [MASK] reader [MASK] it", "--model", tmp_path, "--top", "4", "--json")
    )["gaps"]
    before, after = (
        ([], [tokenizer.sep_id, tokenizer.cls_id])
        if name == "xlnet"
        else (
            [tokenizer.cls_id],
            [tokenizer.sep_id],
        )
    )
    words = [list(tokenizer.encode(part, special=False).ids) for part in ("the", " reader", " it")]
    ids = [*before, *words[0], tokenizer.mask_id, *words[1], tokenizer.mask_id, *words[2], *after]
    places = [number for number, token in enumerate(ids) if token == tokenizer.mask_id]
    theirs = getattr(transformers, relative.guesser).from_pretrained(tmp_path).eval()
    inputs = {"input_ids": torch.tensor([ids])}
    if name == "xlnet":  # nobody sees the words at the gaps, and a query asks for each
        inputs["perm_mask"] = torch.zeros(1, len(ids), len(ids))
        inputs["perm_mask"][:, :, places] = 1
        inputs["target_mapping"] = torch.eye(len(ids))[places].unsqueeze(0)
        inputs["token_type_ids"] = torch.tensor([[0] * (len(ids) - 1) + [2]])
    with torch.no_grad():
        logits = theirs(**inputs).logits[0]
    expected = (logits if name == "xlnet" else logits[places]).softmax(-1).topk(4)
    assert [[word["id"] for word in words] for words in gaps] == expected.indices.tolist()
    given = torch.tensor([[word["probability"] for word in words] for words in gaps])
    torch.testing.assert_close(given, expected.values, atol=1e-5, rtol=1e-4)


def test_compare_takes_them_all(tmp_path) -> None:
    for name, relative in RELATIVES.items():
        relative.save(tmp_path / name, "question-answering")
    folders = [tmp_path / name for name in RELATIVES]
    quick = ["--rounds", "1", "--length", "16", "--form", "torch", "--form", "fp32"]
    found = json.loads(run("compare", *folders, *quick, "--data", DEV, "--limit", "2", "--json"))
    families = [relative.config.model_type for relative in RELATIVES.values()]
    assert [row["family"] for row in found["rows"]] == families
    for row in found["rows"]:
        assert set(row["timings"]) == {"torch", "fp32"}
        assert set(row["scores"]) == {"f1", "exact"}
