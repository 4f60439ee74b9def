"""The wires: one folder for each protocol, a codec without input or output beside its handlers and its listener."""
