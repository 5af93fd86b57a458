//! The program on the target: answers calls over stdin and stdout.
//!
//! One thread reads frames, each call has a thread of its own, and whoever has something to say
//! writes it under a lock. Invariant: nothing here is async, and nothing but frames is written.

mod calls;
mod home;
mod kept;
#[cfg(feature = "whole")]
mod language;
mod link;
#[cfg(not(feature = "whole"))]
mod no_language;
mod place;
mod serve;
#[cfg(feature = "whole")]
mod services;
#[cfg(feature = "whole")]
mod state_lock;
#[cfg(feature = "whole")]
pub mod states;
mod upward;

#[cfg(not(feature = "whole"))]
use no_language as language;
pub use serve::{Ended, serve};

/// What a program does when it is started as an agent or as its helper; `None` if it is neither.
///
/// `arguments` are those after the program's name.
pub fn start(arguments: &[std::ffi::OsString]) -> Option<u8> {
    use rocksalt_modules::machine::{EXEC_AS, exec_as};
    match arguments.first()?.to_str()? {
        EXEC_AS => {
            // The command's own standard error is the only way to say why it did not start.
            let _ =
                std::io::Write::write_all(&mut std::io::stderr(), format!("{}\n", exec_as(&arguments[1..])).as_bytes());
            Some(126)
        }
        "agent" => {
            rocksalt_core::memory::share_one_heap();
            Some(match serve(std::io::stdin().lock(), std::io::stdout(), home::settle(&arguments[1..]).as_deref()) {
                Ended::Finished => 0,
                Ended::LinkLost => 1,
                Ended::Protocol(error) => {
                    let _ = std::io::Write::write_all(
                        &mut std::io::stderr(),
                        format!("rocksalt agent: {error}\n").as_bytes(),
                    );
                    2
                }
            })
        }
        _ => None,
    }
}
