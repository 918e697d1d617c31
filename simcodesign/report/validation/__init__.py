"""The report of validation: tables and the page."""
