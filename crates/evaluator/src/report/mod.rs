//! Reports: one self-contained page and the same numbers as JSON.
