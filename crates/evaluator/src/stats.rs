//! Statistics of paired comparisons, by template. Pure; no clock and no unseeded randomness.
