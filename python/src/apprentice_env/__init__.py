"""Desktops and browsers of Apprentice as Gymnasium environments."""

from .browser import BrowserEnv
from .desktop import DesktopEnv
from .server import Server, ServerError

__all__ = ["BrowserEnv", "DesktopEnv", "Server", "ServerError"]
