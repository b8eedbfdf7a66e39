//! What a command will ask of models, told before it asks: money, reviews and, where no price is known, turns and hours.

pub mod cost;
pub mod review;
pub mod work;
