//! The client library against the API, over real connections, including broken ones.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Extension;
use rocksalt_client::{Client, Error, EventNotice, RefusalKind, RerunOptions, TargetFilter, Tls};
use rocksalt_core::job_options::JobOptions;
use rocksalt_core::job_update::JobUpdate;
use rocksalt_core::request::{ControllerCall, JobFilter, RunRequest};
use rocksalt_core::{Event, Map, Secret, Value};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener};

use super::world::World;
use crate::api::Peer;
use crate::requests::Caller;

async fn serve(world: &World) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let router = world.router.clone().layer(Extension(Peer::default()));
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

/// Forwards connections, and cuts each after a number of bytes.
async fn cutting(to: SocketAddr, most: usize, cuts: Arc<AtomicUsize>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let cuts = Arc::clone(&cuts);
            tokio::spawn(async move {
                let mut far = TcpStream::connect(to).await.expect("the server");
                let (mut near_read, mut near_write) = near.split();
                let (mut far_read, mut far_write) = far.split();
                let back = async {
                    let (mut buffer, mut left) = (vec![0; 256], most);
                    while left > 0 {
                        let end = left.min(256);
                        let count = far_read.read(&mut buffer[..end]).await.unwrap_or(0);
                        if count == 0 || near_write.write_all(&buffer[..count]).await.is_err() {
                            return;
                        }
                        left -= count;
                    }
                    cuts.fetch_add(1, Ordering::Relaxed);
                };
                tokio::select! {
                    _ = tokio::io::copy(&mut near_read, &mut far_write) => {}
                    () = back => {}
                }
            });
        }
    });
    address
}

async fn client(address: SocketAddr) -> Client {
    let client = Client::http(&format!("http://{address}"), Tls::Loopback).expect("it is an address");
    client.login("admin", &Secret::new("a long password".into()), Some("sharedsecret")).await.expect("logged in");
    client
}

fn ping(target: &str) -> RunRequest {
    RunRequest { function: "test.ping".into(), target: target.into(), ..RunRequest::default() }
}

#[tokio::test]
async fn a_job_is_started_and_watched_to_its_end() {
    let world = World::new().await;
    let client = client(serve(&world).await).await;
    assert_eq!(client.session().await.expect("known").user, "admin");
    assert_eq!(client.info().await.expect("known").version, env!("CARGO_PKG_VERSION"));
    let mut watch = client.run(&ping("*")).await.expect("started").expect("somebody");
    let (mut returned, mut ended) = (Vec::new(), None);
    while let Some(news) = watch.next().await.expect("news") {
        match news {
            JobUpdate::Done(record) => returned.push((record.target.clone(), record.outcome.success())),
            JobUpdate::Ended(job) => ended = Some(*job),
            _ => {}
        }
    }
    assert_eq!((returned.len(), returned.iter().filter(|(_, fine)| *fine).count()), (11, 9));
    let job = ended.expect("it has ended");
    let (record, returns) = client.job(job.id).await.expect("it is kept");
    assert_eq!((record, returns.len()), (job.clone(), 11));
    // Watching again after its end yields all of its returns.
    let (mut again, mut count) = (client.watch(job.id), 0);
    while let Some(news) = again.next().await.expect("news") {
        count += usize::from(matches!(news, JobUpdate::Done(_) | JobUpdate::Ended(_)));
    }
    assert_eq!(count, 12);
    assert_eq!(client.jobs(&JobFilter::default()).await.expect("listed"), std::slice::from_ref(&job));
    let rerun =
        client.rerun(job.id, &RerunOptions { failed: true, job: None }).await.expect("again").expect("somebody");
    assert_eq!(rerun.targets, ["web-9", "gone"]);
    assert!(client.start(&ping("nobody")).await.expect("understood").is_none());
    assert_eq!(client.cancel(job.id, true).await.expect_err("it has ended").kind(), Some(RefusalKind::Taken));
}

#[tokio::test]
async fn what_commands_print_is_heard_before_their_return() {
    let world = World::new().await;
    let client = client(serve(&world).await).await;
    let run = RunRequest { options: JobOptions { stream: true, ..JobOptions::default() }, ..ping("web-1") };
    let mut watch = client.run(&run).await.expect("started").expect("somebody");
    let mut heard = Vec::new();
    while let Some(news) = watch.next().await.expect("news") {
        heard.push(match news {
            JobUpdate::Begun { .. } => "begun".to_owned(),
            JobUpdate::Output { bytes, .. } => String::from_utf8_lossy(&bytes).into_owned(),
            JobUpdate::Done(_) => "done".into(),
            JobUpdate::Ended(_) => "ended".into(),
            other => format!("{other:?}"),
        });
    }
    // A watcher that starts after the end gets only the return.
    assert!(heard == ["begun", "hello", "done", "ended"] || heard == ["done", "ended"], "{heard:?}");
}

#[tokio::test]
async fn nothing_is_lost_on_the_way() {
    let world = World::new().await;
    let client = client(serve(&world).await).await;
    let odd: Map = [
        (Value::Int(1), Value::Bytes(vec![0, 255])),
        (Value::Null, Value::integer("99999999999999999999").expect("one")),
    ]
    .into_iter()
    .collect();
    let run = RunRequest {
        function: "test.arg".into(),
        args: vec![odd.clone().into(), Value::Float(1.5)],
        target: "web-1".into(),
        ..RunRequest::default()
    };
    let mut watch = client.run(&run).await.expect("started").expect("somebody");
    while let Some(news) = watch.next().await.expect("news") {
        if let JobUpdate::Done(record) = news {
            let rocksalt_core::record::TargetOutcome::Returned(result) = record.outcome else { panic!("{record:?}") };
            assert_eq!(result.value, Value::List(vec![odd.clone().into(), Value::Float(1.5)]));
        }
    }
}

#[tokio::test]
async fn events_go_on_over_broken_connections_without_gap_or_double() {
    let world = World::new().await;
    let server = serve(&world).await;
    let cuts = Arc::new(AtomicUsize::new(0));
    let token = Secret::new(world.admin.clone());
    let through = |address: SocketAddr| {
        let client = Client::http(&format!("http://{address}"), Tls::Loopback).expect("it is an address");
        client.set_token(Some(token.clone()));
        client
    };
    let listener = through(cutting(server, 3000, Arc::clone(&cuts)).await);
    let mut events = listener.events(Some(0), &["my/*".to_owned()]);
    let direct = through(server);
    tokio::spawn(async move {
        for n in 0..300 {
            let data = Map::from_iter([("n".into(), Value::Int(n))]);
            direct.fire(&Event { tag: "my/event".into(), data }).await.expect("stored");
        }
    });
    for n in 0..300 {
        let heard = tokio::time::timeout(Duration::from_secs(30), events.next()).await.expect("in time").expect("one");
        let EventNotice::Event(event) = heard else { panic!("{heard:?}") };
        assert_eq!(event.event.data.get("n"), Some(&Value::Int(n)));
    }
    assert!(cuts.load(Ordering::Relaxed) > 3, "it was cut {} times", cuts.load(Ordering::Relaxed));
}

#[tokio::test]
async fn the_socket_needs_no_token() {
    let world = World::new().await;
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("socket");
    let listener = UnixListener::bind(&path).expect("a socket");
    let peer = Peer { local: Some(Caller::local("root")), ..Peer::default() };
    let router = world.router.clone().layer(Extension(peer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let client = Client::unix(&path);
    assert_eq!(client.session().await.expect("known").user, "root");
    let page = client.targets(&TargetFilter { limit: Some(3), ..TargetFilter::default() }).await.expect("listed");
    assert_eq!((page.targets.len(), page.next.as_deref()), (3, Some("web-1")));
    assert_eq!(client.target("web-1").await.expect("known").host, "127.0.0.1");
    let ran = client
        .runner(&ControllerCall { function: "jobs.active".into(), ..ControllerCall::default() })
        .await
        .expect("done");
    assert!(ran.success);
    client.reload().await.expect("done");
    client.stats().await.expect("told");
    let missing = Client::unix(directory.path().join("other")).info().await;
    assert!(matches!(missing, Err(Error::Connect { .. })), "{missing:?}");
}

#[tokio::test]
async fn refusals_keep_their_words() {
    let world = World::new().await;
    let address = serve(&world).await;
    let client = Client::http(&format!("http://{address}"), Tls::Loopback).expect("it is an address");
    let error = client.info().await.expect_err("nobody is logged in");
    assert_eq!(error.kind(), Some(RefusalKind::Unauthenticated));
    assert!(error.hint().is_some_and(|hint| hint.contains("/v1/sessions")), "{error:?}");
    client.login("bob", &Secret::new("a long password".into()), Some("sharedsecret")).await.expect("logged in");
    let run = RunRequest { function: "cmd.run".into(), target: "*".into(), ..RunRequest::default() };
    assert_eq!(client.start(&run).await.expect_err("bob may not").kind(), Some(RefusalKind::Forbidden));
    client.logout().await.expect("gone");
    assert_eq!(client.session().await.expect_err("gone").kind(), Some(RefusalKind::Unauthenticated));
}
