//! What a seed varies in a world, derived from labelled hashes.
