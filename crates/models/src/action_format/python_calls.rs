//! Parses calls in Python syntax, `name.other(1, "two", key=[3])`, and no other part of the language. The code is never
//! executed.

use serde_json::Value;

use super::arguments::unknown_argument;

/// Brackets within brackets.
const MAX_DEPTH: u32 = 4;

/// One call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PythonCall {
    /// Dotted name of the function.
    pub(crate) name: String,
    /// Positional arguments.
    pub(crate) args: Vec<Value>,
    /// Keyword arguments.
    pub(crate) named: serde_json::Map<String, Value>,
}

impl PythonCall {
    /// Refuses keyword arguments with other names than these.
    pub(super) fn takes_only(&self, names: &[&str]) -> Result<(), String> {
        let unknown = self.named.keys().find(|name| !names.contains(&name.as_str()));
        unknown.map_or(Ok(()), |name| Err(unknown_argument(&self.name, name, names)))
    }

    /// Returns the keyword argument `name`, else the positional one at `place`.
    pub(super) fn get(&self, name: &str, place: usize) -> Option<&Value> {
        self.named.get(name).or_else(|| self.args.get(place)).filter(|value| !value.is_null())
    }
}

/// Parses every call of a text, in order. Imports, comments and blank lines are skipped; any other statement is an
/// error.
pub(super) fn read_python_calls(text: &str) -> Result<Vec<PythonCall>, String> {
    let mut reader = Reader { rest: text };
    let mut calls = Vec::new();
    loop {
        reader.skip(|c| c.is_whitespace() || c == ';');
        if reader.rest.is_empty() {
            return Ok(calls);
        }
        if ["#", "import ", "from "].iter().any(|head| reader.rest.starts_with(head)) {
            reader.skip(|c| c != '\n');
            continue;
        }
        calls.push(reader.call()?);
    }
}

/// Parses the call at the beginning of a text, and returns what follows it.
pub(crate) fn read_python_call(text: &str) -> Result<(PythonCall, &str), String> {
    let mut reader = Reader { rest: text };
    let call = reader.call()?;
    Ok((call, reader.rest))
}

/// Parses a text that is one literal.
pub(crate) fn read_python_value(text: &str) -> Result<Value, String> {
    let mut reader = Reader { rest: text };
    let value = reader.value(0)?;
    reader.skip(char::is_whitespace);
    if reader.rest.is_empty() { Ok(value) } else { Err(reader.syntax_error("expected the end")) }
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn skip(&mut self, while_it: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(while_it);
    }

    fn take(&mut self, while_it: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !while_it(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn eat(&mut self, mark: char) -> bool {
        self.skip(char::is_whitespace);
        match self.rest.strip_prefix(mark) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn syntax_error(&self, what: &str) -> String {
        let near: String = self.rest.chars().take(30).collect();
        format!("{what} at {near:?}")
    }

    fn call(&mut self) -> Result<PythonCall, String> {
        let name = self.take(|c| c.is_alphanumeric() || matches!(c, '_' | '.')).to_owned();
        if name.is_empty() || !self.eat('(') {
            return Err(self.syntax_error("expected a call"));
        }
        let mut call = PythonCall { name, args: Vec::new(), named: serde_json::Map::new() };
        while !self.eat(')') {
            let before = self.rest;
            let word = self.take(|c| c.is_alphanumeric() || c == '_').to_owned();
            if !word.is_empty() && self.eat('=') {
                let value = self.value(0)?;
                call.named.insert(word, value);
            } else {
                self.rest = before;
                let value = self.value(0)?;
                call.args.push(value);
            }
            if !self.eat(',') && !self.rest.trim_start().starts_with(')') {
                return Err(self.syntax_error("expected `,` or `)`"));
            }
        }
        Ok(call)
    }

    fn value(&mut self, depth: u32) -> Result<Value, String> {
        self.skip(char::is_whitespace);
        let closing = match self.rest.chars().next() {
            Some('\'' | '"') => return self.quoted().map(Value::String),
            Some('[') => ']',
            Some('(') => ')',
            Some('{') if depth <= MAX_DEPTH => return self.dict(depth),
            _ => return self.word(),
        };
        if depth > MAX_DEPTH {
            return Err(self.syntax_error("too many brackets"));
        }
        self.rest = &self.rest[1..];
        let mut items = Vec::new();
        while !self.eat(closing) {
            items.push(self.value(depth + 1)?);
            if !self.eat(',') && !self.rest.trim_start().starts_with(closing) {
                return Err(self.syntax_error("expected `,`"));
            }
        }
        Ok(items.into())
    }

    fn dict(&mut self, depth: u32) -> Result<Value, String> {
        self.rest = &self.rest[1..];
        let mut fields = serde_json::Map::new();
        while !self.eat('}') {
            let Value::String(key) = self.value(depth + 1)? else {
                return Err(self.syntax_error("expected a text as key"));
            };
            if !self.eat(':') {
                return Err(self.syntax_error("expected `:`"));
            }
            fields.insert(key, self.value(depth + 1)?);
            if !self.eat(',') && !self.rest.trim_start().starts_with('}') {
                return Err(self.syntax_error("expected `,`"));
            }
        }
        Ok(fields.into())
    }

    fn word(&mut self) -> Result<Value, String> {
        let word = self.take(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '+'));
        match word {
            "True" | "true" => Ok(true.into()),
            "False" | "false" => Ok(false.into()),
            "None" | "null" => Ok(Value::Null),
            _ => match (word.parse::<i64>(), word.parse::<f64>()) {
                (Ok(whole), _) => Ok(whole.into()),
                (_, Ok(number)) if number.is_finite() => Ok(number.into()),
                _ => Err(self.syntax_error(&format!("{word:?} is no value"))),
            },
        }
    }

    /// A string literal with Python's usual escapes; triple quotes may span lines.
    fn quoted(&mut self) -> Result<String, String> {
        let mark = if self.rest.starts_with("'''") || self.rest.starts_with("\"\"\"") {
            &self.rest[..3]
        } else {
            &self.rest[..1]
        };
        self.rest = &self.rest[mark.len()..];
        let mut text = String::new();
        loop {
            if let Some(rest) = self.rest.strip_prefix(mark) {
                self.rest = rest;
                return Ok(text);
            }
            let mut chars = self.rest.chars();
            match chars.next() {
                None => return Err("a text has no end".into()),
                Some('\\') => match chars.next() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some(c @ ('\\' | '\'' | '"')) => text.push(c),
                    Some(other) => {
                        text.push('\\');
                        text.push(other);
                    }
                    None => return Err("a text has no end".into()),
                },
                Some(c) => text.push(c),
            }
            self.rest = chars.as_str();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;
    use serde_json::json;

    use super::{read_python_call, read_python_calls, read_python_value};

    #[test]
    fn calls_are_read_and_the_rest_is_refused() {
        let calls = read_python_calls(
            "import pyautogui\n# a comment\npyautogui.click(x=10, y=2.5)\npyautogui.write('it\\'s\\n', interval=0.1); f(['a', (1, 2)], None)",
        )
        .expect("reads");
        assert_eq!(calls.len(), 3);
        assert_eq!(calls[0].get("y", 1), Some(&json!(2.5)));
        assert_eq!(calls[1].args, [json!("it's\n")]);
        assert_eq!(calls[2].args, [json!(["a", [1, 2]]), json!(null)]);
        for wrong in ["x = 1", "f(", "f('a", "f(1 2)", "for i in x: f()", "f(g())", "f([1)"] {
            assert!(read_python_calls(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn one_call_or_one_literal_is_read_and_what_follows_is_kept() {
        let (call, rest) = read_python_call("f(a={'x': [1, None]})]").expect("reads");
        assert_eq!((call.named["a"].clone(), rest), (json!({ "x": [1, null] }), "]"));
        assert_eq!(read_python_value("{'a': True, \"b\": -2.5,}"), Ok(json!({ "a": true, "b": -2.5 })));
        for wrong in
            ["{'a': 1} x", "{a: 1}", "{'a' 1}", "{1: 2}", "{'a': {'b': {'c': {'d': {'e': {'f': 1}}}}}}"]
        {
            assert!(read_python_value(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,80}") {
            let _ = read_python_value(&text);
            let _ = read_python_calls(&text);
        }
    }
}
