"""Constants that rows of full nodes determine: levels within a node, copies, interfaces under load."""
