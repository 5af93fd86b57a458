//! Every configuration that the documentation prints listens on loopback, unless it names another address.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::time::Duration;

use e2e::{Fleet, Spec, wait_until};

/// A block of YAML in a page, with its place.
struct Snippet {
    place: String,
    text: String,
}

/// The blocks of all pages whose keys are those of the configuration.
fn configurations() -> Vec<Snippet> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let reference = fs::read_to_string(root.join("docs/configuration.md")).expect("the reference");
    let keys: BTreeSet<&str> = reference.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let pages = fs::read_dir(root.join("docs")).expect("docs").map(|page| page.expect("a page").path());
    let mut pages: Vec<_> = pages.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    pages.push(root.join("README.md"));
    pages.sort();
    let snippets = pages.iter().flat_map(|page| {
        let text = fs::read_to_string(page).expect("a page");
        let name = page.file_name().expect("a name").to_string_lossy().into_owned();
        let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split_once("```"));
        let blocks: Vec<String> = blocks.map(|(block, _)| block.to_owned()).collect();
        let number = |(index, text)| Snippet { place: format!("{name}, block {}", index + 1), text };
        blocks.into_iter().enumerate().map(number).collect::<Vec<_>>()
    });
    let is_configuration = |snippet: &Snippet| {
        let mut tops = snippet.text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
        let count = tops.clone().count();
        count > 0 && tops.all(|line| line.split_once(':').is_some_and(|(key, _)| keys.contains(key)))
    };
    snippets.filter(is_configuration).collect()
}

/// The addresses on which the network namespace of the daemon accepts TCP connections.
fn listening(fleet: &Fleet) -> BTreeSet<IpAddr> {
    let table = |name: &str| {
        let output = fleet.bed.command("cat").arg(format!("/proc/net/{name}")).output().expect("cat");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let mut all = BTreeSet::new();
    for line in table("tcp").lines().skip(1).filter(|line| line.split_whitespace().nth(3) == Some("0A")) {
        let address = line.split_whitespace().nth(1).and_then(|local| local.split_once(':')).expect("an address").0;
        all.insert(Ipv4Addr::from(u32::from_str_radix(address, 16).expect("hexadecimal").swap_bytes()).into());
    }
    let ipv6 =
        table("tcp6").lines().skip(1).find(|line| line.split_whitespace().nth(3) == Some("0A")).map(str::to_owned);
    assert_eq!(ipv6, None, "nothing in the documentation listens on IPv6");
    all
}

#[test]
fn what_the_documentation_prints_listens_on_loopback_only() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    let (mut started, mut refused) = (Vec::new(), Vec::new());
    for (number, Snippet { place, text }) in configurations().into_iter().enumerate() {
        let state = fleet.scratch.path(&format!("state-{number}"));
        let configuration = format!("{text}\nstate_dir: {}\n", state.display());
        fleet.scratch.write("config/rocksalt.yml", &configuration).expect("it's written");
        assert_eq!(listening(&fleet), BTreeSet::new(), "the one before has ended");
        let daemon = fleet.rocksalt(&["serve"]).limit(Duration::from_secs(60)).spawn().expect("it starts");
        let pid = daemon.pid();
        let ended = || fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "));
        wait_until("it listens or ends", || ended() || !listening(&fleet).is_empty());
        let found = listening(&fleet);
        daemon.interrupt();
        let outcome = daemon.finish().expect("it ends");
        match found.is_empty() {
            true => refused.push(format!("{place}: {}", outcome.stderr.lines().next().unwrap_or_default())),
            false => {
                let asked = |ip: &IpAddr| ip.is_loopback() || text.contains(&ip.to_string());
                assert!(found.iter().all(asked), "{place} listens on {found:?}:\n{text}");
                started.push(place);
            }
        }
    }
    // Those that need certificates, or a server of somebody else's.
    assert!(started.len() > refused.len(), "{} started, but these did not: {refused:#?}", started.len());
}

#[test]
fn salts_own_block_without_an_address_listens_on_loopback() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    fleet.scratch.write("config/rocksalt.yml", "rest_cherrypy: {port: 8123, disable_ssl: True}\n").expect("written");
    let daemon = fleet.rocksalt(&["serve"]).limit(Duration::from_secs(60)).spawn().expect("it starts");
    wait_until("it listens", || !listening(&fleet).is_empty());
    assert_eq!(listening(&fleet), BTreeSet::from([IpAddr::from([127, 0, 0, 1])]));
    daemon.interrupt();
    daemon.finish().expect("it ends");
}
