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

/// A template that renders itself through a function, one that does so twice, and one that goes through a state: all
/// end with an error, and the agent goes on.
#[test]
fn templates_that_render_themselves_end_with_an_error() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    let files = [
        ("config/rocksalt.yml", "file_roots: {base: [states]}\npillar_roots: {base: [pillar]}\n"),
        ("config/states/itself.sls", "a: {{ salt['slsutil.renderer']('salt://itself.sls') }}\n"),
        (
            "config/states/twice.sls",
            "a: {{ salt['slsutil.renderer']('salt://twice.sls') }}\nb: {{ salt['slsutil.renderer']('salt://twice.sls') }}\n",
        ),
        ("config/states/shown.sls", "a: {{ salt['state.show_sls']('shown') }}\n"),
        (
            "config/states/applied.j2",
            "{{ salt['state.single']('file.managed', name='/root/x', source='salt://applied.j2', template='jinja') }}\n",
        ),
        ("config/pillar/top.sls", "base: {'h1': [itself]}\n"),
        ("config/pillar/itself.sls", "a: {{ salt['slsutil.renderer'](path='salt://itself.sls') }}\n"),
    ];
    for (name, text) in files {
        fleet.scratch.write(name, text).expect("it's written");
    }
    let managed = ["h1", "state.single", "file.managed", "name=/root/x", "source=salt://applied.j2", "template=jinja"];
    let calls: [&[&str]; 5] = [
        &["h1", "slsutil.renderer", "salt://itself.sls"],
        &["h1", "slsutil.renderer", "salt://twice.sls"],
        &["h1", "state.show_sls", "shown"],
        &managed,
        &["h1", "pillar.items"],
    ];
    for call in calls {
        // A call beside it must not suffer.
        let other = fleet.rocksalt(&["h1", "cmd.run", "sleep 1; echo fine"]).spawn().expect("it starts");
        let outcome = fleet.run(call);
        let said = outcome.all();
        assert!(
            ["recursion", "without an end", "Rendering SLS"].iter().any(|text| said.contains(text)),
            "{call:?}: {said}"
        );
        assert!(said.len() < 200_000, "{call:?} says too much: {}", said.len());
        let other = other.finish().expect("it ends");
        assert!(other.stdout.contains("fine"), "{call:?} took another call with it: {}", other.all());
    }
    fleet.ping_all();
}
