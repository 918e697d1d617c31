"""Networks of low diameter: routers with many ports, each of which has several hosts."""
