//! Versions of Python packages, and requirements on them (PEP 440).

use std::cmp::Ordering;

/// A version in a form that can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipVersion {
    epoch: u64,
    release: Vec<u64>,
    /// Kind (`a`, `b`, `rc`) and number.
    pre: Option<(u8, u64)>,
    post: Option<u64>,
    dev: Option<u64>,
    local: Vec<String>,
}

impl PipVersion {
    pub fn new(text: &str) -> Option<PipVersion> {
        let text = text.trim().to_lowercase();
        let text = text.strip_prefix('v').unwrap_or(&text);
        let (text, local) = text.split_once('+').unwrap_or((text, ""));
        let (epoch, mut rest) = match text.split_once('!') {
            Some((epoch, rest)) => (epoch.parse().ok()?, rest),
            None => (0, text),
        };
        let mut release = vec![number(&mut rest)?];
        while let Some(after) = rest.strip_prefix('.') {
            let mut after = after;
            let Some(part) = number(&mut after) else { break };
            release.push(part);
            rest = after;
        }
        let mut version = PipVersion { epoch, release, pre: None, post: None, dev: None, local: Vec::new() };
        const PRE: [(&str, u8); 8] =
            [("alpha", 0), ("a", 0), ("beta", 1), ("b", 1), ("preview", 2), ("pre", 2), ("rc", 2), ("c", 2)];
        for (name, kind) in PRE {
            if let Some(found) = labelled(&mut rest, name) {
                version.pre = Some((kind, found));
                break;
            }
        }
        if let Some(mut after) = rest.strip_prefix('-')
            && let Some(post) = number(&mut after)
        {
            (version.post, rest) = (Some(post), after);
        }
        for name in ["post", "rev", "r"] {
            version.post = version.post.or_else(|| labelled(&mut rest, name));
        }
        version.dev = labelled(&mut rest, "dev");
        version.local = local.split(['.', '-', '_']).filter(|part| !part.is_empty()).map(str::to_owned).collect();
        rest.is_empty().then_some(version)
    }

    fn is_early(&self) -> bool {
        self.pre.is_some() || self.dev.is_some()
    }
}

fn number(rest: &mut &str) -> Option<u64> {
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    let found = rest[..end].parse().ok()?;
    *rest = &rest[end..];
    Some(found)
}

/// Parses `.post1`, `-rc.2`, `dev`: a label with an optional number.
fn labelled(rest: &mut &str, label: &str) -> Option<u64> {
    let after = rest.strip_prefix(['.', '-', '_']).unwrap_or(rest).strip_prefix(label)?;
    let mut after = match after.strip_prefix(['.', '-', '_']) {
        Some(number) if number.starts_with(|letter: char| letter.is_ascii_digit()) => number,
        _ => after,
    };
    let found = number(&mut after).unwrap_or(0);
    *rest = after;
    Some(found)
}

impl Ord for PipVersion {
    fn cmp(&self, other: &PipVersion) -> Ordering {
        let release = |version: &PipVersion| {
            let end = version.release.iter().rposition(|part| *part != 0).map_or(0, |last| last + 1);
            version.release[..end].to_vec()
        };
        // In this order: development releases, pre-releases, the release, post-releases.
        let pre = |version: &PipVersion| match (version.pre, version.post, version.dev) {
            (None, None, Some(_)) => (0, 0, 0),
            (Some((kind, number)), ..) => (1, kind, number),
            (None, ..) => (2, 0, 0),
        };
        let post = |version: &PipVersion| version.post.map_or(0, |number| number + 1);
        let dev = |version: &PipVersion| version.dev.unwrap_or(u64::MAX);
        let local = |version: &PipVersion| -> Vec<(bool, u64, String)> {
            version
                .local
                .iter()
                .map(|part| part.parse().map_or((false, 0, part.clone()), |n| (true, n, String::new())))
                .collect()
        };
        (self.epoch, release(self), pre(self), post(self), dev(self), local(self)).cmp(&(
            other.epoch,
            release(other),
            pre(other),
            post(other),
            dev(other),
            local(other),
        ))
    }
}

impl PartialOrd for PipVersion {
    fn partial_cmp(&self, other: &PipVersion) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Whether a version meets all requirements, each an operator and a version.
pub fn fulfills(version: &str, requests: &[(String, String)]) -> bool {
    let Some(found) = PipVersion::new(version) else {
        return requests
            .iter()
            .all(|(operator, request)| matches!(operator.as_str(), "==" | "===") && request == version);
    };
    // A pre-release only counts if a requirement names one.
    let early = requests.iter().any(|(_, request)| PipVersion::new(request).is_some_and(|request| request.is_early()));
    (early || !found.is_early() || requests.is_empty())
        && requests.iter().all(|(operator, request)| fits(&found, version, operator, request))
}

fn fits(found: &PipVersion, text: &str, operator: &str, request: &str) -> bool {
    if operator == "===" {
        return text.eq_ignore_ascii_case(request);
    }
    if let Some(start) = request.strip_suffix(".*") {
        let same = PipVersion::new(start).is_some_and(|start| begins(found, &start));
        return (operator == "==" && same) || (operator == "!=" && !same);
    }
    let Some(request) = PipVersion::new(request) else { return false };
    let bare = PipVersion { local: Vec::new(), ..found.clone() };
    let compared = if request.local.is_empty() { &bare } else { found };
    match operator {
        "==" => *compared == request || compared.cmp(&request) == Ordering::Equal,
        "!=" => compared.cmp(&request) != Ordering::Equal,
        "<=" => bare <= request,
        ">=" => bare >= request,
        // By PEP 440, `<1.0` excludes 1.0.dev1, and `>1.0` excludes 1.0.post1.
        "<" => bare < request && !(bare.is_early() && !request.is_early() && bare.release == request.release),
        ">" => bare > request && !(bare.post.is_some() && request.post.is_none() && bare.release == request.release),
        "~=" => {
            let mut start = request.clone();
            start.release.pop();
            let start = PipVersion { pre: None, post: None, dev: None, ..start };
            bare >= request && begins(&bare, &start)
        }
        _ => false,
    }
}

fn begins(version: &PipVersion, start: &PipVersion) -> bool {
    let part = |index: usize| version.release.get(index).copied().unwrap_or(0);
    version.epoch == start.epoch && start.release.iter().enumerate().all(|(index, request)| part(index) == *request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_order() {
        let order = [
            "1.0.dev1",
            "1.0a1.dev2",
            "1.0a1",
            "1.0a2",
            "1.0b1",
            "1.0rc1",
            "1.0",
            "1.0+local.1",
            "1.0.post1",
            "1.0.1",
            "1.1",
            "1.10",
            "2.0",
            "1!0.5",
        ];
        for pair in order.windows(2) {
            let both: Vec<PipVersion> = pair.iter().filter_map(|text| PipVersion::new(text)).collect();
            assert!(both.len() == 2 && both[0] < both[1], "{pair:?}");
        }
        for (one, other) in [("1.0", "1"), ("1.0-1", "1.0.post1"), ("v1.0RC1", "1.0c1"), ("1.0.alpha", "1a0")] {
            assert_eq!(
                PipVersion::new(one).map(|v| v.cmp(&PipVersion::new(other).expect("a version"))),
                Some(Ordering::Equal),
                "{one}"
            );
        }
        assert!(PipVersion::new("abc").is_none() && PipVersion::new("1.x").is_none());
    }

    #[test]
    fn wishes_are_understood() {
        let cases = [
            ("1.2.3", ">=1.2,<2", true),
            ("1.2.3", "==1.2.*", true),
            ("1.3", "!=1.2.*", true),
            ("1.4.5", "~=1.4.2", true),
            ("1.5", "~=1.4.2", false),
            ("2.0", "~=1.4", false),
            ("1.0", "==1.0.0", true),
            ("1.0+abc", "==1.0", true),
            ("2.0rc1", ">=1.0", false),
            ("2.0rc1", ">=2.0rc1", true),
            ("1.0.post1", ">1.0", false),
            ("1.0.dev1", "<1.0", false),
            ("1.0", "===1.0", true),
        ];
        for (version, requests, right) in cases {
            let requests = super::super::requirement::specifiers(requests).expect("requests");
            assert_eq!(fulfills(version, &requests), right, "{version} {requests:?}");
        }
    }
}
