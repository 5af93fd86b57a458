//! `file.managed` with a source from a URL: a real server, and the target's own tool.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rocksalt_core::{Map, yaml};
use rocksalt_modules::catalog::{self, Step, Verdict};
use rocksalt_modules::machine::{ActiveCall, Base, NoController};

/// Responds to every request with the same text, and counts them.
fn serve(text: &'static str) -> (String, Arc<AtomicUsize>) {
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = server.local_addr().expect("it is bound");
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    std::thread::spawn(move || {
        for mut stream in server.incoming().flatten() {
            seen.fetch_add(1, Ordering::SeqCst);
            let _ = stream.read(&mut [0; 4096]);
            let length = text.len();
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}");
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (format!("http://{address}/x"), count)
}

fn managed(arguments: &str) -> Verdict {
    let running = ActiveCall { job: None, function: "test".into(), args: Vec::new(), since: 0.0 };
    let host = Arc::new(Base::new(None)).begin(running, Map::new(), Box::new(NoController), None);
    let low = yaml::parse(arguments).expect("it is YAML").as_map().cloned().expect("it is a map");
    let entry = catalog::find_state("file.managed").expect("there is such a state");
    let step = Step { id: "id", name: "name", sls: "sls", saltenv: "base", low: &low, test: false };
    entry.call(entry.bind(low.clone()), &host, &step, false).expect("it can be called")
}

#[test]
fn an_address_needs_a_hash_that_fits() {
    const MD5: &str = "401b30e3b8b5d629635a5c613cdb7919";
    let (url, count) = serve("x\n");
    let place = tempfile::tempdir().expect("there is room for a directory");
    let path = place.path().join("f");
    let name = path.display();
    let wrong = managed(&format!("{{name: {name}, source: '{url}', source_hash: md5={}}}", MD5.replace('9', "0")));
    assert_eq!(wrong.result, Some(false), "{wrong:?}");
    assert!(wrong.comment.starts_with(&format!("Specified md5 checksum for {name} (")), "{wrong:?}");
    assert!(!path.exists(), "nothing wrong reaches its place");
    let right = format!("{{name: {name}, source: '{url}', source_hash: {MD5}, mode: '0600'}}");
    assert_eq!(managed(&right).comment, format!("File {name} updated"));
    assert_eq!(std::fs::read_to_string(&path).expect("it was made"), "x\n");
    let before = count.load(Ordering::SeqCst);
    assert_eq!(managed(&right).changes, Map::new());
    assert_eq!(count.load(Ordering::SeqCst), before, "a file that has the hash is not fetched again");
    let skipped = managed(&format!("{{name: {name}2, source: '{url}', skip_verify: true}}"));
    assert_eq!(skipped.result, Some(true), "{skipped:?}");
}
