"""Random expressions as texts, for tests of what is done with their trees."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

_NUMBERS = ("1", "2", "0.5", "3.0")


def expression_texts(
    names: Sequence[str], functions: Sequence[str] = ("log2", "log", "exp", "sqrt", "cbrt", "abs"), leaves: int = 8
) -> st.SearchStrategy[str]:
    """Sums, products, quotients, powers, calls and case distinctions over these names."""

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(inner, st.sampled_from(["+", "-", "*", "/"]), inner).map(lambda parts: f"({' '.join(parts)})"),
            inner.map(lambda text: f"(-{text})"),
            st.tuples(inner, inner).map(lambda parts: f"({parts[0]})**({parts[1]})"),
            st.tuples(st.sampled_from([*functions]), inner).map(lambda parts: f"{parts[0]}({parts[1]})"),
            st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(
                lambda parts: f"{parts[0]}({parts[1]}, {parts[2]})"
            ),
        )

    return st.recursive(st.sampled_from([*names, *_NUMBERS]), larger, max_leaves=leaves)
