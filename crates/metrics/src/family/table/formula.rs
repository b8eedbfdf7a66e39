//! Parser and evaluator for conditional-format formulas: literals, comparisons and the functions that conditions use.

use std::cmp::Ordering;

use serde_json::Value;

use crate::readers::cell_ref::{Range, place};

/// Maximum nesting depth of a formula.
const DEPTH: u32 = 60;

#[derive(Clone, Debug, PartialEq)]
enum Expr {
    Value(Value),
    /// A range reference, as an index into the formula's distinct ranges.
    Named(usize),
    Negative(Box<Self>),
    Percent(Box<Self>),
    Both(Box<Self>, &'static str, Box<Self>),
    Call(Function, Vec<Self>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    And,
    Or,
    Not,
    If,
    IsError,
    IsNumber,
    IsText,
    IsBlank,
    Length,
    Left,
    Right,
    Middle,
    Search,
    Find,
    Upper,
    Lower,
    Trim,
    Exact,
    Abs,
    Int,
    Mod,
    Round,
    Sum,
    Average,
    Min,
    Max,
    Count,
}

const FUNCTIONS: &[(&str, Function)] = &[
    ("AND", Function::And),
    ("OR", Function::Or),
    ("NOT", Function::Not),
    ("IF", Function::If),
    ("ISERROR", Function::IsError),
    ("ISNUMBER", Function::IsNumber),
    ("ISTEXT", Function::IsText),
    ("ISBLANK", Function::IsBlank),
    ("LEN", Function::Length),
    ("LEFT", Function::Left),
    ("RIGHT", Function::Right),
    ("MID", Function::Middle),
    ("SEARCH", Function::Search),
    ("FIND", Function::Find),
    ("UPPER", Function::Upper),
    ("LOWER", Function::Lower),
    ("TRIM", Function::Trim),
    ("EXACT", Function::Exact),
    ("ABS", Function::Abs),
    ("INT", Function::Int),
    ("MOD", Function::Mod),
    ("ROUND", Function::Round),
    ("SUM", Function::Sum),
    ("AVERAGE", Function::Average),
    ("MIN", Function::Min),
    ("MAX", Function::Max),
    ("COUNT", Function::Count),
];

/// A parsed formula.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Formula {
    root: Expr,
    /// The distinct ranges that it references, in order.
    ranges: Vec<Range>,
}

/// An evaluation error, such as `#DIV/0!`.
struct EvalError;

impl Formula {
    /// Returns the value of a formula without cell references.
    pub(super) fn constant(&self) -> Option<Value> {
        if !self.ranges.is_empty() {
            return None;
        }
        evaluate(&self.root, &[]).ok()
    }

    /// Returns whether the formula is true for a cell's value. The first range stands for the cell; `others` has the
    /// values of the remaining ranges.
    pub(super) fn holds(&self, value: &Value, others: &[Value]) -> bool {
        if self.ranges.len() != others.len() + 1 {
            return false;
        }
        let named: Vec<Value> = std::iter::once(value).chain(others).cloned().collect();
        evaluate(&self.root, &named).is_ok_and(|value| truth(&value).unwrap_or(false))
    }
}

/// Parses a formula.
pub(super) fn parse(source: &str) -> Result<Formula, String> {
    let mut reader = Reader { rest: source.trim().trim_start_matches('='), ranges: Vec::new(), depth: 0 };
    let root = reader.comparison().map_err(|why| format!("condition {source:?}: {why}"))?;
    if reader.skip_blanks().is_empty() {
        return Ok(Formula { root, ranges: reader.ranges });
    }
    Err(format!("condition {source:?}: {:?} is not supported", reader.rest))
}

/// Returns the fully absolute ranges (`$A$1:$B$2`) in a formula.
pub(super) fn absolute_ranges(source: &str) -> Vec<Range> {
    let mut found = Vec::new();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '$' | ':');
    for word in source.split(|c: char| !is_name(c)).filter(|word| word.starts_with('$')) {
        let absolute = |cell: &str| cell.matches('$').count() == 2 && cell.starts_with('$');
        if word.split(':').all(absolute)
            && let Some(range) = Range::parse(word)
        {
            found.push(range);
        }
    }
    found
}

/// Evaluates the operator of a `cellIs` condition.
pub(super) fn compare(operator: &str, value: &Value, references: &[Value]) -> bool {
    let Some(first) = references.first() else { return false };
    // Values of different types satisfy only `notEqual`.
    let alike = std::mem::discriminant(value) == std::mem::discriminant(first);
    let to = |reference: &Value| ordering(value, reference);
    let between = || {
        let second = references.get(1)?;
        let (low, high) = if ordering(first, second).is_le() { (first, second) } else { (second, first) };
        Some(to(low).is_ge() && to(high).is_le())
    };
    match operator {
        "equal" => alike && to(first).is_eq(),
        "notEqual" => !alike || to(first).is_ne(),
        "lessThan" => alike && to(first).is_lt(),
        "lessThanOrEqual" => alike && to(first).is_le(),
        "greaterThan" => alike && to(first).is_gt(),
        "greaterThanOrEqual" => alike && to(first).is_ge(),
        "between" => alike && between().unwrap_or(false),
        "notBetween" => alike && !between().unwrap_or(true),
        _ => false,
    }
}

struct Reader<'t> {
    rest: &'t str,
    ranges: Vec<Range>,
    depth: u32,
}

impl<'t> Reader<'t> {
    fn skip_blanks(&mut self) -> &'t str {
        self.rest = self.rest.trim_start();
        self.rest
    }

    fn take(&mut self, operators: &[&'static str]) -> Option<&'static str> {
        let rest = self.skip_blanks();
        let found = operators.iter().find(|operator| rest.starts_with(**operator))?;
        self.rest = &rest[found.len()..];
        Some(found)
    }

    fn chain(
        &mut self,
        operators: &[&'static str],
        next: fn(&mut Self) -> Result<Expr, String>,
    ) -> Result<Expr, String> {
        let mut left = next(self)?;
        while let Some(operator) = self.take(operators) {
            left = Expr::Both(Box::new(left), operator, Box::new(next(self)?));
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Result<Expr, String> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err("it is nested too deep".into());
        }
        let part = self.chain(&["<=", ">=", "<>", "<", ">", "="], |reader| reader.chain(&["&"], Self::sum));
        self.depth -= 1;
        part
    }

    fn sum(&mut self) -> Result<Expr, String> {
        self.chain(&["+", "-"], |reader| {
            reader.chain(&["*", "/"], |reader| reader.chain(&["^"], Self::signed))
        })
    }

    fn signed(&mut self) -> Result<Expr, String> {
        let mut negative = false;
        while let Some(sign) = self.take(&["-", "+"]) {
            negative ^= sign == "-";
        }
        let mut part = self.single()?;
        while self.take(&["%"]).is_some() {
            part = Expr::Percent(Box::new(part));
        }
        Ok(if negative { Expr::Negative(Box::new(part)) } else { part })
    }

    fn single(&mut self) -> Result<Expr, String> {
        let rest = self.skip_blanks();
        if self.take(&["("]).is_some() {
            let inner = self.comparison()?;
            self.take(&[")"]).ok_or("a bracket is not closed")?;
            return Ok(inner);
        }
        if let Some(after) = rest.strip_prefix('"') {
            return self.text(after);
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '$' | ':' | '_' | '.' | '!' | '\'');
        let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        let word = &rest[..end];
        self.rest = &rest[end..];
        if self.rest.starts_with('(') {
            return self.call(word);
        }
        if let Ok(number) = word.parse::<f64>() {
            return Ok(Expr::Value(number.into()));
        }
        match word.to_ascii_uppercase().as_str() {
            "TRUE" => return Ok(Expr::Value(true.into())),
            "FALSE" => return Ok(Expr::Value(false.into())),
            _ => {}
        }
        let is_cell = word.split(':').all(|cell| place(cell.rsplit('!').next().unwrap_or(cell)).is_some());
        let range =
            Range::parse(word).filter(|_| is_cell).ok_or_else(|| format!("{word:?} is not supported"))?;
        let existing = self.ranges.iter().position(|existing| *existing == range);
        Ok(Expr::Named(existing.unwrap_or_else(|| {
            self.ranges.push(range);
            self.ranges.len() - 1
        })))
    }

    /// Reads the rest of a quoted string, in which two quotes stand for one.
    fn text(&mut self, after: &'t str) -> Result<Expr, String> {
        let (mut out, mut rest) = (String::new(), after);
        loop {
            let (inside, behind) = rest.split_once('"').ok_or("a quote is not closed")?;
            out.push_str(inside);
            match behind.strip_prefix('"') {
                Some(more) => {
                    out.push('"');
                    rest = more;
                }
                None => {
                    self.rest = behind;
                    return Ok(Expr::Value(out.into()));
                }
            }
        }
    }

    fn call(&mut self, name: &str) -> Result<Expr, String> {
        let upper = name.to_ascii_uppercase();
        let existing =
            FUNCTIONS.iter().find(|(existing, _)| *existing == upper).map(|(_, function)| *function);
        let function = existing.ok_or_else(|| format!("unknown function {name}"))?;
        self.take(&["("]);
        let mut arguments = Vec::new();
        if self.take(&[")"]).is_some() {
            return Ok(Expr::Call(function, arguments));
        }
        loop {
            arguments.push(self.comparison()?);
            match self.take(&[",", ";", ")"]) {
                Some(")") => return Ok(Expr::Call(function, arguments)),
                Some(_) => {}
                None => return Err(format!("the arguments of {name} are not closed")),
            }
        }
    }
}

/// Orders numbers before strings before booleans, ignoring letter case.
fn ordering(a: &Value, b: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Null | Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) | Value::Object(_) => 3,
    };
    rank(a).cmp(&rank(b)).then_with(|| match (a, b) {
        (Value::String(a), Value::String(b)) => a.to_lowercase().cmp(&b.to_lowercase()),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (a, b) => {
            let number = |value: &Value| value.as_f64().unwrap_or(0.0);
            number(a).partial_cmp(&number(b)).unwrap_or(Ordering::Equal)
        }
    })
}

fn evaluate(part: &Expr, named: &[Value]) -> Result<Value, EvalError> {
    let number = |part: &Expr| evaluate(part, named).and_then(|value| as_number(&value));
    Ok(match part {
        Expr::Value(value) => value.clone(),
        Expr::Named(at) => named.get(*at).cloned().ok_or(EvalError)?,
        Expr::Negative(inner) => (-number(inner)?).into(),
        Expr::Percent(inner) => (number(inner)? / 100.0).into(),
        Expr::Both(left, operator, right) => {
            let (left, right) = (evaluate(left, named)?, evaluate(right, named)?);
            binary(&left, operator, &right)?
        }
        Expr::Call(function, arguments) => call(*function, arguments, named)?,
    })
}

fn binary(left: &Value, operator: &str, right: &Value) -> Result<Value, EvalError> {
    let numbers = || Ok((as_number(left)?, as_number(right)?));
    let order = || ordering(left, right);
    Ok(match operator {
        "<=" => order().is_le().into(),
        ">=" => order().is_ge().into(),
        "<>" => order().is_ne().into(),
        "<" => order().is_lt().into(),
        ">" => order().is_gt().into(),
        "=" => order().is_eq().into(),
        "&" => (as_text(left) + &as_text(right)).into(),
        "+" => numbers().map(|(a, b)| a + b)?.into(),
        "-" => numbers().map(|(a, b)| a - b)?.into(),
        "*" => numbers().map(|(a, b)| a * b)?.into(),
        "^" => numbers().map(|(a, b)| a.powf(b))?.into(),
        _ => numbers().and_then(|(a, b)| if b == 0.0 { Err(EvalError) } else { Ok(a / b) })?.into(),
    })
}

fn as_number(value: &Value) -> Result<f64, EvalError> {
    match value {
        Value::Null => Ok(0.0),
        Value::Bool(flag) => Ok(f64::from(u8::from(*flag))),
        Value::Number(number) => number.as_f64().ok_or(EvalError),
        Value::String(text) => text.trim().parse().map_err(|_| EvalError),
        Value::Array(_) | Value::Object(_) => Err(EvalError),
    }
}

fn as_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(flag) => if *flag { "TRUE" } else { "FALSE" }.to_owned(),
        Value::Number(number) => {
            number.as_f64().map_or_else(|| number.to_string(), |number| number.to_string())
        }
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => String::new(),
    }
}

fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::Null => Some(false),
        Value::Number(number) => Some(number.as_f64() != Some(0.0)),
        Value::String(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn call(function: Function, arguments: &[Expr], named: &[Value]) -> Result<Value, EvalError> {
    let value = |at: usize| arguments.get(at).ok_or(EvalError).and_then(|part| evaluate(part, named));
    let number = |at: usize| value(at).and_then(|value| as_number(&value));
    let text = |at: usize| value(at).map(|value| as_text(&value));
    let truths =
        || (0..arguments.len()).map(|at| truth(&value(at)?).ok_or(EvalError)).collect::<Result<Vec<_>, _>>();
    let numbers = || {
        let all = (0..arguments.len()).map(value).collect::<Result<Vec<_>, _>>()?;
        let flat =
            all.iter().flat_map(|value| value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice));
        Ok(flat.filter_map(Value::as_f64).collect::<Vec<f64>>())
    };
    Ok(match function {
        Function::And => truths()?.iter().all(|flag| *flag).into(),
        Function::Or => truths()?.iter().any(|flag| *flag).into(),
        Function::Not => (!truth(&value(0)?).ok_or(EvalError)?).into(),
        Function::If => {
            let chosen = if truth(&value(0)?).ok_or(EvalError)? { 1 } else { 2 };
            if chosen < arguments.len() { value(chosen)? } else { false.into() }
        }
        Function::IsError => value(0).is_err().into(),
        Function::IsNumber => value(0).is_ok_and(|value| value.is_number()).into(),
        Function::IsText => value(0).is_ok_and(|value| value.is_string()).into(),
        Function::IsBlank => value(0)?.is_null().into(),
        Function::Length => text(0)?.chars().count().into(),
        Function::Upper => text(0)?.to_uppercase().into(),
        Function::Lower => text(0)?.to_lowercase().into(),
        Function::Trim => text(0)?.split_whitespace().collect::<Vec<_>>().join(" ").into(),
        Function::Exact => (text(0)? == text(1)?).into(),
        Function::Left | Function::Right | Function::Middle => cut(function, &text(0)?, &number)?.into(),
        Function::Search => find(&text(0)?.to_lowercase(), &text(1)?.to_lowercase())?,
        Function::Find => find(&text(0)?, &text(1)?)?,
        Function::Abs => number(0)?.abs().into(),
        Function::Int => number(0)?.floor().into(),
        Function::Mod => {
            let (a, b) = (number(0)?, number(1)?);
            if b == 0.0 { return Err(EvalError) } else { (a - b * (a / b).floor()).into() }
        }
        Function::Round => {
            let scale = 10_f64.powf(number(1)?);
            ((number(0)? * scale).round() / scale).into()
        }
        Function::Sum => numbers()?.iter().sum::<f64>().into(),
        Function::Average => {
            let all = numbers()?;
            let count = u32::try_from(all.len()).ok().filter(|count| *count > 0).ok_or(EvalError)?;
            (all.iter().sum::<f64>() / f64::from(count)).into()
        }
        Function::Min => numbers()?.into_iter().reduce(f64::min).unwrap_or(0.0).into(),
        Function::Max => numbers()?.into_iter().reduce(f64::max).unwrap_or(0.0).into(),
        Function::Count => numbers()?.len().into(),
    })
}

/// Evaluates `LEFT`, `RIGHT` and `MID`.
fn cut(
    function: Function,
    text: &str,
    number: &impl Fn(usize) -> Result<f64, EvalError>,
) -> Result<String, EvalError> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float saturates")]
    let count = |at: usize| number(at).map(|count| count.max(0.0) as usize);
    let chars: Vec<char> = text.chars().collect();
    let long = |at: usize| count(at).or(Ok(1));
    let (from, to) = match function {
        Function::Left => (0, long(1)?),
        Function::Right => (chars.len().saturating_sub(long(1)?), chars.len()),
        _ => {
            let from = count(1)?.saturating_sub(1);
            (from, from.saturating_add(count(2)?))
        }
    };
    Ok(chars.iter().take(to).skip(from).collect())
}

/// Returns the 1-based position of a text in another.
fn find(part: &str, whole: &str) -> Result<Value, EvalError> {
    let at = whole.find(part).ok_or(EvalError)?;
    Ok((whole[..at].chars().count() + 1).into())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{compare, parse};

    #[expect(clippy::needless_pass_by_value, reason = "tables of literals read better so")]
    fn check(source: &str, value: Value, expected: bool) {
        let formula = parse(source).expect("is understood");
        assert_eq!(formula.holds(&value, &[]), expected, "{source} of {value}");
    }

    #[test]
    fn conditions_hold_of_values() {
        check("A1>5", json!(6.0), true);
        check("A1>5", json!("text"), true);
        check("LEFT(A1,4)=\"pass\"", json!("Passed"), true);
        check("NOT(ISERROR(SEARCH(\"ai\",A1)))", json!("fail"), true);
        check("NOT(ISERROR(SEARCH(\"ai\",A1)))", json!("pass"), false);
        check("AND(A1>=10%,-A1<2*(3-1)^2)", json!(0.1), true);
        check("MOD(A1,2)=0", json!(4.0), true);
        check("B1=C1", json!(1.0), false);
        check("\"a\"\"b\"&A1=\"a\"\"bc\"", json!("c"), true);
        assert!(parse("VLOOKUP(A1,B:C,2)").is_err());
        assert!(parse(&"(".repeat(5000)).is_err());
        assert!(parse("A1 A2").is_err());
    }

    #[test]
    fn operators_compare_values_of_a_kind() {
        assert!(compare("between", &json!(2.0), &[json!(3.0), json!(1.0)]));
        assert!(!compare("lessThan", &json!("x"), &[json!(3.0)]));
        assert!(compare("notEqual", &json!("x"), &[json!(3.0)]));
    }
}
