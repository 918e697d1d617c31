"""What would help: by how much the time falls when one thing of machine or workload gets better."""
