//! [`Auth`]: who somebody is, by a password, a token or a certificate.

mod backends;
pub mod certificate;
mod passwords;
mod proven;
mod settings;
mod throttle;
mod tokens;
pub mod users;

use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use rocksalt_backends::store::Store;
use rocksalt_core::Secret;
use tokio::task::JoinHandle;

use crate::access::Rights;
use crate::audit::{Audit, Sign};
use crate::clock::now;
use crate::requests::{Caller, Kind, Refusal};

use backends::{Backend, Person};
use proven::Proven;
pub use settings::{Settings, names};
use throttle::Throttle;
use tokens::{Kept, Tokens};

/// A login that fails takes so long, whatever it fails at.
const FAILED: Duration = Duration::from_millis(500);

/// Expired tokens are thrown away so often.
const SWEEP: Duration = Duration::from_secs(60);

/// Nobody's name or password is longer, in bytes.
const LONGEST_NAME: usize = 256;

/// Without a store it knows nobody.
#[derive(Default)]
pub struct Auth(Option<Arc<Inner>>, Vec<JoinHandle<()>>);

struct Inner {
    settings: RwLock<Arc<Settings>>,
    tokens: Tokens,
    throttle: Throttle,
    proven: Proven,
    audit: Audit,
    /// The clock that only goes forward begins here.
    started: Instant,
    now: fn() -> u64,
}

/// What somebody gives to log in.
pub struct Credentials {
    pub user: String,
    pub password: Secret<String>,
    pub eauth: String,
    /// Seconds, if the asker wishes another life of the token.
    pub token_expire: Option<f64>,
}

/// A token that was just made; the only time that it is seen.
pub struct Login {
    pub token: Secret<String>,
    /// Seconds since 1970.
    pub start: f64,
    pub expire: f64,
    pub caller: Caller,
}

impl Drop for Auth {
    fn drop(&mut self) {
        self.1.iter().for_each(JoinHandle::abort);
    }
}

impl Auth {
    /// With its own tasks, which end with it: one listens to the store, one throws away what is over.
    pub fn open(store: Arc<dyn Store>, settings: Arc<Settings>, audit: Audit) -> Auth {
        Auth::with_clock(store, settings, audit, now)
    }

    /// With a clock of the caller's, which gives microseconds since 1970.
    pub fn with_clock(store: Arc<dyn Store>, settings: Arc<Settings>, audit: Audit, now: fn() -> u64) -> Auth {
        let inner = Arc::new(Inner {
            settings: RwLock::new(settings),
            tokens: Tokens::new(store, now),
            throttle: Throttle::default(),
            proven: Proven::default(),
            audit,
            started: Instant::now(),
            now,
        });
        let (watching, sweeping) = (Arc::clone(&inner), Arc::clone(&inner));
        let watch = tokio::spawn(async move { watching.tokens.watch().await });
        let sweep = tokio::spawn(async move {
            loop {
                // A store that is away is swept later.
                let _ = sweeping.sweep().await;
                tokio::time::sleep(SWEEP).await;
            }
        });
        Auth(Some(inner), vec![watch, sweep])
    }

    /// New settings, at a reload. Passwords are checked anew; tokens stay unless what they were got by is gone.
    pub fn configure(&self, settings: Arc<Settings>) {
        if let Some(inner) = &self.0 {
            *inner.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
            inner.proven.clear();
        }
    }

    /// Salt's `authorized_ips`: whether anybody there may ask anything.
    pub fn allowed_address(&self, from: Option<IpAddr>) -> bool {
        self.0.as_ref().is_some_and(|inner| inner.settings().authorized(from))
    }

    /// Checks a password without making a token (Salt's `/run` with credentials). Slow on purpose if it is wrong.
    pub async fn verify(&self, credentials: &Credentials, from: Option<IpAddr>) -> Result<Caller, Refusal> {
        Ok(self.inner()?.verify(credentials, from).await?.0)
    }

    pub async fn login(&self, credentials: Credentials, from: Option<IpAddr>) -> Result<Login, Refusal> {
        let inner = self.inner()?;
        let (caller, person) = inner.verify(&credentials, from).await?;
        inner.make_token(caller, person, credentials.token_expire).await
    }

    /// A token for somebody who has proved it by a certificate or on the unix socket: Salt's `mk_token` for them.
    pub async fn token_for(&self, caller: Caller, expire: Option<f64>) -> Result<Login, Refusal> {
        let groups = match &caller.rights {
            Rights::Listed { groups } => groups.clone(),
            _ => Vec::new(),
        };
        self.inner()?.make_token(caller, Person { groups, stamp: Vec::new() }, expire).await
    }

    /// Whose token it is; refused if it is unknown or its time is over.
    pub async fn token(&self, token: &str, from: Option<IpAddr>) -> Result<Caller, Refusal> {
        let inner = self.inner()?;
        let refused = || Refusal::new(Kind::Unauthenticated, "the token is unknown, or its time is over");
        let settings = inner.settings();
        let kept = match tokens::is_token(token) {
            true => inner.tokens.get(token, settings.token_idle).await?,
            false => None,
        };
        let kept =
            kept.filter(|kept| settings.stands(kept)).filter(|kept| kept.from.is_none() || kept.from == text(from));
        let Some(kept) = kept else {
            let _ = inner.audit.sign(Sign::BadToken, "", "", from).await;
            return Err(refused());
        };
        Ok(Caller { user: kept.user, eauth: kept.eauth, rights: Rights::Listed { groups: kept.groups }, from })
    }

    /// Who has a client certificate that was checked, by its name.
    pub async fn certificate(&self, name: &str, from: Option<IpAddr>) -> Result<Caller, Refusal> {
        let inner = self.inner()?;
        let settings = inner.settings();
        if !settings.certificates {
            let text = "client certificates don't count here: external_auth has no `cert`";
            return Err(Refusal::new(Kind::Unauthenticated, text));
        }
        if !settings.is_there(name, from) {
            let _ = inner.audit.sign(Sign::Refused, name, "cert", from).await;
            return Err(Refusal::new(Kind::Unauthenticated, "not from this address"));
        }
        let rights = Rights::Listed { groups: Vec::new() };
        Ok(Caller { user: name.to_owned(), eauth: "cert".to_owned(), rights, from })
    }

    /// Takes a token back; every controller hears of it. One that isn't there is no fault.
    pub async fn logout(&self, token: &str) -> Result<(), Refusal> {
        let inner = self.inner()?;
        if !tokens::is_token(token) {
            return Ok(());
        }
        let kept = inner.tokens.get(token, inner.settings().token_idle).await?;
        if inner.tokens.remove(token).await?
            && let Some(kept) = kept
        {
            inner.audit.sign(Sign::Out, &kept.user, &kept.eauth, None).await?;
        }
        Ok(())
    }

    /// Takes all tokens of a user back; how many there were.
    pub async fn logout_user(&self, user: &str, eauth: &str) -> Result<u64, Refusal> {
        Ok(self.inner()?.tokens.remove_user(eauth, user).await?)
    }

    fn inner(&self) -> Result<&Arc<Inner>, Refusal> {
        self.0.as_ref().ok_or_else(|| Refusal::new(Kind::Unauthenticated, "nobody can log in here"))
    }
}

impl Settings {
    fn stands(&self, kept: &Kept) -> bool {
        match self.backends.get(&kept.eauth) {
            Some(Ok(backend)) => kept.stamp.is_empty() || backend.stands(&kept.user, &kept.stamp),
            Some(Err(_)) => false,
            None => kept.eauth == "cert" && self.certificates,
        }
    }
}

impl Inner {
    fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn clock(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    async fn sweep(&self) -> Result<u64, rocksalt_backends::store::Error> {
        let settings = self.settings();
        self.tokens.sweep(|kept| settings.stands(kept)).await
    }

    async fn verify(&self, given: &Credentials, from: Option<IpAddr>) -> Result<(Caller, Person), Refusal> {
        let begun = Instant::now();
        let settings = self.settings();
        let sound = (1..=LONGEST_NAME).contains(&given.user.len())
            && !given.user.contains(|c: char| c.is_control())
            && given.password.reveal().len() <= users::LONGEST;
        let backend = match settings.backends.get(&given.eauth) {
            Some(Ok(backend)) if sound => backend,
            _ => return Err(self.wrong(given, from, begun).await),
        };
        let caller = |person: Person| {
            let rights = Rights::Listed { groups: person.groups.clone() };
            (Caller { user: given.user.clone(), eauth: given.eauth.clone(), rights, from }, person)
        };
        if !settings.is_there(&given.user, from) {
            return Err(self.wrong(given, from, begun).await);
        }
        if let Some(person) = self.remembered(given, backend.as_ref()) {
            return Ok(caller(person));
        }
        let turn = self.throttle.turn(&given.user, from);
        let held = throttle::take(&turn).await;
        // Whoever had the turn before may have proved it.
        if let Some(person) = self.remembered(given, backend.as_ref()) {
            return Ok(caller(person));
        }
        let wait = self.throttle.wait(&given.user, from, self.clock());
        if wait > 0.0 {
            let _ = self.audit.sign(Sign::Throttled, &given.user, &given.eauth, from).await;
            let text = format!("too many failed logins; try again in {} seconds", wait.ceil());
            return Err(Refusal::new(Kind::Unauthenticated, text));
        }
        match backend.verify(&given.user, &given.password).await {
            Ok(Some(person)) => {
                self.audit.sign(Sign::In, &given.user, &given.eauth, from).await?;
                let life = settings.remember.as_secs_f64();
                let now = self.clock();
                self.proven.remember(&given.eauth, &given.user, &given.password, &person, now, life);
                self.throttle.succeeded(&given.user, from, now);
                Ok(caller(person))
            }
            Ok(None) => {
                self.throttle.failed(&given.user, from, self.clock());
                drop(held);
                Err(self.wrong(given, from, begun).await)
            }
            // Not the asker's fault, and it tells him nothing about the password.
            Err(why) => {
                tracing::warn!(eauth = backend.name(), why, "a login can't be checked");
                Err(Refusal::new(Kind::Unavailable, format!("logins by {} can't be checked now", given.eauth)))
            }
        }
    }

    fn remembered(&self, given: &Credentials, backend: &dyn Backend) -> Option<Person> {
        let person = self.proven.get(&given.eauth, &given.user, &given.password, self.clock())?;
        (person.stamp.is_empty() || backend.stands(&given.user, &person.stamp)).then_some(person)
    }

    /// One answer and about one time for whatever was wrong.
    async fn wrong(&self, given: &Credentials, from: Option<IpAddr>, begun: Instant) -> Refusal {
        let _ = self.audit.sign(Sign::Refused, &given.user, &given.eauth, from).await;
        tokio::time::sleep_until((begun + FAILED).into()).await;
        Refusal::new(Kind::Unauthenticated, "user, password or eauth is wrong")
    }

    async fn make_token(&self, caller: Caller, person: Person, wished: Option<f64>) -> Result<Login, Refusal> {
        let settings = self.settings();
        let wished = wished.filter(|_| settings.expire_override.allows(&caller.eauth, &caller.user));
        let life = match wished {
            // At most a year, whoever wishes it.
            Some(seconds) if seconds > 0.0 => Duration::from_secs_f64(seconds.min(31_536_000.0)),
            Some(_) => return Err(Refusal::new(Kind::Invalid, "`token_expire` must be more than 0 seconds")),
            None => settings.token_expire,
        };
        let start = (self.now)();
        let expire = start.saturating_add(u64::try_from(life.as_micros()).unwrap_or(u64::MAX));
        let kept = Kept {
            user: caller.user.clone(),
            eauth: caller.eauth.clone(),
            groups: person.groups,
            start,
            expire,
            used: start,
            stamp: person.stamp,
            from: text(caller.from).filter(|_| settings.bind_address),
        };
        let token = self.tokens.make(&kept).await.map_err(|why| Refusal::new(Kind::Unavailable, why))?;
        let seconds = |micros: u64| micros as f64 / 1e6;
        Ok(Login { token, start: seconds(start), expire: seconds(expire), caller })
    }
}

fn text(from: Option<IpAddr>) -> Option<String> {
    from.map(|address| address.to_canonical().to_string())
}
