"""The steps of a program: what a rank computes, reads, writes, sends and waits for."""
