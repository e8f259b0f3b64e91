def publish(*_): return []
