//! What systemd is told, if it started us. Without it all of this does nothing.

use std::time::Duration;

use sd_notify::NotifyState;

pub fn ready() {
    tell(&[NotifyState::Ready]);
}

/// The time goes along: systemd 253 and later ask for it.
pub fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(_) => tell(&[NotifyState::Reloading]),
    }
}

pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

pub fn alive() {
    tell(&[NotifyState::Watchdog]);
}

/// How often it wants to hear that we live.
pub fn watchdog() -> Option<Duration> {
    sd_notify::watchdog_enabled()
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "systemd could not be told");
    }
}
