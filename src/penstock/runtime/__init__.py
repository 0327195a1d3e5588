"""Running graphs: sessions, plans, the executor, devices and state."""
