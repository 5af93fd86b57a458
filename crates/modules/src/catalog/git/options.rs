//! The arguments that most `git` functions share, and the macro that declares them.

use rocksalt_core::Value;

use crate::text::words;
use crate::{Error, Result};

/// Options for git as users give them: a list, or one text that is split into words.
pub fn options(opts: &Value) -> Result<Vec<String>> {
    let mut words = match opts {
        Value::Null => Vec::new(),
        Value::List(words) => words.iter().map(ToString::to_string).collect(),
        text => words::split(&text.to_string())
            .map_err(|reason| Error::arguments(format!("could not split the options '{text}': {reason}")))?,
    };
    if words.last().is_some_and(|word| word == "--") {
        words.pop();
    }
    Ok(words)
}

/// The whole command line: git's own options, a command, its options, and what comes behind.
pub fn line(git_opts: &Value, command: &[&str], opts: &Value, rest: &[&str]) -> Result<Vec<String>> {
    let mut line = options(git_opts)?;
    line.extend(command.iter().map(|word| (*word).to_owned()));
    line.extend(options(opts)?);
    line.extend(rest.iter().map(|word| (*word).to_owned()));
    Ok(line)
}

/// A function that runs git in a directory: its own arguments first, then those that all have.
///
/// `plain`: the user to run as; `options`: options too; `remote`: keys and passwords too. The body gets
/// the machine and git, and its errors are git's.
macro_rules! git_function {
    (@body $name:ident, $full:literal, $out:ty, $self:ident, $machine:ident, $git:ident, $body:block, $made:expr) => {
        impl $crate::catalog::Function for $name {
            type Output = $out;

            fn call($self, $machine: &dyn $crate::machine::System) -> $crate::Result<$out> {
                #[allow(unused_variables, reason = "not every function needs it")]
                let $git = $made;
                $body
            }
        }
    };
    (
        $(#[$doc:meta])*
        $name:ident = $full:literal $nature:ident, plain, $out:ty;
        { $( $(#[$about:meta])* $field:ident : $type:ty, )* }
        |$self:ident, $machine:ident, $git:ident| $body:block
    ) => {
        $(#[$doc])*
        #[rocksalt_macros::function($full, $nature)]
        #[allow(dead_code, reason = "some arguments are accepted only for compatibility with Salt")]
        pub struct $name {
            /// The repository.
            cwd: String,
            $( $(#[$about])* $field: $type, )*
            /// The user to run git as.
            user: Option<String>,
            /// Only used on Windows.
            #[secret]
            password: rocksalt_core::Value,
            /// Return an empty result instead of an error if git fails.
            ignore_retcode: bool,
            /// Accepted and ignored: output is read as UTF-8.
            output_encoding: rocksalt_core::Value,
        }
        git_function!(@body $name, $full, $out, $self, $machine, $git, $body, {
            let cwd = super::sound::directory($machine, &$self.cwd, $self.user.as_deref());
            super::run::Git::looking($machine, cwd, $self.user.as_deref())
        });
    };
    (
        $(#[$doc:meta])*
        $name:ident = $full:literal $nature:ident, options, $out:ty;
        { $( $(#[$about:meta])* $field:ident : $type:ty, )* }
        |$self:ident, $machine:ident, $git:ident| $body:block
    ) => {
        $(#[$doc])*
        #[rocksalt_macros::function($full, $nature)]
        #[allow(dead_code, reason = "some arguments are accepted only for compatibility with Salt")]
        pub struct $name {
            /// The repository.
            cwd: String,
            $( $(#[$about])* $field: $type, )*
            /// Options of the command.
            opts: rocksalt_core::Value,
            /// Options of git itself.
            git_opts: rocksalt_core::Value,
            /// The user to run git as.
            user: Option<String>,
            /// Only used on Windows.
            #[secret]
            password: rocksalt_core::Value,
            /// Return an empty result instead of an error if git fails.
            ignore_retcode: bool,
            /// Accepted and ignored: output is read as UTF-8.
            output_encoding: rocksalt_core::Value,
        }
        git_function!(@body $name, $full, $out, $self, $machine, $git, $body, {
            let cwd = super::sound::directory($machine, &$self.cwd, $self.user.as_deref());
            super::run::Git::acting($machine, cwd, $self.user.as_deref())
        });
    };
    (
        $(#[$doc:meta])*
        $name:ident = $full:literal $nature:ident, remote($url:ident), $out:ty;
        { $( $(#[$about:meta])* $field:ident : $type:ty, )* }
        |$self:ident, $machine:ident, $git:ident| $body:block
    ) => {
        $(#[$doc])*
        #[rocksalt_macros::function($full, $nature)]
        #[allow(dead_code, reason = "some arguments are accepted only for compatibility with Salt")]
        pub struct $name {
            $( $(#[$about])* $field: $type, )*
            /// Options of the command.
            opts: rocksalt_core::Value,
            /// Options of git itself.
            git_opts: rocksalt_core::Value,
            /// The user to run git as.
            user: Option<String>,
            /// Only used on Windows.
            #[secret]
            password: rocksalt_core::Value,
            /// The private key for ssh, or several: paths, or `salt://…`.
            identity: rocksalt_core::Value,
            /// The user's name for https.
            https_user: Option<String>,
            /// The password for https. It is in no argument and no message.
            #[secret]
            https_pass: Option<String>,
            /// Return an empty result instead of an error if git fails.
            ignore_retcode: bool,
            /// The environment that `salt://` files are read from.
            saltenv: Option<String>,
            /// Accepted and ignored: output is read as UTF-8.
            output_encoding: rocksalt_core::Value,
        }
        git_function!(@body $name, $full, $out, $self, $machine, $git, $body, {
            let login = ($self.https_user.as_deref(), $self.https_pass.as_deref());
            let saltenv = $self.saltenv.as_deref().unwrap_or("base");
            let cwd = match $self.cwd.as_deref() {
                Some(cwd) => super::sound::directory($machine, cwd, $self.user.as_deref()),
                None => "/".into(),
            };
            let (url, access) =
                super::access::RemoteAccess::new($machine, &$self.$url(), &$self.identity, login, saltenv)
                    .map_err($crate::Error::arguments)?;
            (super::run::Git::acting($machine, cwd, $self.user.as_deref()).with(&access), url)
        });
    };
}

pub(super) use git_function;
