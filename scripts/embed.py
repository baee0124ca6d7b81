#!/usr/bin/env python3
"""Put a model into the package: one file in eight bits, its settings, its card and the hashes of all of them.

    .venv/bin/python scripts/embed.py FOLDER [--name mini] [--precision int8]

FOLDER is a model folder with a file that `pocketbert export` let pass; a reader's has a calibration, too. The card is
written from what `benchmarks/reader.py` measured, of `mini` with `--key mini`, or `benchmarks/embedder.py`. Run this
for a release, not for a try: each file stays in the history.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from pocketbert.hub import EMBEDDED
from pocketbert.runtime.manifest import write_manifest
from pocketbert.runtime.session import FILES

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))

from shown.cards import READERS, embedder_card, reader_card

LARGEST = 27_000_000
READER = ("config.json", "qa_config.json")
EMBEDDER = (
    "config.json", "modules.json", "sentence_bert_config.json", "config_sentence_transformers.json",
    "1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--name", choices=EMBEDDED, default="reader")
    parser.add_argument("--precision", choices=["int8", "int8-fast"], default="int8-fast")
    options = parser.parse_args()
    folder, model, place = options.folder, FILES[options.precision], EMBEDDED[options.name]

    wanted = (*(READER if options.name in READERS else EMBEDDER), model)
    missing = [name for name in wanted if not (folder / name).is_file()]
    if missing:
        sys.exit(f"{folder} lacks {', '.join(missing)}; export it first, and calibrate it if it is a reader")
    if (folder / model).stat().st_size > LARGEST:
        sys.exit(f"{folder / model} is larger than {LARGEST:,} bytes")
    text = (
        reader_card(options.name, options.precision)
        if options.name in READERS
        else embedder_card(options.precision)
    )
    shutil.rmtree(place, ignore_errors=True)
    for name in wanted:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / name, place / name)
    (place / "README.md").write_text(text, encoding="utf-8")
    write_manifest(place)
    print(f"{place} is complete; look at the card and commit")


if __name__ == "__main__":
    main()
