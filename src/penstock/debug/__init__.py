"""Looking inside: timelines of steps, and the debugger."""
