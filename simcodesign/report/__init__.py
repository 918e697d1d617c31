"""What people see of a result: tables, plots, JSON, pages."""
