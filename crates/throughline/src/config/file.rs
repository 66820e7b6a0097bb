//! The configuration file as the page sees it: every setting with its line, and a few switches.
//!
//! A switch changes one value. Everything else in the file stays byte for byte, comments too.

use std::path::{Path, PathBuf};

use serve::{ConfigEdit, ConfigFile, ConfigSetting, ConfigSwitch, InjectionSettings};
use similar::{ChangeTag, TextDiff};
use toml_edit::{Array, Document, DocumentMut, Item, Table, value};

use super::{Config, PricesConfig};
use crate::install::file;

/// The configuration file of this process.
#[derive(Debug)]
pub(crate) struct UserConfigFile {
    path: PathBuf,
    /// The environment turns injection off for this process.
    injection_off: bool,
}

impl UserConfigFile {
    pub(crate) fn new(path: PathBuf, injection_off: bool) -> Self {
        Self {
            path,
            injection_off,
        }
    }

    fn read(&self) -> Result<Option<String>, String> {
        file::read(&self.path).map_err(|error| format!("{error:#}"))
    }
}

impl ConfigFile for UserConfigFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn settings(&self) -> Result<Vec<ConfigSetting>, String> {
        let text = self.read()?.unwrap_or_default();
        let config = parse(&text)?;
        effective_settings(config, &text)
    }

    fn plan(&self, switch: &ConfigSwitch) -> Result<Option<ConfigEdit>, String> {
        let before = self.read()?;
        let after = set_switch(before.as_deref().unwrap_or_default(), switch)?;
        Ok(after.map(|after| ConfigEdit {
            diff: changed_lines(before.as_deref().unwrap_or_default(), &after),
            before,
            after,
        }))
    }

    fn apply(&self, edit: &ConfigEdit) -> Result<InjectionSettings, String> {
        let config = parse(&edit.after)?;
        file::replace(&self.path, edit.before.as_deref(), &edit.after)
            .map_err(|error| format!("{error:#}"))?;
        Ok(config.injection.settings(self.injection_off))
    }
}

fn parse(text: &str) -> Result<Config, String> {
    let config: Config = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    config.validate().map_err(|error| format!("{error:#}"))?;
    Ok(config)
}

/// Returns every setting in effect with its line in the file. The shipped prices are left out,
/// because they are many.
fn effective_settings(mut config: Config, text: &str) -> Result<Vec<ConfigSetting>, String> {
    let shipped = PricesConfig::default().models;
    let is_own = |model: &String, price: &mut memory::Price| shipped.get(model) != Some(price);
    config.prices.models.retain(is_own);
    let document = Document::parse(text).map_err(|error| error.message().to_owned())?;
    let values = toml::Value::try_from(&config).map_err(|error| error.to_string())?;
    let mut settings = Vec::new();
    collect("", &values, Some(document.as_item()), text, &mut settings);
    Ok(settings)
}

fn collect(
    key: &str,
    values: &toml::Value,
    item: Option<&Item>,
    text: &str,
    settings: &mut Vec<ConfigSetting>,
) {
    if let toml::Value::Table(table) = values {
        for (name, values) in table {
            let key = match key {
                "" => name.clone(),
                key => format!("{key}.{name}"),
            };
            let item = item.and_then(|item| item.get(name));
            collect(&key, values, item, text, settings);
        }
        return;
    }
    let start = item.and_then(Item::span).map(|span| span.start);
    let line_of = |start: usize| 1 + text[..start.min(text.len())].matches('\n').count();
    settings.push(ConfigSetting {
        key: key.to_owned(),
        value: values.to_string(),
        line: start.map(line_of),
    });
}

/// Returns the text with a switch set, or `None` if it is set like that already.
fn set_switch(text: &str, switch: &ConfigSwitch) -> Result<Option<String>, String> {
    let config = parse(text)?;
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    match switch {
        ConfigSwitch::Injection(on) => {
            if config.injection.enabled == *on {
                return Ok(None);
            }
            set_bool(section(&mut document, "injection")?, "enabled", *on);
        }
        ConfigSwitch::Sensitive(on) => {
            if config.injection.sensitive == *on {
                return Ok(None);
            }
            set_bool(section(&mut document, "injection")?, "sensitive", *on);
        }
        ConfigSwitch::WorkspaceSensitive { on: false, .. } if config.injection.sensitive => {
            return Err("sensitive texts are given in all workspaces; \
                        switch that off first"
                .to_owned());
        }
        ConfigSwitch::WorkspaceSensitive { workspace, on } => {
            let list = section(&mut document, "injection")?;
            if !set_listed(list, "sensitive_in", workspace, *on, |_, _| false)? {
                return Ok(None);
            }
        }
        ConfigSwitch::WorkspaceInjection { workspace, on } => {
            let list = section(&mut document, "injection")?;
            if !set_listed(list, "off", workspace, !on, matches)? {
                return Ok(None);
            }
        }
    }
    let after = document.to_string();
    parse(&after)?;
    Ok(Some(after))
}

/// Returns a section, which is added at the end if it is missing.
fn section<'d>(document: &'d mut DocumentMut, name: &str) -> Result<&'d mut Table, String> {
    let item = document
        .entry(name)
        .or_insert_with(|| Item::Table(Table::new()));
    let table = item.as_table_mut();
    table.ok_or_else(|| format!("[{name}] is an inline table; change it by hand"))
}

/// Sets a value, and keeps the comment after it.
fn set_bool(section: &mut Table, name: &str, on: bool) {
    match section.get_mut(name).and_then(Item::as_value_mut) {
        Some(known) => {
            let decor = known.decor().clone();
            *known = on.into();
            *known.decor_mut() = decor;
        }
        None => {
            section.insert(name, value(on));
        }
    }
}

/// Adds a name to a list or removes it. Returns whether that changed anything.
fn set_listed(
    section: &mut Table,
    list: &str,
    name: &str,
    is_listed: bool,
    covers: fn(&toml_edit::Value, &str) -> bool,
) -> Result<bool, String> {
    let item = section.entry(list).or_insert_with(|| value(Array::new()));
    let array = item
        .as_array_mut()
        .ok_or_else(|| format!("`{list}` is not a list; change it by hand"))?;
    let found = array.iter().position(|entry| entry.as_str() == Some(name));
    match (found, is_listed) {
        (None, true) => array.push(name),
        (Some(at), false) => {
            array.remove(at);
        }
        (None, false) if array.iter().any(|entry| covers(entry, name)) => {
            return Err(format!(
                "another entry of `{list}` covers this workspace; change it by hand"
            ));
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Says whether an entry covers a workspace by a part of its name.
fn matches(entry: &toml_edit::Value, workspace: &str) -> bool {
    entry.as_str().is_some_and(|part| workspace.contains(part))
}

/// Returns the added and removed lines.
fn changed_lines(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut lines = String::new();
    for change in diff.iter_all_changes() {
        let sign = match change.tag() {
            ChangeTag::Equal => continue,
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        };
        let line = change.value().trim_end_matches(['\r', '\n']);
        lines += &format!("{sign} {line}\n");
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# mine\n[injection] # a section\nenabled = true # yes\noff = [\n  \"a\", # \
                        old\n]\n\n[retention]\n";

    #[track_caller]
    fn check(text: &str, switch: &ConfigSwitch, diff: &str) {
        let after = set_switch(text, switch).unwrap().unwrap();
        assert_eq!(changed_lines(text, &after), diff, "{after}");
    }

    fn injection_in(workspace: &str, on: bool) -> ConfigSwitch {
        let workspace = workspace.to_owned();
        ConfigSwitch::WorkspaceInjection { workspace, on }
    }

    fn sensitive_in(workspace: &str, on: bool) -> ConfigSwitch {
        let workspace = workspace.to_owned();
        ConfigSwitch::WorkspaceSensitive { workspace, on }
    }

    #[test]
    fn a_switch_changes_one_line_and_keeps_comments() {
        check(
            FILE,
            &ConfigSwitch::Injection(false),
            "- enabled = true # yes\n+ enabled = false # yes\n",
        );
        check(FILE, &ConfigSwitch::Sensitive(true), "+ sensitive = true\n");
        check(
            "[injection]\nsensitive_in = [\"a\", \"b\"] # c\n",
            &sensitive_in("a", false),
            "- sensitive_in = [\"a\", \"b\"] # c\n+ sensitive_in = [ \"b\"] # c\n",
        );
        check(
            "",
            &sensitive_in("/home/me/w", true),
            "+ [injection]\n+ sensitive_in = [\"/home/me/w\"]\n",
        );
        check(
            "",
            &ConfigSwitch::Injection(false),
            "+ [injection]\n+ enabled = false\n",
        );
        check(
            "[injection]\noff = [\"a\"] # b\n",
            &injection_in("/home/me/w", false),
            "- off = [\"a\"] # b\n+ off = [\"a\", \"/home/me/w\"] # b\n",
        );
    }

    #[test]
    fn a_switch_that_is_set_changes_nothing() {
        for switch in [
            ConfigSwitch::Injection(true),
            ConfigSwitch::Sensitive(false),
            injection_in("a", false),
            injection_in("b", true),
            sensitive_in("b", false),
            sensitive_in("/x/abc", false),
        ] {
            assert_eq!(set_switch(FILE, &switch), Ok(None), "{switch:?}");
        }
        assert!(set_switch(FILE, &injection_in("/x/abc", true)).is_err());
        let everywhere = "[injection]\nsensitive = true\n";
        let refused = set_switch(everywhere, &sensitive_in("b", false)).unwrap_err();
        assert!(refused.contains("in all workspaces"), "{refused}");
        assert!(set_switch("[injection", &ConfigSwitch::Injection(false)).is_err());
    }

    #[test]
    fn turning_a_switch_back_restores_the_file() {
        for (on, off) in [
            (
                ConfigSwitch::Injection(false),
                ConfigSwitch::Injection(true),
            ),
            (injection_in("w/x", false), injection_in("w/x", true)),
        ] {
            let changed = set_switch(FILE, &on).unwrap().unwrap();
            let restored = set_switch(&changed, &off).unwrap().unwrap();
            assert_eq!(restored, FILE);
        }
    }

    #[test]
    fn every_setting_has_its_line() {
        let settings = effective_settings(parse(FILE).unwrap(), FILE).unwrap();
        let line = |key: &str| settings.iter().find(|s| s.key == key).unwrap().line;
        assert_eq!(line("injection.enabled"), Some(3));
        assert_eq!(line("injection.off"), Some(4));
        assert_eq!(line("injection.gate"), None);
        assert!(settings.len() > 40, "{}", settings.len());
    }
}
