"""A command of another package: how many messages a workload sends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Option, command
from simcodesign.cli.options.shared import AsJson, ScenarioOptions
from simcodesign.report.common.terminal import write, write_json


@dataclass(frozen=True, kw_only=True)
class CountMessagesOptions:
    """What is forecast, and what is printed of it."""

    scenario: ScenarioOptions
    least: Annotated[int, Option(metavar="BYTES", help="Nothing is said of fewer bytes.")] = 0
    as_json: AsJson = False


@dataclass(frozen=True)
class MessageCount:
    """What is printed; its fields are the keys of the JSON."""

    messages: int
    message_bytes: int


@command(app, "count-messages")
def run(options: CountMessagesOptions) -> None:
    """How many messages a workload sends, by the forecast."""
    from simcodesign.analytic.forecast import forecast
    from simcodesign.cli.run.scenario import load_scenario

    result = forecast(load_scenario(options.scenario))
    count = MessageCount(int(result.messages), int(result.message_bytes))
    if options.as_json:
        write_json(count)
    elif count.message_bytes >= options.least:
        write(f"{count.messages:,} messages, {count.message_bytes:,} bytes\n")
