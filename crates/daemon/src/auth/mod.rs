//! [`Auth`]: authenticates callers by a password, a token or a certificate.

mod backends;
pub mod certificate;
mod password_cache;
mod passwords;
mod settings;
mod throttle;
mod tokens;
pub mod users;

use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use rocksalt_backends::store::Store;
use rocksalt_core::{Map, Secret};
use tokio::task::JoinHandle;

use crate::access::Rights;
use crate::audit::{Audit, LoginEvent};
use crate::clock::now;
use crate::requests::{Caller, Refusal, RefusalKind};

use backends::{Backend, VerifiedUser};
use password_cache::PasswordCache;
pub use settings::{Settings, names};
use throttle::Throttle;
use tokens::{TokenRecord, TokenStore};

/// Duration of a failed login, whatever the reason.
const FAILED_LOGIN_DURATION: Duration = Duration::from_millis(500);

/// How often expired tokens are removed.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// The longest username, in bytes.
const MAX_NAME_LENGTH: usize = 256;

/// Without a store nobody can log in.
#[derive(Default)]
pub struct Auth(Option<Arc<AuthState>>, Vec<JoinHandle<()>>);

struct AuthState {
    settings: RwLock<Arc<Settings>>,
    tokens: TokenStore,
    throttle: Throttle,
    password_cache: PasswordCache,
    audit: Audit,
    /// Start of the monotonic clock.
    started: Instant,
    now: fn() -> u64,
}

/// Credentials of a login.
pub struct Credentials {
    pub user: String,
    pub password: Secret<String>,
    pub eauth: String,
    /// Requested lifetime of the token in seconds.
    pub token_expire: Option<f64>,
}

impl Credentials {
    fn are_well_formed(&self) -> bool {
        (1..=MAX_NAME_LENGTH).contains(&self.user.len())
            && !self.user.contains(|c: char| c.is_control())
            && self.password.reveal().len() <= users::MAX_PASSWORD
    }
}

/// A new token. It is not stored in clear, so this is the only time it is visible.
pub struct IssuedToken {
    pub token: Secret<String>,
    /// Seconds since the Unix epoch.
    pub start: f64,
    pub expire: f64,
    pub caller: Caller,
}

impl IssuedToken {
    /// As Salt returns it.
    pub fn to_map(&self) -> Map {
        let mut map = Map::new();
        map.insert("token", self.token.reveal().as_str());
        map.insert("start", self.start);
        map.insert("expire", self.expire);
        map.insert("name", self.caller.user.as_str());
        map.insert("eauth", self.caller.eauth.as_str());
        map
    }
}

impl Drop for Auth {
    fn drop(&mut self) {
        self.1.iter().for_each(JoinHandle::abort);
    }
}

impl Auth {
    /// Starts two tasks, which end with it: one watches the store, one removes expired tokens.
    pub fn open(store: Arc<dyn Store>, settings: Arc<Settings>, audit: Audit) -> Auth {
        Auth::with_clock(store, settings, audit, now)
    }

    /// With another clock, in microseconds since the Unix epoch.
    pub fn with_clock(store: Arc<dyn Store>, settings: Arc<Settings>, audit: Audit, now: fn() -> u64) -> Auth {
        let state = Arc::new(AuthState {
            settings: RwLock::new(settings),
            tokens: TokenStore::new(store, now),
            throttle: Throttle::default(),
            password_cache: PasswordCache::default(),
            audit,
            started: Instant::now(),
            now,
        });
        let (watching, sweeping) = (Arc::clone(&state), Arc::clone(&state));
        let watch = tokio::spawn(async move { watching.tokens.watch().await });
        let sweep = tokio::spawn(async move {
            loop {
                // On failure, the next sweep tries again.
                let _ = sweeping.sweep().await;
                tokio::time::sleep(SWEEP_INTERVAL).await;
            }
        });
        Auth(Some(state), vec![watch, sweep])
    }

    /// Applies new settings. Cached passwords are dropped; tokens stay unless their backend was removed.
    pub fn configure(&self, settings: Arc<Settings>) {
        if let Some(state) = &self.0 {
            *state.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
            state.password_cache.clear();
        }
    }

    /// Salt's `authorized_ips`: whether requests from an address are allowed.
    pub fn allowed_address(&self, from: Option<IpAddr>) -> bool {
        self.0.as_ref().is_some_and(|state| state.settings().authorized(from))
    }

    /// Checks a password without issuing a token (Salt's `/run` with credentials). Failures are slow on purpose.
    pub async fn verify(&self, credentials: &Credentials, from: Option<IpAddr>) -> Result<Caller, Refusal> {
        Ok(self.state()?.verify(credentials, from).await?.0)
    }

    pub async fn login(&self, credentials: Credentials, from: Option<IpAddr>) -> Result<IssuedToken, Refusal> {
        let state = self.state()?;
        let (caller, verified) = state.verify(&credentials, from).await?;
        state.issue_token(caller, verified, credentials.token_expire).await
    }

    /// Issues a token to a caller who authenticated by a certificate or the unix socket: Salt's `mk_token`.
    pub async fn token_for(&self, caller: Caller, expire: Option<f64>) -> Result<IssuedToken, Refusal> {
        let groups = match &caller.rights {
            Rights::Listed { groups } => groups.clone(),
            _ => Vec::new(),
        };
        self.state()?.issue_token(caller, VerifiedUser { groups, stamp: Vec::new() }, expire).await
    }

    /// The caller of a token; refused if it is unknown or expired.
    pub async fn token(&self, token: &str, from: Option<IpAddr>) -> Result<Caller, Refusal> {
        let state = self.state()?;
        let refused = || Refusal::new(RefusalKind::Unauthenticated, "the token is unknown or expired");
        let settings = state.settings();
        let record = match tokens::is_token(token) {
            true => state.tokens.get(token, settings.token_idle).await?,
            false => None,
        };
        let record = record
            .filter(|record| settings.is_valid(record))
            .filter(|record| record.from.is_none() || record.from == address_text(from));
        let Some(record) = record else {
            let _ = state.audit.log_login(LoginEvent::BadToken, "", "", from).await;
            return Err(refused());
        };
        Ok(Caller { user: record.user, eauth: record.eauth, rights: Rights::Listed { groups: record.groups }, from })
    }

    /// The caller of a verified client certificate.
    pub async fn certificate(&self, name: &str, from: Option<IpAddr>) -> Result<Caller, Refusal> {
        let state = self.state()?;
        let settings = state.settings();
        if !settings.certificates {
            let text = "client certificates are not accepted: external_auth has no `cert`";
            return Err(Refusal::new(RefusalKind::Unauthenticated, text));
        }
        if !settings.allows_address(name, from) {
            let _ = state.audit.log_login(LoginEvent::Refused, name, "cert", from).await;
            return Err(Refusal::new(RefusalKind::Unauthenticated, "not allowed from this address"));
        }
        let rights = Rights::Listed { groups: Vec::new() };
        Ok(Caller { user: name.to_owned(), eauth: "cert".to_owned(), rights, from })
    }

    /// Revokes a token on all controllers. An unknown token is no error.
    pub async fn logout(&self, token: &str) -> Result<(), Refusal> {
        let state = self.state()?;
        if !tokens::is_token(token) {
            return Ok(());
        }
        let record = state.tokens.get(token, state.settings().token_idle).await?;
        if state.tokens.remove(token).await?
            && let Some(record) = record
        {
            state.audit.log_login(LoginEvent::Logout, &record.user, &record.eauth, None).await?;
        }
        Ok(())
    }

    /// Revokes all tokens of a user; returns how many.
    pub async fn logout_user(&self, user: &str, eauth: &str) -> Result<u64, Refusal> {
        Ok(self.state()?.tokens.remove_user(eauth, user).await?)
    }

    fn state(&self) -> Result<&Arc<AuthState>, Refusal> {
        self.0.as_ref().ok_or_else(|| Refusal::new(RefusalKind::Unauthenticated, "logins are disabled"))
    }
}

impl Settings {
    fn is_valid(&self, record: &TokenRecord) -> bool {
        match self.backends.get(&record.eauth) {
            Some(Ok(backend)) => record.stamp.is_empty() || backend.is_still_valid(&record.user, &record.stamp),
            Some(Err(_)) => false,
            None => record.eauth == "cert" && self.certificates,
        }
    }
}

impl AuthState {
    fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn clock(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    async fn sweep(&self) -> Result<u64, rocksalt_backends::store::Error> {
        let settings = self.settings();
        self.tokens.sweep(|record| settings.is_valid(record)).await
    }

    async fn verify(&self, credentials: &Credentials, from: Option<IpAddr>) -> Result<(Caller, VerifiedUser), Refusal> {
        let begun = Instant::now();
        let settings = self.settings();
        let backend = match settings.backends.get(&credentials.eauth) {
            Some(Ok(backend)) if credentials.are_well_formed() => backend,
            _ => return Err(self.refuse(credentials, from, begun).await),
        };
        let caller = |verified: VerifiedUser| {
            let rights = Rights::Listed { groups: verified.groups.clone() };
            (Caller { user: credentials.user.clone(), eauth: credentials.eauth.clone(), rights, from }, verified)
        };
        if !settings.allows_address(&credentials.user, from) {
            return Err(self.refuse(credentials, from, begun).await);
        }
        if let Some(verified) = self.cached(credentials, backend.as_ref()) {
            return Ok(caller(verified));
        }
        let permit = self.throttle.permit(&credentials.user, from);
        let held = throttle::acquire(&permit).await;
        // A concurrent attempt may have succeeded meanwhile.
        if let Some(verified) = self.cached(credentials, backend.as_ref()) {
            return Ok(caller(verified));
        }
        let wait = self.throttle.wait(&credentials.user, from, self.clock());
        if wait > 0.0 {
            let _ = self.audit.log_login(LoginEvent::Throttled, &credentials.user, &credentials.eauth, from).await;
            let text = format!("too many failed logins; try again in {} seconds", wait.ceil());
            return Err(Refusal::new(RefusalKind::Unauthenticated, text));
        }
        match self.check_password(credentials, backend.as_ref(), from, settings.remember).await? {
            Some(verified) => Ok(caller(verified)),
            None => {
                drop(held);
                Err(self.refuse(credentials, from, begun).await)
            }
        }
    }

    /// Asks the backend, and counts and caches the result.
    async fn check_password(
        &self,
        credentials: &Credentials,
        backend: &dyn Backend,
        from: Option<IpAddr>,
        remember: Duration,
    ) -> Result<Option<VerifiedUser>, Refusal> {
        let Credentials { user, password, eauth, .. } = credentials;
        match backend.verify(user, password).await {
            Ok(Some(verified)) => {
                self.audit.log_login(LoginEvent::Login, user, eauth, from).await?;
                let now = self.clock();
                self.password_cache.insert(eauth, user, password, &verified, now, remember.as_secs_f64());
                self.throttle.succeeded(user, from, now);
                Ok(Some(verified))
            }
            Ok(None) => {
                self.throttle.failed(user, from, self.clock());
                Ok(None)
            }
            // Not the client's fault, and it reveals nothing about the password.
            Err(why) => {
                tracing::warn!(eauth = backend.name(), why, "could not check a login");
                Err(Refusal::new(
                    RefusalKind::Unavailable,
                    format!("logins with {eauth} can't be checked at the moment"),
                ))
            }
        }
    }

    fn cached(&self, credentials: &Credentials, backend: &dyn Backend) -> Option<VerifiedUser> {
        let verified =
            self.password_cache.get(&credentials.eauth, &credentials.user, &credentials.password, self.clock())?;
        (verified.stamp.is_empty() || backend.is_still_valid(&credentials.user, &verified.stamp)).then_some(verified)
    }

    /// The same error after the same time, whatever was wrong.
    async fn refuse(&self, credentials: &Credentials, from: Option<IpAddr>, begun: Instant) -> Refusal {
        let _ = self.audit.log_login(LoginEvent::Refused, &credentials.user, &credentials.eauth, from).await;
        tokio::time::sleep_until((begun + FAILED_LOGIN_DURATION).into()).await;
        Refusal::new(RefusalKind::Unauthenticated, "user, password or eauth is wrong")
    }

    async fn issue_token(
        &self,
        caller: Caller,
        verified: VerifiedUser,
        requested_expire: Option<f64>,
    ) -> Result<IssuedToken, Refusal> {
        let settings = self.settings();
        let requested_expire =
            requested_expire.filter(|_| settings.expire_override.allows(&caller.eauth, &caller.user));
        let life = match requested_expire {
            // At most a year.
            Some(seconds) if seconds > 0.0 => Duration::from_secs_f64(seconds.min(31_536_000.0)),
            Some(_) => return Err(Refusal::new(RefusalKind::Invalid, "`token_expire` must be more than 0 seconds")),
            None => settings.token_expire,
        };
        let start = (self.now)();
        let expire = start.saturating_add(u64::try_from(life.as_micros()).unwrap_or(u64::MAX));
        let record = TokenRecord {
            user: caller.user.clone(),
            eauth: caller.eauth.clone(),
            groups: verified.groups,
            start,
            expire,
            used: start,
            stamp: verified.stamp,
            from: address_text(caller.from).filter(|_| settings.bind_address),
        };
        let token = self.tokens.create(&record).await.map_err(|why| Refusal::new(RefusalKind::Unavailable, why))?;
        let seconds = |micros: u64| micros as f64 / 1e6;
        Ok(IssuedToken { token, start: seconds(start), expire: seconds(expire), caller })
    }
}

fn address_text(from: Option<IpAddr>) -> Option<String> {
    from.map(|address| address.to_canonical().to_string())
}
