//! [`Throttle`]: whoever guesses passwords waits longer and longer, and nobody is locked out for good.
//!
//! Failures count for the user at an address, for the address, and for the user wherever he is asked for. They fade with
//! time. What an address has proved before holds: somebody else's guesses at a user's password don't keep him from
//! logging in where he did so before.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

/// Half of the failures are forgotten after so many seconds.
const HALF: f64 = 300.0;

/// So many are remembered; the faintest go first.
const MOST: usize = 16_384;

/// So many addresses of a user count as his.
const HIS: usize = 8;

/// How many failures are free, and how long one waits at most, in seconds.
#[derive(Clone, Copy)]
struct Limit {
    free: f64,
    longest: f64,
}

const USER_AT_ADDRESS: Limit = Limit { free: 4.0, longest: 60.0 };
const ADDRESS: Limit = Limit { free: 20.0, longest: 60.0 };
const USER: Limit = Limit { free: 50.0, longest: 10.0 };

#[derive(Default)]
pub struct Throttle {
    counts: Mutex<HashMap<Key, Count>>,
    turns: Mutex<HashMap<Key, Arc<Semaphore>>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    UserAt(String, Place),
    Address(Place),
    User(String),
}

/// `None` is the unix socket. A network of IPv6 is one place: who has one address there has them all.
type Place = Option<IpAddr>;

#[derive(Clone, Debug, Default)]
struct Count {
    failures: f64,
    /// Seconds, on the clock that only goes forward.
    last: f64,
    /// Of a user: where he has logged in.
    his: Vec<Place>,
}

impl Count {
    fn now(&self, now: f64) -> f64 {
        self.failures * 0.5_f64.powf((now - self.last).max(0.0) / HALF)
    }

    fn wait(&self, limit: Limit, now: f64) -> f64 {
        let over = self.now(now) - limit.free;
        match over < 0.0 {
            true => 0.0,
            false => (self.last + 2.0_f64.powf(over).min(limit.longest) - now).max(0.0),
        }
    }
}

impl Throttle {
    /// The seconds to wait before the next attempt counts; 0 if it may be made now.
    pub fn wait(&self, user: &str, from: Place, now: f64) -> f64 {
        let counts = self.counts();
        let from = place(from);
        let wait = |key: Key, limit| counts.get(&key).map_or(0.0, |count| count.wait(limit, now));
        let his = counts.get(&Key::User(user.to_owned())).is_some_and(|count| count.his.contains(&from));
        let user_wait = if his { 0.0 } else { wait(Key::User(user.to_owned()), USER) };
        wait(Key::UserAt(user.to_owned(), from), USER_AT_ADDRESS).max(wait(Key::Address(from), ADDRESS)).max(user_wait)
    }

    pub fn failed(&self, user: &str, from: Place, now: f64) {
        let from = place(from);
        let mut counts = self.counts();
        make_room(&mut counts, now);
        for key in [Key::UserAt(user.to_owned(), from), Key::Address(from), Key::User(user.to_owned())] {
            let count = counts.entry(key).or_default();
            count.failures = count.now(now) + 1.0;
            count.last = now;
        }
    }

    /// Clears what stands against this user here, but nothing of the address: one right password must not pay for
    /// guesses at others.
    pub fn succeeded(&self, user: &str, from: Place, now: f64) {
        let from = place(from);
        let mut counts = self.counts();
        counts.remove(&Key::UserAt(user.to_owned(), from));
        make_room(&mut counts, now);
        let count = counts.entry(Key::User(user.to_owned())).or_default();
        count.his.retain(|known| *known != from);
        count.his.insert(0, from);
        count.his.truncate(HIS);
    }

    /// Attempts for one user at one address go one after the other, so that many at once don't slip past the count.
    pub fn turn(&self, user: &str, from: Place) -> Arc<Semaphore> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if turns.len() > 1024 {
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        }
        let turn = turns.entry(Key::UserAt(user.to_owned(), place(from)));
        Arc::clone(turn.or_insert_with(|| Arc::new(Semaphore::new(1))))
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<Key, Count>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a turn; held until the attempt is counted.
pub async fn take(turn: &Semaphore) -> Option<SemaphorePermit<'_>> {
    turn.acquire().await.ok()
}

fn place(from: Place) -> Place {
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

/// An eighth goes when it is full: what has faded, then the faintest. Names of users who aren't there must not push out
/// what stands against an address, so these go last.
fn make_room(counts: &mut HashMap<Key, Count>, now: f64) {
    if counts.len() + 3 <= MOST {
        return;
    }
    counts.retain(|_, count| count.now(now) >= 0.5);
    if counts.len() + 3 <= MOST {
        return;
    }
    let mut all: Vec<(bool, f64, Key)> =
        counts.iter().map(|(key, count)| (matches!(key, Key::Address(_)), count.now(now), key.clone())).collect();
    all.sort_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
    for (_, _, key) in all.into_iter().take(MOST / 8) {
        counts.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> Place {
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
        assert_eq!(throttle.wait("a", address(2), 0.0), 0.0, "he has logged in from there");
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
    fn a_network_of_ipv6_is_one_place() {
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
        for number in 0..(MOST as u32 * 2) {
            throttle.failed(&format!("user{number}"), address(2), 0.0);
        }
        assert!(throttle.counts().len() <= MOST);
        assert!(throttle.wait("x", address(1), 0.0) > 0.0);
    }
}
