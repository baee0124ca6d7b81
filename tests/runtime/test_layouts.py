"""A reader whose tokenizer puts [CLS] last and pads on the left answers like any other."""

from __future__ import annotations

import string
from pathlib import Path

import pytest

from pocketbert.runtime.documents import Document, Plan
from pocketbert.runtime.order import promises
from pocketbert.runtime.questions import QuestionAnswerer
from pocketbert.text import Tokenizer
from tiny_tokenizers import spiece_bytes
from toy_reader import LOGITS, save_reader

SPECIAL = ("<unk>", "<cls>", "<sep>", "<pad>", "<mask>")
PIECES = [
    *((word, 0.0, 2 if word == "<unk>" else 3) for word in SPECIAL),
    *((f"▁{word}", -3.0, 1) for word in LOGITS),
    *((f"▁{word}", -4.0, 1) for word in ("mine", "invention", "invented", "stone")),
    *((piece, -9.0, 1) for piece in ("▁", *string.ascii_lowercase, *string.ascii_uppercase, ".", "?")),
]


@pytest.fixture(scope="module")
def xlnet(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    folder = tmp_path_factory.mktemp("xlnet")
    (folder / "spiece.model").write_bytes(spiece_bytes(PIECES))
    return Tokenizer.load(folder)


def test_answers_with_cls_last(xlnet: Tokenizer, tmp_path: Path) -> None:
    reader = QuestionAnswerer.load(save_reader(tmp_path, tokenizer=xlnet, mark="▁"))
    contexts = ["stone " * 30 + "gold " + "stone " * 90, "a mine.", "silver stone", "A stone"]
    together = reader(question=["Where?"] * 4, context=contexts)
    for context, answer in zip(contexts, together, strict=True):
        alone = reader(question="Where?", context=context)
        assert (answer.found, answer.text, answer.start, answer.end) == (
            alone.found,
            alone.text,
            alone.start,
            alone.end,
        )
        assert answer.no_answer == pytest.approx(alone.no_answer)
        assert context[answer.start : answer.end] == answer.text
    assert [answer.text for answer in together] == ["gold", "", "silver", ""]


def test_the_order_of_reading_sees_words_behind_their_marks(xlnet: Tokenizer) -> None:
    text = "stone " * 200 + "invention " + "stone " * 60
    ids = tuple(token for token, _ in xlnet.stream("Who invented stone?"))
    plan = Plan.of(ids, [Document.of(text, xlnet)], max_length=64, overlap=8)
    best = int(promises(plan).argmax())
    stretch = plan.stretches[best]
    assert xlnet.id("▁invention") in plan.documents[0].ids[stretch.first : stretch.last]
