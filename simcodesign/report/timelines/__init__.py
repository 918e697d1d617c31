"""Draw timelines of simulations: Chrome traces for Perfetto, pages for browsers, Gantt charts."""
