//! `http`'s functions.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::Function;
use super::answer::{HttpResponse, ResponseParts};
use super::request::{HttpRequest, RequestArguments};
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// Sends an HTTP request, and returns the response.
///
/// ```text
/// rocksalt '*' http.query http://localhost/health status=True
/// ```
#[function("http.query", changes)]
pub struct Query {
    /// The address.
    url: String,
    /// Include the status code.
    status: bool,
    /// Include the headers.
    headers: bool,
    /// Include the body as `text`.
    text: bool,
    /// A file to write the body to.
    text_out: Option<String>,
    /// Send no request.
    test: bool,
    /// With `test`: send the request to this address instead.
    test_url: Option<String>,
    #[flatten]
    request: RequestArguments,
}

impl Function for Query {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let url = match (self.test, &self.test_url) {
            (true, None) => return Ok(Map::new()),
            (true, Some(url)) => url.clone(),
            (false, _) => self.url.clone(),
        };
        let request = self.request.request(machine, &url)?;
        let answer = request.send(machine)?;
        if let Some(path) = self.text_out.as_ref().filter(|_| answer.error.is_none()) {
            let path = super::super::file::absolute(machine, path)?;
            machine.write(&path, &answer.body, None).map_err(|error| Error::io("write", &path, &error))?;
        }
        let show = ResponseParts {
            status: self.status,
            headers: self.headers,
            text: self.text,
            decode: request.decode.as_deref(),
        };
        let mut shown = answer.shown(&show);
        if self.test {
            shown.insert("test", true);
        }
        Ok(shown)
    }
}

/// Repeats an HTTP request until it succeeds, and returns that response, or the last one.
///
/// ```text
/// rocksalt '*' http.wait_for_successful_query http://localhost/health wait_for=60
/// ```
#[function("http.wait_for_successful_query", changes)]
pub struct WaitForSuccessfulQuery {
    /// The address.
    url: String,
    /// The longest time to wait, in seconds.
    wait_for: Option<f64>,
    /// Seconds between two requests; 1 by default.
    request_interval: Option<f64>,
    /// Include the status code.
    status: bool,
    /// Include the headers.
    headers: bool,
    /// Include the body as `text`.
    text: bool,
    #[flatten]
    request: RequestArguments,
}

impl Function for WaitForSuccessfulQuery {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let request = self.request.request(machine, &self.url)?;
        let answer = wait(machine, &request, self.wait_for, self.request_interval, &|answer| answer.error.is_none())?;
        let show = ResponseParts {
            status: self.status,
            headers: self.headers,
            text: self.text,
            decode: request.decode.as_deref(),
        };
        Ok(answer.shown(&show))
    }

    fn retcode(output: &Map) -> i32 {
        i32::from(output.get("error").is_some_and(Value::truth))
    }
}

/// Repeats the request until a response is good or the time limit is reached. Returns the last response.
pub fn wait(
    machine: &dyn Probe,
    request: &HttpRequest,
    seconds: Option<f64>,
    interval: Option<f64>,
    good: &dyn Fn(&HttpResponse) -> bool,
) -> Result<HttpResponse> {
    let start = machine.now();
    loop {
        let answer = request.send(machine)?;
        if good(&answer) || machine.now() - start >= seconds.unwrap_or(300.0) {
            return Ok(answer);
        }
        // Salt repeats at once without a pause.
        machine.sleep(interval.unwrap_or(1.0).max(0.1))?;
    }
}
