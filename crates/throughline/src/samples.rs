//! Sample sessions, compiled into the program for machines without sessions of their own.

use std::path::Path;

use anyhow::Context;

use crate::install::manifest::private_folder;

macro_rules! file {
    ($folder:literal, $name:literal) => {
        (
            concat!($folder, "/", $name),
            include_str!(concat!("../../../samples/", $folder, "/", $name)),
        )
    };
}

/// The logs, with their paths below a folder that holds the home folders of agents.
const SAMPLE_FILES: &[(&str, &str)] = &[
    file!(
        "claude/projects/-home-dev-proj",
        "4c5420d7-85c7-46b9-b34d-eaf1c42847fd.jsonl"
    ),
    file!(
        "claude/projects/-home-dev-proj",
        "703ad6e2-1d62-41f4-9458-d210f8be4c06.jsonl"
    ),
    file!(
        "claude/projects/-home-dev-proj",
        "7142b226-68fa-46a0-8fd9-46e66b66a646.jsonl"
    ),
    file!(
        "codex/sessions/2026/11/15",
        "rollout-2026-11-15T18-40-56-01a1e083-3243-7112-b608-7ab56732dcdf.jsonl"
    ),
    file!(
        "codex/sessions/2026/11/15",
        "rollout-2026-11-15T18-41-08-01a1e083-6174-7f42-8e01-140a3040c950.jsonl"
    ),
    file!(
        "codex/sessions/2026/11/15",
        "rollout-2026-11-15T18-41-13-01a1e083-73e1-7ac1-b621-5f00d0d1f698.jsonl"
    ),
    file!(
        "codex/sessions/2026/11/15",
        "rollout-2026-11-15T18-41-19-01a1e083-8989-7ef1-a26f-c1562215f778.jsonl"
    ),
    file!(
        "grok/sessions/%2Fhome%2Fdev%2Fproj/01a1e07c-e626-7793-85aa-32c25c5d307e",
        "chat_history.jsonl"
    ),
    file!(
        "grok/sessions/%2Fhome%2Fdev%2Fproj/01a1e07c-e626-7793-85aa-32c25c5d307e",
        "summary.json"
    ),
    file!(
        "grok/sessions/%2Fhome%2Fdev%2Fproj/01a1e07c-e626-7793-85aa-32c25c5d307e",
        "updates.jsonl"
    ),
    file!(
        "grok/sessions/%2Fhome%2Fdev%2Fproj/01a1e07c-e626-7793-85aa-32c25c5d307e",
        "usage.json"
    ),
];

/// Writes the logs into a folder, except those that are there already.
pub(crate) fn write_samples(folder: &Path) -> anyhow::Result<()> {
    for (name, text) in SAMPLE_FILES {
        let path = folder.join(name);
        let failed = || format!("cannot write {}", path.display());
        if path
            .metadata()
            .is_ok_and(|there| there.len() == text.len() as u64)
        {
            continue;
        }
        if let Some(parent) = path.parent() {
            private_folder(parent)?;
        }
        std::fs::write(&path, text).with_context(failed)?;
    }
    Ok(())
}
