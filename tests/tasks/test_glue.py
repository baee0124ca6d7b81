"""GLUE: every task's files, the official scores, and predictions as the server takes them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from pocketbert.errors import InputError
from pocketbert.tasks.glue.benchmark import TASKS, find_task
from pocketbert.tasks.glue.metrics import evaluate
from pocketbert.tasks.glue.reading import parts_of, read_part
from pocketbert.tasks.glue.submission import write_submission

# The first lines of each official file, with rows of our own.
PARSES = "sentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\tsentence2_parse"
MNLI = f"index\tpromptID\tpairID\tgenre\t{PARSES}"
FILES = {
    "CoLA/train.tsv": ['our1\t1\t\tA "fine" day.', "our1\t0\t*\tDay fine a."],
    "CoLA/test.tsv": ["index\tsentence", "0\tIt rains."],
    "SST-2/train.tsv": ["sentence\tlabel", "what a film \t1", "what a bore \t0"],
    "SST-2/test.tsv": ["index\tsentence", "0\tso so"],
    "MRPC/train.tsv": ["\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String", "1\t7\t8\tHe left .\tHe went ."],
    "MRPC/test.tsv": ["index\t#1 ID\t#2 ID\t#1 String\t#2 String", "0\t1\t2\tA .\tB ."],
    "STS-B/train.tsv": [
        "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore",
        "0\tnews\tf\t2012\t1\tnone\tnone\tA dog runs.\tA dog walks.\t3.200",
    ],
    "STS-B/test.tsv": [
        "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2",
        "0\tnews\tf\t2012\t1\tnone\tnone\tA cat.\tA hat.",
    ],
    "QQP/train.tsv": [
        "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate",
        "4\t1\t2\tWho?\tWho is it?\t1",
        "5\t3\t4\ta question cut in two",
    ],
    "QQP/test.tsv": ["id\tquestion1\tquestion2", "0\tWhy?\tHow?"],
    "MNLI/train.tsv": [
        f"{MNLI}\tsentence1\tsentence2\tlabel1\tgold_label",
        "0\t1\t2\tg\t(\t(\t(\t(\tIt rains.\tIt is wet.\tneutral\tentailment",
    ],
    "MNLI/dev_matched.tsv": [
        f"{MNLI}\tsentence1\tsentence2\tlabel1\tlabel2\tlabel3\tlabel4\tlabel5\tgold_label",
        "0\t1\t2\tg\t(\t(\t(\t(\tIt rains.\tIt is dry.\tx\tx\tx\tx\tx\tcontradiction",
    ],
    "MNLI/test_matched.tsv": [
        f"{MNLI}\tsentence1\tsentence2",
        "0\t1\t2\tg\t(\t(\t(\t(\tIt rains.\tIt is wet.",
    ],
    "MNLI/test_mismatched.tsv": [
        f"{MNLI}\tsentence1\tsentence2",
        "9\t1\t2\tg\t(\t(\t(\t(\tIt rains.\tIt is wet.",
    ],
    "QNLI/train.tsv": ["index\tquestion\tsentence\tlabel", "0\tWho sang?\tAda sang.\tentailment"],
    "QNLI/test.tsv": ["index\tquestion\tsentence", "0\tWho sang?\tIt rains."],
    "RTE/train.tsv": ["index\tsentence1\tsentence2\tlabel", "0\tAda sang.\tNobody sang.\tnot_entailment"],
    "RTE/test.tsv": ["index\tsentence1\tsentence2", "0\tAda sang.\tAda."],
    "WNLI/train.tsv": ["index\tsentence1\tsentence2\tlabel", "0\tIt fell.\tThe cup fell.\t1"],
    "WNLI/test.tsv": ["index\tsentence1\tsentence2", "0\tIt fell.\tThe cat fell."],
    "diagnostic/diagnostic.tsv": ["index\tsentence1\tsentence2", "0\tIt fell.\tIt did not fall."],
}
FIRST = {
    "cola": ('A "fine" day.', None, 1),
    "sst-2": ("what a film ", None, 1),
    "mrpc": ("He left .", "He went .", 1),
    "sts-b": ("A dog runs.", "A dog walks.", np.float32(3.2)),
    "qqp": ("Who?", "Who is it?", 1),
    "mnli": ("It rains.", "It is wet.", 0),
    "qnli": ("Who sang?", "Ada sang.", 0),
    "rte": ("Ada sang.", "Nobody sang.", 1),
    "wnli": ("It fell.", "The cup fell.", 1),
}


@pytest.fixture
def glue(tmp_path) -> Path:
    for name, lines in FILES.items():
        file = tmp_path / "glue" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "glue"


def test_there_are_nine_tasks_and_the_diagnostic_set() -> None:
    assert list(TASKS) == ["cola", "sst-2", "mrpc", "sts-b", "qqp", "mnli", "qnli", "rte", "wnli", "ax"]
    for name in ("SST-2", "sst-2", "sst2", "Sst_2"):
        assert find_task(name).name == "SST-2"
    with pytest.raises(
        InputError, match=r"'sst-3' is no task of GLUE; there are cola, .*did you mean 'sst-2'\?"
    ):
        find_task("sst-3")


@pytest.mark.parametrize("name", FIRST)
def test_every_task_is_read(name, glue) -> None:
    task = TASKS[name]
    for data in (glue, glue / task.name):
        part = read_part(task, data, "train")
        text, pair, label = FIRST[name]
        assert (part.examples[0].text, part.examples[0].pair, part.examples[0].label) == (text, pair, label)
    test = read_part(task, glue, "test")
    assert [example.label for example in test.examples] == [None]
    assert test.indices == ["0"]


def test_special_rows(glue) -> None:
    assert len(read_part(TASKS["qqp"], glue, "train").examples) == 1, "what was cut in two is left out"
    assert int(read_part(TASKS["mnli"], glue, "dev").examples[0].label) == 2
    assert read_part(TASKS["mnli"], glue, "test_mismatched").indices == ["9"]
    assert read_part(TASKS["ax"], glue, "test").examples[0].pair == "It did not fall."
    assert parts_of(TASKS["mnli"], glue, ("dev", "dev_mismatched", "test")) == ["dev", "test"]


def test_a_clone_of_the_hubs_set(tmp_path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    rows = {
        "mnli/validation_mismatched": [{"premise": "a", "hypothesis": "b", "label": 2, "idx": 7}],
        "mnli/test_matched": [{"premise": "a", "hypothesis": "b", "label": -1, "idx": 5}],
        "stsb/train": [{"sentence1": "a", "sentence2": "b", "label": 2.5, "idx": 0}],
        "stsb/test": [{"sentence1": "a", "sentence2": "b", "label": -1.0, "idx": 0}],
        "qqp/train": [{"question1": "a", "question2": "", "label": 1, "idx": 0}],
    }
    for name, table in rows.items():
        file = tmp_path / f"{name}-00000-of-00001.parquet"
        file.parent.mkdir(exist_ok=True)
        parquet.write_table(pa.Table.from_pylist(table), file)
    mnli = TASKS["mnli"]
    part = read_part(mnli, tmp_path, "dev_mismatched")
    assert (part.examples[0].pair, int(part.examples[0].label), part.indices) == ("b", 2, ["7"])
    assert read_part(mnli, tmp_path, "test").examples[0].label is None
    assert parts_of(mnli, tmp_path, ("dev", "dev_mismatched", "test")) == ["dev_mismatched", "test"]
    assert float(read_part(TASKS["sts-b"], tmp_path, "train").examples[0].label) == 2.5
    assert read_part(TASKS["sts-b"], tmp_path, "test").examples[0].label is None
    assert read_part(TASKS["qqp"], tmp_path, "train").examples[0].pair == ""


def test_mrpc_is_made_from_the_original_where_it_is_there(glue) -> None:
    lines = ["\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String"]
    lines += [f"{n % 2}\t{n}\t{n + 1}\tLeft {n} .\tRight {n} ." for n in range(6)]
    (glue / "MRPC" / "msr_paraphrase_train.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (glue / "MRPC" / "dev_ids.tsv").write_text("1\t2\n4\t5\n")
    texts = {
        part: [example.text for example in read_part(TASKS["mrpc"], glue, part).examples]
        for part in ("train", "dev")
    }
    assert texts == {
        "train": ["Left 0 .", "Left 2 .", "Left 3 .", "Left 5 ."],
        "dev": ["Left 1 .", "Left 4 ."],
    }


@pytest.mark.parametrize(
    ("file", "line", "name", "complaint"),
    [
        ("RTE/train.tsv", "1\ta\tb\tentailmet", "rte", "line 3: the label 'entailmet' is unknown; allowed are"),
        ("RTE/train.tsv", "1\ta\tb", "rte", "line 3: 3 fields, but there are 4 columns"),
        ("RTE/train.tsv", "1\t\tb\tentailment", "rte", "line 3: 'sentence1' is empty"),
        (
            "STS-B/train.tsv", "0\tn\tf\t1\t1\t-\t-\ta\tb\t7", "sts-b", "line 3: 'score' is 7; it must lie in 0 … 5",
        ),
        ("STS-B/train.tsv", "0\tn\tf\t1\t1\t-\t-\ta\tb\thigh", "sts-b", "line 3: 'score' is 'high'; a number"),
        ("CoLA/train.tsv", "x\t2\t\tOdd.", "cola", "line 3: the label '2' is unknown; allowed are 0, 1"),
    ],
)  # fmt: skip
def test_a_slip_is_found(file, line, name, complaint, glue) -> None:
    with (glue / file).open("a") as stream:
        stream.write(f"{line}\n")
    with pytest.raises(InputError, match=re.escape(complaint)):
        read_part(TASKS[name], glue, "train")


def test_what_is_missing_is_named(glue, tmp_path) -> None:
    with pytest.raises(
        InputError, match=r"RTE/dev.tsv: there is no such file.*files there: test.tsv, train.tsv"
    ):
        read_part(TASKS["rte"], glue, "dev")
    with pytest.raises(InputError, match=r"AX has no part 'train'; it has test"):
        read_part(TASKS["ax"], glue, "train")
    with pytest.raises(InputError, match=r"nowhere: there is no such folder; give GLUE's, or 'glue'"):
        read_part(TASKS["rte"], tmp_path / "nowhere", "train")
    (tmp_path / "some" / "CoLA").mkdir(parents=True)
    with pytest.raises(InputError, match=r"has no folder RTE; its folders are CoLA"):
        read_part(TASKS["rte"], tmp_path / "some", "train")


def test_the_official_scores() -> None:
    labels = [np.array(value) for value in (1, 1, 1, 0, 0, 0)]
    logits = np.eye(2, dtype=np.float32)[[1, 1, 1, 0, 0, 1]]  # one false alarm
    assert evaluate(TASKS["cola"], labels, logits) == {"matthews": pytest.approx(100 * 6 / 72**0.5)}
    found = evaluate(TASKS["mrpc"], labels, logits)
    assert found == {
        "f1": pytest.approx(100 * 6 / 7),
        "accuracy": pytest.approx(100 * 5 / 6),
        "mean": pytest.approx(50 * (6 / 7 + 5 / 6)),
    }
    assert evaluate(TASKS["rte"], labels, logits) == {"accuracy": pytest.approx(100 * 5 / 6)}
    assert evaluate(TASKS["ax"], labels, np.eye(3, dtype=np.float32)[[1, 1, 1, 0, 0, 1]]) == {
        "matthews": pytest.approx(100 * 6 / 72**0.5)
    }
    scored = evaluate(
        TASKS["sts-b"], [np.array(v) for v in (0.0, 1.0, 2.0, 3.0)], np.array([[0.0], [1], [3], [2]])
    )
    assert scored["spearman"] == pytest.approx(80)
    assert scored["pearson"] == pytest.approx(80)
    for task in TASKS.values():
        if task.problem == "single" and len(task.labels) == 2:
            assert task.best in evaluate(task, labels, logits)
    with pytest.raises(InputError, match="secret"):
        evaluate(TASKS["rte"], [None], logits[:1])


@pytest.mark.parametrize(
    ("name", "part", "file", "logits", "lines"),
    [
        ("cola", "test", "CoLA.tsv", [[1, 0], [0, 1]], ["0", "1"]),
        ("sst-2", "test", "SST-2.tsv", [[1, 0], [0, 1]], ["0", "1"]),
        ("mrpc", "test", "MRPC.tsv", [[1, 0], [0, 1]], ["0", "1"]),
        ("qqp", "test", "QQP.tsv", [[1, 0], [0, 1]], ["0", "1"]),
        ("sts-b", "test", "STS-B.tsv", [[5.5], [2.34567]], ["5.000", "2.346"]),
        ("mnli", "test", "MNLI-m.tsv", [[1, 0, 0], [0, 0, 1]], ["entailment", "contradiction"]),
        ("mnli", "test_mismatched", "MNLI-mm.tsv", [[0, 1, 0], [0, 0, 1]], ["neutral", "contradiction"]),
        ("qnli", "test", "QNLI.tsv", [[1, 0], [0, 1]], ["entailment", "not_entailment"]),
        ("rte", "test", "RTE.tsv", [[1, 0], [0, 1]], ["entailment", "not_entailment"]),
        ("wnli", "test", "WNLI.tsv", [[1, 0], [0, 1]], ["0", "1"]),
        ("ax", "test", "AX.tsv", [[1, 0, 0], [0, 1, 0]], ["entailment", "neutral"]),
    ],
)
def test_a_submission_is_spelled_as_the_server_wants_it(name, part, file, logits, lines, tmp_path) -> None:
    path = write_submission(
        TASKS[name], tmp_path / "new", ["0", "1"], np.array(logits, dtype=np.float32), part=part
    )
    assert path.name == file
    assert path.read_text() == "index\tprediction\n" + "".join(
        f"{n}\t{line}\n" for n, line in enumerate(lines)
    )


def test_a_submission_has_a_line_for_every_row(tmp_path) -> None:
    with pytest.raises(InputError, match="2 rows came with 1 predictions"):
        write_submission(TASKS["rte"], tmp_path, ["0", "1"], np.zeros((1, 2), dtype=np.float32))


def test_real_files(unpacked) -> None:
    folder = unpacked("glue")
    rows = {
        name: tuple(len(read_part(TASKS[name], folder, part).examples) for part in ("train", "dev", "test"))
        for name in ("cola", "sst-2", "mrpc", "sts-b", "rte", "wnli")
    }
    assert rows == {
        "cola": (8551, 1043, 1063),
        "sst-2": (67349, 872, 1821),
        "mrpc": (3668, 408, 1725),
        "sts-b": (5749, 1500, 1379),
        "rte": (2490, 277, 3000),
        "wnli": (635, 71, 146),
    }
    assert len(read_part(TASKS["qnli"], folder, "dev").examples) == 5463
    assert len(read_part(TASKS["ax"], folder, "test").examples) == 1104
