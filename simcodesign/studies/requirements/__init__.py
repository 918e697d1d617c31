"""Requirements co-design: how upgrades and straw-man systems serve fitted requirements."""
