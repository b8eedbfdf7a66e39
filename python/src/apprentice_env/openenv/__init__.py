"""Apprentice's worlds for OpenEnv (measured with openenv 0.10.0): a client, the models, and the environment package."""

from .client import ApprenticeEnv
from .models import ApprenticeAction, ApprenticeObservation, ApprenticeState

__all__ = ["ApprenticeAction", "ApprenticeEnv", "ApprenticeObservation", "ApprenticeState"]
