//! [`EventTexts`]: a cache of serialized events, so that each event is serialized once for all listeners.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError, RwLock};

use axum::body::Bytes;
use rocksalt_core::record::LoggedEvent;

/// Cached events; slower listeners serialize again.
const MAX_CACHED: usize = 1024;

/// Size of the cache in bytes.
const MAX_CACHED_BYTES: usize = 16 << 20;

/// One for each format of events.
pub struct EventTexts {
    serialize: fn(&LoggedEvent) -> String,
    cache: RwLock<TextCache>,
}

#[derive(Default)]
struct TextCache {
    /// By the event's address: listeners share the event, and it stays in memory as long as it is cached here.
    texts: HashMap<usize, Bytes>,
    order: VecDeque<Arc<LoggedEvent>>,
    bytes: usize,
}

impl EventTexts {
    pub fn new(serialize: fn(&LoggedEvent) -> String) -> EventTexts {
        EventTexts { serialize, cache: RwLock::default() }
    }

    pub fn text(&self, event: &Arc<LoggedEvent>) -> Bytes {
        let address = Arc::as_ptr(event) as usize;
        if let Some(text) = self.cache.read().unwrap_or_else(PoisonError::into_inner).texts.get(&address) {
            return text.clone();
        }
        let text = Bytes::from((self.serialize)(event));
        // An event read from the store by a slow listener is not shared.
        if Arc::strong_count(event) > 1 {
            self.cache.write().unwrap_or_else(PoisonError::into_inner).insert(address, event, &text);
        }
        text
    }
}

impl TextCache {
    fn insert(&mut self, address: usize, event: &Arc<LoggedEvent>, text: &Bytes) {
        if self.texts.insert(address, text.clone()).is_some() {
            return;
        }
        self.order.push_back(Arc::clone(event));
        self.bytes += text.len();
        while self.order.len() > MAX_CACHED || self.bytes > MAX_CACHED_BYTES {
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
    fn an_event_is_serialized_once_for_all() {
        let texts = EventTexts::new(|event| {
            WRITTEN.fetch_add(1, Ordering::Relaxed);
            event.id.to_string()
        });
        let logged = |id| LoggedEvent { id, ..LoggedEvent::new(Event { tag: "a".into(), data: Map::new() }, None) };
        let events: Vec<Arc<LoggedEvent>> = (0..2000).map(|id| Arc::new(logged(id))).collect();
        for event in &events {
            for _ in 0..3 {
                let shared = Arc::clone(event);
                assert_eq!(texts.text(&shared), event.id.to_string());
            }
        }
        assert_eq!(WRITTEN.load(Ordering::Relaxed), 2000);
        let cache = texts.cache.read().expect("nobody broke it");
        assert_eq!((cache.order.len(), cache.texts.len()), (MAX_CACHED, MAX_CACHED));
    }
}
