//! How the daemon ends.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::fixture::{Project, ask, password, tcp, token};

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_streams_and_idle_connections_at_once() {
    let project = Project::new();
    let (daemon, said) = project.start().await;
    let address = tcp(&daemon);
    let token = token(address, &password(&said).expect("said")).await;
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let request = format!("GET /events HTTP/1.1\r\nHost: x\r\nX-Auth-Token: {token}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("there is room");
    let mut first = [0; 12];
    stream.read_exact(&mut first).await.expect("an answer");
    let mut idle = TcpStream::connect(address).await.expect("it listens");
    idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await.expect("there is room");
    idle.read_exact(&mut first).await.expect("an answer");
    let begun = Instant::now();
    daemon.stop().await;
    // If it waited for the stream or the idle connection, it would never end.
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.expect("a clean end");
    assert!(rest.ends_with(b"0\r\n\r\n"), "the stream ends as it should: {:?}", String::from_utf8_lossy(&rest));
    assert!(TcpStream::connect(address).await.is_err(), "nobody is let in any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_stored_is_there_after_a_restart() {
    let project = Project::new();
    let (daemon, said) = project.start().await;
    let secret = password(&said).expect("said");
    let before = token(tcp(&daemon), &secret).await;
    let body = "client=local_async&tgt=*&fun=test.ping";
    let head = |token: &str| format!("POST /\nX-Auth-Token: {token}\nContent-Type: application/x-www-form-urlencoded");
    let reply = ask(tcp(&daemon), &head(&before), body).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let jid: String =
        reply.body.split("\"jid\"").nth(1).expect("a job").chars().filter(char::is_ascii_digit).take(20).collect();
    let last = daemon.requests().ledger().last_event();
    daemon.stop().await;
    let (daemon, _) = project.start().await;
    assert!(daemon.requests().ledger().last_event() >= last, "events keep their numbers");
    let reply = ask(tcp(&daemon), &format!("GET /jobs/{jid}\nX-Auth-Token: {before}"), "").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert!(reply.body.contains("test.ping"), "{}", reply.body);
    daemon.stop().await;
}
