"""Files: opened with limits, read as text, written whole or not at all; the registry of readers."""
