"""What benchmarks print, as tables of tidy measurements."""
