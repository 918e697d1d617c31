"""What every other package uses: errors, units, expressions, results, compiled functions, processes, files written whole."""
