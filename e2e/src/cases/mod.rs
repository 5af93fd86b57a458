//! Tests of states on real machines: `e2e/cases/<noun>/<name>.yml`, each file a list of cases.
//!
//! ```yaml
//! - what: a user with a home            # one line
//!   host: debian                        # or systemd (PID 1 is systemd); debian is the default
//!   packages: [cron]                    # installed in the host's root before the start
//!   before: |                           # sh -e on the host, as root, before the first run
//!     groupadd staff2
//!   tree: {files/motd: "hello\n"}       # more files of the state tree
//!   pillar: {name: alice}
//!   sls: |                              # or a tree with several files, of which `case.sls` is applied
//!     alice:
//!       user.present:
//!         - home: /home/alice
//!   test: [{result: null, comment: …, changes: {…}}]   # a dry run, with the steps in order
//!   apply: [{…}]                        # each step is compared only in the keys given here
//!   again: [{…}]                        # a second run; must have no changes
//!   after: |                            # sh -e on the host afterwards: every command must succeed
//!     getent passwd alice
//!   as_salt: no, because …              # the result differs from Salt on purpose; the recorder skips the case
//!   unpredictable: why                  # the dry run can't predict the changes of the run
//!   restless: why                       # the second run may have changes
//!   writes: [/var/lib/apt]              # paths below which the dry run may write
//! ```
//!
//! `<any>` stands for any value, and `{matches: REGEX}` for a comment that matches. `{errors: [text]}` instead of a
//! list of steps means that the run is refused and that its output contains these texts. A test step without `changes`
//! expects those of the run. `e2e/record.py` records `test`, `apply` and `again` from real Salt.

mod compare;
mod read;
mod run;
mod snapshot;

pub use compare::{Expected, compare};
pub use read::{Case, all};
pub use run::run;
