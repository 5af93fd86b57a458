//! `http`'s functions.

use rocksalt_core::{Map, Value};

use super::Function;
use super::answer::{Answer, Show};
use super::request::{Request, with_request};
use crate::machine::{Probe, System};
use crate::{Error, Result};

with_request! {
    /// Asks a web server, and gives its answer.
    ///
    /// ```text
    /// rocksalt '*' http.query http://localhost/health status=True
    /// ```
    Query {
        /// The address.
        url: String,
        /// Give the code too.
        #[serde(default)]
        status: bool,
        /// Give the headers too.
        #[serde(default)]
        headers: bool,
        /// Give the text once more as `text`.
        #[serde(default)]
        text: bool,
        /// A file for the text.
        #[serde(default)]
        text_out: Option<String>,
        /// Ask nothing.
        #[serde(default)]
        test: bool,
        /// With `test`: ask this address instead.
        #[serde(default)]
        test_url: Option<String>,
    }
}

impl Function for Query {
    const NAME: &'static str = "http.query";
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let url = match (self.test, &self.test_url) {
            (true, None) => return Ok(Map::new()),
            (true, Some(url)) => url.clone(),
            (false, _) => self.url.clone(),
        };
        let request = self.request(machine, &url)?;
        let answer = request.send(machine)?;
        if let Some(path) = self.text_out.as_ref().filter(|_| answer.error.is_none()) {
            let path = super::super::file::absolute(machine, path)?;
            machine.write(&path, &answer.body, None).map_err(|error| Error::io("write", &path, &error))?;
        }
        let show =
            Show { status: self.status, headers: self.headers, text: self.text, decode: request.decode.as_deref() };
        let mut shown = answer.shown(&show);
        if self.test {
            shown.insert("test", true);
        }
        Ok(shown)
    }
}

with_request! {
    /// Asks a web server until it answers well, and gives that answer, or the last one.
    ///
    /// ```text
    /// rocksalt '*' http.wait_for_successful_query http://localhost/health wait_for=60
    /// ```
    WaitForSuccessfulQuery {
        /// The address.
        url: String,
        /// For so many seconds at most.
        #[serde(default)]
        wait_for: Option<f64>,
        /// Seconds between two questions; 1 unless told.
        #[serde(default)]
        request_interval: Option<f64>,
        /// Give the code too.
        #[serde(default)]
        status: bool,
        /// Give the headers too.
        #[serde(default)]
        headers: bool,
        /// Give the text once more as `text`.
        #[serde(default)]
        text: bool,
    }
}

impl Function for WaitForSuccessfulQuery {
    const NAME: &'static str = "http.wait_for_successful_query";
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let request = self.request(machine, &self.url)?;
        let answer = wait(machine, &request, self.wait_for, self.request_interval, &|answer| answer.error.is_none())?;
        let show =
            Show { status: self.status, headers: self.headers, text: self.text, decode: request.decode.as_deref() };
        Ok(answer.shown(&show))
    }

    fn retcode(output: &Map) -> i32 {
        i32::from(output.get("error").is_some_and(Value::truth))
    }
}

/// Asks until an answer is good or the time is over; then the last one.
pub fn wait(
    machine: &dyn Probe,
    request: &Request,
    seconds: Option<f64>,
    interval: Option<f64>,
    good: &dyn Fn(&Answer) -> bool,
) -> Result<Answer> {
    let start = machine.now();
    loop {
        let answer = request.send(machine)?;
        if good(&answer) || machine.now() - start >= seconds.unwrap_or(300.0) {
            return Ok(answer);
        }
        // Salt asks again at once, over and over.
        machine.sleep(interval.unwrap_or(1.0).max(0.1))?;
    }
}
