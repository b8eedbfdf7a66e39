"""The server of the environment package."""
