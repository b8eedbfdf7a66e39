//! Translates Python regular expressions into the syntax of the Rust engines.

use std::collections::HashSet;
use std::str::Chars;

/// Flags of a regular expression, by their names in rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Flags {
    pub(crate) ignore_case: bool,
    pub(crate) multi_line: bool,
    pub(crate) dot_all: bool,
    pub(crate) verbose: bool,
}

/// The kind of the preceding token.
#[derive(Clone, Copy, PartialEq)]
enum PreviousToken {
    /// A repeatable item, or the pattern's start.
    Item,
    /// A repetition that may be made lazy or possessive.
    Repeat,
    /// A lazy or possessive repetition.
    Complete,
}

struct Translator<'s> {
    rest: Chars<'s>,
    out: String,
    names: HashSet<&'s str>,
    before: PreviousToken,
    /// Whether only flags have been read.
    at_start: bool,
    multi_line: bool,
    verbose: bool,
}

/// Rewrites constructs with different meanings, and rejects those that only the Rust engines know.
pub(crate) fn translate(source: &str, flags: Flags) -> Result<String, String> {
    let mut translator = Translator {
        rest: source.chars(),
        out: String::with_capacity(source.len() + 8),
        names: HashSet::new(),
        before: PreviousToken::Item,
        at_start: true,
        multi_line: flags.multi_line,
        verbose: flags.verbose,
    };
    while let Some(c) = translator.rest.next() {
        translator.take(c)?;
    }
    Ok(translator.out)
}

impl<'s> Translator<'s> {
    fn take(&mut self, c: char) -> Result<(), String> {
        if c == '#' && self.verbose {
            let text = self.rest.as_str();
            self.rest = text.split_at(text.find('\n').unwrap_or(text.len())).1.chars();
            return Ok(());
        }
        let flags = c == '(' && self.group()?;
        match c {
            '*' | '+' | '?' => return self.repeat(c, None),
            '{' => match repetition(self.rest.as_str()) {
                Some((text, long)) => return self.repeat(c, Some((text?, long))),
                None => self.out.push_str("\\{"),
            },
            '\\' => self.escape()?,
            '[' => self.class()?,
            '$' if !self.multi_line => self.out.push_str("(?:\\n?\\z)"),
            _ => self.out.push(c),
        }
        self.before = PreviousToken::Item;
        self.at_start &= flags;
        // `group` has already validated the flags.
        if flags {
            self.out.pop();
            let end = self.rest.as_str().find(')').map_or(0, |end| end + 1);
            let (read, rest) = self.rest.as_str().split_at(end);
            self.out.extend(["(", read]);
            self.rest = rest.chars();
        }
        Ok(())
    }

    fn repeat(&mut self, c: char, counted: Option<(String, usize)>) -> Result<(), String> {
        self.at_start = false;
        self.before = match (self.before, c) {
            (PreviousToken::Item, _) => PreviousToken::Repeat,
            (PreviousToken::Repeat, '?' | '+') => PreviousToken::Complete,
            (PreviousToken::Repeat | PreviousToken::Complete, _) => {
                return Err("a repetition is repeated".into());
            }
        };
        match counted {
            Some((text, long)) => {
                self.out.push_str(&text);
                self.rest = self.rest.as_str().get(long..).unwrap_or_default().chars();
            }
            None => self.out.push(c),
        }
        Ok(())
    }

    /// Validates the construct after an opening parenthesis. Returns whether it sets flags for the whole pattern.
    fn group(&mut self) -> Result<bool, String> {
        let Some(inner) = self.rest.as_str().strip_prefix('?') else { return Ok(false) };
        if let Some(name) =
            inner.strip_prefix("P<").and_then(|rest| rest.split_once('>')).map(|(name, _)| name)
        {
            let plain =
                name.chars().all(|c| c.is_alphanumeric() || c == '_') && !name.starts_with(char::is_numeric);
            if name.is_empty() || !plain || !self.names.insert(name) {
                return Err(format!("{name:?} is not a valid group name"));
            }
            return Ok(false);
        }
        if [":", "=", "!", "#", ">", "<=", "<!", "P=", "("].iter().any(|known| inner.starts_with(known)) {
            return Ok(false);
        }
        let (on, rest) = inner.split_at(inner.find(|c| !"aimsux".contains(c)).unwrap_or(inner.len()));
        match (rest.chars().next(), rest.strip_prefix('-')) {
            (Some(')'), _) if !on.is_empty() && self.at_start => Ok(true),
            (Some(')'), _) if !on.is_empty() => Err("flags are not at the start".into()),
            (Some(':'), _) if !on.is_empty() => Ok(false),
            (_, Some(off))
                if off.trim_start_matches(['i', 'm', 's', 'x']).starts_with(':') && !off.starts_with(':') =>
            {
                Ok(false)
            }
            _ => Err(format!("(?{} is unknown", inner.chars().take(2).collect::<String>())),
        }
    }

    /// Translates an escape outside of a character class.
    fn escape(&mut self) -> Result<(), String> {
        let after = self.rest.as_str();
        let c = self.rest.next().ok_or("the pattern ends with a backslash")?;
        match c {
            'A' | 'b' | 'B' | 'd' | 'D' | 'a' | 'f' | 'n' | 'r' | 't' | 'v' => self.out.extend(['\\', c]),
            'w' => self.out.push_str(r"[\p{L}\p{N}_]"),
            'W' => self.out.push_str(r"[^\p{L}\p{N}_]"),
            's' => self.out.push_str(r"[\s\x1c-\x1f]"),
            'S' => self.out.push_str(r"[^\s\x1c-\x1f]"),
            'Z' => self.out.push_str("\\z"),
            '1'..='9' if octal(after).1 < 3 => {
                self.out.extend(['\\', c]);
                let second = self.rest.clone().next().filter(char::is_ascii_digit);
                self.out.extend(second.inspect(|_| _ = self.rest.next()));
            }
            _ => self.letter(c, after)?,
        }
        Ok(())
    }

    /// Translates an escape that has the same meaning inside and outside of a class.
    fn letter(&mut self, c: char, after: &'s str) -> Result<(), String> {
        let wide = match c {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            '0'..='7' => {
                let (number, long) = octal(after);
                if number > 0o377 {
                    return Err(format!("{number:#o} is not a character"));
                }
                return self.code(number, after, long);
            }
            c if c.is_ascii_alphanumeric() => return Err(format!("\\{c} is unknown")),
            c if r"\.+*?()|[]{}^$#&-~".contains(c) => {
                self.out.extend(['\\', c]);
                return Ok(());
            }
            c => return self.code(u32::from(c), after, c.len_utf8()),
        };
        let digits = after.get(1..=wide).ok_or_else(|| format!("\\{c} needs {wide} digits"))?;
        let number = u32::from_str_radix(digits, 16).map_err(|_| format!("\\{c} needs {wide} digits"))?;
        self.code(number, after, wide + 1)
    }

    /// Writes a character by its code point and consumes `long` bytes of the pattern.
    fn code(&mut self, number: u32, after: &'s str, long: usize) -> Result<(), String> {
        let c = char::from_u32(number).ok_or_else(|| format!("{number:#x} is not a character"))?;
        self.out.extend(["\\x{", &format!("{:x}", u32::from(c)), "}"]);
        self.rest = after.get(long..).unwrap_or_default().chars();
        Ok(())
    }

    /// Translates a character class. Brackets and Rust's set operators are literal characters in Python.
    fn class(&mut self) -> Result<(), String> {
        self.out.push('[');
        if let Some(inner) = self.rest.as_str().strip_prefix('^') {
            self.out.push('^');
            self.rest = inner.chars();
        }
        // A hyphen is literal at the start of a class and after the hyphen of a range.
        let (mut first, mut plain) = (true, true);
        while let Some(c) = self.rest.next() {
            match c {
                ']' if !first => {
                    self.out.push(']');
                    return Ok(());
                }
                '\\' => {
                    let after = self.rest.as_str();
                    let c = self.rest.next().ok_or("the pattern ends with a backslash")?;
                    let next = self.rest.as_str();
                    if "dDsSwW".contains(c) && next.starts_with('-') && !next.starts_with("-]") {
                        return Err(format!("\\{c} begins a range"));
                    }
                    match c {
                        'b' => self.out.push_str("\\x08"),
                        'w' => self.out.push_str(r"\p{L}\p{N}_"),
                        'W' => self.out.push_str(r"[^\p{L}\p{N}_]"),
                        's' => self.out.push_str(r"\s\x1c-\x1f"),
                        'S' => self.out.push_str(r"[^\s\x1c-\x1f]"),
                        c @ ('d' | 'D' | 'a' | 'f' | 'n' | 'r' | 't' | 'v') => self.out.extend(['\\', c]),
                        c => self.letter(c, after)?,
                    }
                }
                '-' if plain => self.out.push_str("\\-"),
                '[' | ']' | '&' | '~' => self.out.extend(['\\', c]),
                c => self.out.push(c),
            }
            (first, plain) = (false, c == '-' && !plain);
        }
        Err("a class is not closed".into())
    }
}

/// Returns the value of up to three octal digits and their number.
fn octal(text: &str) -> (u32, usize) {
    let digits = text.chars().map_while(|c| c.to_digit(8)).take(3);
    digits.fold((0, 0), |(number, long), digit| (number * 8 + digit, long + 1))
}

/// Parses a repetition such as `{2,3}` without its opening brace. Returns its translation and its length.
fn repetition(text: &str) -> Option<(Result<String, String>, usize)> {
    let (inner, _) = text.split_once('}')?;
    let (low, high) = inner.split_once(',').unwrap_or((inner, inner));
    if inner.is_empty() || !low.chars().chain(high.chars()).all(|c| c.is_ascii_digit()) {
        return None;
    }
    let number = |text: &str, default: u32| if text.is_empty() { Ok(default) } else { text.parse::<u32>() };
    let written = match (number(low, 0), number(high, u32::MAX)) {
        (Ok(low), Ok(u32::MAX)) => Ok(format!("{{{low},}}")),
        (Ok(low), Ok(high)) if low <= high => Ok(format!("{{{low},{high}}}")),
        _ => Err(format!("{{{inner}}} is an empty range")),
    };
    Some((written, inner.len() + 1))
}
