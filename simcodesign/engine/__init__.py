"""Reading 2, events: a Plan of operations run on processors, caches, memories, disks and links."""
