"""What is random: distributions, noise, failures."""
