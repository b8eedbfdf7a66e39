//! A small client of the Chrome DevTools Protocol over any byte stream.
