//! Which clients the listeners accept, and what they reveal to each.

use std::sync::Arc;

use rocksalt_daemon::serve::StartNotice;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;

use super::fixture::{Project, ask, mode, over, password, tcp, token};

fn roots(path: &std::path::Path) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(path).expect("a certificate")).expect("it is one");
    roots
}

fn client(roots: RootCertStore, own: Option<(CertificateDer<'static>, PrivateKeyDer<'static>)>) -> TlsConnector {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().expect("fine");
    let builder = builder.with_root_certificates(roots);
    let mut config = match own {
        Some((certificate, key)) => builder.with_client_auth_cert(vec![certificate], key).expect("they fit"),
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    TlsConnector::from(Arc::new(config))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_made_and_renewed_with_the_same_key() {
    let project = Project::new();
    let mut settings = project.settings();
    settings.tls = rocksalt_daemon::serve::TlsMode::Always;
    let (daemon, said) = project.start_with(settings.clone()).await.expect("it starts");
    let made = said.iter().find_map(|notice| match notice {
        StartNotice::Certificate { path, fingerprint, pin, .. } => {
            Some((path.clone(), fingerprint.clone(), pin.clone()))
        }
        _ => None,
    });
    let (path, fingerprint, pin) = made.expect("it is told");
    assert_eq!(fingerprint.len(), 32 * 3 - 1);
    assert!(pin.starts_with("sha256//"));
    assert_eq!(mode(&project.state().join("key.pem")), 0o600);
    for name in ["localhost", "127.0.0.1"] {
        let stream = TcpStream::connect(tcp(&daemon)).await.expect("it listens");
        let name = ServerName::try_from(name).expect("a name");
        let stream = client(roots(&path), None).connect(name, stream).await.expect("it is trusted");
        assert_eq!(over(stream, "GET /healthz", "").await.status, 200);
    }
    let plain = ask(tcp(&daemon), "GET /healthz", "").await;
    assert_eq!(plain.status, 0, "nothing is said without TLS: {}", plain.head);
    daemon.stop().await;
    // A new certificate for the old key: clients that pinned the key continue.
    std::fs::remove_file(&path).expect("it is there");
    let (daemon, said) = project.start_with(settings).await.expect("it starts");
    let again = said.iter().find_map(|notice| match notice {
        StartNotice::Certificate { pin, .. } => Some(pin.clone()),
        _ => None,
    });
    assert_eq!(again, Some(pin));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_certificate_is_a_login() {
    let project = Project::new();
    *project.config.lock().expect("fine") = Ok("external_auth: {cert: {deploy: [test.*]}}".into());
    let (authority, key) = authority();
    let path = project.directory.path().join("clients.pem");
    std::fs::write(&path, authority.pem()).expect("written");
    let mut settings = project.settings();
    settings.tls = rocksalt_daemon::serve::TlsMode::Always;
    settings.client_ca = Some(path);
    let (daemon, _) = project.start_with(settings).await.expect("it starts");
    let trusted = roots(&project.state().join("certificate.pem"));
    let health = async |name: Option<&str>| {
        let own = name.map(|name| signed(name, &authority, &key));
        let stream = TcpStream::connect(tcp(&daemon)).await.expect("it listens");
        let name = ServerName::try_from("localhost").expect("a name");
        let stream = client(trusted.clone(), own).connect(name, stream).await.expect("it is trusted");
        over(stream, "GET /healthz", "").await.body
    };
    assert!(health(Some("deploy")).await.contains("details"));
    assert!(!health(None).await.contains("details"), "who shows none is nobody");
    daemon.stop().await;
}

type Authority = rcgen::CertifiedIssuer<'static, rcgen::KeyPair>;

fn authority() -> (Authority, ()) {
    let mut params = rcgen::CertificateParams::new(Vec::<String>::new()).expect("fine");
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().expect("a key");
    (rcgen::CertifiedIssuer::self_signed(params, key).expect("signed"), ())
}

fn signed(name: &str, authority: &Authority, _: &()) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
    let mut params = rcgen::CertificateParams::new(Vec::<String>::new()).expect("fine");
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    let key = rcgen::KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&key, authority).expect("signed");
    (certificate.der().clone(), PrivateKeyDer::try_from(key.serialize_der()).expect("a key"))
}

#[tokio::test(flavor = "multi_thread")]
async fn our_own_user_needs_no_login_on_the_socket() {
    let project = Project::new();
    let (daemon, _) = project.start().await;
    let socket = project.state().join("daemon.sock");
    assert_eq!(mode(&socket), 0o600);
    let stream = UnixStream::connect(&socket).await.expect("it listens");
    let reply = over(stream, "GET /healthz", "").await;
    assert_eq!(reply.status, 200);
    assert!(reply.body.contains("details"), "{}", reply.body);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_metrics_tell_strangers_little() {
    let project = Project::new();
    let mut settings = project.settings();
    settings.metrics_auth = true;
    let (daemon, said) = project.start_with(settings).await.expect("it starts");
    let address = tcp(&daemon);
    let reply = ask(address, "GET /healthz", "").await;
    assert_eq!((reply.status, reply.body.contains("details")), (200, false), "{}", reply.body);
    assert!(reply.head.contains("x-request-id: "), "{}", reply.head);
    assert_eq!(ask(address, "GET /metrics", "").await.status, 401);
    assert_eq!(ask(address, "GET /metrics\nX-Auth-Token: 1234", "").await.status, 401);
    let token = token(address, &password(&said).expect("said")).await;
    let reply = ask(address, &format!("GET /metrics\nAuthorization: Bearer {token}"), "").await;
    assert_eq!(reply.status, 200);
    for name in [
        "rocksalt_http_requests_total{method=\"POST\",route=\"/login\",status=\"200\"} 1",
        "rocksalt_http_request_duration_seconds_count",
        "rocksalt_store_commit_duration_seconds_count",
        "rocksalt_targets{state=\"down\"}",
        "rocksalt_process_resident_memory_bytes",
        "rocksalt_process_open_fds",
        "rocksalt_jobs_kept{state=\"done\"}",
        "# EOF",
    ] {
        assert!(reply.body.contains(name), "{name} is missing: {}", reply.body);
    }
    assert!(!reply.body.contains(&token), "no token in the metrics");
    daemon.stop().await;
}
