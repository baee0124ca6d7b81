"""Our names and theirs: one bijective table per architecture, used for loading and for saving."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pocketbert.checkpoint.files import shown
from pocketbert.errors import CheckpointError

LEAVES = ("weight", "bias")
OLD_LEAVES = {"gamma": "weight", "beta": "bias"}  # TensorFlow's names for the parameters of a norm
IGNORED = {"position_ids"}  # a constant that old releases of transformers saved


class NameTable:
    """Translate parameter names both ways.

    A row holds our name of a module and theirs, and stands for its weight and its bias; or our complete name
    of one parameter and theirs, which wins over the row of the module:

        NameTable({"blocks.0.attention.query": "encoder.layer.0.attention.self.query",
                   "head.extra": "cls.predictions.dense.weight"})
    """

    def __init__(self, rows: Mapping[str, str]) -> None:
        self._theirs = {
            f"{ours}.{leaf}": f"{theirs}.{leaf}" for ours, theirs in rows.items() for leaf in LEAVES
        } | dict(rows)
        self._ours: dict[str, str] = {}
        for ours, theirs in self._theirs.items():
            if theirs in self._ours:
                raise ValueError(
                    f"{self._ours[theirs]!r} and {ours!r} are both called {theirs!r} in the name table"
                )
            self._ours[theirs] = ours

    def to_theirs(self, names: Iterable[str]) -> dict[str, str]:
        """Our names -> theirs; a name that the table lacks is an error, for it could not be loaded again."""
        names = list(names)
        unknown = [name for name in names if name not in self._theirs]
        if unknown:
            raise CheckpointError(f"the name table has no row for {', '.join(map(shown, unknown))}")
        return {name: self._theirs[name] for name in names}

    def to_ours(self, names: Iterable[str]) -> tuple[dict[str, str], list[str]]:
        """Their names -> ours, and the names that the table does not know; old names are understood."""
        mapped: dict[str, str] = {}
        unknown: list[str] = []
        origin: dict[str, str] = {}
        for name in names:
            ours = self._ours.get(name) or self._ours.get(_modern(name))
            if ours is None:
                if name.rpartition(".")[2] not in IGNORED:
                    unknown.append(name)
                continue
            if ours in origin:
                raise CheckpointError(f"{shown(origin[ours])} and {shown(name)} are two names of one tensor")
            origin[ours] = name
            mapped[name] = ours
        return mapped, unknown


def _modern(name: str) -> str:
    """`LayerNorm.gamma` -> `LayerNorm.weight`; only norms ever had the old names."""
    module, _, leaf = name.rpartition(".")
    is_norm = "norm" in module.rpartition(".")[2].lower()
    return f"{module}.{OLD_LEAVES[leaf]}" if is_norm and leaf in OLD_LEAVES else name
