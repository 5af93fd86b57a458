//! Loads everything that a reload may change: the configuration, the roster, the access rules.

use std::path::PathBuf;
use std::sync::Arc;

use rocksalt_connect::HostKeys;
use rocksalt_connect::links::Links;
use rocksalt_core::roster::Roster;
use rocksalt_daemon::access::AccessPolicy;
use rocksalt_daemon::auth;
use rocksalt_daemon::requests::{ConfigSources, Load, Loaded};

use super::{api_settings, settings};
use crate::commands::{Common, Context};
use crate::config::{self, Config};
use crate::environment::ProcessEnvironment;
use crate::failure::Failure;
use crate::local_controller::LocalController;
use crate::roster;

/// The files of the configuration.
const FILES: [&str; 3] = [config::FILE, "master", "minion"];

pub struct Loader {
    pub common: Common,
    pub environment: ProcessEnvironment,
    pub directory: Option<PathBuf>,
    /// Links stay open across a reload.
    pub links: Arc<dyn Links>,
}

impl Loader {
    pub fn load(self: Arc<Loader>) -> Box<Load> {
        Box::new(move || {
            let loader = Arc::clone(&self);
            Box::pin(async move { loader.read().await.map_err(|failure| text(&failure)) })
        })
    }

    async fn read(&self) -> Result<Loaded, Failure> {
        let (common, environment) = (self.common.clone(), self.environment.clone());
        let files = self.directory.iter().flat_map(|directory| FILES.map(|name| directory.join(name)));
        let sources = ConfigSources::of(files);
        let config = Config::read(self.directory.as_deref(), &environment, common.persist)?;
        // Checks all settings, so that a reload finds the errors that would make the next start fail.
        let users = settings::read(&config, &environment, &[])?.users();
        let context = Context { common, environment, config };
        let sources = sources.and(ConfigSources::of(roster::files(
            &context.common.roster,
            &context.config,
            &context.environment,
        )));
        let roster = self.roster(&context).await?;
        let controller = LocalController::with(&context, roster, Arc::clone(&self.links))?.controller;
        let (config, environment) = (&context.config, &context.environment);
        let access = AccessPolicy::read(config.values(), &controller.nodegroups).map_err(|why| self.wrong(&why))?;
        let directory = self.directory.clone().unwrap_or_default();
        let auth = auth::Settings::read(config.values(), &directory, &users).map_err(|why| self.wrong(&why))?;
        Ok(Loaded {
            auth: Some(Arc::new(auth)),
            api: api_settings::read(config, environment)?,
            presence: settings::presence(config)?,
            config: config.values().clone(),
            sources,
            host_keys: Some(Arc::new(HostKeys::new(&environment.local_user))),
            ..Loaded::new(controller, access)
        })
    }

    /// The roster. A daemon may start without targets: they are added later.
    async fn roster(&self, context: &Context) -> Result<Roster, Failure> {
        if roster::is_missing(&context.common.roster, &context.config, &context.environment) {
            return Ok(Roster::default());
        }
        roster::load(&context.common.roster, &context.config, &context.environment).await
    }

    fn wrong(&self, why: &str) -> Failure {
        let place = self.directory.as_deref().unwrap_or(std::path::Path::new("")).join(config::FILE);
        Failure::usage(format!("{}: {why}", place.display()))
    }
}

fn text(failure: &Failure) -> String {
    let hints = failure.hints.iter().map(|hint| format!("\nhint: {hint}"));
    std::iter::once(failure.text.clone()).chain(hints).collect()
}
