//! A snapshot of a host that shows every write, to verify that a dry run makes none.

use rocksalt_testkit::{Error, Host};

/// Lists every file with the metadata that a write changes, mounts, names, services, firewall rules and network
/// settings. It leaves out what a login or the listing itself changes (login records, apt's index, services that the
/// bus starts to answer a query) and the agent's directory.
const LOOK: &str = r#"
export LC_ALL=C
find / /tmp -xdev \( -path /proc -o -path /sys -o -path /run -o -path /dev \
  -o -path '/var/cache/apt/*.bin' -o -path '/var/log/*tmp' -o -path /var/log/lastlog -o -path '*/.rocksalt*' \
  -o -path '/var/lib/systemd/timers' -o -path '/var/log/journal' -o -path '*/.cache' \
  -o -path '*rocksalt*' \) -prune -o -type d -printf 'file %p %i %m %U:%G\n' -o -printf 'file %p %i %m %U:%G %s %T@ %C@\n'
cut -d' ' -f4- /proc/self/mountinfo | sed 's/^/mount /'
echo "hostname $(hostname)"
if [ -d /run/systemd/system ]; then
  systemctl list-units --all --plain --no-legend --no-pager --type=service,socket,timer,mount |
    awk '{print "unit", $1, $2, $3}' |
    grep -vE '^unit (systemd-(hostnamed|timedated|localed|logind|tmpfiles-clean)|user(-runtime-dir)?@|ssh@|dbus-)' || true
fi
if command -v nft >/dev/null; then nft --stateless list ruleset | sed 's/^/rule /'; fi
if command -v iptables-save >/dev/null; then iptables-save | grep '^-' | sed 's/^/rule /' || true; fi
grep -rs . /proc/sys/net/ipv4/conf /proc/sys/net/core /proc/sys/net/ipv4/ip_forward | sed 's/^/setting /'
"#;

pub(super) struct Snapshot(Vec<String>);

impl Snapshot {
    pub(super) fn of(host: &Host) -> Result<Snapshot, Error> {
        let mut lines: Vec<String> = host.run(LOOK)?.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines.dedup();
        Ok(Snapshot(lines))
    }

    /// The differences from an earlier snapshot, except for files below these paths.
    pub(super) fn since(&self, earlier: &Snapshot, apart: &[String]) -> Option<String> {
        let concerns = |line: &&String| {
            let path = line.strip_prefix("file ").unwrap_or_default();
            !apart.iter().any(|place| path.starts_with(place.as_str()))
        };
        let gone = earlier.0.iter().filter(|line| self.0.binary_search(line).is_err()).filter(concerns);
        let new = self.0.iter().filter(|line| earlier.0.binary_search(line).is_err()).filter(concerns);
        let lines = gone.map(|line| format!("    - {line}\n")).chain(new.map(|line| format!("    + {line}\n")));
        let shown: String = lines.take(40).collect();
        (!shown.is_empty()).then_some(shown)
    }
}
