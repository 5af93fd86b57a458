//! Logins and tokens.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rocksalt_backends::store::{KeyRange, Store};
use rocksalt_core::Secret;
use rocksalt_daemon::access::Rights;
use rocksalt_daemon::audit::Audit;
use rocksalt_daemon::auth::users::Users;
use rocksalt_daemon::auth::{Auth, Credentials, Settings};
use rocksalt_daemon::requests::{Refusal, RefusalKind};

use super::fixture::{self, map};

fn from(last: u8) -> Option<IpAddr> {
    Some(IpAddr::from([192, 0, 2, last]))
}

fn given(user: &str, password: &str, eauth: &str) -> Credentials {
    let password = Secret::new(password.to_owned());
    Credentials { user: user.into(), password, eauth: eauth.into(), token_expire: None }
}

fn settings(config: &str, directory: &Path) -> Arc<Settings> {
    Arc::new(Settings::read(&map(config), directory, &directory.join("users")).expect("settings"))
}

struct Place {
    directory: tempfile::TempDir,
    store: Arc<dyn Store>,
    users: Users,
}

impl Place {
    async fn new() -> Place {
        let directory = fixture::directory();
        let users = Users::at(&directory.path().join("users"));
        users.add("fred", &Secret::new("freds password".into()), &["ops".into()]).expect("a user");
        Place { store: fixture::store().await, users, directory }
    }

    fn auth(&self, config: &str) -> Auth {
        Auth::open(Arc::clone(&self.store), settings(config, self.directory.path()), Audit::default())
    }
}

const FILE: &str = "{external_auth: {file: {fred: ['.*']}}}";

#[track_caller]
fn refused<T>(result: Result<T, Refusal>, kind: RefusalKind) -> String {
    match result {
        Ok(_) => panic!("it is let in"),
        Err(refusal) => {
            assert_eq!(refusal.kind, kind, "{refusal}");
            refusal.text
        }
    }
}

#[tokio::test]
async fn a_login_gives_a_token_and_a_logout_takes_it_back() {
    let place = Place::new().await;
    let auth = place.auth(FILE);
    let login = auth.login(given("fred", "freds password", "file"), from(1)).await.expect("a login");
    let token = login.token.reveal().clone();
    assert!(token.len() == 64 && token.bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert!((login.expire - login.start - 43_200.0).abs() < 1.0);
    let caller = auth.token(&token, from(2)).await.expect("it counts");
    assert_eq!((caller.user.as_str(), caller.eauth.as_str(), caller.from), ("fred", "file", from(2)));
    assert!(matches!(&caller.rights, Rights::Listed { groups } if groups == &["ops"]));

    // The store contains neither the token nor the password.
    let kept = place.store.range(&KeyRange::prefix("")).await.expect("all").pairs;
    assert_eq!(kept.len(), 1);
    let text = format!("{} {}", kept[0].key, String::from_utf8_lossy(&kept[0].value));
    assert!(!text.contains(&token) && !text.contains("freds password"), "{text}");

    auth.logout(&token).await.expect("a logout");
    refused(auth.token(&token, from(1)).await, RefusalKind::Unauthenticated);
    auth.logout(&token).await.expect("one that isn't there is no fault");
}

#[tokio::test]
async fn whatever_is_wrong_is_answered_alike() {
    let place = Place::new().await;
    let auth = place.auth("{external_auth: {file: {fred: ['.*']}, pam: {fred: ['.*']}, auto: {fred: ['.*']}}}");
    let long = "x".repeat(300);
    let cases = [
        ("fred", "wrong password", "file"),
        ("nobody", "freds password", "file"),
        ("fred", "", "file"),
        ("", "freds password", "file"),
        ("fred", "freds password", "ldap"),
        ("fred", "freds password", "pam"),
        ("fred", "freds password", "auto"),
        ("fred", "freds password", "nonsense"),
        ("fre\nd", "freds password", "file"),
        (long.as_str(), "freds password", "file"),
    ];
    let mut texts = Vec::new();
    for (number, (user, password, eauth)) in cases.into_iter().enumerate() {
        let begun = Instant::now();
        let place = from(u8::try_from(number).expect("few"));
        texts.push(refused(auth.login(given(user, password, eauth), place).await, RefusalKind::Unauthenticated));
        assert!(begun.elapsed() >= Duration::from_millis(500), "{user} {eauth}: {:?}", begun.elapsed());
    }
    texts.dedup();
    assert_eq!(texts.len(), 1, "{texts:?}");
    for token in ["", "x", "0".repeat(64).as_str(), "g".repeat(64).as_str(), "0".repeat(100_000).as_str(), "../x"] {
        refused(auth.token(token, from(1)).await, RefusalKind::Unauthenticated);
    }
}

#[tokio::test]
async fn whoever_guesses_waits_and_others_do_not() {
    let place = Place::new().await;
    let auth = Arc::new(place.auth(FILE));
    let mut guesses = tokio::task::JoinSet::new();
    for number in 0..40 {
        let auth = Arc::clone(&auth);
        guesses.spawn(async move { auth.verify(&given("fred", &format!("guess {number}"), "file"), from(1)).await });
    }
    let mut throttled = 0;
    while let Some(result) = guesses.join_next().await {
        let text = refused(result.expect("it ends"), RefusalKind::Unauthenticated);
        throttled += usize::from(text.contains("try again in"));
    }
    assert!(throttled >= 34, "only {throttled} of 40 at once were held back");
    let text =
        refused(auth.verify(&given("fred", "freds password", "file"), from(1)).await, RefusalKind::Unauthenticated);
    assert!(text.contains("try again in"), "{text}");
    auth.verify(&given("fred", "freds password", "file"), from(2)).await.expect("from elsewhere it works");
}

#[tokio::test]
async fn a_password_that_was_right_is_cheap_for_a_while() {
    let place = Place::new().await;
    let auth = place.auth(FILE);
    let begun = Instant::now();
    auth.verify(&given("fred", "freds password", "file"), from(1)).await.expect("right");
    let first = begun.elapsed();
    let begun = Instant::now();
    for _ in 0..1000 {
        auth.verify(&given("fred", "freds password", "file"), from(1)).await.expect("right");
    }
    // Compared with the first check, since machines and builds differ.
    assert!(begun.elapsed() < first * 100, "1000 take {:?}, the first one {first:?}", begun.elapsed());
    refused(auth.verify(&given("fred", "freds passwore", "file"), from(1)).await, RefusalKind::Unauthenticated);
    // The cache ends when the password is changed.
    place.users.set_password("fred", &Secret::new("another password".into())).expect("another");
    refused(auth.verify(&given("fred", "freds password", "file"), from(1)).await, RefusalKind::Unauthenticated);
    auth.verify(&given("fred", "another password", "file"), from(1)).await.expect("the new one");
}

#[tokio::test]
async fn tokens_end_with_what_they_were_got_by() {
    let place = Place::new().await;
    let auth = place.auth(FILE);
    let login = |password: &'static str| auth.login(given("fred", password, "file"), from(1));
    let token = login("freds password").await.expect("a login").token.reveal().clone();
    auth.token(&token, None).await.expect("it counts");
    place.users.set_password("fred", &Secret::new("another password".into())).expect("another");
    refused(auth.token(&token, None).await, RefusalKind::Unauthenticated);

    let token = login("another password").await.expect("a login").token.reveal().clone();
    auth.token(&token, None).await.expect("it counts");
    auth.configure(settings("{external_auth: {sharedsecret: {fred: ['.*']}}}", place.directory.path()));
    refused(auth.token(&token, None).await, RefusalKind::Unauthenticated);
    auth.configure(settings(FILE, place.directory.path()));
    auth.token(&token, None).await.expect("the way in is open again");
    place.users.remove("fred").expect("he goes");
    refused(auth.token(&token, None).await, RefusalKind::Unauthenticated);
}

#[tokio::test]
async fn another_controller_hears_of_a_logout_at_once() {
    let place = Place::new().await;
    let (one, other) = (place.auth(FILE), place.auth(FILE));
    tokio::time::sleep(Duration::from_millis(50)).await;
    let login = |auth| async move { Auth::login(auth, given("fred", "freds password", "file"), from(1)).await };
    let first = login(&one).await.expect("a login").token.reveal().clone();
    let second = login(&one).await.expect("a login").token.reveal().clone();
    for token in [&first, &second] {
        // Both controllers have it in memory.
        one.token(token, None).await.expect("it counts");
        other.token(token, None).await.expect("it counts there too");
    }
    one.logout(&first).await.expect("a logout");
    let limit = Instant::now() + Duration::from_millis(500);
    while other.token(&first, None).await.is_ok() {
        assert!(Instant::now() < limit, "the other one still takes it");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    other.token(&second, None).await.expect("the other token stays");
    assert_eq!(other.logout_user("fred", "file").await.expect("all of his"), 1);
    refused(other.token(&second, None).await, RefusalKind::Unauthenticated);
}

static CLOCK: AtomicU64 = AtomicU64::new(1_700_000_000_000_000);

fn clock() -> u64 {
    CLOCK.load(Ordering::SeqCst)
}

#[tokio::test]
async fn time_ends_tokens() {
    let place = Place::new().await;
    let wait = |seconds: u64| CLOCK.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    let config = "{external_auth: {file: {fred: ['.*']}}, token_expire: 100, token_idle: 30, \
                  token_expire_user_override: {file: [fred]}}";
    let open = |config: &str| {
        let settings = settings(config, place.directory.path());
        Auth::with_clock(Arc::clone(&place.store), settings, Audit::default(), clock)
    };
    let auth = open(config);
    let login = |seconds: Option<f64>| {
        let credentials = Credentials { token_expire: seconds, ..given("fred", "freds password", "file") };
        auth.login(credentials, from(1))
    };
    let used = login(None).await.expect("a login").token.reveal().clone();
    let idle = login(None).await.expect("a login").token.reveal().clone();
    for _ in 0..4 {
        wait(20);
        auth.token(&used, None).await.expect("it is used and goes on");
    }
    refused(auth.token(&idle, None).await, RefusalKind::Unauthenticated);
    wait(20);
    refused(auth.token(&used, None).await, RefusalKind::Unauthenticated);

    let short = login(Some(2.0)).await.expect("a login");
    assert!((short.expire - short.start - 2.0).abs() < 0.01);
    wait(2);
    refused(auth.token(short.token.reveal(), None).await, RefusalKind::Unauthenticated);
    for wrong in [0.0, -5.0, f64::NAN] {
        refused(login(Some(wrong)).await, RefusalKind::Invalid);
    }
    let long = login(Some(f64::INFINITY)).await.expect("a login");
    assert!(long.expire - long.start < 40_000_000.0);

    // A user who isn't listed can't choose the lifetime.
    let others =
        open("{external_auth: {file: {fred: ['.*']}}, token_expire: 100, token_expire_user_override: {file: [ann]}}");
    let credentials = Credentials { token_expire: Some(5.0), ..given("fred", "freds password", "file") };
    let login = others.login(credentials, from(1)).await.expect("a login");
    assert!((login.expire - login.start - 100.0).abs() < 0.01);
}

#[tokio::test]
async fn addresses_can_be_limited() {
    let place = Place::new().await;
    let auth = place.auth(
        "{external_auth: {file: {fred: ['.*']}}, token_bind_address: true, \
         rest_cherrypy: {api_acl: {users: {fred: [192.0.2.7, '198.51.100.*'], '*': [127.0.0.1]}}, \
         authorized_ips: [192.0.2.0/24]}}",
    );
    let verify = |address: Option<IpAddr>| async move { address };
    for (address, allowed) in
        [("192.0.2.7", true), ("198.51.100.200", true), ("192.0.2.8", false), ("::ffff:192.0.2.7", true)]
    {
        let address = verify(address.parse().ok()).await;
        let found = auth.verify(&given("fred", "freds password", "file"), address).await;
        assert_eq!(found.is_ok(), allowed, "{address:?}");
    }
    assert!(auth.allowed_address(from(9)) && auth.allowed_address(None));
    assert!(!auth.allowed_address(Some(IpAddr::from([198, 51, 100, 1]))));
    let token = auth.login(given("fred", "freds password", "file"), from(7)).await.expect("a login").token;
    auth.token(token.reveal(), from(7)).await.expect("it counts where it was got");
    refused(auth.token(token.reveal(), from(8)).await, RefusalKind::Unauthenticated);
}

#[tokio::test]
async fn other_files_and_secrets() {
    let place = Place::new().await;
    let at = place.directory.path();
    let write = |name: &str, text: &str| std::fs::write(at.join(name), text).expect("a file");
    write("plain", "ann:annspassword\nfred:freds:x\n");
    write("odd", "x|9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08|ann\n");
    write("apache", "ann:$apr1$saltsalt$yAAkm4libquA.ZWLHbSBq/\nbob:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n");
    // md5 of ann:realm:password
    write("digest", "ann:realm:780783d31c95d12d20ae095c92ddf6b4\n");
    let ok = [
        ("^filename: plain, ^hashtype: plaintext", "ann", "annspassword"),
        ("^filename: plain, ^hashtype: plaintext", "fred", "freds"),
        (
            "^filename: odd, ^hashtype: sha256, ^field_separator: '|', ^username_field: 3, ^password_field: 2",
            "ann",
            "test",
        ),
        ("^filename: apache, ^filetype: htpasswd", "ann", "password"),
        ("^filename: apache, ^filetype: htpasswd", "bob", "password"),
        ("^filename: digest, ^filetype: htdigest, ^realm: realm", "ann", "password"),
        ("^filename: users, ^hashtype: argon2", "fred", "freds password"),
    ];
    for (number, (options, user, password)) in ok.into_iter().enumerate() {
        let auth = place.auth(&format!("{{external_auth: {{file: {{{options}, ann: ['.*']}}}}}}"));
        let place = from(u8::try_from(number).expect("few"));
        auth.verify(&given(user, password, "file"), place)
            .await
            .unwrap_or_else(|refusal| panic!("{options}: {refusal}"));
        refused(auth.verify(&given(user, "wrong", "file"), place).await, RefusalKind::Unauthenticated);
        refused(auth.verify(&given("nobody", password, "file"), place).await, RefusalKind::Unauthenticated);
        refused(auth.verify(&given(user, "", "file"), place).await, RefusalKind::Unauthenticated);
    }
    let secret = place.auth("{external_auth: {sharedsecret: {ann: ['.*']}}, sharedsecret: a long enough secret}");
    secret.verify(&given("ann", "a long enough secret", "sharedsecret"), from(90)).await.expect("the secret");
    refused(
        secret.verify(&given("ann", "a long enough secreT", "sharedsecret"), from(91)).await,
        RefusalKind::Unauthenticated,
    );

    // An unsafe or unknown backend accepts nobody, and is reported at the start.
    for (block, text) in [
        ("{file: {^filename: plain}}", "plaintext"),
        ("{file: {^filename: plain, ^hashtype: crc}}", "crc"),
        ("{file: {^filename: digest, ^filetype: htdigest}}", "^realm"),
        ("{sharedsecret: {ann: ['.*']}}", "sharedsecret"),
        ("{auto: {ann: ['.*']}}", "auth_auto_for_tests"),
        ("{django: {ann: ['.*']}}", "unknown backend"),
    ] {
        let warnings = settings(&format!("{{external_auth: {block}}}"), at).warnings();
        assert!(warnings.len() == 1 && warnings[0].contains(text), "{block}: {warnings:?}");
    }
}

#[tokio::test]
async fn certificates_count_where_the_configuration_says_so() {
    let place = Place::new().await;
    let auth = place.auth("{external_auth: {cert: {ann: ['.*']}}}");
    let caller = auth.certificate("ann", from(1)).await.expect("she is let in");
    assert_eq!((caller.user.as_str(), caller.eauth.as_str()), ("ann", "cert"));
    let login = auth.token_for(caller, None).await.expect("a token");
    assert_eq!(auth.token(login.token.reveal(), from(1)).await.expect("it counts").eauth, "cert");
    // This backend does not accept passwords.
    refused(auth.verify(&given("ann", "x", "cert"), from(1)).await, RefusalKind::Unauthenticated);
    refused(place.auth(FILE).certificate("ann", from(1)).await, RefusalKind::Unauthenticated);
}

#[tokio::test]
async fn nobody_gets_in_without_a_store() {
    let auth = Auth::default();
    refused(auth.verify(&given("fred", "x", "file"), None).await, RefusalKind::Unauthenticated);
    refused(auth.token(&"0".repeat(64), None).await, RefusalKind::Unauthenticated);
    refused(auth.certificate("ann", None).await, RefusalKind::Unauthenticated);
}
