//! `rocksalt users`: the users in the daemon's own password file.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use rocksalt_controller::spool::private_directory;
use rocksalt_core::{Map, Secret, Value, json};
use rocksalt_daemon::auth::users::{MAX_PASSWORD, Users};

use super::Context;
use crate::failure::Failure;
use crate::prompt;
use crate::stdout::print_line;

/// Users of the daemon's own file (eauth `file`). What each may do is in `external_auth` (docs/access.md).
///
/// A running daemon sees a change at once: a user who is removed or gets another password is logged out.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    command: UsersCommand,
}

#[derive(Subcommand)]
enum UsersCommand {
    /// Add a user
    Add {
        name: String,

        /// A group that the user is in; may be given several times
        #[arg(long = "group", value_name = "GROUP")]
        groups: Vec<String>,

        #[command(flatten)]
        password: Password,
    },
    /// Give a user another password
    Passwd {
        name: String,

        #[command(flatten)]
        password: Password,
    },
    /// Remove a user
    Remove { name: String },
    /// List the users
    List,
}

#[derive(Args)]
struct Password {
    /// Read the password from standard input: one line, or all of it
    #[arg(long)]
    password_stdin: bool,
}

pub async fn run(context: Context, options: Options) -> Result<ExitCode, Failure> {
    let directory = context.config.state_dir(&context.environment);
    let users = Users::at(&directory.join("users"));
    match options.command {
        UsersCommand::Add { name, groups, password } => {
            make(&directory)?;
            let password = password.read(&format!("Password for {name}: "))?;
            users.add(&name, &password, &groups).map_err(Failure::usage)?;
            eprintln!("{name} can log in; what {name} may do is in external_auth");
        }
        UsersCommand::Passwd { name, password } => {
            if users.get(&name).map_err(Failure::usage)?.is_none() {
                return Err(Failure::usage(format!("there is no user {name}")));
            }
            let password = password.read(&format!("New password for {name}: "))?;
            users.set_password(&name, &password).map_err(Failure::usage)?;
            eprintln!("{name} has a new password, and is logged out everywhere");
        }
        UsersCommand::Remove { name } => {
            users.remove(&name).map_err(Failure::usage)?;
            eprintln!("{name} is removed, and logged out everywhere");
        }
        UsersCommand::List => list(&users, context.common.json)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn make(directory: &Path) -> Result<(), Failure> {
    if directory.is_dir() {
        return Ok(());
    }
    let uid = rustix::process::geteuid().as_raw();
    private_directory(directory, uid)
        .map_err(|error| Failure::usage(format!("can't make the directory {}: {error}", directory.display())))
}

fn list(users: &Users, as_json: bool) -> Result<(), Failure> {
    let all = users.all().map_err(Failure::usage)?;
    if as_json {
        let all = all.iter().map(|(name, user)| {
            let groups = Value::List(user.groups.iter().map(|group| group.as_str().into()).collect());
            Map::from_iter([("name".into(), name.as_str().into()), ("groups".into(), groups)]).into()
        });
        print_line!("{}", json::compact(&Value::List(all.collect())));
        return Ok(());
    }
    for (name, user) in all.iter() {
        match user.groups.is_empty() {
            true => print_line!("{name}"),
            false => print_line!("{name}  ({})", user.groups.join(", ")),
        }
    }
    Ok(())
}

impl Password {
    /// Reads the password, never from the command line, which other users can see.
    fn read(&self, question: &str) -> Result<Secret<String>, Failure> {
        if self.password_stdin {
            let mut text = String::new();
            let most = MAX_PASSWORD as u64 + 2;
            std::io::stdin()
                .take(most)
                .read_to_string(&mut text)
                .map_err(|error| Failure::usage(format!("can't read the password: {error}")))?;
            let text = Secret::new(text);
            return Ok(Secret::new(text.reveal().trim_end_matches(['\n', '\r']).to_owned()));
        }
        let none = || Failure::usage("there is no terminal to ask for the password").hint("give --password-stdin");
        let first = prompt::ask(question).ok_or_else(none)?;
        let second = prompt::ask("Again: ").ok_or_else(none)?;
        match first == second {
            true => Ok(first),
            false => Err(Failure::usage("the two are not the same")),
        }
    }
}
