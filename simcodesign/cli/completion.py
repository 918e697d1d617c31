"""Shell completion: the names of bundled machines and workloads, otherwise files."""

from __future__ import annotations

from collections.abc import Callable

import click
from click.shell_completion import CompletionItem

#: As Click calls it: with the context, the parameter, and what has been typed of the word.
Completion = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def names_of(*kinds: str) -> Completion:
    """Completes names of ``machines`` and ``workloads``; if none begins so, paths of files."""

    def complete(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
        from simcodesign.describe.yaml.files import available

        names = sorted({name for kind in kinds for name in available(kind) if name.startswith(typed)})
        return [CompletionItem(name) for name in names] or [CompletionItem(typed, type="file")]

    return complete
