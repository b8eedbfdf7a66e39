//! Codecs, frame comparison and shared memory: non-generic and always optimised.
