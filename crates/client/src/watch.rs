//! [`JobWatch`]: the progress and returns of one job, until it ends.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rocksalt_core::JobId;
use rocksalt_core::job_update::JobUpdate;

use crate::client::ApiRequest;
use crate::events::ResumingStream;
use crate::{Client, Error};

/// A stream of a job's updates that yields every return exactly once, even across reconnects. A slow reader may miss
/// some of the commands' output.
pub struct JobWatch {
    client: Client,
    job: JobId,
    connected: ResumingStream,
    /// The targets whose return was yielded.
    returned: HashSet<String>,
    ended: bool,
}

impl JobWatch {
    pub(crate) fn new(client: Client, job: JobId) -> JobWatch {
        JobWatch { client, job, connected: ResumingStream::default(), returned: HashSet::new(), ended: false }
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
            let message =
                self.connected.next(&self.client, || ApiRequest::get(&path).query("encoding", "cbor")).await?;
            if message.event != "news" {
                continue;
            }
            let bytes =
                STANDARD.decode(&message.data).map_err(|error| self.client.unexpected_response(&error.to_string()))?;
            let news: JobUpdate =
                minicbor::decode(&bytes).map_err(|error| self.client.unexpected_response(&error.to_string()))?;
            match &news {
                JobUpdate::Done(record) if !self.returned.insert(record.target.clone()) => continue,
                JobUpdate::Ended(_) => self.ended = true,
                _ => {}
            }
            return Ok(Some(news));
        }
    }
}
