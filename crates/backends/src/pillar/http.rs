//! `http_json` and `http_yaml`: the response of a web service.

use async_trait::async_trait;
use rocksalt_core::{Map, Value, json, yaml};

use crate::http_client::{self, HttpClient};

use super::{Error, PillarSource, PillarTarget, Settings, arguments, expect_map, id};

pub fn open_json(config: &Value, settings: &Settings) -> Result<Box<dyn PillarSource>, Error> {
    open(config, settings, |text| json::parse(text).map_err(|error| error.to_string()))
}

pub fn open_yaml(config: &Value, settings: &Settings) -> Result<Box<dyn PillarSource>, Error> {
    open(config, settings, |text| yaml::parse(text).map_err(|error| error.to_string()))
}

fn open(config: &Value, settings: &Settings, read: ParseBody) -> Result<Box<dyn PillarSource>, Error> {
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
    Ok(Box::new(HttpPillar {
        url: arguments::text(&given, "url")?,
        with_grains: arguments::flag(&given, "with_grains"),
        headers,
        read,
        limit: settings.limit,
        client: HttpClient::new(settings.timeout),
    }))
}

type ParseBody = fn(&str) -> Result<Value, String>;

struct HttpPillar {
    /// As configured: `%s` stands for the id, `<name>` for a grain if that is enabled.
    url: String,
    with_grains: bool,
    headers: Vec<(String, String)>,
    read: ParseBody,
    limit: usize,
    client: HttpClient,
}

#[async_trait]
impl PillarSource for HttpPillar {
    async fn pillar(&self, target: &PillarTarget<'_>) -> Result<Map, Error> {
        id::for_path(target.id)?;
        let url = self.address(target)?;
        let content = self.client.get(&url, &self.headers, self.limit).await.map_err(|error| match error {
            http_client::Error::TooLong(limit) => Error::TooLong { what: url.clone(), limit },
            other => Error::Fetch { url: url.clone(), why: other.to_string() },
        })?;
        let malformed = |why: String| Error::Malformed { what: url.clone(), why };
        let text = String::from_utf8(content).map_err(|_| malformed("it is not UTF-8".into()))?;
        expect_map((self.read)(&text).map_err(malformed)?)
    }
}

impl HttpPillar {
    fn address(&self, target: &PillarTarget<'_>) -> Result<String, Error> {
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
