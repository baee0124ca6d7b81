"""Run recipes in one of several processes, and say which files this one wrote.

    python writers.py FOLDER '[["squad", {"model": …}], …]'

Each recipe writes to FOLDER/RECIPE; what a process wrote below FOLDER is in FOLDER/written-RANK.json in the end.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path

from pocketbert.train.fields import resolve
from pocketbert.train.together import leave_together


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    written: list[str] = []

    def listen(event: str, arguments: tuple) -> None:
        target = {"open": 0, "os.rename": 1, "os.mkdir": 0}.get(event)
        if target is None or (event == "open" and not (arguments[1] and set(arguments[1]) & set("wax+"))):
            return
        if isinstance(arguments[target], str | os.PathLike) and folder in Path(arguments[target]).parents:
            written.append(str(Path(arguments[target]).relative_to(folder)))

    sys.addaudithook(listen)
    for name, given in json.loads(sys.argv[2]):
        recipe = importlib.import_module(f"pocketbert.recipes.{name}")
        recipe.run(resolve(recipe.Settings, overrides={**given, "output_dir": str(folder / name)}))
    (folder / f"written-{os.environ['RANK']}.json").write_text(json.dumps(written), encoding="utf-8")
    leave_together()


if __name__ == "__main__":
    main()
