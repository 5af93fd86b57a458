//! The command that starts an agent, and receives its upload first if the target doesn't have it.
//!
//! It must run under any POSIX shell with only the tools of busybox, and as one command: every further round trip slows
//! each target down. It never runs a file whose hash wasn't checked, and runs it through the descriptor that was
//! checked (docs/security-rules.md#r10). The result of a check is stored with the file's inode, size and times of
//! change: hashing at each start would be most of the cost of a login.
//!
//! Each process that it starts costs a target about a millisecond, so it starts few: the agent itself reports that it
//! runs, creates its directory, renames its file and stores that it was checked (`agent/src/install_directory.rs`).
//! Until then the upload lies beside that directory, if the user owns the parent.
//! `dd` reads an upload at half of the cost of `head`; a `dd` that doesn't know these options fails before it reads
//! anything, and leaves the file empty.
//!
//! Files that it creates are private (umask 077), but the agent gets back the umask of the login, which the commands
//! that it runs inherit.

use rocksalt_core::roster::{Escalate, Method, RosterEntry};

/// Random words that distinguish messages of the script from everything else that a login prints.
pub struct Markers {
    /// The first word of each message.
    pub mark: String,
    /// The prompt that sudo is told to use; su and doas have a fixed one.
    pub prompt: String,
}

/// The command line for the login shell that finds or receives an agent and starts it.
pub fn bootstrap_command(
    entry: &RosterEntry,
    markers: &Markers,
    hashes: &[&str],
    skip: &[String],
    wipe: bool,
    tty: bool,
) -> String {
    let script = SCRIPT
        .replace("@MARK@", &markers.mark)
        .replace("@WIPE@", if wipe { "1" } else { "0" })
        .replace("@FOUND@", &directories(entry, skip, SEARCHED))
        .replace("@PLACES@", &directories(entry, skip, STORED))
        .replace("@HASHES@", &hashes.join(" "));
    as_user(&format!("/bin/sh -c {}", quote(&script)), entry.escalate.as_ref(), markers, tty)
}

fn as_user(command: &str, escalate: Option<&Escalate>, markers: &Markers, tty: bool) -> String {
    let command = match escalate {
        None => format!("exec {command}"),
        Some(escalate) => {
            let user = quote(&escalate.user);
            match escalate.method {
                Method::Sudo => format!("exec sudo -H -S -p {} -u {user} -- {command}", quote(&markers.prompt)),
                Method::Doas => format!("exec doas -u {user} -- {command}"),
                Method::Su => format!("exec su {user} -c {}", quote(&format!("exec {command}"))),
            }
        }
    };
    // The terminal must neither echo nor translate: frames are binary.
    if tty { format!("stty raw -echo 2>/dev/null; {command}") } else { command }
}

/// Where an agent may be found. The script checks the owner later, without starting a process.
const SEARCHED: [&str; 3] = ["/var/tmp/.rocksalt-*", "/dev/shm/.rocksalt-*", "/tmp/.rocksalt-*"];
/// Where an agent may be stored, besides the home. After `//` the script appends the uid, which costs a process.
const STORED: [&str; 3] = ["//var/tmp/.rocksalt-", "//dev/shm/.rocksalt-", "//tmp/.rocksalt-"];

/// The directories of the agent, best first, without those that failed before.
fn directories(entry: &RosterEntry, skip: &[String], shared: [&str; 3]) -> String {
    let mut all = Vec::new();
    if let Some(configured) = &entry.agent_dir {
        let (start, rest) = match configured.strip_prefix("~/") {
            Some(rest) => ("\"$HOME\"/", rest),
            None => ("", configured.as_str()),
        };
        all.push(format!("{start}{}", quote(rest)));
    }
    all.push("\"$HOME/.rocksalt\"".to_owned());
    all.extend(shared.map(str::to_owned));
    let skip: Vec<String> = skip.iter().map(|directory| format!("{})continue;;", quote(directory))).collect();
    // The shell compares the names, because only it can expand them.
    format!(
        "{};do case $d in //*.rocksalt-)[ \"$u\" ]||u=$(id -u 2>/dev/null);d=${{d#/}}$u;;esac\n\
         case $d in {}/*);;*)continue;;esac",
        all.join(" "),
        skip.join("")
    )
}

/// Quotes any text as one word of a POSIX shell.
pub fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

const SCRIPT: &str = r#"LC_ALL=C;export LC_ALL
u=;w=@WIPE@
s(){ printf '\n@MARK@ %s\n' "$*";}
i(){ TZ=UTC0 stat -Lc '%d %i %s %y %z' /proc/self/fd/9 2>/dev/null;}
v(){ [ -O "$f.ok" ]&&read -r k<"$f.ok"&&[ "$k" ]&&[ "$k" = "$(i)" ]&&return
set -- $(sha256sum <&9);[ "$1" = "$h" ]&&(umask 077;i >"$f.ok");[ "$1" = "$h" ];}
x(){ [ -e /proc/self/fd/9 ]&&exec /proc/self/fd/9 agent 9 "$d" "$@"
exec "$f" agent 9 "$d" "$@";}
g(){ [ $w = 0 ]||{ rm -f "$f" "$f.ok";rmdir "$d" 2>/dev/null;};}
for d in @FOUND@
[ -O "$d" ]||continue
for h in @HASHES@;do f=$d/rocksalt-agent-$h
if [ -f "$f" ]&&[ ! -L "$f" ]&&[ -O "$f" ]&&exec 9<"$f";then v&&{ g;s start "$d";x;}
exec 9<&-;rm -f "$f" "$f.ok";fi
done;done
c=;for t in b2sum sha256sum;do command -v $t >/dev/null&&{ c=$t;break;};done
[ "$c" ]||{ s lacks sha256sum;exit 3;}
o=;b=;while read -r k n;do [ $k = Umask: ]&&{ b=$n;break;};done 2>/dev/null </proc/self/status
[ "$b" ]||b=$(umask);umask 077
for d in @PLACES@
p=${d%/*};[ -e "$d" ]||[ -L "$d" ]||{ [ "$p" ]&&[ -O "$p" ]&&[ ! -L "$p" ]&&[ ! -k "$p" ]&&[ -w "$p" ]&&{ o=$p;break;};mkdir "$d" 2>/dev/null;}
[ -d "$d" ]&&[ ! -L "$d" ]&&[ -O "$d" ]&&[ -w "$d" ]&&{ o=$d;break;}
done
[ "$o" ]||{ s nowhere;exit 3;}
z=raw;command -v gzip >/dev/null&&z=gz
m=;{ read -r m </proc/sys/kernel/arch;} 2>/dev/null||m=$(uname -m)
s need "$m" $z $c "$d"
read -r k n h a||exit 3
[ "$n" -gt 0 ]||exit 3
f=$o/.rocksalt-agent-$h.$$;r=
trap 'e=$?;rm -f "$f";[ -z "$r" ]||s noexec $e "$d"' 0
trap 'exit 3' 1 2 13 15
o=;set -C
{ o=1;if [ $k = gz ];then head -c "$n"|gzip -dc
else dd bs=128k iflag=fullblock,count_bytes count="$n" 2>/dev/null||[ -s "$f" ]||head -c "$n";fi;} >"$f"
set +C;[ "$o" ]||{ s full 0 "$d";exit 3;}
exec 9<"$f";set -- $($c <&9)
[ "$1" = "$a" ]||{ s full "$(wc -c <"$f")" "$d";exit 3;}
chmod 700 "$f";umask $b;g;r=1
[ -z "$BASH_VERSION" ]||shopt -s execfail
x @MARK@ "$f" "rocksalt-agent-$h""#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_one_word() {
        assert_eq!(quote("it's $HOME"), r"'it'\''s $HOME'");
    }

    #[test]
    fn a_password_is_never_part_of_the_command() {
        let mut entry = RosterEntry::new("web", "web");
        let password = Some(rocksalt_core::Secret::new("hunter2".to_owned()));
        entry.escalate = Some(Escalate { method: Method::Sudo, user: "root".into(), password });
        let markers = Markers { mark: "M".into(), prompt: "P".into() };
        let line = bootstrap_command(&entry, &markers, &["abc"], &[], false, false);
        assert!(line.starts_with("exec sudo -H -S -p 'P' -u 'root' -- /bin/sh -c '"), "{line}");
        assert!(!line.contains("hunter2"));
    }
}
