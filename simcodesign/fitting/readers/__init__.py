"""Files of measurements, in the formats that people have."""
