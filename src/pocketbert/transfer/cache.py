"""A teacher's views on disk, so that it reads every example once however often the student does.

    cache/
      cache.json             whose views of which data these are, and what is in them
      shard-00000.safetensors  the views of so many examples, as `example/what/layer`

Tensors are kept without their padding, in fp16 where that loses nothing that matters (no value beyond its range) and in
fp32 otherwise, as for a NoNorm teacher. A shard is written in one step, so filling can be stopped and goes on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from shutil import disk_usage
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from pocketbert.checkpoint import read_json, write_json
from pocketbert.checkpoint.files import replacing
from pocketbert.errors import CheckpointError, InputError, check_folder
from pocketbert.transfer.teacher import Teacher
from pocketbert.transfer.views import View, Wanted, count_heads, keys_of

VERSION = 1
EXAMPLES_IN_A_SHARD = 256
_OPEN = 256
"""Shards that stay open. Examples come in any order, and opening a shard for one takes as long as several blocks do."""
_HALF = 6e4  # the largest value that fp16 is trusted with; it ends at 65504


class Cache:
    """The views of one teacher of one list of examples."""

    def __init__(
        self,
        folder: Path,
        teacher: Teacher,
        wanted: Wanted,
        *,
        data: str,
        examples: int,
        shard: int | None = None,
    ) -> None:
        """Open a cache, or begin one; `data` is a hash of what the teacher reads. One that holds more serves, too."""
        self.folder, self.teacher, self.wanted, self.examples = Path(folder), teacher, wanted, examples
        self.shard = shard or EXAMPLES_IN_A_SHARD
        self.heads = count_heads(teacher.encoder)
        self._read = lru_cache(maxsize=_OPEN)(self._open)
        described = {
            "version": VERSION,
            "teacher": teacher.fingerprint(),
            "precision": teacher.precision,
            "data": data,
            "examples": examples,
            "wanted": {name: sorted(getattr(wanted, name)) for name in ("maps", "attentions", "vectors")},
            "examples_in_a_shard": self.shard,
        }
        check_folder(self.folder)
        index = self.folder / "cache.json"
        if index.is_file():
            saved = read_json(index)
            self._check(saved, described)
            self.wanted = Wanted(**{name: frozenset(layers) for name, layers in saved["wanted"].items()})
        else:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json(index, {**described, "name": teacher.name})

    def fill(
        self,
        batch: Callable[[Sequence[int]], Mapping[str, Tensor]],
        *,
        batch_size: int = 32,
        part: int = 0,
        of: int = 1,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Let the teacher read what is not there yet; `batch` collates examples by their numbers.

        Several processes fill one cache together: each takes every `of`-th shard, beginning with number `part`.
        """
        shards = range(-(-self.examples // self.shard))
        mine, checked = shards[part::of], False
        for done, number in enumerate(mine):
            if not self._file(number).is_file():
                self._write(number, batch, batch_size)
                if not checked:
                    self._check_room(self._file(number).stat().st_size, shards)
                    checked = True
            if progress is not None:
                progress(done + 1, len(mine))

    def view(self, examples: Sequence[int], mask: Tensor, wanted: Wanted) -> View:
        """The teacher's view of a batch of examples, padded to the length of `mask` (B, S)."""
        rows = [self._tensors(example, wanted) for example in examples]
        places = [row.bool().cpu() for row in mask]
        parts = {
            key: torch.stack(
                [_placed(row[key], real, key[0]) for row, real in zip(rows, places, strict=True)]
            ).to(mask.device)
            for key in rows[0]
        }
        return View(mask, self.heads, parts)

    def _write(
        self, number: int, batch: Callable[[Sequence[int]], Mapping[str, Tensor]], batch_size: int
    ) -> None:
        first = number * self.shard
        members = range(first, min(first + self.shard, self.examples))
        tensors: dict[str, Tensor] = {}
        for start in range(0, len(members), batch_size):
            chosen = members[start : start + batch_size]
            view = self.teacher.look(batch(chosen), self.wanted)
            for row, example in enumerate(chosen):
                real = view.mask[row].bool()
                for (what, layer), values in view.parts.items():
                    kept = values[row][real]
                    tensors[f"{example}/{what}/{layer}"] = _small(
                        kept[..., real] if what == "attention" else kept
                    )
        with replacing(self.folder) as stage, stage(self._file(number).name) as file:
            file.write(save(tensors))

    def _check_room(self, size: int, shards: Sequence[int]) -> None:
        """Refuse to begin what will not end: so many bytes for each shard that is missing."""
        missing = sum(not self._file(number).is_file() for number in shards)
        needed, free = missing * size, disk_usage(self.folder).free
        if needed > free:
            raise InputError(
                f"what the teacher shows of {self.examples:,} examples takes {needed / 1e9:.1f} GB more, and there are "
                f"{free / 1e9:.1f} GB left at {self.folder}: make room, give another --cache_dir, or learn from fewer "
                "examples (--max_train_samples)"
            )

    def _tensors(self, example: int, wanted: Wanted) -> dict[tuple[str, int], Tensor]:
        file = self._file(example // self.shard)
        found: dict[tuple[str, int], Tensor] = {}
        try:
            shard = self._read(example // self.shard)
            for key in keys_of(self.teacher.encoder, wanted):
                found[key] = shard.get_tensor(f"{example}/{key[0]}/{key[1]}").float()
        except (OSError, SafetensorError) as error:
            raise CheckpointError(
                f"the cache {file} cannot be read ({error}): delete this file, and it will be made again"
            ) from error
        return found

    def _open(self, number: int) -> Any:
        return safe_open(self._file(number), framework="pt")

    def _file(self, number: int) -> Path:
        return self.folder / f"shard-{number:05d}.safetensors"

    def _check(self, saved: Mapping[str, Any], described: Mapping[str, Any]) -> None:
        reasons = {
            "teacher": f"are of another teacher ({saved.get('name')}) than {self.teacher.name}",
            "precision": f"were read in the precision {saved.get('precision')}, not {self.teacher.precision}",
            "data": "are of other data: another corpus, vocabulary, length, seed or objective",
            "examples": f"are of {saved.get('examples')} examples, not of {self.examples}",
            "examples_in_a_shard": "are cut into other shards",
            "version": f"have format {saved.get('version')}, not {VERSION}",
        }
        found = [reason for name, reason in reasons.items() if saved.get(name) != described[name]]
        held = saved.get("wanted", {})
        if not all(set(layers) <= set(held.get(name, ())) for name, layers in described["wanted"].items()):
            found.append("do not hold what this method looks at")
        if found:
            raise InputError(
                f"the cached views in {self.folder} {found[0]}: give another --cache_dir, or delete that folder"
            )


def fingerprint(**what: Any) -> str:
    """A hash of whatever the examples follow from."""
    return hashlib.sha256(json.dumps(what, sort_keys=True, default=str).encode()).hexdigest()


def _small(values: Tensor) -> Tensor:
    values = values.detach().float().cpu().contiguous()
    return values.half() if not values.numel() or float(values.abs().max()) <= _HALF else values


def _placed(values: Tensor, real: Tensor, what: str) -> Tensor:
    """An example's tensor at the places of its real tokens, with zeros at padding; attention has tokens twice."""
    if int(real.sum()) != values.shape[0]:
        raise InputError(
            f"the cache has {values.shape[0]} tokens of an example that now has {int(real.sum())}: the examples have "
            "changed; give another --cache_dir"
        )
    if what == "attention":
        wide = values.new_zeros(*values.shape[:2], len(real))
        wide[..., real] = values
        values = wide
    placed = values.new_zeros(len(real), *values.shape[1:])
    placed[real] = values
    return placed
