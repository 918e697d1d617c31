"""Files of hardware counters: tables, perf stat, LIKWID, gprof."""
