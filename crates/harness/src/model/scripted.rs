//! A model that replays written replies.
