//! Slow and stalled clients: what happens to them, and that others don't notice.

use std::time::{Duration, Instant};

use rocksalt_core::{Event, Map};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::fixture::{Project, ask, password, tcp, token, wait_until};

/// Reads until the other end closes. Returns the duration.
async fn until_closed(stream: &mut TcpStream) -> Duration {
    let begun = Instant::now();
    let mut bytes = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut bytes)).await.expect("it is closed");
    begun.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_never_finishes_a_request_is_cut_off() {
    let project = Project::new();
    let mut settings = project.settings();
    settings.limits.head = Duration::from_millis(300);
    let (daemon, _) = project.start_with(settings).await.expect("it starts");
    let mut silent = TcpStream::connect(tcp(&daemon)).await.expect("it listens");
    assert!(until_closed(&mut silent).await < Duration::from_secs(5));
    let mut slow = TcpStream::connect(tcp(&daemon)).await.expect("it listens");
    slow.write_all(b"GET /healthz HTTP/1.1\r\nHost:").await.expect("there is room");
    assert!(until_closed(&mut slow).await < Duration::from_secs(5));
    assert_eq!(ask(tcp(&daemon), "GET /healthz", "").await.status, 200);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_large_is_refused_unread() {
    let project = Project::new();
    let (daemon, _) = project.start().await;
    let mut stream = TcpStream::connect(tcp(&daemon)).await.expect("it listens");
    stream
        .write_all(b"POST /login HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n")
        .await
        .expect("there is room");
    let mut first = [0; 12];
    stream.read_exact(&mut first).await.expect("an answer");
    assert_eq!(&first, b"HTTP/1.1 413");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_place_gets_it() {
    let project = Project::new();
    let mut settings = project.settings();
    settings.limits.connections = 4;
    let (daemon, _) = project.start_with(settings).await.expect("it starts");
    // Two of the permits are those of the listeners, for the next connections.
    let idle =
        [TcpStream::connect(tcp(&daemon)).await.expect("room"), TcpStream::connect(tcp(&daemon)).await.expect("room")];
    tokio::time::sleep(Duration::from_millis(100)).await;
    let address = tcp(&daemon);
    let third = tokio::spawn(async move { ask(address, "GET /healthz", "").await.status });
    tokio::time::sleep(Duration::from_millis(100)).await;
    drop(idle);
    assert_eq!(third.await.expect("it ends"), 200);
    daemon.stop().await;
}

/// A listener that stops reading delays nobody, and is disconnected in the end.
#[tokio::test(flavor = "multi_thread")]
async fn a_listener_that_stops_reading_is_in_nobodys_way() {
    const EVENTS: usize = 400;
    let project = Project::new();
    let mut settings = project.settings();
    settings.limits.stalled = Duration::from_millis(500);
    let (daemon, said) = project.start_with(settings).await.expect("it starts");
    let address = tcp(&daemon);
    let token = token(address, &password(&said).expect("said")).await;
    let listen = async || {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        let request = format!("GET /events HTTP/1.1\r\nHost: x\r\nX-Auth-Token: {token}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("there is room");
        let mut first = [0; 12];
        stream.read_exact(&mut first).await.expect("an answer");
        assert_eq!(&first, b"HTTP/1.1 200");
        stream
    };
    let stopped = listen().await;
    let reading = listen().await;
    let seen = tokio::spawn(async move {
        let mut lines = BufReader::new(reading).lines();
        let mut seen = 0;
        while seen < EVENTS {
            let line = lines.next_line().await.expect("it goes on").expect("it goes on");
            seen += usize::from(line.starts_with("data: ") && line.contains("my/event"));
        }
    });
    let mut data = Map::new();
    data.insert("padding", "x".repeat(64 << 10));
    let begun = Instant::now();
    for _ in 0..EVENTS {
        daemon
            .requests()
            .ledger()
            .fire(Event { tag: "my/event".into(), data: data.clone() }, None)
            .await
            .expect("stored");
    }
    tokio::time::timeout(Duration::from_secs(30), seen).await.expect("it saw all").expect("it saw all");
    assert!(begun.elapsed() < Duration::from_secs(30));
    // 25 MB were sent to it, and it read none.
    let mut open = 2;
    for _ in 0..100 {
        let text = ask(address, "GET /metrics", "").await.body;
        open = text.lines().find_map(|line| line.strip_prefix("rocksalt_event_listeners ")?.parse().ok()).unwrap_or(9);
        if open == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(open, 0, "who reads nothing is cut off, and who went is not counted");
    drop(stopped);
    daemon.stop().await;
    wait_until("nothing is left", || true).await;
}
