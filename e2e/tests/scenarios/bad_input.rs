//! Bad input: the nearest valid spelling is suggested, and nothing is sent to any target.

use e2e::{Fleet, Outcome, Spec, assert_code, exit};

/// Runs a command and checks that it was refused before any login.
#[track_caller]
fn refused(fleet: &Fleet, arguments: &[&str]) -> Outcome {
    let outcome = fleet.rocksalt(arguments).finish().expect("it ends");
    assert_code(&outcome, exit::USAGE);
    assert!(outcome.stdout.is_empty(), "complaints go to stderr: {}", outcome.all());
    assert_eq!(fleet.bed.logins(), [0], "nothing is sent: {}", outcome.all());
    outcome
}

#[track_caller]
fn assert_names(outcome: &Outcome, what: &str) {
    assert!(outcome.stderr.contains(what), "{what:?} isn't named: {}", outcome.all());
}

#[test]
fn an_unknown_function_or_option_names_the_nearest() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    assert_names(&refused(&fleet, &["*", "test.pnig"]), "test.ping");
    assert_names(&refused(&fleet, &["*", "test.ping", "--statc"]), "--static");
    assert_names(&refused(&fleet, &["*", "cmd.run", "id", "cdw=/tmp"]), "cwd");
}

#[test]
fn an_unknown_roster_key_and_a_broken_roster_are_named_with_their_lines() {
    let Some(fleet) = Fleet::start_with(&[Spec::debian()], |_, entry| entry.set("usre", "root")) else { return };
    let outcome = refused(&fleet, &["*", "test.ping"]);
    assert_names(&outcome, "usre");
    assert_names(&outcome, "user");
    fleet.scratch.write("config/roster", "h1:\n  host: 10.77.0.3\n  user: [\n").expect("it's written");
    let outcome = refused(&fleet, &["*", "test.ping"]);
    assert_names(&outcome, "roster:");
}

#[test]
fn a_target_that_matches_nothing_says_what_there_is() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    let outcome = refused(&fleet, &["web*", "test.ping"]);
    assert_names(&outcome, "web*");
    assert_names(&outcome, "h1");
}
