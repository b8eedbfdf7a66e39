//! The engine that reads and runs functions: what the language lacks on purpose, and its limits.

use rhai::packages::{
    ArithmeticPackage, BasicArrayPackage, BasicIteratorPackage, BasicStringPackage, LogicPackage,
    Package as _,
};
use rhai::{Engine, Token};

/// Largest source of a function, in characters.
pub const SOURCE_CAP: usize = 8000;
/// Most operations of one call.
pub const OPERATIONS: u64 = 50_000;
/// Most actions of one call.
pub const ACTS: u32 = 60;

/// Largest text that a function may make, in bytes; its longest list; its most variables.
const STRING: usize = 16_000;
pub(crate) const LIST: usize = 500;
const VARIABLES: usize = 60;
/// Deepest nesting of expressions.
const DEPTH: usize = 24;

/// Words of the language that no function needs. Loops without data, dynamic code, and what catches an error.
const DISABLED: [&str; 14] = [
    "while", "loop", "do", "until", "try", "catch", "throw", "eval", "print", "debug", "Fn", "call", "curry",
    "switch",
];

/// Returns an engine with the language and its limits, without anything of a world.
#[expect(deprecated, reason = "the hook is marked volatile, not deprecated: its own note says so")]
pub(crate) fn engine() -> Engine {
    let mut engine = Engine::new_raw();
    LogicPackage::new().register_into_engine(&mut engine);
    ArithmeticPackage::new().register_into_engine(&mut engine);
    BasicStringPackage::new().register_into_engine(&mut engine);
    BasicIteratorPackage::new().register_into_engine(&mut engine);
    BasicArrayPackage::new().register_into_engine(&mut engine);
    for word in DISABLED {
        engine.disable_symbol(word);
    }
    engine
        .set_max_operations(OPERATIONS)
        .set_max_call_levels(4)
        .set_max_expr_depths(DEPTH, DEPTH)
        .set_max_string_size(STRING)
        .set_max_array_size(LIST)
        .set_max_map_size(1)
        .set_max_variables(VARIABLES)
        .set_max_functions(4)
        .set_allow_anonymous_fn(false)
        .set_strict_variables(true)
        // The language reserves words that Playwright uses for methods.
        .on_parse_token(|token, _, _| match token {
            Token::Reserved(word) if matches!(word.as_str(), "goto" | "type") => Token::Identifier(word),
            other => other,
        });
    engine
}
