"""Forecasts of jobs that share links, storage and disks, against closed forms and against simulations."""

from __future__ import annotations

import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.jobs.forecast_jobs import forecast_jobs
from simcodesign.describe.jobs.job import Job
from simcodesign.engine.jobs.simulate_jobs import simulate_jobs
from tests.builders import read_machine, workload
from tests.engine.jobs.test_simulate_jobs import HEAD, LINE, message

ON_A_LINE = HEAD.format(name="line") + LINE


def test_two_jobs_have_half_of_a_link_each() -> None:
    """Messages of m bytes over a link of bandwidth B: m/B alone, 2 m/B with half of it; what is simulated is between."""
    on = read_machine(ON_A_LINE)
    jobs = [Job(message(3e6), range(0, 4, 2)), Job(message(1e6), range(1, 4, 2))]
    forecasts, simulated = forecast_jobs(jobs, on).jobs, simulate_jobs(jobs, on).jobs
    for one, run, size_bytes in zip(forecasts, simulated, (3e6, 1e6), strict=True):
        assert one.link_share == 0.5
        assert (one.alone_s, one.makespan_s) == pytest.approx((size_bytes / 1e9, 2 * size_bytes / 1e9), rel=1e-12)
        assert one.alone_s == pytest.approx(run.alone_s, rel=1e-12)
        assert one.alone_s <= run.makespan_s <= one.makespan_s * (1 + 1e-12)


def test_a_wide_link_gives_each_job_all_that_its_messages_can_use() -> None:
    """Links of 4 GB/s and messages of 1 GB/s: half of a link is more than a message uses."""
    on = read_machine(ON_A_LINE + "  link_bandwidth: 4 GB/s\n")
    one = forecast_jobs([Job(message(1e6), range(0, 4, 2)), Job(message(1e6), range(1, 4, 2))], on).jobs[0]
    assert one.link_share == 0.5
    assert one.makespan_s == one.alone_s == pytest.approx(1e-3, rel=1e-12)


def test_three_jobs_of_different_sizes_share_the_storage_by_their_ranks() -> None:
    """One server of 1 GB/s and 8 ranks of 1 MB each: at last all 8 ms for the job with the last request. The shares of
    4, 3 and 1 ranks are 1/3, 1/3 and 1/8, so that the forecasts are 12, 9 and 8 ms."""
    on = read_machine(
        HEAD.format(name="line") + LINE.replace("4", "8") + "storage: {servers: 1, stripe: 16 MiB, bandwidth: 1 GB/s}\n"
    )
    write = workload("[write: {to: storage, bytes: 1e6}]")
    jobs = [Job(write, range(4)), Job(write, range(4, 7)), Job(write, range(7, 8))]
    forecasts, simulated = forecast_jobs(jobs, on).jobs, simulate_jobs(jobs, on).jobs
    assert [one.storage_share for one in forecasts] == pytest.approx([1 / 3, 1 / 3, 1 / 8])
    assert [one.makespan_s for one in forecasts] == pytest.approx([12e-3, 9e-3, 8e-3], rel=1e-12)
    assert max(run.makespan_s for run in simulated) == pytest.approx(8e-3, rel=1e-12)
    for one, run in zip(forecasts, simulated, strict=True):
        assert one.alone_s * (1 - 1e-12) <= run.makespan_s <= one.makespan_s * (1 + 1e-12)


def test_jobs_share_a_disk_only_if_they_use_it() -> None:
    on = read_machine(ON_A_LINE + "disk: {read_startup: 0 s, write_startup: 0 s, bandwidth: 1 GB/s, shared_by: 4}\n")
    write, idle = workload("[write: {bytes: 1e6}]"), workload("[compute: {seconds: 1e-3}]")
    both = forecast_jobs([Job(write, range(2)), Job(write, range(2, 4))], on).jobs
    assert [(one.disk_share, one.slowdown) for one in both] == [(0.5, 2.0)] * 2
    one, other = forecast_jobs([Job(write, range(2)), Job(idle, range(2, 4))], on).jobs
    assert (one.disk_share, one.slowdown, other.disk_share) == (1.0, 1.0, 1.0)


def test_jobs_alone_are_as_any_forecast() -> None:
    answer = forecast_jobs(["jacobi@0:16", "transpose@16:32"], "torus-cluster")
    assert answer.basis
    for one, name in zip(answer.jobs, ("jacobi", "transpose"), strict=True):
        assert one.slowdown == 1.0  # they have other links, as neighbouring parts of a torus by rows
        assert one.alone_s == float(forecast(name, "torus-cluster", {"P": 16}).makespan_s)


def test_jobs_that_write_over_the_network_share_the_links_to_the_servers() -> None:
    """Ranks on nodes 0 and 1 of a line with a server on node 3: both pass the links from 1 to 3. With half of them and
    half of a server, each takes 2 m/B + 2 m/b; together the second takes m/B + 2 m/b, as b < B."""
    storage = "storage: {servers: 1, stripe: 16 MiB, bandwidth: 500 MB/s, nodes: [3]}\n"
    on = read_machine(ON_A_LINE + storage)
    write = workload("[write: {to: storage, bytes: 1e6}]")
    jobs = [Job(write, range(1)), Job(write, range(1, 2))]
    forecasts, simulated = forecast_jobs(jobs, on).jobs, simulate_jobs(jobs, on).jobs
    for one, run in zip(forecasts, simulated, strict=True):
        assert (one.link_share, one.storage_share) == (0.5, 0.5)
        assert (one.alone_s, one.makespan_s) == pytest.approx((3e-3, 6e-3), rel=1e-12)
        assert run.alone_s == pytest.approx(3e-3, rel=1e-12)
        assert run.makespan_s <= one.makespan_s
    assert max(run.makespan_s for run in simulated) >= 5e-3 * (1 - 1e-12)
