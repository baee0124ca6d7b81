"""Wrong sentences that look right to the embedder are found, and right ones are not among them."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "teaching" / "negatives.py"
HEADER = ["anchor", "positive", "negative"]
ROWS = [
    ["When does the bakery open?", "The bakery opens at six in the morning.", "A hen crossed the road."],
    ["Who bakes the bread?", "Ada bakes all the bread of the village.", "A hen crossed the road."],
    [
        "When does the bakery open?",
        "You can buy bread at the bakery from six on.",
        "The bakery closes at noon.",
    ],
    ["What crossed the road?", "A hen crossed the road.", "The bakery closes at noon."],
]


def test_each_question_gets_a_near_sentence_that_is_not_its_own(tmp_path: Path) -> None:
    with (tmp_path / "in.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([HEADER, *ROWS])
    command = [sys.executable, str(SCRIPT), str(tmp_path / "in.csv"), "--output", str(tmp_path / "out.csv")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as stream:
        header, *found = list(csv.reader(stream))
    assert header == HEADER
    assert found[: len(ROWS)] == ROWS
    more = found[len(ROWS) :]
    assert more
    assert all(row[:2] in [one[:2] for one in ROWS] for row in more)
    right = {one[1] for one in ROWS if one[0] == "When does the bakery open?"}
    opening = [row[2] for row in more if row[0] == "When does the bakery open?"]
    assert opening
    assert not right & set(opening)
    assert not any(row[2] == row[1] for row in more)
