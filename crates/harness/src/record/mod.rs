//! Recording: events, blobs and the redaction that stands before them.
