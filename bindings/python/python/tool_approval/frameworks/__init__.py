"""Integrations with agent frameworks. Each module imports its framework when it is imported."""
