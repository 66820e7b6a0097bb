//! Editors of the VS Code family, in which several agents run as an extension.

use std::path::PathBuf;

use crate::AgentEnv;

/// VS Code and the editors that descend from it, by the name of their configuration folder.
pub(crate) const EDITORS: [&str; 5] = ["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"];

/// Returns the folders that the editors give to an extension for its files.
pub(crate) fn extension_folders(env: &AgentEnv, extension: &str) -> Vec<PathBuf> {
    let mut homes: Vec<_> = env
        .config_folders()
        .iter()
        .flat_map(|config| EDITORS.map(|editor| config.join(editor)))
        .collect();
    homes.extend([".vscode-server/data", ".cursor-server/data"].map(|home| env.home.join(home)));
    homes
        .into_iter()
        .map(|home| home.join("User/globalStorage").join(extension))
        .collect()
}
