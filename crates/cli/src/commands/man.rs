//! `rocksalt man`: the manual page, for `rocksalt man | man -l -`.

use std::process::ExitCode;

use crate::failure::Failure;

pub fn run(command: &clap::Command) -> Result<ExitCode, Failure> {
    let fault = |error: std::io::Error| Failure::usage(format!("can't print the manual: {error}"));
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page).map_err(fault)?;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let sub = sub.clone().display_name(format!("rocksalt {}", sub.get_name()));
        let man = clap_mangen::Man::new(sub);
        man.render_name_section(&mut page).map_err(fault)?;
        man.render_description_section(&mut page).map_err(fault)?;
        man.render_options_section(&mut page).map_err(fault)?;
    }
    std::io::Write::write_all(&mut std::io::stdout(), &page).map_err(fault)?;
    Ok(ExitCode::SUCCESS)
}
