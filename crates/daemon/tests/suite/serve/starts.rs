//! What a first start creates, and what later starts reuse.

use rocksalt_daemon::serve::Error;

use super::fixture::{Project, ask, mode, password, tcp, token};

#[tokio::test(flavor = "multi_thread")]
async fn the_first_start_makes_a_user_and_the_second_keeps_him() {
    let project = Project::new();
    let (daemon, said) = project.start().await;
    let secret = password(&said).expect("the password is said");
    let first = token(tcp(&daemon), &secret).await;
    let state = project.state();
    assert_eq!(mode(&state), 0o700);
    for name in ["users", "daemon.sock", "daemon.pid", "store"] {
        assert_eq!(mode(&state.join(name)) & 0o077, 0, "{name} is ours alone");
    }
    let users = std::fs::read_to_string(state.join("users")).expect("it is there");
    assert!(!users.contains(secret.reveal().as_str()) && users.contains("argon2id"), "only a hash is kept");
    daemon.stop().await;
    assert!(!state.join("daemon.sock").exists());

    let (daemon, said) = project.start().await;
    assert!(password(&said).is_none(), "it is said only once");
    token(tcp(&daemon), &secret).await;
    let reply = ask(tcp(&daemon), &format!("GET /healthz\nX-Auth-Token: {first}"), "").await;
    assert!(reply.body.contains("details"), "a token outlives the daemon: {}", reply.body);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_daemon_is_refused() {
    let project = Project::new();
    let (daemon, _) = project.start().await;
    let error = project.start_with(project.settings()).await.err().expect("there is one already");
    assert!(matches!(error, Error::Second { .. }), "{error}");
    assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
    assert!(error.hint().is_some());
    assert_eq!(ask(tcp(&daemon), "GET /healthz", "").await.status, 200, "the first is not disturbed");
    daemon.stop().await;
    let (daemon, _) = project.start().await;
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_http_that_others_can_read_is_refused() {
    let project = Project::new();
    let mut settings = project.settings();
    settings.listen = vec!["0.0.0.0:0".parse().expect("an address")];
    settings.tls = rocksalt_daemon::serve::TlsMode::Never;
    let error = project.start_with(settings).await.err().expect("it is refused");
    assert!(matches!(error, Error::Plain(_)), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_configuration_is_told() {
    let project = Project::new();
    *project.config.lock().expect("fine") = Ok("external_auth: 7".into());
    let error = project.start_with(project.settings()).await.err().expect("it is wrong").to_string();
    assert!(error.contains("external_auth"), "{error}");
    *project.config.lock().expect("fine") = Ok(String::new());
    project.start().await.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_takes_what_is_good_and_nothing_else() {
    let project = Project::new();
    let (daemon, said) = project.start().await;
    let address = tcp(&daemon);
    let token = token(address, &password(&said).expect("said")).await;
    let large = "x".repeat(100);
    let post = format!("POST /hook/a\nX-Auth-Token: {token}\nContent-Type: text/plain");
    assert_ne!(ask(address, &post, &large).await.status, 413);
    *project.config.lock().expect("fine") = Err("a key is misspelt".into());
    daemon.reload().await;
    assert_ne!(ask(address, &post, &large).await.status, 413, "the old one goes on");
    *project.config.lock().expect("fine") = Ok("max_request_body_size: 50".into());
    daemon.reload().await;
    assert_eq!(ask(address, &post, &large).await.status, 413);
    daemon.stop().await;
}
