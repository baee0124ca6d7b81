"""Rows of start and end logits for property tests of span search."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

# Few distinct values, so that ties are the rule; None is a position where nothing may start or end.
VALUES = st.one_of(st.none(), st.integers(-3, 3).map(float))


@st.composite
def rows(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    size = draw(st.integers(1, 12))
    columns = [draw(st.lists(VALUES, min_size=size, max_size=size)) for _ in range(2)]
    start, end = (np.array([-np.inf if value is None else value for value in column]) for column in columns)
    return start, end
