//! Splits by template, locked in a file; the only way by which an attempt is admitted to learning.
