//! Translates the CSS selectors that tasks use on accessibility trees to XPath.

/// Translates a selector list to one XPath expression.
pub(crate) fn to_xpath(list: &str) -> Result<String, String> {
    let mut reader = Reader { rest: list.trim() };
    let mut paths = Vec::new();
    loop {
        paths.push(reader.complex()?);
        reader.skip_blanks();
        if reader.rest.is_empty() {
            return Ok(paths.join(" | "));
        }
        reader.expect(',')?;
        reader.skip_blanks();
    }
}

struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn complex(&mut self) -> Result<String, String> {
        let mut path = format!("descendant-or-self::{}", self.compound()?);
        loop {
            let blanks = self.skip_blanks();
            let axis = match self.rest.chars().next() {
                None | Some(',') => return Ok(path),
                Some('>') => "/",
                Some('+') => "/following-sibling::*[1]/self::",
                Some('~') => "/following-sibling::",
                Some(_) if blanks => "//",
                Some(other) => return Err(format!("{other:?} is not supported in a selector")),
            };
            if axis != "//" {
                self.rest = &self.rest[1..];
                self.skip_blanks();
            }
            let next = self.compound()?;
            path = format!("{path}{}{next}", if axis == "//" { "/descendant::" } else { axis });
        }
    }

    fn compound(&mut self) -> Result<String, String> {
        let before = self.rest.len();
        let mut tag = "*".to_owned();
        if self.rest.starts_with('*') {
            self.rest = &self.rest[1..];
        } else if self.rest.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            tag = self.qualified()?;
        }
        let mut conditions = String::new();
        loop {
            let condition = match self.rest.chars().next() {
                Some('[') => self.attribute()?,
                Some('#') => {
                    self.rest = &self.rest[1..];
                    format!("@id = {}", literal(&self.name()?)?)
                }
                Some(':') => self.pseudo()?,
                _ if self.rest.len() == before => return Err("a selector is missing".into()),
                _ => return Ok(format!("{tag}{conditions}")),
            };
            conditions.extend(["[", condition.as_str(), "]"]);
        }
    }

    /// Reads a name with an optional namespace prefix.
    fn qualified(&mut self) -> Result<String, String> {
        let first = self.name()?;
        match self.rest.strip_prefix('|') {
            Some(rest) if !rest.starts_with('=') => {
                self.rest = rest;
                Ok(format!("{first}:{}", self.name()?))
            }
            _ => Ok(first),
        }
    }

    fn name(&mut self) -> Result<String, String> {
        let end = self.rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_')));
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        if name.is_empty() {
            return Err(format!("a name is missing before {:?}", self.rest));
        }
        self.rest = rest;
        Ok(name.to_owned())
    }

    fn attribute(&mut self) -> Result<String, String> {
        self.expect('[')?;
        self.skip_blanks();
        let name = self.qualified()?;
        self.skip_blanks();
        let operator: String = self.rest.chars().take_while(|c| "=~|^$*!".contains(*c)).collect();
        self.rest = &self.rest[operator.len()..];
        self.skip_blanks();
        let value = if operator.is_empty() { String::new() } else { literal(&self.value()?)? };
        self.skip_blanks();
        self.expect(']')?;
        Ok(match operator.as_str() {
            "" => format!("@{name}"),
            "=" => format!("@{name} = {value}"),
            "!=" => format!("not(@{name}) or @{name} != {value}"),
            "*=" => format!("@{name} and contains(@{name}, {value})"),
            "^=" => format!("@{name} and starts-with(@{name}, {value})"),
            "$=" => format!(
                "@{name} and substring(@{name}, string-length(@{name}) - string-length({value}) + 1) = {value}"
            ),
            "~=" => format!(
                "@{name} and contains(concat(' ', normalize-space(@{name}), ' '), concat(' ', {value}, ' '))"
            ),
            "|=" => format!("@{name} and (@{name} = {value} or starts-with(@{name}, concat({value}, '-')))"),
            other => return Err(format!("operator {other:?} is not supported in a selector")),
        })
    }

    fn pseudo(&mut self) -> Result<String, String> {
        self.expect(':')?;
        let name = self.name()?;
        if !self.rest.starts_with('(') {
            return match name.as_str() {
                "first-child" => Ok("not(preceding-sibling::*)".into()),
                "last-child" => Ok("not(following-sibling::*)".into()),
                "only-child" => Ok("not(preceding-sibling::*) and not(following-sibling::*)".into()),
                "empty" => Ok("not(*) and not(string-length())".into()),
                other => Err(format!(":{other} is not supported in a selector")),
            };
        }
        self.expect('(')?;
        self.skip_blanks();
        let condition = match name.as_str() {
            "contains" => format!("contains(., {})", literal(&self.value()?)?),
            "nth-child" => self.places()?.among("count(preceding-sibling::*)"),
            "nth-last-child" => self.places()?.among("count(following-sibling::*)"),
            "not" => {
                let inner = self.compound()?;
                format!("not(self::{inner})")
            }
            other => return Err(format!(":{other}() is not supported in a selector")),
        };
        self.skip_blanks();
        self.expect(')')?;
        Ok(condition)
    }

    /// Reads `odd`, `even`, a number, or a step and a start such as `2n + 1`, up to the closing bracket.
    fn places(&mut self) -> Result<Places, String> {
        let end = self.rest.find(')').ok_or("')' is missing")?;
        let text: String = self.rest[..end].chars().filter(|c| !c.is_whitespace()).collect();
        self.rest = &self.rest[end..];
        let bad = || format!("{text:?} is no place in a selector");
        let number = |text: &str| text.parse::<i64>().ok().filter(|number| number.abs() < 1_000_000);
        match text.to_ascii_lowercase().as_str() {
            "odd" => Ok(Places { step: 2, start: 1 }),
            "even" => Ok(Places { step: 2, start: 0 }),
            text => match text.split_once('n') {
                None => Ok(Places { step: 0, start: number(text).ok_or_else(bad)? }),
                Some((step, start)) => Ok(Places {
                    step: match step {
                        "" | "+" => 1,
                        "-" => -1,
                        step => number(step).ok_or_else(bad)?,
                    },
                    start: if start.is_empty() { 0 } else { number(start).ok_or_else(bad)? },
                }),
            },
        }
    }

    /// Reads a quoted string or a bare word.
    fn value(&mut self) -> Result<String, String> {
        let Some(mark) = self.rest.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            return self.name();
        };
        let mut out = String::new();
        let mut chars = self.rest[1..].char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => out.extend(chars.next().map(|(_, quoted)| quoted)),
                c if c == mark => {
                    self.rest = &self.rest[at + 2..];
                    return Ok(out);
                }
                c => out.push(c),
            }
        }
        Err("a quote is not closed".into())
    }

    fn skip_blanks(&mut self) -> bool {
        let before = self.rest.len();
        self.rest = self.rest.trim_start();
        self.rest.len() < before
    }

    fn expect(&mut self, c: char) -> Result<(), String> {
        self.rest =
            self.rest.strip_prefix(c).ok_or_else(|| format!("{c:?} is missing before {:?}", self.rest))?;
        Ok(())
    }
}

/// The places `step * n + start` for n = 0, 1, 2, … among siblings, counted from one.
struct Places {
    step: i64,
    start: i64,
}

impl Places {
    /// Writes the condition for the number of siblings on one side.
    fn among(&self, count: &str) -> String {
        let (step, first) = (self.step, self.start - 1);
        let bound = match step {
            0 => return format!("{count} = {first}"),
            1.. => format!("{count} >= {first}"),
            _ => format!("{count} <= {first}"),
        };
        // Only whole steps away from the first one.
        format!("{bound} and ({count} - {first}) mod {} = 0", step.abs())
    }
}

/// Writes an XPath string literal. XPath has no escapes.
fn literal(text: &str) -> Result<String, String> {
    match (text.contains('"'), text.contains('\'')) {
        (false, _) => Ok(format!("\"{text}\"")),
        (true, false) => Ok(format!("'{text}'")),
        (true, true) => Err(format!("{text:?} contains both kinds of quotes")),
    }
}

#[cfg(test)]
mod tests {
    use super::to_xpath;

    #[test]
    fn selectors_become_paths() {
        for (selector, expected) in [
            (
                "application[name=Thunderbird] entry",
                "descendant-or-self::application[@name = \"Thunderbird\"]/descendant::entry",
            ),
            (
                "a > b:first-child, *[st|focused=\"true\"]",
                "descendant-or-self::a/b[not(preceding-sibling::*)] | descendant-or-self::*[@st:focused = \"true\"]",
            ),
            (
                "a + b[name^='x y']",
                "descendant-or-self::a/following-sibling::*[1]/self::b[@name and starts-with(@name, \"x y\")]",
            ),
            ("a:nth-child(0)", "descendant-or-self::a[count(preceding-sibling::*) = -1]"),
            (
                "a:nth-last-child( 2n + 1 )",
                "descendant-or-self::a[count(following-sibling::*) >= 0 and (count(following-sibling::*) - 0) mod 2 = 0]",
            ),
            (
                "a:nth-child(-n+2)",
                "descendant-or-self::a[count(preceding-sibling::*) <= 1 and (count(preceding-sibling::*) - 1) mod 1 = 0]",
            ),
        ] {
            assert_eq!(to_xpath(selector).as_deref(), Ok(expected), "{selector}");
        }
        for wrong in ["", "a:nth-child(2m)", "a:nth-child(2", "a[", "a:hover", "[x=\"y]", "a >"] {
            assert!(to_xpath(wrong).is_err(), "{wrong}");
        }
    }
}
