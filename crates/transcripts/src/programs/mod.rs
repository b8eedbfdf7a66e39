//! One module per program, and none knows another; what several need stands beside this folder.

pub(crate) mod atif;
pub(crate) mod browser_use;
pub(crate) mod claude_code;
pub(crate) mod codex;
pub(crate) mod conversations;
pub(crate) mod cua_agent;
pub(crate) mod gemini_cli;
pub(crate) mod inspect;
pub(crate) mod mini_swe_agent;
pub(crate) mod opencode;
pub(crate) mod openhands;
pub(crate) mod osworld;
pub(crate) mod pi;
pub(crate) mod verifiers;
