# An effect of your own on the ladder: every third link is slow. `marimo edit own_effect.py`, or `python own_effect.py`.
import marimo  # pip install 'simcodesign[notebooks]', or: simcodesign lesson notebook own_effect --write n.ipynb

app = marimo.App()


@app.cell
def _():
    from dataclasses import replace
    from math import isclose

    import numpy as np

    import simcodesign as sc
    from simcodesign.describe.effects import Effect, register
    from simcodesign.generate.plan import LINK

    return Effect, LINK, isclose, np, register, replace, sc


@app.cell
def _(Effect, LINK, np, register, replace):
    # A Plan is what both engines simulate: arrays of operations, routes and stations. An effect gets the Plan, and
    # gives back another one. This one makes some links serve a message in SLOWER times the time.
    SLOWER = 3.0

    def slowed(plan, point, seed):
        slow = (plan.stations.kind == LINK) & (plan.stations.unit % 3 == 2)
        return replace(plan, stations=replace(plan.stations, service_factor=np.where(slow, SLOWER, 1.0)))

    my_effect = register(
        Effect(
            "my_slow_links",
            words="slow links (my_slow_links)",
            adds="every third link takes three times as long",
            implies=("links",),
            changes_work=True,
            change_plan=slowed,
        )
    )
    return SLOWER, my_effect


@app.cell
def _(my_effect, sc):
    # It is on the ladder, like all others.
    machine = sc.Machine.load(
        {
            "name": "line",
            "nodes": 4,
            "processor": {"rate": "1 GFLOP/s"},
            "network": {
                "startup": "1 us",
                "bandwidth": "1 GB/s",
                "distance": "none",
                "topology": {"kind": "mesh", "shape": [4]},
            },
        }
    )
    names = {number: machine.network.link_name(number) for number in range(machine.network.topology.link_count)}
    print(names)
    assert my_effect.name == "my_slow_links"
    return machine, names


@app.cell
def _(SLOWER, isclose, machine, my_effect, names, np, sc):
    # One message over one link, to be worked out by hand: startup and bytes over the bandwidth, SLOWER times where the
    # link is one of the slow ones (2, 5, 8 ...).
    STARTUP, SERVICE, BYTES = 1e-6, 1e-3, 1e6
    for number, name in names.items():
        source, target = (int(end[0]) for end in machine.network.topology.link_ends(np.array([number])))
        workload = sc.Workload.load(
            {
                "name": "one message",
                "program": [
                    {"send": {"to": target, "bytes": BYTES, "when": f"rank == {source}"}},
                    {"receive": {"from": source, "when": f"rank == {target}"}},
                ],
            }
        )
        simulated_s = sc.simulate(workload, machine, {"P": 4}, effects=[my_effect.name]).headline_s
        by_hand_s = STARTUP + SERVICE * (SLOWER if number % 3 == 2 else 1)
        print(f"{name}: {1e3 * simulated_s:.3f} ms, by hand {1e3 * by_hand_s:.3f} ms")
        assert isclose(simulated_s, by_hand_s, rel_tol=1e-12)
    return


@app.cell
def _(machine, my_effect, sc):
    # What it explains of a gap, beside the others.
    compared = sc.compare("broadcast", machine, {"P": 4, "m": 1e6, "order": "near"}, effects=["links", my_effect.name])
    print(compared)
    return


if __name__ == "__main__":
    app.run()
