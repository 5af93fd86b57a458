//! What template filters read from the machine.

use std::path::Path;

use rocksalt_core::Call;
use rocksalt_modules::catalog;
use rocksalt_modules::machine::{Command, FileKind, HostSystem, Probe, accounts};
use rocksalt_sls::TemplateMachine;

use super::compile_context::HostBridge;

/// The most random bytes that a filter may ask for.
const RANDOM: usize = 1 << 20;

/// The most files that one filter lists.
const FILES: usize = 100_000;

impl TemplateMachine for HostBridge {
    fn now(&self) -> Result<f64, String> {
        Ok(self.host.now())
    }

    fn utc_offset(&self, at: i64) -> i64 {
        let command = Command::new(["date".to_owned(), "-d".to_owned(), format!("@{at}"), "+%z".to_owned()]);
        let shown = self.host.query(&command).map(|output| output.text()).unwrap_or_default();
        offset(shown.trim()).unwrap_or_default()
    }

    fn random(&self, bytes: &mut [u8]) -> Result<(), String> {
        if bytes.len() > RANDOM {
            return Err(format!("more than {RANDOM} random bytes at once"));
        }
        let random = self.host.read_at(Path::new("/dev/urandom"), 0, bytes.len()).map_err(|error| error.to_string())?;
        if random.len() != bytes.len() {
            return Err("/dev/urandom gave too little".into());
        }
        bytes.copy_from_slice(&random);
        Ok(())
    }

    fn which(&self, name: &str) -> Result<Option<String>, String> {
        let result = catalog::call(Call::new("cmd.which").arg(name), &*self.host);
        Ok(result.value.as_str().map(str::to_owned))
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        self.host.read(Path::new(path)).map_err(|error| format!("{path}: {error}"))
    }

    fn list_files(&self, path: &str) -> Result<Vec<String>, String> {
        let mut found = vec![path.to_owned()];
        list(&self.host, Path::new(path), &mut found)?;
        Ok(found)
    }

    fn user_id(&self, name: Option<&str>) -> Result<Option<i64>, String> {
        Ok(match name {
            None => Some(i64::from(accounts::own_uid(&*self.host))),
            Some(name) => accounts::user(&*self.host, name).map(|user| i64::from(user.uid)),
        })
    }

    fn dns_check(&self, name: &str, _: i64, ipv6: Option<bool>) -> Result<String, String> {
        // A static program has no resolver of its own, so `getent` of the target resolves the name.
        let database = match ipv6 {
            Some(true) => "ahostsv6",
            Some(false) => "ahostsv4",
            None => "ahosts",
        };
        let output = self.host.query(&Command::new(["getent", database, name])).map_err(|error| error.to_string())?;
        let text = output.text();
        let address = text.split_whitespace().next().map(str::to_owned);
        address.ok_or_else(|| format!("'{name}' has no address"))
    }
}

fn list(host: &HostSystem, directory: &Path, found: &mut Vec<String>) -> Result<(), String> {
    for name in host.list(directory).map_err(|error| format!("{}: {error}", directory.display()))? {
        if found.len() >= FILES {
            return Err(format!("{} has more than {FILES} files", directory.display()));
        }
        let path = directory.join(name);
        found.push(path.to_string_lossy().into_owned());
        if host.stat(&path, false).ok().flatten().is_some_and(|stat| stat.kind == FileKind::Directory) {
            list(host, &path, found)?;
        }
    }
    Ok(())
}

/// Parses `+0130` to seconds.
fn offset(text: &str) -> Option<i64> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = digits.split_at_checked(2)?;
    Some(sign * (hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60))
}

#[cfg(test)]
mod tests {
    #[test]
    fn offsets_are_read() {
        assert_eq!(super::offset("+0130"), Some(5400));
        assert_eq!(super::offset("-0800"), Some(-28_800));
        assert_eq!(super::offset(""), None);
    }
}
