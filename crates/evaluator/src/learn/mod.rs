//! The learning cycle: traces in, reviews and learnings, the book out.
