//! Chromium over its own protocol.
