//! [`HttpRequest`]: a request, and how curl or wget sends it.

use rocksalt_core::{Map, Value};
use rocksalt_macros::arguments;

use super::super::file::Flag;
use super::answer::HttpResponse;
use crate::machine::{Command, Output, Probe, Template};
use crate::text::words;
use crate::{Error, Result};

/// What all requests can be told.
#[arguments]
#[allow(dead_code, reason = "some arguments are accepted only for compatibility with Salt")]
pub struct RequestArguments {
    /// `GET`, `POST`, `PUT` …
    method: Option<String>,
    /// What stands behind the `?`: names and values.
    params: Value,
    /// What is sent: a text, or names and values.
    data: Value,
    /// A file of the target whose content is sent.
    data_file: Option<String>,
    /// Headers: names and values.
    header_dict: Value,
    /// Headers: `Name: value` each.
    header_list: Vec<String>,
    /// A file of the target with headers, one a line.
    header_file: Option<String>,
    /// The user's name.
    username: Option<String>,
    /// The password. It is in no argument and no message.
    #[secret]
    password: Option<String>,
    /// Render `data_file` first.
    data_render: Flag,
    /// With this renderer.
    data_renderer: Option<String>,
    /// Render `header_file` first.
    header_render: Flag,
    /// With this renderer.
    header_renderer: Option<String>,
    /// Variables for templates.
    template_dict: Value,
    /// Certificates to trust: a file of the target.
    ca_bundle: Option<String>,
    /// Whether the server's certificate must be right.
    verify_ssl: Option<bool>,
    /// The target's own certificate: a file, or a list of certificate and key.
    cert: Value,
    /// What to call ourselves.
    agent: Option<String>,
    /// Seconds until it is given up.
    timeout: Option<f64>,
    /// Whether a code of 400 and more is an error.
    #[default(true)]
    raise_error: bool,
    /// Read the answer as data.
    decode: Flag,
    /// As what: `json`, `yaml`, `plain`; else as it says.
    decode_type: Option<String>,
    /// Accepted and ignored.
    backend: Value,
}

impl RequestArguments {
    pub fn request(&self, machine: &dyn Probe, url: &str) -> Result<HttpRequest> {
        let mut request = HttpRequest::new(url)?;
        request.method = self.method.clone().unwrap_or_else(|| "GET".into()).to_uppercase();
        request.params(&self.params);
        request.data(&self.data);
        if let Some(path) = &self.data_file {
            let renderer = self.data_render.0.then(|| self.data_renderer.as_deref().unwrap_or("jinja"));
            request.body = Some(content(machine, path, renderer, &self.template_dict)?);
        }
        request.headers(&self.header_dict, &self.header_list);
        if let Some(path) = &self.header_file {
            let renderer = self.header_render.0.then(|| self.header_renderer.as_deref().unwrap_or("jinja"));
            let lines = content(machine, path, renderer, &self.template_dict)?;
            let lines: Vec<String> = String::from_utf8_lossy(&lines).lines().map(str::to_owned).collect();
            request.headers(&Value::Null, &lines);
        }
        request.login = self.username.clone().zip(self.password.clone());
        request.ca_bundle = self.ca_bundle.clone();
        request.verify = self.verify_ssl.unwrap_or(true);
        request.cert = words::listed(&self.cert);
        request.agent = self.agent.clone();
        request.timeout = self.timeout;
        request.raise = self.raise_error;
        request.decode = self.decode.0.then(|| self.decode_type.clone().unwrap_or_else(|| "auto".into()));
        Ok(request)
    }
}

/// A request.
pub struct HttpRequest {
    pub url: String,
    pub method: String,
    pub body: Option<Vec<u8>>,
    pub headers: Vec<(String, String)>,
    pub login: Option<(String, String)>,
    pub ca_bundle: Option<String>,
    pub verify: bool,
    pub cert: Vec<String>,
    pub agent: Option<String>,
    pub timeout: Option<f64>,
    pub raise: bool,
    /// The format to decode the response from.
    pub decode: Option<String>,
}

impl HttpRequest {
    pub fn new(url: &str) -> Result<HttpRequest> {
        let known = url.starts_with("http://") || url.starts_with("https://");
        if !known || url.contains(char::is_control) {
            return Err(Error::arguments(format!("'{}' is no address of a web server", url.escape_debug()))
                .hint("begin with http:// or https://"));
        }
        Ok(HttpRequest {
            url: url.to_owned(),
            method: "GET".into(),
            body: None,
            headers: Vec::new(),
            login: None,
            ca_bundle: None,
            verify: true,
            cert: Vec::new(),
            agent: None,
            timeout: None,
            raise: true,
            decode: None,
        })
    }

    pub fn params(&mut self, params: &Value) {
        let text = match params {
            Value::Map(params) => encoded(params),
            Value::Null => return,
            other => other.to_string(),
        };
        if !text.is_empty() {
            self.url.push(if self.url.contains('?') { '&' } else { '?' });
            self.url.push_str(&text);
        }
    }

    pub fn data(&mut self, data: &Value) {
        match data {
            Value::Null => {}
            Value::Map(fields) => self.body = Some(encoded(fields).into_bytes()),
            other => self.body = Some(other.to_string().into_bytes()),
        }
    }

    pub fn headers(&mut self, map: &Value, list: &[String]) {
        if let Value::Map(map) = map {
            self.headers.extend(map.iter().map(|(name, value)| (name.to_string(), value.to_string())));
        }
        let pair = |line: &String| {
            let (name, value) = line.split_once(':')?;
            Some((name.trim().to_owned(), value.trim().to_owned()))
        };
        self.headers.extend(list.iter().filter_map(pair));
    }

    /// Sends the request. Any response counts as a result, and so does a missing one.
    pub fn send(&self, machine: &dyn Probe) -> Result<HttpResponse> {
        let curl = Command { stdin: Some(self.settings().into_bytes()), ..Command::new(["curl", "--config", "-"]) };
        match machine.query(&curl) {
            Ok(output) => return Ok(self.by_curl(&output)),
            Err(error) if !missing(&error) => return Err(error),
            Err(_) => {}
        }
        if !self.is_plain() {
            return Err(Error::failed(format!("{}: the target has no curl, and wget can't ask this", self.shown()))
                .hint("install curl there"));
        }
        let wget = Command::new(["wget", "-q", "-S", "-O", "-", "--", &self.url]);
        match machine.query(&wget) {
            Ok(output) => Ok(self.by_wget(&output)),
            Err(error) if !missing(&error) => Err(error),
            Err(_) => {
                Err(Error::failed(format!("{} can't be asked: the target has neither curl nor wget", self.shown()))
                    .hint("install one of them there"))
            }
        }
    }

    /// curl's whole configuration, which it reads from standard input: nothing of it is visible in the list of
    /// processes.
    fn settings(&self) -> String {
        let mut lines = vec!["silent".to_owned(), "show-error".into(), "location".into(), "include".into()];
        let mut set = |name: &str, value: &str| lines.push(format!("{name} = \"{}\"", escaped(value)));
        set("proto", "=http,https");
        set("proto-redir", "=http,https");
        set("write-out", "\n%{http_code} %{size_header}");
        set("connect-timeout", "20");
        set("max-time", &format!("{}", self.timeout.unwrap_or(3600.0)));
        set("user-agent", self.agent.as_deref().unwrap_or("Salt/rocksalt http.query()"));
        match self.method.as_str() {
            "HEAD" => lines.push("head".into()),
            method => {
                let mut set = |name: &str, value: &str| lines.push(format!("{name} = \"{}\"", escaped(value)));
                set("request", method);
            }
        }
        let mut set = |name: &str, value: &str| lines.push(format!("{name} = \"{}\"", escaped(value)));
        for (name, value) in &self.headers {
            set("header", &format!("{name}: {value}"));
        }
        if let Some((user, password)) = &self.login {
            set("user", &format!("{user}:{password}"));
        }
        if let Some(path) = &self.ca_bundle {
            set("cacert", path);
        }
        if let Some(path) = self.cert.first() {
            set("cert", path);
        }
        if let Some(path) = self.cert.get(1) {
            set("key", path);
        }
        if let Some(body) = &self.body {
            set("data-raw", &String::from_utf8_lossy(body));
        }
        set("url", &self.url);
        if !self.verify {
            lines.push("insecure".into());
        }
        lines.join("\n") + "\n"
    }

    fn by_curl(&self, output: &Output) -> HttpResponse {
        let said = self.redacted(String::from_utf8_lossy(&output.stderr).trim());
        let end = output.stdout.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        let numbers = String::from_utf8_lossy(output.stdout.get(end..).unwrap_or_default()).trim().to_owned();
        let (code, length) = numbers.split_once(' ').unwrap_or(("0", "0"));
        let code: u16 = code.parse().unwrap_or(0);
        let length = length.parse::<usize>().unwrap_or(0).min(end);
        if code == 0 || !output.success() {
            return HttpResponse { error: Some(said), ..HttpResponse::default() };
        }
        let head = String::from_utf8_lossy(&output.stdout[..length]).into_owned();
        HttpResponse::new(code, &head, output.stdout[length..end].to_vec(), self.raise)
    }

    fn by_wget(&self, output: &Output) -> HttpResponse {
        let head = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = head.lines().map(str::trim).collect();
        let start = lines.iter().rposition(|line| line.starts_with("HTTP/"));
        let code = start.and_then(|at| lines[at].split_whitespace().nth(1)).and_then(|code| code.parse().ok());
        match (start, code) {
            (Some(at), Some(code)) => {
                HttpResponse::new(code, &lines[at..].join("\n"), output.stdout.clone(), self.raise)
            }
            _ => HttpResponse { error: Some(self.redacted(head.trim())), ..HttpResponse::default() },
        }
    }

    fn is_plain(&self) -> bool {
        self.method == "GET"
            && self.body.is_none()
            && self.headers.is_empty()
            && self.login.is_none()
            && self.cert.is_empty()
            && self.ca_bundle.is_none()
            && self.verify
            && !self.shown().contains("<redacted>")
    }

    /// The URL in a form that may be shown.
    pub fn shown(&self) -> String {
        super::super::git::redacted(&self.url)
    }

    fn redacted(&self, text: &str) -> String {
        let text = super::super::git::redacted(text);
        match &self.login {
            Some((_, password)) if !password.is_empty() => text.replace(password.as_str(), "<redacted>"),
            _ => text,
        }
    }
}

/// Whether the program doesn't exist.
fn missing(error: &Error) -> bool {
    error.to_string().starts_with("could not start")
}

/// Escapes a text for double quotes in curl's configuration.
fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' | '"' => shown.extend(['\\', letter]),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            '\u{b}' => shown.push_str("\\v"),
            other => shown.push(other),
        }
    }
    shown
}

/// Encodes names and values as a form does.
fn encoded(fields: &Map) -> String {
    let word = |text: String| {
        let mut shown = String::new();
        for byte in text.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => shown.push(char::from(byte)),
                b' ' => shown.push('+'),
                other => shown.push_str(&format!("%{other:02X}")),
            }
        }
        shown
    };
    let pair = |(name, value): (&Value, &Value)| format!("{}={}", word(name.to_string()), word(value.to_string()));
    fields.iter().map(pair).collect::<Vec<_>>().join("&")
}

/// The content of a file of the target, rendered if there is a renderer.
pub fn content(machine: &dyn Probe, path: &str, renderer: Option<&str>, variables: &Value) -> Result<Vec<u8>> {
    let path = super::super::file::absolute(machine, path)?;
    let content = machine.read(&path).map_err(|error| Error::io("read", &path, &error))?;
    let Some(renderer) = renderer else { return Ok(content) };
    let text = String::from_utf8_lossy(&content);
    let source = path.to_string_lossy();
    let context = variables.as_map().cloned().unwrap_or_default();
    let template = Template { renderer, text: &text, source: &source, saltenv: "base", context };
    machine.templates().render(&template).map(String::into_bytes)
}

#[cfg(test)]
mod tests {
    use rocksalt_core::yaml;

    use super::*;

    #[test]
    fn nothing_secret_is_an_argument() {
        let mut request = HttpRequest::new("https://example.com/x").expect("an address");
        request.login = Some(("me".into(), "hunt\"er2".into()));
        request.params(&yaml::parse("{a: 'b c', d: 1}").expect("YAML"));
        request.data(&yaml::parse("{x: 'ü&'}").expect("YAML"));
        request.headers(&Value::Null, &["X-Token: a:b".into(), "nonsense".into()]);
        let settings = request.settings();
        for line in [
            "url = \"https://example.com/x?a=b+c&d=1\"",
            "user = \"me:hunt\\\"er2\"",
            "data-raw = \"x=%C3%BC%26\"",
            "header = \"X-Token: a:b\"",
        ] {
            assert!(settings.lines().any(|known| known == line), "{line}\n{settings}");
        }
        assert_eq!(request.redacted("bad login hunt\"er2"), "bad login <redacted>");
        assert!(HttpRequest::new("ftp://x").is_err() && HttpRequest::new("--help").is_err());
    }

    #[test]
    fn answers_are_taken_apart() {
        let request = HttpRequest::new("http://x/").expect("an address");
        let output =
            Output { stdout: b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nhello\nworld\n200 25".to_vec(), ..Output::default() };
        let answer = request.by_curl(&output);
        assert_eq!((answer.status, answer.body.as_slice()), (200, &b"hello\nworld"[..]));
        let output =
            Output { code: 7, stderr: b"curl: (7) no".to_vec(), stdout: b"\n000 0".to_vec(), ..Output::default() };
        assert_eq!(request.by_curl(&output).error.as_deref(), Some("curl: (7) no"));
    }
}
