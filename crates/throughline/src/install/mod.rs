//! Installs hooks and an MCP server into the configuration files of agents, and uninstalls them
//! without a trace.
//!
//! [`agents`] lists which file of which agent needs which entries. [`document`] adds the entries to
//! a text and removes them, with [`json`], [`mod@toml`] and [`toml_lists`], which keep every other
//! byte; [`our_entries`] recognises them. [`instructions`] are the skill and the commands.
//! [`mod@plan`] decides on the changes, [`diff`] shows them, [`apply`] makes them, and [`manifest`]
//! records them with the original files. Nothing here knows how a hook is answered.

pub(crate) mod agents;
pub(crate) mod apply;
pub(crate) mod diff;
pub(crate) mod document;
pub(crate) mod file;
pub(crate) mod instructions;
pub(crate) mod json;
pub(crate) mod manifest;
pub(crate) mod our_entries;
pub(crate) mod plan;
pub(crate) mod plugin;
pub(crate) mod program;
#[cfg(test)]
mod round_trip;
pub(crate) mod toml;
pub(crate) mod toml_lists;

use std::path::{Path, PathBuf};

use capture::AgentEnv;
use memory::Flavor;

use self::agents::{INTEGRATIONS, Integration};
use self::document::ConfigFormat;
use self::manifest::InstallManifest;
use self::plan::{ConfigFileChange, InstallTarget, InstalledFile};
use self::program::{Program, ProgramCopy};

/// The changes that `install` or `uninstall` would make.
#[derive(Debug, Default)]
pub(crate) struct InstallPlan {
    /// The copy of this program that the agents will run, if it has to be made first.
    pub(crate) program_copy: Option<ProgramCopy>,
    pub(crate) changes: Vec<ConfigFileChange>,
    /// Files that cannot be changed.
    pub(crate) skipped: Vec<SkippedFile>,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct SkippedFile {
    pub(crate) agent: Flavor,
    pub(crate) path: PathBuf,
    pub(crate) reason: String,
}

/// Returns the agents on this machine that support hooks.
pub(crate) fn detect_agents(env: &AgentEnv, path: &[PathBuf]) -> Vec<&'static Integration> {
    INTEGRATIONS
        .iter()
        .filter(|integration| integration.is_detected(env, path))
        .collect()
}

/// Plans the installation into agents.
pub(crate) fn plan_install(
    agents: &[&'static Integration],
    env: &AgentEnv,
    program: &Program,
    manifest: &InstallManifest,
) -> InstallPlan {
    let mut plan = InstallPlan {
        program_copy: program.copy.clone(),
        ..InstallPlan::default()
    };
    // Grok CLI runs the hooks in the settings of Claude Code, but not those of its plugins.
    let has_claude = agents
        .iter()
        .any(|agent| agent.flavor == Flavor::Claude && !agent.has_plugin(env))
        || has_our_entries(&agents::claude_settings_path(env));
    for agent in agents {
        let title = agent.flavor.title();
        for obstacle in agent.obstacles(env) {
            plan.notes.push(format!("{title}: {obstacle}."));
        }
        if agent.has_plugin(env) {
            plan.notes.push(format!(
                "{title}: the plugin `throughline` is enabled, so nothing is added."
            ));
            continue;
        }
        let changes_before = plan.changes.len();
        for target in agent.targets(env, program) {
            let own_hooks = target.path == agents::grok_hooks_path(env);
            if own_hooks && has_claude && !has_our_entries(&target.path) {
                plan.notes.push(format!(
                    "{title} also runs the hooks of Claude Code in {}, so it gets none of its own.",
                    agents::claude_settings_path(env).display()
                ));
                continue;
            }
            if program.is_recognised() {
                plan.add(&target, manifest);
            } else {
                // Entries of a program with another name would not be recognised: each install
                // would add them again, and uninstall would not remove them.
                let error = anyhow::anyhow!(
                    "this program is named {:?}, but its entries are recognised by the name \
                     `throughline`; link it as `throughline` on PATH",
                    program.command
                );
                plan.skip(target.agent, target.path, &error);
            }
        }
        if plan
            .skipped
            .iter()
            .any(|refusal| refusal.agent == agent.flavor)
        {
            // A partial installation would not work.
            plan.changes.truncate(changes_before);
        }
        if plan.changes.len() > changes_before {
            let advice = agent.advice.map(|advice| format!("{advice}."));
            plan.notes.extend(advice);
        }
    }
    plan
}

/// Plans the removal of our entries, from the files in the manifest and from the files in which
/// they would be installed.
pub(crate) fn plan_removal(
    agents: &[&'static Integration],
    env: &AgentEnv,
    program: &Program,
    manifest: &InstallManifest,
    home: &Path,
) -> anyhow::Result<InstallPlan> {
    let mut plan = InstallPlan::default();
    for agent in agents {
        let name = agent.flavor.name();
        let known = manifest
            .files
            .iter()
            .filter(|(_, entry)| entry.agent == name);
        let targets = agent.targets(env, program);
        let mut paths: Vec<_> = known.map(|(path, _)| path.clone()).collect();
        for target in &targets {
            if !paths.contains(&target.path) {
                paths.push(target.path.clone());
            }
        }
        for path in paths {
            let target = targets.iter().find(|target| target.path == path);
            plan.add_removal(agent.flavor, path, target, manifest, home)?;
        }
        if agent.has_plugin(env) {
            plan.notes.push(format!(
                "{}: the plugin `throughline` is still installed; remove it with `{}`.",
                agent.flavor.title(),
                agent.plugin_removal
            ));
        }
    }
    Ok(plan)
}

impl InstallPlan {
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.program_copy.is_none()
    }

    /// Makes the changes.
    pub(crate) fn apply(&self, home: &Path, manifest: &mut InstallManifest) -> anyhow::Result<()> {
        if let Some(copy) = &self.program_copy {
            copy.make()?;
        }
        for change in &self.changes {
            apply::apply_change(home, manifest, change)?;
        }
        Ok(())
    }

    fn add(&mut self, target: &InstallTarget, manifest: &InstallManifest) {
        let planned = file::read(&target.path).and_then(|text| {
            let entry = manifest.files.get(&target.path);
            Ok(plan::plan_file_install(target, text.as_deref(), entry)?)
        });
        match planned {
            Ok(change) => self.changes.extend(change),
            Err(error) if target.is_optional => self.notes.push(format!(
                "{} was left as it is: {error:#}.",
                target.path.display()
            )),
            Err(error) => self.skip(target.agent, target.path.clone(), &error),
        }
    }

    fn add_removal(
        &mut self,
        agent: Flavor,
        path: PathBuf,
        target: Option<&InstallTarget>,
        manifest: &InstallManifest,
        home: &Path,
    ) -> anyhow::Result<()> {
        let entry = manifest.files.get(&path);
        let original = entry.and_then(|entry| entry.original.as_deref());
        let original = original
            .map(|name| InstallManifest::read_original(home, name))
            .transpose()?;
        let planned = file::read(&path).and_then(|text| {
            let installed = InstalledFile {
                agent,
                path: path.clone(),
                text,
                desired: target.map(|target| &target.desired),
                entry,
                original,
            };
            Ok(plan::plan_file_removal(&installed)?)
        });
        match planned {
            Ok(change) => self.changes.extend(change),
            Err(error) => self.skip(agent, path, &error),
        }
        Ok(())
    }

    fn skip(&mut self, agent: Flavor, path: PathBuf, error: &anyhow::Error) {
        self.skipped.push(SkippedFile {
            agent,
            path,
            reason: format!("{error:#}"),
        });
    }
}

/// Returns whether a file contains an entry of Throughline.
pub(crate) fn has_our_entries(path: &Path) -> bool {
    let text = file::read(path).ok().flatten();
    text.is_some_and(|text| document::has_entries(&text, ConfigFormat::of(path)).unwrap_or(false))
}
