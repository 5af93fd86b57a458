//! The program on the target: answers calls over stdin and stdout.
//!
//! One thread reads frames, each call has its own thread, and all of them write frames under one lock. Invariants:
//! nothing here is async, and only frames are written to stdout.

mod calls;
mod controller_client;
mod install_directory;
mod kept_calls;
#[cfg(feature = "whole")]
mod language;
mod link;
#[cfg(not(feature = "whole"))]
mod no_language;
mod private_files;
mod serve;
#[cfg(feature = "whole")]
mod services;
#[cfg(feature = "whole")]
mod state_lock;
#[cfg(feature = "whole")]
pub mod states;

#[cfg(not(feature = "whole"))]
use no_language as language;
pub use serve::{LinkEnd, serve};

/// Runs the program as an agent or as its helper, and returns the exit code; `None` if the arguments ask for neither.
///
/// `arguments` are those after the program's name.
pub fn start(arguments: &[std::ffi::OsString]) -> Option<u8> {
    use rocksalt_modules::machine::{EXEC_AS, GUARD, exec_as, guard_children};
    match arguments.first()?.to_str()? {
        EXEC_AS => {
            // The reason can only be reported on the standard error of the command.
            let _ =
                std::io::Write::write_all(&mut std::io::stderr(), format!("{}\n", exec_as(&arguments[1..])).as_bytes());
            Some(126)
        }
        GUARD => {
            guard_children();
            Some(0)
        }
        "agent" => {
            rocksalt_core::memory::share_one_heap();
            Some(
                match serve(
                    std::io::stdin().lock(),
                    std::io::stdout(),
                    install_directory::finish_bootstrap(&arguments[1..]).as_deref(),
                ) {
                    LinkEnd::Finished => 0,
                    LinkEnd::LinkLost => 1,
                    LinkEnd::Protocol(error) => {
                        let _ = std::io::Write::write_all(
                            &mut std::io::stderr(),
                            format!("rocksalt agent: {error}\n").as_bytes(),
                        );
                        2
                    }
                },
            )
        }
        _ => None,
    }
}
