//! Host ranges such as `web[01:10].example`.

/// The most hosts that one pattern may expand to.
const MAX_HOSTS: usize = 10_000;

/// Expands a pattern to host names; a pattern without a range is one host.
pub(super) fn expand(pattern: &str) -> Result<Vec<String>, String> {
    let bare = pattern.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(address) = bare.filter(|address| address.parse::<std::net::Ipv6Addr>().is_ok()) {
        return Ok(vec![address.to_owned()]);
    }
    let mut names = vec![String::new()];
    let mut rest = pattern;
    while let Some(open) = rest.find('[') {
        let (before, behind) = rest.split_at(open);
        let close = behind.find(']').ok_or_else(|| format!("']' is missing in '{pattern}'"))?;
        let parts =
            range(&behind[1..close]).map_err(|reason| format!("'{}' is not a range: {reason}", &behind[..=close]))?;
        if names.len().saturating_mul(parts.len()) > MAX_HOSTS {
            return Err(format!("'{pattern}' expands to more than {MAX_HOSTS} hosts"));
        }
        names = names.iter().flat_map(|name| parts.iter().map(move |part| format!("{name}{before}{part}"))).collect();
        rest = &behind[close + 1..];
    }
    names.iter_mut().for_each(|name| name.push_str(rest));
    Ok(names)
}

/// `01:10`, `a:f`, `1:10:2`.
fn range(text: &str) -> Result<Vec<String>, String> {
    let fields: Vec<&str> = text.split(':').collect();
    let (from, to, step) = match fields.as_slice() {
        [from, to] => (*from, *to, "1"),
        [from, to, step] => (*from, *to, *step),
        _ => return Err("the form is 'first:last'".into()),
    };
    let step: usize = step.parse().ok().filter(|step| *step > 0).ok_or_else(|| format!("'{step}' is not a step"))?;
    // An empty start is 0.
    let from = if from.is_empty() { "0" } else { from };
    if let (Ok(first), Ok(last)) = (from.parse::<u64>(), to.parse::<u64>()) {
        let width = if from.starts_with('0') && from.len() > 1 { from.len() } else { 0 };
        if last < first {
            return Err(format!("{from} is more than {to}"));
        }
        if (last - first) / step as u64 >= MAX_HOSTS as u64 {
            return Err(format!("it has more than {MAX_HOSTS} members"));
        }
        return Ok((first..=last).step_by(step).map(|number| format!("{number:0width$}")).collect());
    }
    match (from.as_bytes(), to.as_bytes()) {
        ([first], [last]) if first.is_ascii_alphabetic() && last.is_ascii_alphabetic() && first <= last => {
            Ok((*first..=*last).step_by(step).map(|letter| char::from(letter).to_string()).collect())
        }
        _ => Err("both ends must be numbers or single letters".into()),
    }
}
