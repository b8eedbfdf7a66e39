"""What can go wrong, in three kinds."""

from __future__ import annotations


class ServerError(RuntimeError):
    """The server refused a request. `code` is its word for the reason, such as `unknown_task`; `status` is HTTP's."""

    def __init__(self, message: str, code: str = "", status: int = 0):
        super().__init__(message, code, status)
        self.message, self.code, self.status = message, code, status

    def __str__(self) -> str:
        return self.message


class WorldError(ServerError):
    """The world broke, or is gone: the episode is void. It has no reward, and must not be counted as one of 0."""
