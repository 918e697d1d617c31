"""Numbers of the five papers that simcodesign is grounded in."""
