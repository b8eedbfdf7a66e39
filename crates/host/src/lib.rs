//! The desktop that the user sits at, through xcap and enigo.
