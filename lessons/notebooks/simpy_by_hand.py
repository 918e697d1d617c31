# A broadcast as SimPy processes, with links as resources. `marimo edit simpy_by_hand.py`, or `python simpy_by_hand.py`.
import marimo  # pip install 'simcodesign[notebooks]', or: simcodesign lesson notebook simpy_by_hand --write n.ipynb

app = marimo.App()


@app.cell
def _():
    import simpy

    return (simpy,)


@app.cell
def _():
    # Nodes 0, 1, 2 ... stand in a line; node i has a link to node i + 1. A message needs STARTUP before it sets out,
    # and then occupies every link of its way for SERVICE: its bytes over the bandwidth.
    STARTUP, SERVICE = 1e-6, 1e-3
    return SERVICE, STARTUP


@app.cell
def _():
    def children(rank, nodes, order):
        """To whom a node passes the message on: a binomial tree, the nearest or the farthest child first."""
        steps = [2**k for k in range(nodes.bit_length() - 1)]
        if order == "near":  # in round k all nodes below 2^k have the message
            return [rank + step for step in steps if step > rank]
        return [rank + step for step in reversed(steps) if rank % (2 * step) == 0]

    return (children,)


@app.cell
def _(children, simpy):
    def broadcast(nodes, order, startup_s, service_s, shares_links=True, later_s=0.0):
        """When the last node has its copy, in s. Messages of node n set out n times later_s later."""
        env = simpy.Environment()
        links = [simpy.Resource(env) for _ in range(nodes - 1)]
        has_it = [env.event() for _ in range(nodes)]

        def occupy(link, request):
            """Yield the tail of a message needs a link for a while after its head has passed."""
            yield env.timeout(service_s)
            link.release(request)

        def message(source, target):
            """Yield the head of a message takes one link after another, and waits where another message has it."""
            yield env.timeout(startup_s + source * later_s)
            for link in links[source:target] if shares_links else []:
                request = link.request()
                yield request
                env.process(occupy(link, request))
            yield env.timeout(service_s)
            has_it[target].succeed()

        def node(rank):
            """Wait for the message, then send it to one child after another."""
            if rank > 0:
                yield has_it[rank]
            for child in children(rank, nodes, order):
                env.process(message(rank, child))
                yield env.timeout(startup_s + service_s)

        has_it[0].succeed()
        for rank in range(nodes):
            env.process(node(rank))
        env.run(env.all_of(has_it))
        return env.now

    return (broadcast,)


@app.cell
def _(SERVICE, STARTUP, broadcast):
    # Where nobody waits, it is the formula of the textbook: log2(P) rounds.
    from math import isclose, log2

    for _nodes in (2, 4, 8, 16, 32):
        formula_s = log2(_nodes) * (STARTUP + SERVICE)
        for _order in ("near", "far"):
            assert isclose(broadcast(_nodes, _order, STARTUP, SERVICE, shares_links=False), formula_s, rel_tol=1e-12)
    return isclose, log2


@app.cell
def _(SERVICE, STARTUP, broadcast, isclose, log2):
    # Farthest first, no two messages of a round want the same link: the formula holds. Nearest first, all 2^k messages
    # of round k cross the link in the middle, one after another. Of 4 nodes that is 1 + 2 services after 2 startups.
    print(f"{'nodes':>5} {'formula':>10} {'far first':>10} {'near first':>10}  in ms")
    for _nodes in (4, 8, 16, 32):
        far_s, near_s = (broadcast(_nodes, _order, STARTUP, SERVICE) for _order in ("far", "near"))
        formula_ms = 1e3 * log2(_nodes) * (STARTUP + SERVICE)
        print(f"{_nodes:5} {formula_ms:10.3f} {1e3 * far_s:10.3f} {1e3 * near_s:10.3f}")
        assert isclose(1e3 * far_s, formula_ms, rel_tol=1e-12)
        if _nodes == 4:
            assert isclose(near_s, 2 * STARTUP + 3 * SERVICE, rel_tol=1e-12)
        # Half of the messages cross the link in the middle; and at worst all P - 1 follow one another.
        assert STARTUP + _nodes / 2 * SERVICE <= near_s <= (_nodes - 1) * (STARTUP + SERVICE)
    return


@app.cell
def _(SERVICE, STARTUP, broadcast):
    # Of 8 nodes nearest first takes 6.003 ms here. But two messages ask for a link at the same time, and a resource of
    # SimPy serves them in the order in which their processes happen to run. Let messages of node n set out n times
    # 0.1 ns later, so that the smaller number is first: it takes a millisecond more. A simulator whose results are to
    # be repeated needs a rule for what happens at the same time; that of reference_engine.py: the smaller number first.
    for later_s in (0.0, 1e-10, -1e-10):
        print(f"{later_s:+.0e} s: {1e3 * broadcast(8, 'near', STARTUP, SERVICE, later_s=later_s):.3f} ms")
    first_s, last_s = (broadcast(8, "near", STARTUP, SERVICE, later_s=one) for one in (1e-10, -1e-10))
    assert abs(first_s - last_s) > 0.9 * SERVICE
    return


if __name__ == "__main__":
    app.run()
