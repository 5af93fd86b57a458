//! Notifications for systemd; without systemd they do nothing.

use std::time::Duration;

use sd_notify::NotifyState;

pub fn ready() {
    notify(&[NotifyState::Ready]);
}

/// systemd 253 and later need the time.
pub fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => notify(&[NotifyState::Reloading, now]),
        Err(_) => notify(&[NotifyState::Reloading]),
    }
}

pub fn stopping() {
    notify(&[NotifyState::Stopping]);
}

pub fn alive() {
    notify(&[NotifyState::Watchdog]);
}

/// The watchdog interval.
pub fn watchdog() -> Option<Duration> {
    sd_notify::watchdog_enabled()
}

fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "could not notify systemd");
    }
}
