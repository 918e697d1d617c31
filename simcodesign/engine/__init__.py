"""Reading 2, events: a Plan of operations run on processors, disks, interfaces and links."""
