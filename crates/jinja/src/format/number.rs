//! Digits of numbers, without sign or padding.

/// `%f`: `precision` digits after the point.
pub fn fixed(number: f64, precision: usize) -> String {
    if let Some(text) = not_finite(number) {
        return text;
    }
    format!("{:.precision$}", number.abs())
}

/// `%e`: one digit before the point, and an exponent.
pub fn scientific(number: f64, precision: usize, upper: bool) -> String {
    if let Some(text) = not_finite(number) {
        return text;
    }
    let text = format!("{:.precision$e}", number.abs());
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    format!("{digits}{}{sign}{exponent:0>2}", if upper { 'E' } else { 'e' })
}

/// `%g`: the shorter of the two, with `precision` significant digits. `keep` keeps trailing zeros.
pub fn general(number: f64, precision: usize, upper: bool, keep: bool) -> String {
    if let Some(text) = not_finite(number) {
        return text;
    }
    let precision = precision.max(1);
    let exponent = exponent_of(number, precision);
    if (-4..precision as i32).contains(&exponent) {
        let text = fixed(number, (precision as i32 - 1 - exponent).max(0) as usize);
        return if keep { text } else { stripped(&text) };
    }
    let text = scientific(number, precision - 1, upper);
    if keep {
        return text;
    }
    let mark = if upper { 'E' } else { 'e' };
    let (digits, exponent) = text.split_once(mark).unwrap_or((&text, "+00"));
    format!("{}{mark}{exponent}", stripped(digits))
}

/// The decimal exponent after rounding to `precision` significant digits.
pub(super) fn exponent_of(number: f64, precision: usize) -> i32 {
    let text = format!("{:.*e}", precision - 1, number.abs());
    text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0)
}

fn stripped(digits: &str) -> String {
    if digits.contains('.') {
        return digits.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    digits.to_owned()
}

fn not_finite(number: f64) -> Option<String> {
    if number.is_nan() {
        return Some("nan".into());
    }
    number.is_infinite().then(|| "inf".into())
}
