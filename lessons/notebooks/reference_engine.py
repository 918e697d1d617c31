# The same broadcast by the reference engine of simcodesign, which is SimPy too: `python reference_engine.py`.
import marimo  # pip install 'simcodesign[notebooks]', or: simcodesign lesson notebook reference_engine --write n.ipynb

app = marimo.App()


@app.cell
def _():
    from math import isclose, log2

    import simcodesign as sc

    return isclose, log2, sc


@app.cell
def _(sc):
    def line_of(nodes):
        """Nodes in a line, which send one message after another."""
        network = {
            "startup": "1 us",
            "bandwidth": "1 GB/s",
            "sends": "blocking",
            "distance": "none",
            "topology": {"kind": "mesh", "shape": [nodes]},
        }
        return sc.Machine.load({"name": "line", "nodes": nodes, "processor": {"rate": "1 GFLOP/s"}, "network": network})

    return (line_of,)


@app.cell
def _(isclose, line_of, log2, sc):
    # Without effects the simulation is the formula; with links, farthest first, too. Nearest first, 4 nodes take 2
    # startups and 3 services, and more nodes what simpy_by_hand.py finds where the smaller number is first.
    STARTUP, SERVICE, BYTES = 1e-6, 1e-3, 1e6
    print(f"{'nodes':>5} {'order':>5} {'formula':>10} {'no effect':>10} {'links':>10}  in ms")
    for _nodes in (4, 8, 16, 32):
        for _order in ("far", "near"):
            case = {"P": _nodes, "m": BYTES, "order": _order}
            none_s, links_s = (
                sc.simulate("broadcast", line_of(_nodes), case, effects=effects, engine="simpy").headline_s
                for effects in ([], ["links"])
            )
            formula_s = log2(_nodes) * (STARTUP + SERVICE)
            print(f"{_nodes:5} {_order:>5} {1e3 * formula_s:10.3f} {1e3 * none_s:10.3f} {1e3 * links_s:10.3f}")
            assert isclose(none_s, formula_s, rel_tol=1e-12)
            if _order == "far" or _nodes == 4:
                expected_s = formula_s if _order == "far" else 2 * STARTUP + 3 * SERVICE
                assert isclose(links_s, expected_s, rel_tol=1e-12)
            assert formula_s * (1 - 1e-12) <= links_s <= (_nodes - 1) * (STARTUP + SERVICE)
    return


@app.cell
def _():
    # The process of a rank, and how a message passes its links: compare them with `node` and `message` of yours.
    import inspect

    from simcodesign.engine.reference.engine import Simulation
    from simcodesign.engine.reference.messages import Messages

    for process in (Simulation.strand, Messages.pass_stations):
        print(inspect.getsource(process))
    return


@app.cell
def _(line_of, sc):
    # Who waits for whom: what `simulate --write events.txt` lists, and how long each message waited for its links.
    run = sc.simulate(
        "broadcast", line_of(4), {"P": 4, "m": 1e6, "order": "near"}, effects=["links"], engine="simpy", timeline=True
    )
    services = run.timeline.services
    waits_s = services.begin_s - services.requested_s
    for _row, _op in enumerate(services.op):
        message = f"{run.timeline.rank[_op]} -> {run.timeline.peer[_op]}"
        link, asked_ms = services.names[services.station[_row]], 1e3 * services.requested_s[_row]
        print(f"{message} asks for {link} at {asked_ms:.3f} ms, waits {1e3 * waits_s[_row]:.3f} ms")
    # By hand: in round 2 two messages want the link in the middle, and one waits for as long as the other one needs.
    assert abs(waits_s.max() - 1e-3) < 1e-12
    return


if __name__ == "__main__":
    app.run()
