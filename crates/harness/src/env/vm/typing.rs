//! Translates text into Python for OSWorld's machines: characters that `pyautogui` has keys for are typed by its own
//! `write`, others by temporary key bindings. Characters that neither types are reported. Pure.

use std::fmt::Write as _;

use super::script::{Script, line, quoted};

/// Most characters typed in one action: a command may take at most two minutes there.
const CHARACTERS: usize = 4000;
/// Most of them that need a temporary key binding: each time all keys are bound, programs need time to notice.
const MAX_REMAPPED: usize = 1000;
/// Python code that binds keys temporarily: defines `Keys`.
const KEYS: &str = include_str!("keys.py");

/// How characters are typed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TypingMethod {
    /// With `pyautogui.write`.
    Own,
    /// With a temporary key binding each.
    Remapped,
}

/// Builds the script. Consecutive characters typed the same way share one call.
#[derive(Default)]
struct ScriptBuilder {
    text: String,
    run: String,
    by: Option<TypingMethod>,
}

impl ScriptBuilder {
    fn character(&mut self, c: char, by: TypingMethod) {
        if self.by != Some(by) {
            self.flush();
            self.by = Some(by);
        }
        self.run.push(c);
    }

    fn call(&mut self, call: &str) {
        self.flush();
        self.text.push_str(call);
    }

    fn flush(&mut self) {
        let run = quoted(&std::mem::take(&mut self.run));
        let _ = match self.by.take() {
            None => Ok(()),
            Some(TypingMethod::Own) => write!(self.text, "pyautogui.write({run}, interval=0.01); "),
            Some(TypingMethod::Remapped) => write!(self.text, "keys.strike({run}); "),
        };
    }
}

/// The script that types a text. The one character that `pyautogui` would type as another is sent as a key chord.
pub(super) fn typed(text: &str) -> Result<Script, String> {
    if text.chars().count() > CHARACTERS {
        return Err(format!("type at most {CHARACTERS} characters at a time"));
    }
    if text.chars().filter(|c| !c.is_ascii()).count() > MAX_REMAPPED {
        return Err(format!("type at most {MAX_REMAPPED} characters beyond ASCII at a time"));
    }
    let (mut lines, mut remapped, mut untyped) = (ScriptBuilder::default(), String::new(), String::new());
    for c in text.chars() {
        match c {
            '\n' => lines.call("pyautogui.press('enter'); "),
            '\t' => lines.call("pyautogui.press('tab'); "),
            '<' => lines.call("pyautogui.hotkey('shift', ','); "),
            '\r' => {}
            ' '..='~' => lines.character(c, TypingMethod::Own),
            c if c.is_control() => untyped.push(c),
            c => {
                lines.character(c, TypingMethod::Remapped);
                remapped.push(c);
            }
        }
    }
    lines.flush();
    if remapped.is_empty() {
        return Ok(line(&lines.text, untyped));
    }
    // Without this, each call pauses for the default time, and such a text consists of many calls.
    let all =
        format!("pyautogui.PAUSE = 0.01; keys = Keys({}); {}keys.report()", quoted(&remapped), lines.text);
    let Script::Line { code, .. } = line(&all, String::new()) else { return Ok(Script::Nothing) };
    Ok(Script::Line { code: format!("{KEYS}\n{code}"), remapped, untyped })
}

/// Reports the characters of a typed text that were left out. `output` is what the machine printed.
pub(super) fn untyped_report(untyped: &str, remapped: &str, output: &str) -> Option<String> {
    let said = output.trim().lines().last().and_then(|last| serde_json::from_str::<String>(last).ok());
    // If the machine reports nothing, assume that no temporary binding worked.
    let missed =
        if remapped.is_empty() { String::new() } else { said.unwrap_or_else(|| remapped.to_owned()) };
    let all = format!("{untyped}{missed}");
    (!all.is_empty()).then(|| format!("characters that no key types were left out: {all:?}"))
}

#[cfg(test)]
mod tests {
    use super::super::script::BEGIN;
    use super::{KEYS, Script, typed, untyped_report};

    #[test]
    fn characters_without_a_key_are_lent_one_in_their_place() {
        let Ok(Script::Line { code, remapped, untyped }) = typed("Grüß <東\u{1b}") else {
            panic!("a line")
        };
        let line = code.strip_prefix(KEYS).expect("the keys first").trim_start();
        assert_eq!(
            line.strip_prefix(BEGIN).expect("begins as all do"),
            "pyautogui.PAUSE = 0.01; keys = Keys('\\U000000fc\\U000000df\\U00006771'); \
             pyautogui.write('Gr', interval=0.01); keys.strike('\\U000000fc\\U000000df'); \
             pyautogui.write(' ', interval=0.01); pyautogui.hotkey('shift', ','); \
             keys.strike('\\U00006771'); keys.report()"
        );
        assert_eq!((remapped.as_str(), untyped.as_str()), ("üß東", "\u{1b}"));
        assert!(code.is_ascii());
        let long = typed(&"東".repeat(1001)).expect_err("too many");
        assert_eq!(long, "type at most 1000 characters beyond ASCII at a time");
    }

    #[test]
    fn what_was_not_typed_is_named() {
        assert_eq!(untyped_report("", "", "anything"), None);
        assert_eq!(untyped_report("", "ü", "\"\"\n"), None);
        let told = |text: &str| Some(format!("characters that no key types were left out: {text:?}"));
        assert_eq!(untyped_report("\u{1b}", "üß", "\"\\u00df\"\n"), told("\u{1b}ß"));
        assert_eq!(untyped_report("", "üß", "no display"), told("üß"));
    }
}
