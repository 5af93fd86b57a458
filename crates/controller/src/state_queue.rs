//! [`StateQueues`]: a queue for each target, so that two runs of states never overlap. The first job in a queue runs.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use rocksalt_core::{JobId, Map, Value};
use tokio::sync::watch;

/// Whether a function needs the target exclusively. A dry run does too: it must not see the incomplete changes of
/// another run.
pub fn exclusive(function: &str, kwargs: &Map) -> bool {
    // `concurrent` is Salt's way to allow overlapping runs.
    rocksalt_catalog::nature(function).whole_machine && !kwargs.get("concurrent").is_some_and(Value::truth)
}

/// Whether a run waits in the queue: Salt's `queue` argument, true or how many may wait.
pub fn queues(kwargs: &Map) -> bool {
    match kwargs.get("queue") {
        Some(Value::Int(number)) => *number > 0,
        Some(Value::String(text)) => text.eq_ignore_ascii_case("true"),
        other => other.is_some_and(Value::truth),
    }
}

/// The queues of the targets; the first job of each holds the target.
#[derive(Clone, Default)]
pub struct StateQueues(Arc<Mutex<QueueLists>>);

#[derive(Default)]
struct QueueLists {
    targets: HashMap<String, VecDeque<Waiting>>,
    next: u64,
}

struct Waiting {
    number: u64,
    job: JobId,
    turn: watch::Sender<bool>,
}

impl StateQueues {
    fn lines(&self) -> std::sync::MutexGuard<'_, QueueLists> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the target if its queue is empty, otherwise returns the job that holds it.
    pub fn take(&self, target: &str, job: JobId) -> Result<QueuePlace, JobId> {
        match self.holder(target) {
            Some(holder) => Err(holder),
            None => Ok(self.line_up(target, job)),
        }
    }

    pub fn holder(&self, target: &str) -> Option<JobId> {
        self.lines().targets.get(target).and_then(VecDeque::front).map(|place| place.job)
    }

    /// Adds the job at the end of the queue.
    pub fn line_up(&self, target: &str, job: JobId) -> QueuePlace {
        let mut lines = self.lines();
        lines.next += 1;
        let number = lines.next;
        let line = lines.targets.entry(target.to_owned()).or_default();
        let turn = watch::Sender::new(line.is_empty());
        let heard = turn.subscribe();
        line.push_back(Waiting { number, job, turn });
        QueuePlace { queues: self.clone(), target: target.to_owned(), number, turn: heard }
    }
}

/// A place in the queue of a target. Dropping it lets the next job run.
pub struct QueuePlace {
    queues: StateQueues,
    target: String,
    number: u64,
    turn: watch::Receiver<bool>,
}

impl QueuePlace {
    pub fn is_mine(&self) -> bool {
        *self.turn.borrow()
    }

    /// Returns when this place is the first.
    pub async fn wait(&mut self) {
        // The sender lives as long as this place.
        let _ = self.turn.wait_for(|turn| *turn).await;
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        let mut lines = self.queues.lines();
        let Some(line) = lines.targets.get_mut(&self.target) else { return };
        line.retain(|place| place.number != self.number);
        match line.front() {
            Some(first) => drop(first.turn.send_replace(true)),
            None => drop(lines.targets.remove(&self.target)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_has_it_and_the_others_wait_in_order() {
        let queues = StateQueues::default();
        let job = JobId::at;
        let first = queues.take("h1", job(1)).unwrap_or_else(|holder| panic!("{holder} has it"));
        assert_eq!(queues.take("h1", job(2)).err(), Some(job(1)));
        assert!(queues.take("h2", job(2)).is_ok(), "another target is free");
        let (mut second, mut third) = (queues.line_up("h1", job(3)), queues.line_up("h1", job(4)));
        let gave_up = queues.line_up("h1", job(5));
        assert!(first.is_mine() && !second.is_mine() && !third.is_mine());
        drop(gave_up);
        drop(first);
        second.wait().await;
        assert!(!third.is_mine());
        assert_eq!(queues.holder("h1"), Some(job(3)));
        drop(second);
        third.wait().await;
        drop(third);
        assert!(queues.lines().targets.is_empty(), "nothing is left of it");
    }

    #[test]
    fn salts_arguments_are_understood() {
        let with = |key: &str, value: Value| Map::from_iter([(key.into(), value)]);
        assert!(queues(&with("queue", true.into())) && queues(&with("queue", Value::Int(3))));
        assert!(
            !queues(&with("queue", false.into())) && !queues(&Map::new()) && !queues(&with("queue", Value::Int(0)))
        );
        assert!(exclusive("state.apply", &Map::new()) && !exclusive("test.ping", &Map::new()));
        assert!(!exclusive("state.apply", &with("concurrent", true.into())));
    }
}
