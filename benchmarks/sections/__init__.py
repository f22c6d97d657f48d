"""The parts of the benchmark; each writes records to the log."""
