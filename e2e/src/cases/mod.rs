//! Cases of states on real machines: `e2e/cases/<noun>/<name>.yml`, each a list.
//!
//! ```yaml
//! - what: a user with a home            # one line
//!   host: debian                        # or systemd (PID 1 is systemd); debian unless told
//!   packages: [cron]                    # installed in the host's root beforehand
//!   before: |                           # sh -e on the host, as root, before the first run
//!     groupadd staff2
//!   tree: {files/motd: "hello\n"}       # further files of the state tree
//!   pillar: {name: alice}
//!   sls: |                              # or a tree with several, of which `case.sls` is applied
//!     alice:
//!       user.present:
//!         - home: /home/alice
//!   test: [{result: null, comment: …, changes: {…}}]   # a dry run, the steps in order
//!   apply: [{…}]                        # each step is compared in the keys that it has here
//!   again: [{…}]                        # a second run; may have no changes
//!   after: |                            # sh -e on the host afterwards: every command must succeed
//!     getent passwd alice
//!   as_salt: no, because …              # it differs from Salt on purpose; the recorder leaves it alone
//!   unpredictable: why                  # the dry run can't give the changes of the run
//!   restless: why                       # a second run has changes
//!   writes: [/var/lib/apt]              # what the dry run may write, below these
//! ```
//!
//! `<any>` stands for any value, `{matches: REGEX}` for a comment like that; `{errors: [text]}` instead of a list of
//! steps is a run that is refused, with these texts in what it says. A test step without `changes` has those of the
//! run. `e2e/record.py` writes `test`, `apply` and `again` from real Salt.

mod compare;
mod read;
mod run;
mod snapshot;

pub use compare::{Expected, compare};
pub use read::{Case, all};
pub use run::run;
