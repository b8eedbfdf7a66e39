//! Tests of functions: what the checks refuse, what a call asks for, and what it cannot do.

mod attacks;
mod calls;
mod checks;
mod driver;
