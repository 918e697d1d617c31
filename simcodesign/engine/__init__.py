"""Reading 2, the simulation: a Plan run as events on processors, memories, disks, interfaces, links."""
