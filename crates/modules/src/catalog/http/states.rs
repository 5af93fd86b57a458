//! `http`'s states: they check a response.

use rocksalt_core::Value;
use rocksalt_core::pattern::{Flags, Pattern};
use rocksalt_macros::state;

use super::super::{Decision, State, Step, Touches, Verdict};
use super::answer::{HttpResponse, ResponseParts};
use super::functions::wait;
use super::request::{HttpRequest, RequestArguments};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{Probe, System};

/// Asks a web server, and succeeds if its answer is right.
///
/// ```yaml
/// http://localhost/health:
///   http.query:
///     - status: 200
///     - wait_for: 60
/// ```
///
/// A dry run asks nothing unless `test_url` names what to ask then.
#[state("http.query")]
pub struct Query {
    /// The address.
    name: String,
    /// What must be in the answer.
    #[rename("match")]
    wanted: Value,
    /// `string`, or `pcre` for a regular expression.
    match_type: Option<String>,
    /// The code that the answer must have.
    status: Value,
    /// `string`, `list` for one of several, or `pcre` for a regular expression.
    status_type: Option<String>,
    /// Ask again for so many seconds, until there is a good answer.
    wait_for: Option<f64>,
    /// Seconds between two requests; 1 by default.
    request_interval: Option<f64>,
    /// What a dry run asks.
    test_url: Option<String>,
    #[flatten]
    request: RequestArguments,
}

impl State for Query {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let check = ResponseCheck::new(&self.wanted, &self.match_type, &self.status, &self.status_type);
        if let Some(text) = check.fault() {
            return Ok(Decision::Settled(Verdict::bad(text)));
        }
        self.request.request(machine, &self.name)?;
        let answer = match &self.test_url {
            Some(url) if step.test => self.request.request(machine, url)?.send(machine)?,
            _ => HttpResponse { error: Some(String::new()), ..HttpResponse::default() },
        };
        let (_, mut comment) = check.judge(&answer)?;
        comment += " (TEST MODE";
        if let Some(url) = &self.test_url {
            comment += &format!(", TEST URL WAS: {url}");
        }
        Ok(Decision::Change(Plan::default(), Verdict::would(comment + ")")))
    }

    fn apply(&self, _: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let check = ResponseCheck::new(&self.wanted, &self.match_type, &self.status, &self.status_type);
        let request = self.request.request(machine, &self.name)?;
        let answer = match self.wait_for {
            Some(seconds) => {
                wait(machine, &request, Some(seconds), self.request_interval, &|answer| answer.error.is_none())?
            }
            None => request.send(machine)?,
        };
        verdict(&check, &request, &answer)
    }

    fn touches(&self) -> Touches {
        Touches::everything()
    }
}

/// Asks a web server until its answer is right.
///
/// ```yaml
/// http://localhost/health:
///   http.wait_for_successful_query:
///     - status: 200
///     - wait_for: 60
///     - request_interval: 2
/// ```
#[state("http.wait_for_successful_query")]
pub struct WaitForSuccessfulQuery {
    /// The address.
    name: String,
    /// The longest time to wait, in seconds.
    wait_for: Option<f64>,
    /// Seconds between two requests; 1 by default.
    request_interval: Option<f64>,
    /// What must be in the answer.
    #[rename("match")]
    wanted: Value,
    /// `string`, or `pcre` for a regular expression.
    match_type: Option<String>,
    /// The code that the answer must have.
    status: Value,
    /// `string`, `list` for one of several, or `pcre` for a regular expression.
    status_type: Option<String>,
    /// What a dry run asks.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    test_url: Option<String>,
    #[flatten]
    request: RequestArguments,
}

impl State for WaitForSuccessfulQuery {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let check = ResponseCheck::new(&self.wanted, &self.match_type, &self.status, &self.status_type);
        if let Some(text) = check.fault() {
            return Ok(Decision::Settled(Verdict::bad(text)));
        }
        self.request.request(machine, &self.name)?;
        let (_, comment) = check.judge(&HttpResponse { error: Some(String::new()), ..HttpResponse::default() })?;
        Ok(Decision::Change(Plan::default(), Verdict::would(comment + " (TEST MODE)")))
    }

    fn apply(&self, _: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let check = ResponseCheck::new(&self.wanted, &self.match_type, &self.status, &self.status_type);
        let request = self.request.request(machine, &self.name)?;
        let good = |answer: &HttpResponse| check.judge(answer).is_ok_and(|(good, _)| good);
        let answer = wait(machine, &request, self.wait_for, self.request_interval, &good)?;
        verdict(&check, &request, &answer)
    }

    fn touches(&self) -> Touches {
        Touches::everything()
    }
}

fn verdict(check: &ResponseCheck<'_>, request: &HttpRequest, answer: &HttpResponse) -> Result<Verdict> {
    let (good, mut comment) = check.judge(answer)?;
    // Salt doesn't report the reason.
    if let Some(error) = answer.error.as_ref().filter(|_| !good && answer.status == 0) {
        comment += &format!(" {error}");
    }
    let mut verdict = if good { Verdict::good(comment) } else { Verdict::bad(comment) };
    if !request.verify {
        verdict = verdict.warning(format!("The certificate of {} was not checked.", request.shown()));
    }
    let show = ResponseParts { status: true, headers: false, text: true, decode: request.decode.as_deref() };
    verdict.further.insert("data", answer.shown(&show));
    Ok(verdict)
}

/// The expectations of a response.
struct ResponseCheck<'a> {
    text: &'a Value,
    text_kind: &'a str,
    status: &'a Value,
    status_kind: &'a str,
}

impl<'a> ResponseCheck<'a> {
    fn new(
        text: &'a Value,
        text_kind: &'a Option<String>,
        status: &'a Value,
        status_kind: &'a Option<String>,
    ) -> ResponseCheck<'a> {
        let text_kind = text_kind.as_deref().unwrap_or("string");
        // A list implies its type.
        let own = if status.as_list().is_some() { "list" } else { "string" };
        ResponseCheck { text, text_kind, status, status_kind: status_kind.as_deref().unwrap_or(own) }
    }

    fn fault(&self) -> Option<String> {
        if self.text.is_null() && self.status.is_null() {
            return Some("Either match text (match) or a status code (status) is required.".into());
        }
        if !matches!(self.text_kind, "string" | "pcre") {
            return Some(format!("match_type: '{}' is neither string nor pcre", self.text_kind));
        }
        (!matches!(self.status_kind, "string" | "list" | "pcre"))
            .then(|| format!("status_type: '{}' is neither string, list nor pcre", self.status_kind))
    }

    /// Whether the response meets them, and Salt's text.
    fn judge(&self, answer: &HttpResponse) -> Result<(bool, String)> {
        let mut comments = Vec::new();
        let mut good = true;
        let text = if answer.error.is_some() { String::new() } else { answer.text() };
        let status = if answer.status == 0 && answer.error.as_deref() == Some("") {
            String::new()
        } else {
            answer.status.to_string()
        };
        let mut tell = |found: bool, what: String| {
            good &= found;
            comments.push(format!("{what} {} found.", if found { "was" } else { "was not" }));
        };
        let wanted = self.text.to_string();
        match self.text_kind {
            _ if self.text.is_null() => {}
            "pcre" => {
                tell(Pattern::new(&wanted, Flags::NONE)?.find(&text)?.is_some(), format!("Match pattern \"{wanted}\""))
            }
            _ => tell(text.contains(&wanted), format!("Match text \"{wanted}\"")),
        }
        let wanted = self.status.to_string();
        match self.status_kind {
            _ if self.status.is_null() => {}
            "pcre" => tell(
                Pattern::new(&wanted, Flags::NONE)?.find(&status)?.is_some(),
                format!("Status pattern \"{wanted}\""),
            ),
            "list" => {
                let known = self.status.as_list().map(<[Value]>::to_vec).unwrap_or_else(|| vec![self.status.clone()]);
                match known.iter().find(|known| known.to_string() == status) {
                    Some(found) => tell(true, format!("Status {found}")),
                    None => {
                        good = false;
                        comments.push(format!("Statuses {wanted} were not found."));
                    }
                }
            }
            _ => tell(status == wanted, format!("Status {wanted}")),
        }
        Ok((good, comments.join(" ")))
    }
}

#[cfg(test)]
mod tests {
    use rocksalt_core::yaml;

    use super::*;

    #[test]
    fn answers_are_judged_as_in_salt() {
        let cases = [
            ("hello", "string", "null", "string", true, "Match text \"hello\" was found."),
            ("h.l+o", "pcre", "200", "string", true, "Match pattern \"h.l+o\" was found. Status 200 was found."),
            ("null", "string", "[200, 201]", "list", true, "Status 200 was found."),
            ("null", "string", "[301]", "list", false, "Statuses [301] were not found."),
            ("null", "string", "'4..'", "pcre", false, "Status pattern \"4..\" was not found."),
            ("bye", "string", "404", "string", false, "Match text \"bye\" was not found. Status 404 was not found."),
        ];
        let answer = HttpResponse::new(200, "HTTP/1.1 200 OK\r\n", b"hello".to_vec(), true);
        for (text, text_kind, status, status_kind, good, comment) in cases {
            let (text, status) = (yaml::parse(text).expect("YAML"), yaml::parse(status).expect("YAML"));
            let check = ResponseCheck { text: &text, text_kind, status: &status, status_kind };
            assert_eq!(check.judge(&answer).expect("patterns are right"), (good, comment.to_owned()));
        }
        let check =
            ResponseCheck { text: &Value::Null, text_kind: "string", status: &Value::Null, status_kind: "string" };
        assert!(check.fault().is_some());
    }
}
