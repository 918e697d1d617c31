"""Foundation that all other packages use: errors, units, expressions, results, compiled functions, processes, files."""
