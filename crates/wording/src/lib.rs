//! Compares texts: words and their stems, words that mean much the same, vectors of words and of texts, and the
//! differences between two texts.

#![warn(clippy::missing_errors_doc)]

mod embedding;
pub mod line_diff;
mod related_words;
mod similar_pairs;
mod word_vectors;
mod words;

pub use embedding::{EmbeddingModel, Vector, cosine};
pub use related_words::{RelatedWord, related};
pub use similar_pairs::similar_pairs;
pub use word_vectors::{NearWord, Vocabulary, is_word};
pub use words::{
    GENERAL_DOMAINS, aliases, clip_line, domain_name, domain_of_class, is_for_program, is_general,
    is_same_domain, names_of, stem, word_similarity, words,
};
