"""The plugin that verifiers finds by the id `apprentice-verifiers`: it imports modules by names without dots (verifiers 0.4.0)."""

from apprentice_env.verifiers_env import ApprenticeHarness, ApprenticeTaskset

__all__ = ["ApprenticeHarness", "ApprenticeTaskset"]
