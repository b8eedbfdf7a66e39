//! Paired comparison of two sets of trials. Pure.
