//! Checks: collect evidence from a world, then judge it without one.
