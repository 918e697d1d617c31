"""Meaning of every metric of a search, for ``explore --metrics`` and for the reference."""

from __future__ import annotations

from collections.abc import Mapping

_ENERGY_AND_PRICE = "price, and energy over the years of 'ownership'"
#: What each metric is, by its name.
MEANINGS: Mapping[str, str] = {
    "time": "time of the whole program",
    "computation": "part of the time in computation",
    "communication": "part of the time in messages",
    "disk_time": "part of the time at disks and storage",
    "memory_time": "part of the time in accesses to memory",
    "messages": "messages of all ranks",
    "message_bytes": "bytes of the messages of all ranks",
    "disk_bytes": "bytes read and written by all ranks",
    "flops": "operations of all ranks",
    "instructions": "instructions of all ranks",
    "rate": "operations over time",
    "footprint": "memory that a rank needs, if the workload specifies it",
    "capacity": "memory that a rank has, if the machine specifies it",
    "accelerator_footprint": "memory of its accelerator that a rank needs, if the workload specifies it",
    "accelerator_capacity": "memory of its accelerator that a rank has, if the machine specifies it",
    "energy": "energy of the run, if the machine specifies power",
    "peak_power": "highest power during the run, if the machine specifies power",
    "ownership_cost": f"{_ENERGY_AND_PRICE}, at the mean power of the run, or the full power of a machine alone",
    "run_cost": "part of the price by the time of the run, and its energy",
    "carbon": "part of the embodied carbon by the time of the run, and emissions of its energy",
    "slowdown": "time over the time on another machine",
    "failures": "mean number of failures of nodes in the run, with the time that they add",
    "time_with_failures": "time with the failures of nodes: Daly's makespan",
    "limited_by_flops": "time of kernels and copies limited by the rate of accelerators, mean over the ranks",
    "limited_by_memory": "time of kernels and copies limited by the memory of accelerators, mean over the ranks",
    "limited_by_launch": "time of kernels and copies limited by the processor that starts them, mean over the ranks",
    "limited_by_link": "time of kernels and copies limited by the link to the host, mean over the ranks",
    "processor_limited_by_computation": "time of processors that computation takes, mean over the ranks",
    "processor_limited_by_latency": "time of processors limited by latencies of caches and memory, mean over the ranks",
    "processor_limited_by_memory": "time of processors limited by the bandwidth of memory, mean over the ranks",
    "processor_limited_by_sockets": "time of processors limited by the bandwidth between sockets, mean over the ranks",
    "serving.waiting": "mean time before the prefill begins",
    "serving.first_token": "mean time to the first token",
    "serving.first_token_p50": "median time to the first token",
    "serving.first_token_p99": "99th percentile of the time to the first token",
    "serving.between_tokens": "mean time for each further token",
    "serving.latency": "mean time until the answer is complete",
    "serving.latency_p50": "median time until the answer is complete",
    "serving.latency_p99": "99th percentile of the time until the answer is complete",
    "serving.tokens_per_s": "tokens of outputs in a second",
    "serving.requests_per_s": "completed requests in a second",
    "serving.utilisation": "fraction of the time in which a step runs",
    "serving.mean_batch": "requests in the batch, mean of the time in which a step runs",
    "serving.in_system": "requests that wait or are served, mean of all time",
    "processors": "processors of all nodes",
    "peak_rate": "rate of all processors",
    "memory_capacity": "memory of all nodes",
    "memory_bandwidth": "bandwidth of the memories of all nodes",
    "injection_bandwidth": "bandwidth of all network interfaces, in one direction",
    "flops_per_byte": "peak rate over memory bandwidth",
    "rack_units": "height of all components",
    "die_area": "silicon of all components",
    "price": "price of all components",
    "embodied_carbon": "carbon of all components (CO2 equivalent)",
    "static_power": "power that all components always draw",
    "full_power": "static power plus the power of all working parts",
    "max_power": "highest power",
    "data_bytes": "bytes of the application's data",
    "memory_bytes": "memory of the machine",
}


def meaning_of(metric: str) -> str:
    """Return what a metric is; "" for names of a workload or machine: equations, properties, resources."""
    if metric.startswith("phase."):
        return "time of this phase"
    if metric.startswith("used."):
        return "amount of this resource that all ranks use"
    if metric.startswith("processor_limited_by_") and metric not in MEANINGS:
        return "time of processors limited by the bandwidth of this cache, mean over the ranks"
    return MEANINGS.get(metric, "")
