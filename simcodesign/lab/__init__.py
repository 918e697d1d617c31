"""The laboratory: lessons and free machines and workloads, served to a browser on this computer."""
