//! Presence of targets, as events and as results.

use std::time::Duration;

use rocksalt_controller::ledger::Heard;
use rocksalt_daemon::requests::presence::PresenceState;

use super::fixture::{Project, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_comes_and_goes_is_told() {
    let project = Project::new();
    project.network.reachable.lock().expect("fine").extend(["a".to_owned(), "b".to_owned()]);
    let (daemon, _) = project.start().await;
    let presence = daemon.requests().presence().clone();
    wait_until("all were tried", || presence.up() == ["a", "b"] && presence.down() == ["c"]).await;
    let seen = presence.of("c");
    assert!(seen.why.is_some_and(|why| why.contains("no route")) && seen.last_seen.is_none());
    assert_eq!(presence.of("nobody").state, PresenceState::Unknown);
    project.network.cut("a");
    wait_until("it is missed", || presence.up() == ["b"] && presence.down() == ["a", "c"]).await;
    assert!(presence.of("a").last_seen.is_some());
    // Each was tried once, and is then not tried for a while.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let tries = project.network.tries.lock().expect("fine").clone();
    assert_eq!(tries.iter().filter(|id| *id == "c").count(), 1, "{tries:?}");
    let mut follower = daemon.requests().ledger().follow(Some(0));
    let mut tags = Vec::new();
    while tags.len() < 4 {
        let heard =
            tokio::time::timeout(Duration::from_secs(5), follower.next()).await.expect("it comes").expect("fine");
        if let Heard::Event(event) = heard {
            tags.push(event.event.tag.clone());
        }
    }
    for tag in ["salt/minion/a/start", "salt/minion/b/start", "salt/presence/change"] {
        assert!(tags.iter().any(|seen| seen == tag), "{tag}: {tags:?}");
    }
    // After a reload all targets are tried again.
    project.network.reachable.lock().expect("fine").extend(["a".to_owned(), "c".to_owned()]);
    daemon.reload().await;
    wait_until("all are back", || presence.up() == ["a", "b", "c"]).await;
    daemon.stop().await;
}
