"""The order of equal items after introsort: that of a compiled ``std::sort``, and of a plain reading of it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest

from simcodesign.engine.introsort import introsort
from tests.oracles.messages.loggopsim import as_std_sort

SORTER = """
#include <algorithm>
#include <cstdio>
#include <vector>
struct Item { int key, number; };
int main() {
  int count;
  while (std::scanf("%d", &count) == 1) {
    std::vector<Item> items(count);
    for (int i = 0; i < count; i++) { std::scanf("%d", &items[i].key); items[i].number = i; }
    std::sort(items.begin(), items.end(), [](Item a, Item b) { return a.key < b.key; });
    for (const Item& item : items) std::printf("%d ", item.number);
    std::puts("");
  }
}
"""


def cases() -> list[list[int]]:
    """Three keys in all proportions and numbers; kinds that take turns, as in an all-to-all."""
    random = Random(4)
    mixed = [
        random.choices([0, 1, 2], [random.random() ** 2 for _ in range(3)], k=random.randint(0, 300))
        for _ in range(400)
    ]
    return [*mixed, *(([0, 1] * count)[:count] for count in range(1, 200)), *([1] * count for count in range(200))]


def ordered(keys: list[int]) -> list[int]:
    items = list(range(len(keys)))
    introsort(items, list(keys), len(keys), [0] * len(keys))
    return items


def test_the_order_of_a_plain_reading() -> None:
    for keys in cases():
        assert ordered(keys) == as_std_sort(list(range(len(keys))), keys)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_the_order_of_std_sort(tmp_path: Path) -> None:
    (tmp_path / "sorter.cpp").write_text(SORTER)
    subprocess.run(["g++", "-o", tmp_path / "sorter", tmp_path / "sorter.cpp"], check=True)
    lines = "\n".join(f"{len(keys)} {' '.join(map(str, keys))}" for keys in cases())
    done = subprocess.run([tmp_path / "sorter"], input=lines, capture_output=True, text=True, check=True)
    for keys, line in zip(cases(), done.stdout.splitlines(), strict=True):
        assert ordered(keys) == [int(number) for number in line.split()]
