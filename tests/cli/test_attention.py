"""`pocketbert attention`: the page holds what the model gave, and nothing from anywhere else."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import torch

import parity
from pocketbert.cli import main
from pocketbert.heads import build, load, save
from pocketbert.text import Tokenizer

TEXT = "Bert </script><b> lives & reads."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    save(parity.redraw(build("mobilebert-nano", "question-answering")), folder)
    Tokenizer.load().save(folder)
    return folder


class Page(HTMLParser):
    """The elements of a page, and the data in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.data = ""
        self.feed(text)

    def handle_starttag(self, tag, attributes) -> None:
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, text) -> None:
        if self.elements and self.elements[-1][1].get("id") == "data":
            self.data += text


def test_the_page_holds_the_attention_of_the_model(folder, tmp_path, capsys) -> None:
    out = tmp_path / "pages" / "page.html"
    assert main(["attention", str(folder), TEXT, "--pair", "Where?", "--out", str(out)]) == 0
    assert "2 layers" in capsys.readouterr().out
    page = Page(out.read_text(encoding="utf-8"))
    data = json.loads(page.data)
    encoding = Tokenizer.load(folder).encode(TEXT, "Where?")
    assert data["tokens"] == list(encoding.tokens)
    rows = [torch.tensor([row]) for row in (encoding.ids, encoding.attention_mask, encoding.type_ids)]
    with torch.no_grad():
        wanted = torch.stack(load(folder, head="none").eval()(*rows, attentions=True).attentions)[:, 0]
    found = np.frombuffer(base64.b64decode(data["weights"]), dtype=np.uint8).reshape(data["shape"]) / 255
    assert found.shape == tuple(wanted.shape)
    np.testing.assert_allclose(found, wanted.numpy(), atol=0.5 / 255 + 1e-6)


def test_the_page_needs_nothing_from_elsewhere(folder, tmp_path) -> None:
    out = tmp_path / "page.html"
    assert main(["attention", str(folder), TEXT, "--out", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    page = Page(text)
    assert [tag for tag, _ in page.elements].count("script") == 2, "the text ended no element early"
    assert not [attributes for _, attributes in page.elements if {"src", "href"} & attributes.keys()]
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}, (
        "a name, not an address"
    )


@pytest.mark.parametrize(
    "preset", ["bert-nano", "roberta-nano", "distilbert-nano", "albert-nano", "xlnet-nano"]
)
def test_a_preset_has_a_page_too(preset, tmp_path) -> None:
    """With BERT's words, of which ALBERT's own table would be too small for the last."""
    tokenizer = Tokenizer.load()
    last = tokenizer.token(tokenizer.size - 1).removeprefix("##")
    text = f"A word, and a{last}."
    assert tokenizer.size - 1 in tokenizer.encode(text).ids
    assert main(["attention", preset, text, "--out", str(tmp_path / "page.html")]) == 0


def test_too_long_a_text_is_refused(folder, tmp_path, capsys) -> None:
    out = tmp_path / "page.html"
    assert main(["attention", str(folder), "word " * 300, "--out", str(out)]) == 2
    assert "302 tokens; a page shows up to" in capsys.readouterr().err
    assert not out.exists()
