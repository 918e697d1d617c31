"""Commands that fit models to measurements, formulas to measurements, and models to hardware counters."""
