"""Which block of the teacher each block of the student learns from."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from pocketbert.errors import InputError

LayerMap = tuple[int, ...]
"""For each block of the student, from 0, the teacher's."""


def layer_map(spec: str | Sequence[int], *, student: int, teacher: int) -> LayerMap:
    """A map by its name, or checked as it is given.

    `uniform` takes every k-th block and ends with the teacher's last (TinyBERT); `last` takes the last ones; a list
    such as "3,7,11" names them. A student as deep as its teacher has the same map either way.

    >>> layer_map("uniform", student=6, teacher=24)
    (3, 7, 11, 15, 19, 23)
    >>> layer_map("last", student=2, teacher=4)
    (2, 3)
    """
    if spec == "uniform" or spec == "last":
        if student > teacher:
            raise InputError(
                f"the student has {student} blocks and the teacher {teacher}: a deeper student needs a list of its "
                f"teacher's blocks in --teacher_layers, {student} of them from 0 to {teacher - 1}"
            )
        if spec == "last":
            return tuple(range(teacher - student, teacher))
        return tuple(ceil((number + 1) * teacher / student) - 1 for number in range(student))
    chosen = _numbers(spec)
    wrong = [number for number in chosen if not 0 <= number < teacher]
    if len(chosen) != student or wrong:
        fault = f"{wrong[0]} is none of them" if wrong else f"it names {len(chosen)}"
        raise InputError(
            f"teacher_layers is {','.join(map(str, chosen))}; it must name a block of the teacher (0 to {teacher - 1}) "
            f"for each of the student's {student}, or be uniform or last: {fault}"
        )
    if list(chosen) != sorted(chosen):
        raise InputError(
            f"teacher_layers is {','.join(map(str, chosen))}; a higher block of the student cannot learn from a lower "
            "one of the teacher: give them in ascending order"
        )
    return chosen


def _numbers(spec: str | Sequence[int]) -> LayerMap:
    try:
        return tuple(int(number) for number in (spec.split(",") if isinstance(spec, str) else spec))
    except ValueError:
        raise InputError(
            f"teacher_layers is {spec!r}; it must be uniform, last, or a list of the teacher's blocks such as 3,7,11"
        ) from None
