//! The one command that starts an agent, and first takes it in where it isn't there yet.
//!
//! It must run under any POSIX shell, with nothing but what busybox has, and in one go: each
//! further round trip is paid by every target. It never runs a file whose hash wasn't checked, and
//! runs it through the very descriptor that was checked (rule R10). A check is remembered with the
//! file's inode, size and times of change: hashing at each start would be most of a login's cost.

use rocksalt_core::roster::{Entry, Escalate, Method};

/// What it says starts with this word, so that whatever a login prints before is told apart.
pub struct Words {
    pub mark: String,
    /// The prompt of sudo, which we choose; su and doas have their own.
    pub prompt: String,
}

/// The whole command line for the login shell.
pub fn command(entry: &Entry, words: &Words, hashes: &[&str], skip: &[String], wipe: bool, tty: bool) -> String {
    let script = SCRIPT
        .replace("@MARK@", &words.mark)
        .replace("@WIPE@", if wipe { "1" } else { "0" })
        .replace("@DIRS@", &directories(entry, skip))
        .replace("@HASHES@", &hashes.join(" "));
    as_user(&format!("/bin/sh -c {}", quote(&script)), entry.escalate.as_ref(), words, tty)
}

/// A command that starts an agent which is there already.
pub fn plain(agent: &str, entry: &Entry, words: &Words, tty: bool) -> String {
    let script = format!("printf '\\n{} start -\\n'; exec {agent}", words.mark);
    as_user(&format!("/bin/sh -c {}", quote(&script)), entry.escalate.as_ref(), words, tty)
}

fn as_user(command: &str, escalate: Option<&Escalate>, words: &Words, tty: bool) -> String {
    let command = match escalate {
        None => format!("exec {command}"),
        Some(escalate) => {
            let user = quote(&escalate.user);
            match escalate.method {
                Method::Sudo => format!("exec sudo -H -S -p {} -u {user} -- {command}", quote(&words.prompt)),
                Method::Doas => format!("exec doas -u {user} -- {command}"),
                Method::Su => format!("exec su {user} -c {}", quote(&format!("exec {command}"))),
            }
        }
    };
    // A terminal must neither echo nor translate: frames are bytes.
    if tty { format!("stty raw -echo 2>/dev/null; {command}") } else { command }
}

/// Where the agent may live, best first; those that failed before are left out.
fn directories(entry: &Entry, skip: &[String]) -> String {
    let mut all = Vec::new();
    if let Some(wished) = &entry.agent_dir {
        let (start, rest) = match wished.strip_prefix("~/") {
            Some(rest) => ("\"$HOME\"/", rest),
            None => ("", wished.as_str()),
        };
        all.push(format!("{start}{}", quote(rest)));
    }
    all.extend(
        ["\"$HOME/.rocksalt\"", "/var/tmp/.rocksalt-$u", "/dev/shm/.rocksalt-$u", "/tmp/.rocksalt-$u"]
            .map(str::to_owned),
    );
    let skip: Vec<String> = skip.iter().map(|directory| format!("{})continue;;", quote(directory))).collect();
    // The shell itself compares, since only it knows what the names come to.
    format!("{};do case $d in {}/*);;*)continue;;esac", all.join(" "), skip.join(""))
}

/// One word for a POSIX shell, whatever is in it.
pub fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

const SCRIPT: &str = r#"umask 077;LC_ALL=C;export LC_ALL
u=$(id -u 2>/dev/null);w=@WIPE@
s(){ printf '\n@MARK@ %s\n' "$*";}
i(){ stat -Lc '%d %i %s %y %z' /proc/self/fd/9 2>/dev/null;}
v(){ [ -O "$f.ok" ]&&read -r k<"$f.ok"&&[ "$k" ]&&[ "$k" = "$(i)" ]&&return
set -- $(sha256sum <&9);[ "$1" = "$h" ]&&i >"$f.ok";[ "$1" = "$h" ];}
g(){ if [ $w = 1 ];then rm -f "$f" "$f.ok";rmdir "$d" 2>/dev/null;fi;s start "$d"
[ -e /proc/self/fd/9 ]&&exec /proc/self/fd/9 agent 9 "$d"
exec "$f" agent 9 "$d";}
for d in @DIRS@
for h in @HASHES@;do f=$d/rocksalt-agent-$h
if [ -f "$f" ]&&[ ! -L "$f" ]&&[ -O "$f" ]&&exec 9<"$f";then v&&g
exec 9<&-;rm -f "$f" "$f.ok";fi
done;done
command -v sha256sum >/dev/null||{ s lacks sha256sum;exit 3;}
o=
for d in @DIRS@
mkdir "$d" 2>/dev/null;[ -d "$d" ]&&[ ! -L "$d" ]&&[ -O "$d" ]&&[ -w "$d" ]&&{ o=$d;break;}
done
[ "$o" ]||{ s nowhere;exit 3;}
z=raw;command -v gzip >/dev/null&&z=gz
s need "$(uname -m)" $z "$d"
read -r k n h||exit 3
[ "$n" -gt 0 ]||exit 3
f=$d/.rocksalt-agent-$h.$$
trap 'rm -f "$f"' 0
(set -C;: >"$f")||{ s full 0 "$d";exit 3;}
if [ $k = gz ];then head -c "$n"|gzip -dc >"$f";else head -c "$n" >"$f";fi
exec 9<"$f";set -- $(sha256sum <&9)
[ "$1" = "$h" ]||{ s full "$(wc -c <"$f")" "$d";exit 3;}
chmod 700 "$f"
"$f" probe </dev/null >/dev/null 2>&1||{ s noexec $? "$d";exit 3;}
[ $w = 1 ]||{ mv -f "$f" "$d/rocksalt-agent-$h"&&f=$d/rocksalt-agent-$h&&i >"$f.ok";}
trap - 0
g"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_one_word() {
        assert_eq!(quote("it's $HOME"), r"'it'\''s $HOME'");
    }

    #[test]
    fn a_password_is_never_part_of_the_command() {
        let mut entry = Entry::new("web", "web");
        let password = Some(rocksalt_core::Secret::new("hunter2".to_owned()));
        entry.escalate = Some(Escalate { method: Method::Sudo, user: "root".into(), password });
        let words = Words { mark: "M".into(), prompt: "P".into() };
        let line = command(&entry, &words, &["abc"], &[], false, false);
        assert!(line.starts_with("exec sudo -H -S -p 'P' -u 'root' -- /bin/sh -c '"), "{line}");
        assert!(!line.contains("hunter2"));
    }
}
