"""Sessions: fetches and feeds, the back ends behind a target, steps that are run in parts."""
