//! Calls about running calls where a target has two agents: the whole one, and the small one that it replaced.

use std::sync::Arc;
use std::time::Duration;

use rocksalt_connect::link::{NoAnswers, RemoteCall};
use rocksalt_core::call::Return;
use rocksalt_core::roster::RosterEntry;
use rocksalt_core::{Call, Value};
use tokio::time::timeout;

use crate::Controller;

/// Short, because these functions only read a list.
const PATIENCE: Duration = Duration::from_secs(5);

pub fn is_about_jobs(function: &str) -> bool {
    rocksalt_catalog::nature(function).about_jobs
}

impl Controller {
    /// Asks the small agent too, if it still runs, and adds its answer.
    pub(crate) async fn add_secondary_agent(&self, entry: &RosterEntry, call: Call, user: &str, result: &mut Return) {
        let Some(line) = self.links.secondary_agent(entry).await else { return };
        let Ok(port) = line.open_channel(user) else { return };
        let mut request = RemoteCall::start(port, call, Arc::new(NoAnswers));
        if let Ok(Ok(other)) = timeout(PATIENCE, request.finish(&mut |_, _| {})).await
            && other.problem.is_none()
        {
            add(&mut result.value, other.value);
        }
    }
}

/// Joins lists; of maps and texts it keeps the first that is not empty.
fn add(value: &mut Value, other: Value) {
    match (value, other) {
        (Value::List(all), Value::List(more)) => all.extend(more),
        (value, other) if !value.truth() => *value = other,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use rocksalt_core::Map;

    use super::*;

    fn sum(mut value: Value, other: Value) -> Value {
        add(&mut value, other);
        value
    }

    #[test]
    fn what_both_say_is_one_answer() {
        let job = |id: &str| Value::Map(Map::from_iter([("jid".into(), id.into())]));
        assert_eq!(sum(vec![job("1")].into(), vec![job("2")].into()), vec![job("1"), job("2")].into());
        assert_eq!(sum(Map::new().into(), job("2")), job("2"));
        assert_eq!(sum(job("1"), Map::new().into()), job("1"));
        assert_eq!(sum("".into(), "Signal 9 sent".into()), "Signal 9 sent".into());
        assert_eq!(sum("Signal 9 sent".into(), "".into()), "Signal 9 sent".into());
    }
}
