//! `http_json` and `http_yaml`: what a web service answers.

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rocksalt_core::{Map, Value, json, yaml};

use super::{Error, Pillar, Settings, Target, arguments, id, map};

pub fn open_json(config: &Value, settings: &Settings) -> Result<Box<dyn Pillar>, Error> {
    open(config, settings, |text| json::parse(text).map_err(|error| error.to_string()))
}

pub fn open_yaml(config: &Value, settings: &Settings) -> Result<Box<dyn Pillar>, Error> {
    open(config, settings, |text| yaml::parse(text).map_err(|error| error.to_string()))
}

fn open(config: &Value, settings: &Settings, read: Read) -> Result<Box<dyn Pillar>, Error> {
    let given = arguments::named(config, &["url", "with_grains", "header_dict", "auth"])?;
    let mut headers = Vec::new();
    for (name, value) in given.get("header_dict").and_then(Value::as_map).into_iter().flat_map(Map::iter) {
        headers.push((name.to_string(), value.to_string()));
    }
    match given.get("auth") {
        None | Some(Value::Null) => {}
        Some(Value::List(pair)) if pair.len() == 2 => {
            let secret = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, format!("{}:{}", pair[0], pair[1]));
            headers.push(("Authorization".into(), format!("Basic {secret}")));
        }
        Some(_) => return Err(Error::Config("'auth' must be a list of a user and a password".into())),
    }
    Ok(Box::new(Http {
        url: arguments::text(&given, "url")?,
        with_grains: arguments::flag(&given, "with_grains"),
        headers,
        read,
        limit: settings.limit,
        agent: agent(settings.timeout),
    }))
}

fn agent(timeout: Duration) -> ureq::Agent {
    let tls = ureq::tls::TlsConfig::builder()
        .root_certs(ureq::tls::RootCerts::PlatformVerifier)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build();
    ureq::Agent::config_builder().timeout_global(Some(timeout)).max_redirects(5).tls_config(tls).build().into()
}

type Read = fn(&str) -> Result<Value, String>;

struct Http {
    /// As configured: `%s` stands for the id, `<name>` for a grain if that is asked for.
    url: String,
    with_grains: bool,
    headers: Vec<(String, String)>,
    read: Read,
    limit: usize,
    agent: ureq::Agent,
}

#[async_trait]
impl Pillar for Http {
    async fn pillar(&self, target: &Target<'_>) -> Result<Map, Error> {
        id::for_path(target.id)?;
        let url = self.address(target)?;
        let mut request = self.agent.get(&url);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let (limit, shown) = (self.limit, url.clone());
        let fetch = move || {
            let failed = |why: String| Error::Fetch { url: shown.clone(), why };
            let mut answer = request.call().map_err(|error| failed(error.to_string()))?;
            let mut content = Vec::new();
            let reader = answer.body_mut().as_reader();
            reader.take(limit as u64 + 1).read_to_end(&mut content).map_err(|error| failed(error.to_string()))?;
            match content.len() > limit {
                true => Err(Error::TooLong { what: shown, limit }),
                false => Ok(content),
            }
        };
        let content = tokio::task::spawn_blocking(fetch).await.map_err(|_| Error::Aborted)??;
        let malformed = |why: String| Error::Malformed { what: url.clone(), why };
        let text = String::from_utf8(content).map_err(|_| malformed("it is not UTF-8".into()))?;
        map((self.read)(&text).map_err(malformed)?)
    }
}

impl Http {
    fn address(&self, target: &Target<'_>) -> Result<String, Error> {
        let url = self.url.replace("%s", &id::for_address(target.id));
        if !self.with_grains {
            return Ok(url);
        }
        let mut whole = String::new();
        let mut rest = url.as_str();
        while let Some((before, behind)) = rest.split_once('<') {
            let Some((name, after)) = behind.split_once('>') else { break };
            let value = target.grains.walk(name, ":").filter(|value| value.truth());
            let value =
                value.ok_or_else(|| Error::Config(format!("Unable to get minion '{}' grain: {name}", target.id)))?;
            whole.push_str(before);
            whole.push_str(&id::for_address(&value.to_string()));
            rest = after;
        }
        whole.push_str(rest);
        Ok(whole)
    }
}
