//! Telling the agents of us, and undoing it without a trace.
//!
//! [`agents`] says which file of which agent needs what; [`document`] puts that into a text and takes
//! it out ([`json`], [`toml`]: every other byte stays); [`mod@plan`] decides, [`show`] shows, [`apply`]
//! does it and [`record`] remembers how it was. Nothing here knows what a hook answers.

pub(crate) mod agents;
pub(crate) mod apply;
pub(crate) mod document;
pub(crate) mod file;
pub(crate) mod json;
pub(crate) mod ours;
pub(crate) mod plan;
pub(crate) mod plugin;
pub(crate) mod program;
pub(crate) mod record;
#[cfg(test)]
mod round_trip;
pub(crate) mod show;
pub(crate) mod toml;

use std::path::{Path, PathBuf};

use capture::AgentEnv;
use memory::Flavor;

use self::agents::{INTEGRATIONS, Integration};
use self::document::ConfigFormat;
use self::plan::{ConfigFileChange, InstallTarget, InstalledFile};
use self::program::Program;
use self::record::InstallManifest;

/// What a command is about to do.
#[derive(Debug, Default)]
pub(crate) struct InstallPlan {
    pub(crate) changes: Vec<ConfigFileChange>,
    /// Files that are left as they are because something is wrong with them.
    pub(crate) skipped: Vec<SkippedFile>,
    /// What else there is to know.
    pub(crate) notes: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct SkippedFile {
    pub(crate) agent: Flavor,
    pub(crate) path: PathBuf,
    pub(crate) reason: String,
}

/// The agents of this machine that can be told of us.
pub(crate) fn detect_agents(places: &AgentEnv, path: &[PathBuf]) -> Vec<&'static Integration> {
    INTEGRATIONS
        .iter()
        .filter(|integration| integration.is_detected(places, path))
        .collect()
}

/// Plans what telling these agents of us changes.
pub(crate) fn plan_install(
    agents: &[&'static Integration],
    places: &AgentEnv,
    program: &Program,
    record: &InstallManifest,
) -> InstallPlan {
    let mut plan = InstallPlan::default();
    // A plugin's hooks are Claude Code's alone.
    let has_claude = agents
        .iter()
        .any(|agent| agent.flavor == Flavor::Claude && !agent.has_plugin(places))
        || has_our_entries(&agents::claude_settings_path(places));
    for agent in agents {
        let title = agent.flavor.title();
        for obstacle in agent.obstacles(places) {
            plan.notes.push(format!("{title}: {obstacle}."));
        }
        if agent.has_plugin(places) {
            continue;
        }
        let changes_before = plan.changes.len();
        for target in agent.targets(places, program) {
            let own_hooks = target.path == agents::grok_hooks_path(places);
            if own_hooks && has_claude && !has_our_entries(&target.path) {
                plan.notes.push(format!(
                    "{title} runs the hooks of Claude Code in {} too; they are not written twice.",
                    agents::claude_settings_path(places).display()
                ));
                continue;
            }
            if program.is_recognised() {
                plan.add(&target, record);
            } else {
                // It would be added again each time, and never be taken out.
                let error = anyhow::anyhow!(
                    "this program is called {:?}, and entries are known by the name `throughline`: link it by that name on PATH",
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
            // Half of it would be of no use.
            plan.changes.truncate(changes_before);
        }
        if plan.changes.len() > changes_before {
            let advice = agent.advice.map(|advice| format!("{advice}."));
            plan.notes.extend(advice);
        }
    }
    plan
}

/// Plans what taking our entries out changes: in the files that the record knows, and in those of the
/// agents where we would have put them.
pub(crate) fn plan_removal(
    agents: &[&'static Integration],
    places: &AgentEnv,
    program: &Program,
    record: &InstallManifest,
    home: &Path,
) -> anyhow::Result<InstallPlan> {
    let mut plan = InstallPlan::default();
    for agent in agents {
        let name = agent.flavor.name();
        let known = record.files.iter().filter(|(_, entry)| entry.agent == name);
        let mut paths: Vec<_> = known.map(|(path, _)| path.clone()).collect();
        for target in agent.targets(places, program) {
            if !paths.contains(&target.path) {
                paths.push(target.path);
            }
        }
        for path in paths {
            plan.add_removal(agent.flavor, path, record, home)?;
        }
        if agent.has_plugin(places) {
            plan.notes.push(format!(
                "{}: its plugin `throughline` stays; `{name} plugin uninstall throughline@throughline` takes it out.",
                agent.flavor.title()
            ));
        }
    }
    Ok(plan)
}

impl InstallPlan {
    fn add(&mut self, target: &InstallTarget, record: &InstallManifest) {
        let planned = file::read(&target.path).and_then(|text| {
            let entry = record.files.get(&target.path);
            Ok(plan::plan_file_install(target, text.as_deref(), entry)?)
        });
        match planned {
            Ok(change) => self.changes.extend(change),
            Err(error) => self.skip(target.agent, target.path.clone(), &error),
        }
    }

    fn add_removal(
        &mut self,
        agent: Flavor,
        path: PathBuf,
        record: &InstallManifest,
        home: &Path,
    ) -> anyhow::Result<()> {
        let entry = record.files.get(&path);
        let original = entry.and_then(|entry| entry.original.as_deref());
        let original = original
            .map(|name| InstallManifest::read_original(home, name))
            .transpose()?;
        let planned = file::read(&path).and_then(|text| {
            let installed = InstalledFile {
                agent,
                path: path.clone(),
                text,
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

/// Says whether there is anything of ours in a file.
pub(crate) fn has_our_entries(path: &Path) -> bool {
    let text = file::read(path).ok().flatten();
    text.is_some_and(|text| document::has_entries(&text, ConfigFormat::of(path)).unwrap_or(false))
}
