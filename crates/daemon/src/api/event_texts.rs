//! [`EventTexts`]: each event is written out once, for all who listen.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError, RwLock};

use axum::body::Bytes;
use rocksalt_core::record::LoggedEvent;

/// How many are kept; who is slower than that has his own written.
const KEPT: usize = 1024;

/// The most that all of them may take, in bytes.
const LARGEST: usize = 16 << 20;

/// One for each form in which a door writes events.
pub struct EventTexts {
    form: fn(&LoggedEvent) -> String,
    kept: RwLock<Kept>,
}

#[derive(Default)]
struct Kept {
    /// By where the event is in memory: those who listen share it, and it stays as long as it is here.
    texts: HashMap<usize, Bytes>,
    order: VecDeque<Arc<LoggedEvent>>,
    bytes: usize,
}

impl EventTexts {
    pub fn new(form: fn(&LoggedEvent) -> String) -> EventTexts {
        EventTexts { form, kept: RwLock::default() }
    }

    pub fn text(&self, event: &Arc<LoggedEvent>) -> Bytes {
        let place = Arc::as_ptr(event) as usize;
        if let Some(text) = self.kept.read().unwrap_or_else(PoisonError::into_inner).texts.get(&place) {
            return text.clone();
        }
        let text = Bytes::from((self.form)(event));
        // Read from the store by one slow listener: nobody else has this very one.
        if Arc::strong_count(event) > 1 {
            self.kept.write().unwrap_or_else(PoisonError::into_inner).keep(place, event, &text);
        }
        text
    }
}

impl Kept {
    fn keep(&mut self, place: usize, event: &Arc<LoggedEvent>, text: &Bytes) {
        if self.texts.insert(place, text.clone()).is_some() {
            return;
        }
        self.order.push_back(Arc::clone(event));
        self.bytes += text.len();
        while self.order.len() > KEPT || self.bytes > LARGEST {
            let Some(oldest) = self.order.pop_front() else { break };
            let gone = self.texts.remove(&(Arc::as_ptr(&oldest) as usize));
            self.bytes -= gone.map_or(0, |text| text.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rocksalt_core::{Event, Map};

    use super::*;

    static WRITTEN: AtomicUsize = AtomicUsize::new(0);

    #[test]
    fn an_event_is_written_once_for_all() {
        let texts = EventTexts::new(|event| {
            WRITTEN.fetch_add(1, Ordering::Relaxed);
            event.id.to_string()
        });
        let logged = |id| LoggedEvent { id, stamp: 0, event: Event { tag: "a".into(), data: Map::new() } };
        let events: Vec<Arc<LoggedEvent>> = (0..2000).map(|id| Arc::new(logged(id))).collect();
        for event in &events {
            for _ in 0..3 {
                let shared = Arc::clone(event);
                assert_eq!(texts.text(&shared), event.id.to_string());
            }
        }
        assert_eq!(WRITTEN.load(Ordering::Relaxed), 2000);
        let kept = texts.kept.read().expect("nobody broke it");
        assert_eq!((kept.order.len(), kept.texts.len()), (KEPT, KEPT));
    }
}
