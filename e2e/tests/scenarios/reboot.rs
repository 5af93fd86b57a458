//! A restart of the machine during a run, and runs that are interrupted.

use std::time::Duration;

use e2e::{Fleet, Spec, Value, assert_code, exit, results, wait_until};

const CONFIG: &str = "file_roots: {base: [states]}\npillar_roots: {base: [pillar]}\nroster_file: roster\n";

fn fleet(count: usize, sls: &str) -> Option<Fleet> {
    let fleet = Fleet::start(&vec![Spec::systemd(); count])?;
    let pillar = "base:\n  '*': [data]\n";
    for (path, text) in [
        ("rocksalt.yml", CONFIG),
        ("pillar/top.sls", pillar),
        ("pillar/data.sls", "word: xyzzy\n"),
        ("states/case.sls", sls),
        ("states/word.j2", "{{ pillar['word'] }} {{ pillar.get('given') }} on {{ grains['id'] }}\n"),
    ] {
        fleet.scratch.write(&format!("config/{path}"), text).expect("it's written");
    }
    Some(fleet)
}

const WITH_REBOOT: &str = "\
before:
  cmd.run:
    - name: 'echo before >>/var/steps; cat /proc/sys/kernel/random/boot_id'
restart:
  system.reboot:
    - timeout: 150
    - require: [{cmd: before}]
after:
  cmd.run:
    - name: 'echo after >>/var/steps; echo ${ outputs.before.stdout }; cat /proc/sys/kernel/random/boot_id'
    - onchanges: [{cmd: before}]
    - require: [{system: restart}]
/var/word:
  file.managed:
    - source: salt://word.j2
    - template: jinja
    - require: [{cmd: after}]
skipped:
  cmd.run:
    - name: echo skipped >>/var/steps
    - onfail: [{cmd: before}]
listener:
  cmd.wait:
    - name: echo heard >>/var/steps
    - listen: [{cmd: before}]
";

/// The result of one state, by its id.
#[track_caller]
fn state<'r>(result: &'r Value, id: &str) -> &'r Value {
    let states = result.as_object().unwrap_or_else(|| panic!("{result}"));
    states.values().find(|state| state["__id__"] == id).unwrap_or_else(|| panic!("no {id} in {result:#}"))
}

#[test]
fn a_run_goes_on_after_a_reboot_in_its_middle() {
    let Some(fleet) = fleet(2, WITH_REBOOT) else { return };
    for (round, mode) in ["ansible", "genius"].into_iter().enumerate() {
        let arguments = ["state.apply", "case", "pillar={given: now}", &format!("mode={mode}")];
        let arguments: Vec<&str> = std::iter::once("*").chain(arguments).collect();
        let outcome = fleet.run_within(Duration::from_secs(240), &arguments);
        assert_code(&outcome, exit::FINE);
        for (id, result) in results(&outcome) {
            assert_eq!(result.as_object().map(|states| states.len()), Some(7), "{mode}, {id}: {}", outcome.all());
            assert_eq!(state(&result, "restart")["changes"]["reboot"], true);
            let text = state(&result, "after")["changes"]["stdout"].as_str().expect("it ran").to_owned();
            let [old, new] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
            assert!(old != new && old.len() == 36, "the machine was restarted between the two: {text}");
            assert_eq!(state(&result, "before")["changes"]["stdout"], old, "earlier results are kept");
        }
        for number in [1, 2] {
            let host = fleet.host(number);
            let once = "before\nafter\nheard\n";
            assert_eq!(host.run("cat /var/steps").expect("steps"), once.repeat(round + 1), "each step ran once");
            assert_eq!(host.run("cat /var/word").expect("a file"), format!("xyzzy now on h{number}\n"));
            assert_eq!(host.run("ls -A /root/.rocksalt | grep -e journal -e run- || true").expect("ls"), "");
        }
    }
}

#[test]
fn a_function_reboots_too_and_twice_if_need_be() {
    let sls = "\
one:
  module.run:
    - system.reboot: []
between:
  cmd.run:
    - name: cat /proc/sys/kernel/random/boot_id >>/var/boots
two:
  module.run:
    - name: system.reboot
last:
  cmd.run:
    - name: cat /proc/sys/kernel/random/boot_id >>/var/boots
";
    let Some(fleet) = fleet(1, sls) else { return };
    let outcome = fleet.run_within(Duration::from_secs(240), &["*", "state.apply", "case"]);
    assert_code(&outcome, exit::FINE);
    assert_eq!(fleet.host(1).run("sort -u /var/boots | wc -l").expect("boots").trim(), "2", "{}", outcome.all());
    let outcome = fleet.run(&["*", "state.apply", "case", "test=True"]);
    assert_eq!(fleet.host(1).run("wc -l </var/boots").expect("boots").trim(), "2", "a dry run: {}", outcome.all());
}

#[test]
fn a_machine_that_does_not_come_back_is_said() {
    let sls = "before:\n  test.nop: []\nrestart:\n  system.reboot:\n    - timeout: 4\nafter:\n  test.nop: []\n";
    let Some(fleet) = fleet(1, sls) else { return };
    // The machine goes down and doesn't start again.
    fleet.host(1).run("ln -sf /bin/true /sbin/shutdown").expect("a link");
    let outcome = fleet.run(&["*", "state.apply", "case"]);
    assert_code(&outcome, exit::FAILED);
    let said = outcome.all();
    assert!(said.contains("not up again within 4 seconds") && said.contains("2 of 3 steps"), "{said}");
    let outcome = fleet.run(&["*", "state.apply", "case", "test=True"]);
    assert_code(&outcome, exit::FINE);
    fleet
        .host(1)
        .run("printf '#!/bin/sh\\nexit 9\\n' >/sbin/nothing; chmod 755 /sbin/nothing; ln -sf nothing /sbin/shutdown")
        .expect("a link");
    let outcome = fleet.run(&["*", "state.apply", "case"]);
    assert_code(&outcome, exit::FAILED);
    let said = outcome.all();
    assert!(said.contains("could not reboot"), "{said}");
    assert!(said.contains("was not resumed: 2 of 3 steps were done"), "the previous run: {said}");
}

#[test]
fn a_journal_that_somebody_touched_is_refused() {
    let sls = "restart:\n  system.reboot: []\nafter:\n  file.touch:\n    - name: /var/after\n";
    let Some(fleet) = fleet(2, sls) else { return };
    let unit = |command: &str| {
        format!(
            "printf \"[Unit]\\nBefore=ssh.service\\n[Service]\\nType=oneshot\\nExecStart=/bin/sh -c '{command}'\\n[Install]\\nWantedBy=multi-user.target\\n\" \
             >/etc/systemd/system/touch.service; systemctl enable touch"
        )
    };
    let journal = "/root/.rocksalt/rocksalt-agent-journal-*";
    fleet.host(1).run(&unit(&format!("chmod 644 {journal}"))).expect("a unit");
    fleet.host(2).run(&unit(&format!("sed -i s/restart/another/ {journal}"))).expect("a unit");
    let outcome = fleet.run_within(Duration::from_secs(240), &["*", "state.apply", "case"]);
    assert_code(&outcome, exit::FAILED);
    let said = outcome.all();
    assert!(said.contains("other users have access (mode 0644)"), "{said}");
    assert!(said.contains("it is not what was written before the reboot"), "{said}");
    for number in [1, 2] {
        fleet.host(number).run("test ! -e /var/after").expect("nothing was resumed");
    }
}

#[test]
fn what_a_killed_agent_had_done_is_told_by_the_next_run() {
    let sls =
        "first:\n  test.nop: []\nslow:\n  cmd.run:\n    - name: touch /var/slow; sleep 600\nlast:\n  test.nop: []\n";
    let Some(fleet) = fleet(1, sls) else { return };
    fleet.ping_all();
    let running = fleet.rocksalt(&["*", "state.apply", "case"]).spawn().expect("it starts");
    wait_until("the slow step runs", || fleet.host(1).run("test -e /var/slow").is_ok());
    assert!(fleet.host(1).kill("rocksalt-agent") > 0);
    let outcome = running.finish().expect("it ends");
    assert_ne!(outcome.code(), Some(exit::FINE), "{}", outcome.all());
    fleet.scratch.write("config/states/case.sls", "first:\n  test.nop: []\n").expect("it's written");
    let outcome = fleet.run(&["*", "state.apply", "case"]);
    assert_code(&outcome, exit::FINE);
    let said = outcome.all();
    assert!(
        said.contains("was interrupted here: 1 of 3 steps were done; begun but not ended: cmd.run of 'slow'"),
        "{said}"
    );
    let outcome = fleet.run(&["*", "state.apply", "case"]);
    assert!(!outcome.all().contains("was interrupted"), "it is reported once: {}", outcome.all());
}
