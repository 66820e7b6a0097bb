//! The `[ui]` section.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct UiConfig {
    /// Draws this many rows below the prompt instead of the whole screen.
    pub(crate) inline: Option<u16>,
    /// Lets the mouse wheel scroll.
    pub(crate) mouse: bool,
    /// The keys of actions, in place of the defaults.
    pub(crate) keys: BTreeMap<String, Vec<String>>,
}
