//! A target that says it is another one gets nothing of the other's (`docs/security-rules.md#r3`).

use std::collections::BTreeSet;

use e2e::{Fleet, Outcome, Spec, assert_code, exit, results};

const CANARY: &str = "canary-of-h1-3b9e";

const CONFIG: &str = "\
file_roots: {base: [states]}
pillar_roots: {base: [pillar]}
ext_pillar_first: True
ext_pillar:
  - file_tree: {root_dir: TREE}
peer: {h1: [test.ping]}
";

/// h2 claims all that makes h1 what it is.
const LIES: &str = "{id: h1, master: nowhere, server_id: 0, role: db, host: h1, nodename: h1, localhost: h1, fqdn: h1}";

const WHO: &str = "\
include:
  - secrets.{{ grains['id'] }}
  - secrets.{{ salt['grains.get']('id') }}
  - secrets.{{ salt['config.get']('id') }}
  - roles.{{ grains['role'] }}
who: [{{ grains['id'] }}, {{ opts['id'] }}, {{ salt['grains.get']('id') }}, {{ salt['config.get']('id') }}]
server: {{ grains['server_id'] }}
{% if grains['id'] == 'h1' or pillar.get('claimed') == 'h1' or salt['match.glob']('h1') or salt['match.grain']('id:h1') %}
branch: CANARY
{% endif %}
";

const TOP: &str = "\
base:
  '*': [who]
  'id:h1': [{match: grain}, by_grain]
  'G@id:h1 or P@id:^h1$ or J@claimed:h1': [{match: compound}, by_compound]
  'role:db': [{match: grain}, by_role]
  'claimed:h1': [{match: pillar}, by_pillar]
";

fn targets_of(outcome: &Outcome) -> BTreeSet<String> {
    results(outcome).into_keys().collect()
}

fn write_project(fleet: &Fleet) {
    let mut files = vec![
        ("config/rocksalt.yml".to_owned(), CONFIG.replace("TREE", &fleet.scratch.path("config/tree").display().to_string())),
        ("config/pillar/top.sls".to_owned(), TOP.to_owned()),
        ("config/pillar/who.sls".to_owned(), WHO.replace("CANARY", CANARY)),
        ("config/pillar/secrets/h1.sls".to_owned(), format!("secret: {CANARY}\n")),
        ("config/pillar/secrets/h2.sls".to_owned(), "secret: of h2\n".to_owned()),
        ("config/pillar/roles/db.sls".to_owned(), format!("role: {CANARY}\n")),
        ("config/pillar/roles/web.sls".to_owned(), "role: web\n".to_owned()),
        ("config/tree/hosts/h1/of_tree".to_owned(), CANARY.to_owned()),
        ("config/states/who.sls".to_owned(), "/root/who:\n  file.managed:\n    - contents: {{ grains['id'] }} {{ opts['id'] }} {{ grains['server_id'] }}\n".to_owned()),
        ("config/states/top.sls".to_owned(), "base:\n  'G@id:h1': [{match: compound}, who]\n".to_owned()),
    ];
    for name in ["grain", "compound", "role", "pillar"] {
        files.push((format!("config/pillar/by_{name}.sls"), format!("by_{name}: {CANARY}\n")));
    }
    for (name, text) in files {
        fleet.scratch.write(&name, &text).expect("it's written");
    }
}

#[test]
fn a_target_that_lies_gets_nothing_of_anothers() {
    let Some(fleet) = Fleet::start(&[Spec::debian(), Spec::debian()]) else { return };
    fleet.set_roster(|number, entry| entry.set("grains", format!("{{role: {}}}", ["db", "web"][number - 1])));
    write_project(&fleet);
    fleet.host(2).run(&format!("mkdir -p /etc/salt && echo '{LIES}' > /etc/salt/grains")).expect("h2 lies");

    // What h1 gets, so that the rest of this test can fail.
    let honest = fleet.run(&["h1", "pillar.items"]);
    for expected in ["secret", "branch", "by_grain", "by_compound", "by_role", "of_tree", "role"] {
        assert_eq!(results(&honest)["h1"][expected].as_str().map(str::trim), Some(CANARY), "{}", honest.all());
    }

    // The pillar that h2 gets, asked for in every way that takes its word, with grains read before and after.
    let ways: [&[&str]; 6] = [
        &["h2", "pillar.items"],
        &["h2", "pillar.items", "pillar={claimed: h1}"],
        &["h2", "pillar.get", "secret"],
        &["h2", "grains.items"],
        &["h2", "state.show_sls", "who"],
        &["h2", "pillar.items"],
    ];
    for way in ways {
        let outcome = fleet.run(way);
        let claimed = way.contains(&"pillar={claimed: h1}");
        // The operator said that one, in this job: h2 did not.
        assert!(claimed || !outcome.all().contains(CANARY), "{way:?}: {}", outcome.all());
        assert_code(&outcome, exit::FINE);
    }
    let pillar = results(&fleet.run(&["h2", "pillar.items"]))["h2"].clone();
    assert_eq!(pillar["who"], serde_json::json!(["h2", "h2", "h2", "h2"]));
    let grains = results(&fleet.run(&["h2", "grains.items"]))["h2"].clone();
    assert_eq!((grains["id"].as_str(), &grains["server_id"]), (Some("h2"), &pillar["server"]));

    // Targeting, with grains from the cache and without.
    for cached in [true, false] {
        for (kind, expression) in
            [("-G", "id:h1"), ("-P", "id:^h1$"), ("-C", "G@id:h1 and G@role:db"), ("-G", "role:db")]
        {
            if !cached {
                let _ = std::fs::remove_dir_all(fleet.scratch.path("cache/rocksalt/grains"));
            }
            let outcome = fleet.run(&[kind, expression, "test.ping"]);
            assert_eq!(targets_of(&outcome), BTreeSet::from(["h1".to_owned()]), "{expression}: {}", outcome.all());
        }
    }

    // States: the top file, and what templates see.
    let outcome = fleet.run(&["h2", "state.apply"]);
    assert!(!outcome.all().contains("who"), "the top file has nothing for h2: {}", outcome.all());
    assert_code(&fleet.run(&["h2", "state.apply", "who"]), exit::FINE);
    assert!(fleet.host(2).run("cat /root/who").expect("it is there").starts_with("h2 h2 "));

    // Publishing, which only h1 may.
    let outcome = fleet.run(&["*", "publish.publish", "h1", "test.ping"]);
    assert_eq!(results(&outcome)["h1"], serde_json::json!({"h1": true}), "{}", outcome.all());
    assert!(outcome.all().contains("h2 may not have test.ping run elsewhere"), "{}", outcome.all());
}

#[test]
fn a_roster_can_not_give_a_target_anothers_id() {
    let scratch = e2e::Scratch::new().expect("a scratch directory");
    scratch.write("config/roster", "h2: {host: 192.0.2.2, minion_opts: {id: h1}}\n").expect("it's written");
    let outcome = scratch.rocksalt(["h2", "test.ping"]).expect("the binary is built").finish().expect("it ends");
    assert_code(&outcome, exit::USAGE);
    assert!(
        outcome.stderr.contains("minion_opts: `id: h1`: a target's id is its name in the roster, h2"),
        "{}",
        outcome.all()
    );
}
