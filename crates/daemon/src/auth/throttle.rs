//! [`Throttle`]: delays after failed logins that grow with each failure, without a permanent lockout.
//!
//! Failures are counted per user and address, per address, and per user. They decay with time. A user is not delayed by
//! failures elsewhere at an address from which they logged in before.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

/// Half-life of failures, in seconds.
const HALF_LIFE: f64 = 300.0;

/// The most counters; the lowest are dropped first.
const MAX_COUNTERS: usize = 16_384;

/// The most known addresses of a user.
const MAX_KNOWN_ADDRESSES: usize = 8;

/// Failures without a delay, and the longest delay in seconds.
#[derive(Clone, Copy)]
struct ThrottleLimit {
    free: f64,
    longest: f64,
}

const USER_AT_ADDRESS: ThrottleLimit = ThrottleLimit { free: 4.0, longest: 60.0 };
const ADDRESS: ThrottleLimit = ThrottleLimit { free: 20.0, longest: 60.0 };
const USER: ThrottleLimit = ThrottleLimit { free: 50.0, longest: 10.0 };

#[derive(Default)]
pub struct Throttle {
    counts: Mutex<HashMap<ThrottleKey, FailureCount>>,
    permits: Mutex<HashMap<ThrottleKey, Arc<Semaphore>>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum ThrottleKey {
    UserAt(String, ClientAddress),
    Address(ClientAddress),
    User(String),
}

/// `None` is the unix socket. An IPv6 /64 counts as one address, because its owner has all of it.
type ClientAddress = Option<IpAddr>;

#[derive(Clone, Debug, Default)]
struct FailureCount {
    failures: f64,
    /// Seconds on the monotonic clock.
    last: f64,
    /// The addresses from which the user logged in.
    known_addresses: Vec<ClientAddress>,
}

impl FailureCount {
    fn current(&self, now: f64) -> f64 {
        self.failures * 0.5_f64.powf((now - self.last).max(0.0) / HALF_LIFE)
    }

    fn wait(&self, limit: ThrottleLimit, now: f64) -> f64 {
        let over = self.current(now) - limit.free;
        match over < 0.0 {
            true => 0.0,
            false => (self.last + 2.0_f64.powf(over).min(limit.longest) - now).max(0.0),
        }
    }
}

impl Throttle {
    /// Seconds until the next attempt is allowed; 0 if it is now.
    pub fn wait(&self, user: &str, from: ClientAddress, now: f64) -> f64 {
        let counts = self.counts();
        let from = normalized(from);
        let wait = |key: ThrottleKey, limit| counts.get(&key).map_or(0.0, |count| count.wait(limit, now));
        let is_known =
            counts.get(&ThrottleKey::User(user.to_owned())).is_some_and(|count| count.known_addresses.contains(&from));
        let user_wait = if is_known { 0.0 } else { wait(ThrottleKey::User(user.to_owned()), USER) };
        wait(ThrottleKey::UserAt(user.to_owned(), from), USER_AT_ADDRESS)
            .max(wait(ThrottleKey::Address(from), ADDRESS))
            .max(user_wait)
    }

    pub fn failed(&self, user: &str, from: ClientAddress, now: f64) {
        let from = normalized(from);
        let mut counts = self.counts();
        make_room(&mut counts, now);
        for key in
            [ThrottleKey::UserAt(user.to_owned(), from), ThrottleKey::Address(from), ThrottleKey::User(user.to_owned())]
        {
            let count = counts.entry(key).or_default();
            count.failures = count.current(now) + 1.0;
            count.last = now;
        }
    }

    /// Clears the failures of this user at this address, but not those of the address: one right password must not pay for
    /// guesses at others.
    pub fn succeeded(&self, user: &str, from: ClientAddress, now: f64) {
        let from = normalized(from);
        let mut counts = self.counts();
        counts.remove(&ThrottleKey::UserAt(user.to_owned(), from));
        make_room(&mut counts, now);
        let count = counts.entry(ThrottleKey::User(user.to_owned())).or_default();
        count.known_addresses.retain(|known| *known != from);
        count.known_addresses.insert(0, from);
        count.known_addresses.truncate(MAX_KNOWN_ADDRESSES);
    }

    /// Serializes the attempts of one user at one address, so that concurrent ones are all counted.
    pub fn permit(&self, user: &str, from: ClientAddress) -> Arc<Semaphore> {
        let mut permits = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        if permits.len() > 1024 {
            permits.retain(|_, permit| Arc::strong_count(permit) > 1);
        }
        let permit = permits.entry(ThrottleKey::UserAt(user.to_owned(), normalized(from)));
        Arc::clone(permit.or_insert_with(|| Arc::new(Semaphore::new(1))))
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<ThrottleKey, FailureCount>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the permit, which is held until the attempt is counted.
pub async fn acquire(permit: &Semaphore) -> Option<SemaphorePermit<'_>> {
    permit.acquire().await.ok()
}

fn normalized(from: ClientAddress) -> ClientAddress {
    from.map(|address| match address {
        IpAddr::V6(six) => match six.to_ipv4_mapped() {
            Some(four) => IpAddr::V4(four),
            None => {
                let [a, b, c, d, ..] = six.segments();
                IpAddr::from([a, b, c, d, 0, 0, 0, 0])
            }
        },
        four => four,
    })
}

/// Drops an eighth of the counters when full: decayed ones, then the lowest. Counters of addresses go last, so that
/// attempts with unknown usernames can't push them out.
fn make_room(counts: &mut HashMap<ThrottleKey, FailureCount>, now: f64) {
    if counts.len() + 3 <= MAX_COUNTERS {
        return;
    }
    counts.retain(|_, count| count.current(now) >= 0.5);
    if counts.len() + 3 <= MAX_COUNTERS {
        return;
    }
    let mut all: Vec<(bool, f64, ThrottleKey)> = counts
        .iter()
        .map(|(key, count)| (matches!(key, ThrottleKey::Address(_)), count.current(now), key.clone()))
        .collect();
    all.sort_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
    for (_, _, key) in all.into_iter().take(MAX_COUNTERS / 8) {
        counts.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> ClientAddress {
        Some(IpAddr::from([192, 0, 2, last]))
    }

    #[test]
    fn the_wait_grows_and_ends() {
        let throttle = Throttle::default();
        for _ in 0..4 {
            assert_eq!(throttle.wait("a", address(1), 0.0), 0.0);
            throttle.failed("a", address(1), 0.0);
        }
        assert_eq!(throttle.wait("a", address(1), 0.0), 1.0);
        throttle.failed("a", address(1), 0.0);
        assert_eq!(throttle.wait("a", address(1), 0.0), 2.0);
        for _ in 0..10 {
            throttle.failed("a", address(1), 0.0);
        }
        assert_eq!(throttle.wait("a", address(1), 0.0), 60.0);
        assert_eq!(throttle.wait("a", address(1), 61.0), 0.0, "nobody is locked out for good");
    }

    #[test]
    fn others_are_not_affected() {
        let throttle = Throttle::default();
        throttle.succeeded("a", address(2), 0.0);
        for last in 10..200 {
            for _ in 0..3 {
                throttle.failed("a", address(last), 0.0);
            }
        }
        assert_eq!(throttle.wait("a", address(2), 0.0), 0.0, "the user logged in from there");
        assert!(throttle.wait("a", address(3), 0.0) > 0.0, "guesses from everywhere slow others down");
        assert!(throttle.wait("a", address(3), 0.0) <= 10.0, "but not for long");
        assert_eq!(throttle.wait("b", address(3), 0.0), 0.0);
    }

    #[test]
    fn a_right_password_does_not_pay_for_guesses_at_others() {
        let throttle = Throttle::default();
        for number in 0..30 {
            throttle.failed(&format!("user{number}"), address(1), 0.0);
            throttle.succeeded("mine", address(1), 0.0);
        }
        assert!(throttle.wait("user31", address(1), 0.0) > 0.0);
    }

    #[test]
    fn an_ipv6_network_counts_as_one_address() {
        let throttle = Throttle::default();
        for number in 0..40u16 {
            let from = Some(IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, number]));
            throttle.failed(&format!("user{number}"), from, 0.0);
        }
        assert!(throttle.wait("x", Some(IpAddr::from([0x2001, 0xdb8, 0, 1, 9, 9, 9, 9])), 0.0) > 0.0);
        assert_eq!(throttle.wait("x", Some(IpAddr::from([0x2001, 0xdb8, 0, 2, 9, 9, 9, 9])), 0.0), 0.0);
    }

    #[test]
    fn memory_is_bounded_and_addresses_stay() {
        let throttle = Throttle::default();
        for _ in 0..40 {
            throttle.failed("victim", address(1), 0.0);
        }
        for number in 0..(MAX_COUNTERS as u32 * 2) {
            throttle.failed(&format!("user{number}"), address(2), 0.0);
        }
        assert!(throttle.counts().len() <= MAX_COUNTERS);
        assert!(throttle.wait("x", address(1), 0.0) > 0.0);
    }
}
