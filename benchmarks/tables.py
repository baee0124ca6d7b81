"""Write the tables of the documents from results/*.json, so that no number in them is typed by hand.

    python benchmarks/tables.py [--check]

A table stands between `<!-- NAME -->` and `<!-- end -->`. With --check nothing is written, and a table that is not
what the results say is an error.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from record import RESULTS, circumstance, recorded

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="only say whether the documents are up to date")
    options = parser.parse_args()

    for document in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        old = document.read_text(encoding="utf-8")
        new = filled(old)
        if new != old and options.check:
            sys.exit(f"{document.name} is not what the results say: run python benchmarks/tables.py")
        if new != old:
            document.write_text(new, encoding="utf-8")


def filled(text: str) -> str:
    """The text with every table drawn anew."""

    def draw(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in TABLES:
            sys.exit(f"there is no table {name!r}; the tables are {', '.join(TABLES)}")
        return f"<!-- {name} -->\n{TABLES[name]()}\n<!-- end -->"

    return re.sub(r"<!-- (?P<name>[\w-]+) -->\n.*?<!-- end -->", draw, text, flags=re.DOTALL)


def footprint() -> str:
    seconds = {name: pair["processor"] for name, pair in recorded("footprint", "seconds").items()}
    install = recorded("footprint", "base_install")
    alone = seconds.pop("python alone")
    rows = [f"| `{name}` | {max(0.0, value - alone):.3f} s |" for name, value in seconds.items()]
    parts = ", ".join(f"{name} {size:.0f} MB" for name, size in list(install["largest"].items())[:3])
    where = circumstance("footprint", "seconds", "machine")
    return "\n".join([
        "| | takes |",
        "| --- | ---: |",
        *rows,
        f"| base install ({parts}) | {install['megabytes']:.0f} MB |",
        "",
        f"Medians of processor time, over the {alone:.3f} s that Python itself needs, on {where}.",
    ])  # fmt: skip


def reader() -> str:
    measured = recorded("reader", "squad2")
    rows = []
    for name in ("torch", "fp32", "int8", "int8-fast", "fp16"):
        if name in measured:
            row = measured[name]
            equal = f"{row['equal']:.2f} %" if "equal" in row else ""
            size = f"{row['megabytes']:.1f} MB" if "megabytes" in row else ""
            rows.append(
                f"| {name} | {row['f1']:.1f} | {row['exact']:.1f} | {row['has_answer_f1']:.1f} | "
                f"{row['no_answer']:.1f} | {equal} | {size} |"
            )
    return "\n".join([
        "| | F1 | exact | F1 if it must answer | silent if it should be | equal to torch | size |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        (f"On {measured['questions']:,} questions of SQuAD 2.0's development set, {measured['unanswerable']:,} "
        "of them unanswerable, from articles that neither training nor calibration saw."),
    ])  # fmt: skip


def latency() -> str:
    rows = []
    for key in entries("ask", "latency"):
        measured = recorded("ask", key)
        for case, contenders in measured["cases"].items():
            cells = []
            for name in ("transformers", "onnxruntime", "pocketbert", "pocketbert-fast"):
                if name in contenders:
                    found = contenders[name]
                    cells.append(f"{found['milliseconds']:,.0f} ms ({found['times_transformers']:.2f}x)")
                else:
                    cells.append("")
            windows = contenders["pocketbert"]["windows"]
            rows.append(f"| {case}, {measured['threads']} | {windows} | {' | '.join(cells)} |")
        peaks = [f"{peak:.0f} MB" for peak in measured["peak_megabytes"].values()]
        rows.append(f"| peak memory, {measured['threads']} | | {' | '.join(peaks)} |")
    where = circumstance("ask", entries("ask", "latency")[0], "machine")
    return "\n".join([
        "| case, threads | windows | transformers eager | plain onnxruntime | pocketbert int8 | pocketbert int8-fast |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        f"Medians, in turns, on {where}.",
    ])  # fmt: skip


def trade() -> str:
    rows = []
    for key in entries("ask", "trade, "):
        settings = recorded("ask", key)["settings"]
        for mode, title in (("always", "made to answer"), ("own threshold", "may be silent")):
            whole, fast = settings[f"{mode}: all"], settings[f"{mode}: least 3, miss 0.05"]
            for kind in whole:
                if kind == "unanswerable" and mode == "always":
                    continue
                rows.append(
                    f"| {key.removeprefix('trade, ')} | {kind}, {title} | {whole[kind]['questions']:,} | "
                    f"{whole[kind]['f1']:.1f} | {fast[kind]['f1']:.1f} | {fast[kind]['read']:.0f} % |"
                )
    return "\n".join([
        "| documents | questions | | F1, every window | F1, fast | windows read |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
        *rows,
    ])  # fmt: skip


def start() -> str:
    measured = recorded("ask", "start")
    rows = [
        f"| {name} | {row['wall']:.0f} ms | {row['processor']:.0f} ms |"
        for name, row in measured["milliseconds"].items()
    ]
    return "\n".join([
        "| stage | wall | processor |",
        "| --- | ---: | ---: |",
        *rows,
        f"| `pocketbert ask`, the whole command | {measured['pocketbert ask, wall']:.0f} ms | |",
    ])  # fmt: skip


def memory() -> str:
    rows = [
        f"| {int(name.split()[0]):,} words | {row['windows']:,} | {row['peak_megabytes']:.0f} MB |"
        for name, row in recorded("ask", "memory").items()
    ]
    return "\n".join(["| document | windows read | peak |", "| --- | ---: | ---: |", *rows])


def variants() -> str:
    measured = recorded("variants", "milliseconds at 1x128")
    names = list(dict.fromkeys(name.rsplit(", ", 1)[0] for name in measured))
    rows = []
    for name in names:
        norm, activation = name.split(" & ")
        plain, folded = measured[f"{name}, as it is"], measured[f"{name}, folded"]
        label = f"{NORMS[norm]} & {activation.upper() if activation == 'gelu' else 'ReLU'}"
        rows.append(f"| {label} | {PHONE[norm, activation]} ms | {plain:.1f} ms | {folded:.1f} ms |")
    return "\n".join([
        "| | the paper's phone | onnxruntime here | here, folded |",
        "| --- | ---: | ---: | ---: |",
        *rows,
    ])  # fmt: skip


def family() -> str:
    (key,) = entries("family", "1x128")
    measured = recorded("family", key)
    forms = ("torch", "fp32")
    rows = []
    for row in sorted(measured["rows"], key=lambda row: row["parameters"]):
        cells = [f"`{row['model']}`", f"{row['parameters'] / 1e6:.1f} M", f"{row['gflops']:.2f}"]
        for form in forms:
            found = row["timings"][form]
            spread = f"{found['low']:.0f} to {found['high']:.0f}"
            cells += [f"{found['milliseconds']:.0f} ms ({spread})", f"{found['peak_megabytes']:,.0f} MB"]
        rows.append(f"| {' | '.join(cells)} | {row['megabytes']['fp32']:.0f} MB |")
    times = {
        row["model"]: [row["timings"][form]["milliseconds"] for form in forms] for row in measured["rows"]
    }
    ratios = [f"{a / b:.1f}" for a, b in zip(times["albert-base"], times["mobilebert"], strict=True)]
    settings = measured["settings"]
    return "\n".join([
        "| | parameters | GFLOPs | torch | peak | exported, fp32 | peak | file |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        (f"One text of {settings['length']} tokens, threads: {settings['threads']}; medians and quartiles, in turns, "
        f"on {circumstance('family', key, 'machine')}."),
        (f"ALBERT takes {ratios[0]} times as long as MobileBERT in torch, and {ratios[1]} times as long exported."),
    ])  # fmt: skip


def ablation(arms: Sequence[str], *, compared: Sequence[tuple[str, str]]) -> str:
    """Rows of transfer.json, and whether each of some differences is larger than the spread of seeds."""
    measured = recorded("transfer", "bench")
    teacher, settings = measured["teacher"], measured["settings"]
    rows = [row_of_students(arm, measured["arms"][arm]) for arm in arms]
    verdicts = [
        f"- {LABELS[better]} over {LABELS[worse]}: " + "; ".join(
            f"{name} {difference(measured['arms'][better], measured['arms'][worse], score)}"
            for score, name in (("masked_lm_accuracy", "hidden words"), ("task_accuracy", "the task"))
        )
        for better, worse in compared
    ]  # fmt: skip
    steps = 6 * settings["block_steps"] + settings["distillation_steps"]
    return "\n".join([
        "| student | hidden words, % | their loss | task, % | feature maps | attention |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        (f"| the teacher | {100 * teacher['masked_lm_accuracy']:.1f} | {teacher['masked_lm_loss']:.2f} | "
        f"{100 * teacher['task_accuracy']:.1f} | 0 | 0 |"),
        (f"| the most frequent word | {100 * measured['unigram']['unigram_accuracy']:.1f} | "
        f"{measured['unigram']['unigram_loss']:.2f} | | | |"),
        "",
        (f"Means and spreads (± half of the range) of {len(settings['seeds'])} seeds, {steps:,} steps of "
        f"{settings['batch']} texts of {settings['length']} tokens each; distances are means over the six blocks."),
        "",
        *verdicts,
    ])  # fmt: skip


def row_of_students(arm: str, found: Sequence[Mapping[str, Any]]) -> str:
    words, loss, task = (
        [row[name] for row in found] for name in ("masked_lm_accuracy", "masked_lm_loss", "task_accuracy")
    )
    distances = [
        mean(mean(layer[name] for layer in row["layers"]) for row in found)
        for name in ("feature_map", "attention")
    ]
    cells = [percent(words), f"{mean(loss):.2f}", percent(task), *(f"{value:.3f}" for value in distances)]
    return f"| {LABELS[arm]} | {' | '.join(cells)} |"


def percent(values: Sequence[float]) -> str:
    return f"{100 * mean(values):.1f} ± {50 * (max(values) - min(values)):.1f}"


def difference(better: Sequence[Mapping[str, Any]], worse: Sequence[Mapping[str, Any]], score: str) -> str:
    """The difference of two means in points; undecided if it is not larger than the range of either's seeds."""
    first, second = ([100 * row[score] for row in found] for found in (better, worse))
    gain = mean(first) - mean(second)
    spread = max(max(values) - min(values) for values in (first, second))
    return f"{gain:+.1f}" + ("" if abs(gain) > spread else f", undecided (seeds differ by {spread:.1f})")


def ablation_parts() -> str:
    return ablation(
        ("alone", "distillation", "copied", "feature maps", "progressive"),
        compared=[
            ("distillation", "alone"), ("copied", "distillation"),
            ("feature maps", "copied"), ("progressive", "feature maps"),
        ],
    )  # fmt: skip


def ablation_schedules() -> str:
    return ablation(
        ("auxiliary", "joint", "progressive"), compared=[("joint", "auxiliary"), ("progressive", "joint")]
    )


def compression() -> str:
    measured = recorded("compress", "methods")
    rows = []
    for method, row in measured["methods"].items():
        distances = [
            f"{mean(layer[name] for layer in row['layers']):.2f}" if row["layers"] else ""
            for name in ("feature_map", "attention")
        ]
        cells = [f"{row['HasAns_f1']:.1f}", f"{row['best_f1']:.1f}", *distances]
        rows.append(f"| {method} | {' | '.join(cells)} |")
    settings = measured["settings"]
    return "\n".join([
        "| transfer | F1 where there is an answer | F1, best threshold | feature maps | attention |",
        "| --- | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        (f"{settings['transfer_steps']:,} steps of transfer and {settings['reader_steps']:,} of reading, "
        f"{settings['batch']} windows of {settings['length']} tokens each, one seed."),
    ])  # fmt: skip


def browser_speed() -> str:
    measured = recorded("web", "speed")
    rows = [
        f"| {name} | {row['sent_programs']:.2f} MB | {row['sent_model']:.1f} MB | {row['ready']:.1f} s | "
        f"{row['first_answer']:.1f} s | {row['window']:.0f} ms | {row['megabytes']:.0f} MB |"
        for name, row in measured.items()
    ]
    where = f"Medians, one thread, on {circumstance('web', 'speed', 'machine')}."
    return "\n".join([
        "| | programs sent | model sent | ready after | first answer after | a window | memory |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        f"{where} Sent with gzip; memory is that of the page's processes.",
    ])  # fmt: skip


def browser_same() -> str:
    rows = []
    for key in entries("web", "same answers, "):
        _, model, precision = key.split(", ")
        found = recorded("web", key)
        share = 100 * found["equal"] / found["asked"]
        rows.append(f"| {model} | `{precision}` | {found['equal']} of {found['asked']} | {share:.1f} % |")
    return "\n".join(["| reader | file | equal answers | |", "| --- | --- | ---: | ---: |", *rows])


def entries(name: str, prefix: str) -> list[str]:
    """The keys of results/NAME.json that begin so."""
    document = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return [key for key in document if key.startswith(prefix)]


LABELS = {
    "alone": "alone",
    "distillation": "with distillation",
    "copied": "with copied ends, too",
    "feature maps": "with feature maps, too",
    "progressive": "with attention, too: progressive",
    "joint": "joint",
    "auxiliary": "auxiliary",
}
NORMS = {"layer_norm": "LayerNorm", "no_norm": "NoNorm"}
PHONE = {
    ("layer_norm", "gelu"): 192,
    ("layer_norm", "relu"): 167,
    ("no_norm", "gelu"): 138,
    ("no_norm", "relu"): 113,
}
"""Table 7 of the MobileBERT paper (arXiv 2004.02984), in milliseconds."""

TABLES = {
    "footprint": footprint,
    "reader": reader,
    "latency": latency,
    "trade": trade,
    "start": start,
    "memory": memory,
    "variants": variants,
    "family": family,
    "ablation-parts": ablation_parts,
    "ablation-schedules": ablation_schedules,
    "compression": compression,
    "browser-speed": browser_speed,
    "browser-same": browser_same,
}

if __name__ == "__main__":
    main()
