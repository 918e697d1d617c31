"""The Plans of several jobs as one Plan."""
