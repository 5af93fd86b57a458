//! [`Watch`]: what a job does, until it has ended.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rocksalt_core::JobId;
use rocksalt_core::job_update::JobUpdate;

use crate::client::Ask;
use crate::events::Connected;
use crate::{Client, Error};

/// Nothing is said twice, and every return is said, also over broken connections. Of what commands print, a slow listener
/// may miss a part.
pub struct Watch {
    client: Client,
    job: JobId,
    connected: Connected,
    /// Whose return was said.
    returned: HashSet<String>,
    ended: bool,
}

impl Watch {
    pub(crate) fn new(client: Client, job: JobId) -> Watch {
        Watch { client, job, connected: Connected::default(), returned: HashSet::new(), ended: false }
    }

    pub fn job(&self) -> JobId {
        self.job
    }

    /// `None` after [`JobUpdate::Ended`].
    pub async fn next(&mut self) -> Result<Option<JobUpdate>, Error> {
        if self.ended {
            return Ok(None);
        }
        let path = format!("/jobs/{}/follow", self.job);
        loop {
            let message = self.connected.next(&self.client, || Ask::get(&path).query("encoding", "cbor")).await?;
            if message.event != "news" {
                continue;
            }
            let bytes = STANDARD.decode(&message.data).map_err(|error| self.client.nonsense(&error.to_string()))?;
            let news: JobUpdate = minicbor::decode(&bytes).map_err(|error| self.client.nonsense(&error.to_string()))?;
            match &news {
                JobUpdate::Done(record) if !self.returned.insert(record.target.clone()) => continue,
                JobUpdate::Ended(_) => self.ended = true,
                _ => {}
            }
            return Ok(Some(news));
        }
    }
}
