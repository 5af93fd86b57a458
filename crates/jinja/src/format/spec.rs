//! The format specifications of `format(value, '…')`.

use super::number::{exponent_of, fixed, general, scientific};
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::{Value, float_text};

/// The parsed form of `[[fill]align][sign][#][0][width][grouping][.precision][type]`.
#[derive(Clone, Debug, Default)]
pub struct FormatSpec {
    pub fill: Option<char>,
    pub align: Option<char>,
    pub sign: Option<char>,
    pub alternate: bool,
    pub width: usize,
    pub grouping: Option<char>,
    pub precision: Option<usize>,
    pub kind: Option<char>,
}

/// Formats a value as Python's `format(value, spec)` does.
pub fn format_value(scope: &Scope<'_>, value: &Value, text: &str) -> Result<String> {
    if text.is_empty() {
        return value.to_text();
    }
    match value {
        Value::String(own) => {
            let spec = FormatSpec::parse(text, "str")?;
            scope.check_size(spec.size())?;
            format_text(own, &spec)
        }
        Value::Bool(flag) if FormatSpec::parse(text, "bool").is_ok_and(|spec| spec.kind.is_none()) => {
            // A boolean is laid out like an integer, but as text.
            let spec = FormatSpec::parse(text, "bool")?;
            scope.check_size(spec.size())?;
            let _ = flag;
            format_integer(value, &spec)
        }
        Value::Bool(_) | Value::Int(_) | Value::BigInt(_) => {
            let spec = FormatSpec::parse(text, "int")?;
            scope.check_size(spec.size())?;
            format_integer(value, &spec)
        }
        Value::Float(number) => {
            let spec = FormatSpec::parse(text, "float")?;
            scope.check_size(spec.size())?;
            format_float(*number, &spec, "float")
        }
        other => {
            other.must_be_usable()?;
            Err(Error::type_error(format!("unsupported format string passed to {}.__format__", other.type_name())))
        }
    }
}

fn number(chars: &[char], at: &mut usize) -> Result<Option<usize>> {
    let start = *at;
    while chars.get(*at).is_some_and(char::is_ascii_digit) {
        *at += 1;
    }
    let digits: String = chars[start..*at].iter().collect();
    if digits.is_empty() {
        return Ok(None);
    }
    digits.parse().map(Some).map_err(|_| Error::value_error("Too many decimal digits in format string"))
}

/// Parses the thousands separator.
fn grouping(chars: &[char], at: &mut usize) -> Result<Option<char>> {
    let Some(grouping @ (',' | '_')) = chars.get(*at) else { return Ok(None) };
    *at += 1;
    match chars.get(*at) {
        Some(other) if other == grouping => {
            Err(Error::value_error(format!("Cannot specify '{grouping}' with '{other}'.")))
        }
        Some(',' | '_') => Err(Error::value_error("Cannot specify both ',' and '_'.")),
        _ => Ok(Some(*grouping)),
    }
}

impl FormatSpec {
    fn size(&self) -> usize {
        self.width.saturating_add(self.precision.unwrap_or(0))
    }

    pub fn parse(text: &str, type_name: &str) -> Result<FormatSpec> {
        let chars: Vec<char> = text.chars().collect();
        let mut spec = FormatSpec::default();
        let mut at = 0;
        let is_align = |c: Option<&char>| matches!(c, Some('<' | '>' | '=' | '^'));
        if is_align(chars.get(1)) {
            spec.fill = chars.first().copied();
            spec.align = chars.get(1).copied();
            at = 2;
        } else if is_align(chars.first()) {
            spec.align = chars.first().copied();
            at = 1;
        }
        if let Some(sign @ ('+' | '-' | ' ')) = chars.get(at) {
            spec.sign = Some(*sign);
            at += 1;
        }
        if chars.get(at) == Some(&'z') {
            if type_name != "float" {
                let kind = if type_name == "str" { "string" } else { "integer" };
                let message = format!("Negative zero coercion (z) not allowed in {kind} format specifier");
                return Err(Error::value_error(message));
            }
            at += 1;
        }
        if chars.get(at) == Some(&'#') {
            spec.alternate = true;
            at += 1;
        }
        if chars.get(at) == Some(&'0') {
            if spec.fill.is_none() {
                spec.fill = Some('0');
                spec.align = spec.align.or(if type_name == "str" { None } else { Some('=') });
            }
            at += 1;
        }
        spec.width = number(&chars, &mut at)?.unwrap_or(0);
        spec.grouping = grouping(&chars, &mut at)?;
        if chars.get(at) == Some(&'.') {
            at += 1;
            let precision = number(&chars, &mut at)?;
            spec.precision = Some(precision.ok_or_else(|| Error::value_error("Format specifier missing precision"))?);
        }
        spec.kind = chars.get(at).copied();
        at += usize::from(spec.kind.is_some());
        if at < chars.len() {
            return Err(Error::value_error(format!(
                "Invalid format specifier '{text}' for object of type '{type_name}'"
            )));
        }
        Ok(spec)
    }

    /// Joins sign, digits and padding. `default` is the alignment if none is given.
    fn pad(&self, sign: &str, body: &str, default: char) -> String {
        let length = sign.chars().count() + body.chars().count();
        let fill = self.fill.unwrap_or(' ');
        let missing = self.width.saturating_sub(length);
        let padding = |count: usize| std::iter::repeat_n(fill, count).collect::<String>();
        match self.align.unwrap_or(default) {
            '<' => format!("{sign}{body}{}", padding(missing)),
            '^' => format!("{}{sign}{body}{}", padding(missing / 2), padding(missing - missing / 2)),
            '=' => format!("{sign}{}{body}", padding(missing)),
            _ => format!("{}{sign}{body}", padding(missing)),
        }
    }

    fn unknown(&self, type_name: &str) -> Error {
        let kind = self.kind.unwrap_or(' ');
        Error::value_error(format!("Unknown format code '{kind}' for object of type '{type_name}'"))
    }
}

fn format_text(text: &str, spec: &FormatSpec) -> Result<String> {
    if !matches!(spec.kind, None | Some('s')) {
        return Err(spec.unknown("str"));
    }
    if spec.sign.is_some() {
        return Err(Error::value_error("Sign not allowed in string format specifier"));
    }
    if spec.alternate {
        return Err(Error::value_error("Alternate form (#) not allowed in string format specifier"));
    }
    if spec.align == Some('=') {
        return Err(Error::value_error("'=' alignment not allowed in string format specifier"));
    }
    if let Some(grouping) = spec.grouping {
        return Err(Error::value_error(format!("Cannot specify '{grouping}' with 's'.")));
    }
    let cut: String = text.chars().take(spec.precision.unwrap_or(usize::MAX)).collect();
    Ok(spec.pad("", &cut, '<'))
}

fn format_integer(value: &Value, spec: &FormatSpec) -> Result<String> {
    let kind = spec.kind.unwrap_or('d');
    if matches!(kind, 'e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%') {
        let number = value.as_f64().unwrap_or(f64::NAN);
        if number.is_infinite() {
            return Err(Error::exception("OverflowError", "int too large to convert to float"));
        }
        return format_float(number, spec, "int");
    }
    if spec.precision.is_some() {
        return Err(Error::value_error("Precision not allowed in integer format specifier"));
    }
    let number = value.as_integer().unwrap_or_default();
    let negative = number.sign() == num_bigint::Sign::Minus;
    let size = number.magnitude();
    let (digits, prefix, group) = match kind {
        'd' | 'n' => (size.to_string(), "", 3),
        'b' => (size.to_str_radix(2), "0b", 4),
        'o' => (size.to_str_radix(8), "0o", 4),
        'x' => (size.to_str_radix(16), "0x", 4),
        'X' => (size.to_str_radix(16).to_uppercase(), "0X", 4),
        'c' => {
            if spec.sign.is_some() {
                return Err(Error::value_error("Sign not allowed with integer format specifier 'c'"));
            }
            let c = u32::try_from(&number).ok().and_then(char::from_u32);
            let c = c.ok_or_else(|| Error::exception("OverflowError", "%c arg not in range(0x110000)"))?;
            return Ok(spec.pad("", &c.to_string(), '<'));
        }
        _ => return Err(spec.unknown("int")),
    };
    if spec.grouping == Some(',') && group == 4 {
        return Err(Error::value_error(format!("Cannot specify ',' with '{kind}'.")));
    }
    let mut sign = sign_text(negative, spec).to_owned();
    if spec.alternate {
        sign.push_str(prefix);
    }
    let digits = grouped(&digits, spec, group, sign.len());
    Ok(spec.pad(&sign, &digits, '>'))
}

fn format_float(number: f64, spec: &FormatSpec, type_name: &str) -> Result<String> {
    let precision = spec.precision.unwrap_or(6);
    let negative = number.is_sign_negative() && !number.is_nan();
    let mut body = match spec.kind {
        Some('f') => fixed(number, precision),
        Some('F') => fixed(number, precision).to_uppercase(),
        Some('e') => scientific(number, precision, false),
        Some('E') => scientific(number, precision, true).to_uppercase(),
        Some('g' | 'n') => general(number, precision, false, spec.alternate),
        Some('G') => general(number, precision, true, spec.alternate).to_uppercase(),
        Some('%') => format!("{}%", fixed(number * 100.0, precision)),
        None => match spec.precision {
            None => float_text(number.abs()),
            // Like `g`, but with at least one digit after the point.
            Some(precision) => {
                let precision = precision.max(1);
                let exponent = exponent_of(number, precision);
                let text = general(number, precision, false, false);
                if !number.is_finite() || text.contains(['.', 'e']) {
                    text
                } else if exponent >= precision as i32 - 1 {
                    let text = scientific(number, precision - 1, false);
                    match text.split_once('e') {
                        Some((digits, exponent)) if digits.contains('.') => {
                            format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
                        }
                        _ => text,
                    }
                } else {
                    format!("{text}.0")
                }
            }
        },
        _ => return Err(spec.unknown(type_name)),
    };
    if spec.alternate && number.is_finite() && !body.contains('.') {
        let at = body.find(['e', 'E', '%']).unwrap_or(body.len());
        body.insert(at, '.');
    }
    let sign = sign_text(negative, spec);
    if spec.grouping.is_some() && number.is_finite() {
        let end = body.find(|c: char| !c.is_ascii_digit()).unwrap_or(body.len());
        let rest = body[end..].to_owned();
        body = grouped(&body[..end], spec, 3, sign.len() + rest.len()) + &rest;
    }
    Ok(spec.pad(sign, &body, '>'))
}

fn sign_text(negative: bool, spec: &FormatSpec) -> &'static str {
    match (negative, spec.sign) {
        (true, _) => "-",
        (false, Some('+')) => "+",
        (false, Some(' ')) => " ",
        _ => "",
    }
}

/// Inserts separators between groups of digits, including padding zeros.
fn grouped(digits: &str, spec: &FormatSpec, size: usize, around: usize) -> String {
    let Some(separator) = spec.grouping else { return digits.to_owned() };
    let mut digits: Vec<char> = digits.chars().rev().collect();
    if spec.fill == Some('0') && spec.align == Some('=') {
        let room = spec.width.saturating_sub(around);
        while digits.len() + digits.len() / size + usize::from(!digits.len().is_multiple_of(size)) - 1 < room {
            digits.push('0');
        }
    }
    let mut out = String::new();
    for (index, digit) in digits.iter().enumerate() {
        if index > 0 && index % size == 0 {
            out.push(separator);
        }
        out.push(*digit);
    }
    out.chars().rev().collect()
}
