"""Desktops, browsers and worlds in memory for trainers: Gymnasium, OpenEnv, verifiers, TRL and BrowserGym's action strings."""

from __future__ import annotations

from .browser import BrowserEnv
from .env import DesktopEnv, SceneEnv, WorldEnv
from .errors import ServerError, WorldError
from .registration import register_envs
from .server import Server, Session
from .world import World

__all__ = ["BrowserEnv", "DesktopEnv", "SceneEnv", "Server", "ServerError", "Session", "World", "WorldEnv", "WorldError"]

register_envs()
