//! The one place that reads the machine's clock and sleeps.
