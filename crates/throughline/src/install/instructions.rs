//! The skill and the commands that agents get, made of the files of the plugin.

use std::path::Path;

use memory::Flavor;

use super::document::{DesiredContent, MARKDOWN_MARKER, TOML_MARKER};
use super::plan::InstallTarget;

macro_rules! plugin_file {
    ($path:literal) => {
        include_str!(concat!("../../../../plugin/plugins/throughline/", $path))
    };
}

const SKILL: &str = plugin_file!("skills/session-memory/SKILL.md");

/// The commands by name.
const COMMANDS: &[(&str, &str)] = &[
    ("recall", plugin_file!("commands/recall.md")),
    ("remember", plugin_file!("commands/remember.md")),
    ("forget", plugin_file!("commands/forget.md")),
];

/// The placeholder for the words after a command in the files of the plugin.
const ARGUMENTS: &str = "$ARGUMENTS";
const WRITTEN_BY: &str = "written by `throughline install`, removed by `throughline uninstall`";

/// The form in which an agent expects a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandForm {
    /// A Markdown file; this stands for the words after the command.
    Markdown { arguments: &'static str },
    /// A TOML file of Gemini CLI.
    Toml,
    /// A skill that only the user starts. The words after its name are not substituted.
    Skill,
}

/// Returns the files of the skill in one folder and of the commands in another.
pub(crate) fn skill_and_commands(
    agent: Flavor,
    skills: &Path,
    commands: &Path,
    form: CommandForm,
) -> Vec<InstallTarget> {
    let target = |path, text| InstallTarget {
        is_optional: true,
        ..InstallTarget::new(agent, path, DesiredContent::WholeFile(text))
    };
    let skill = target(skills.join("session-memory/SKILL.md"), mark(SKILL));
    let command = |(name, text): &(&str, &str)| {
        let file = match form {
            CommandForm::Markdown { .. } => format!("{name}.md"),
            CommandForm::Toml => format!("{name}.toml"),
            CommandForm::Skill => format!("{name}/SKILL.md"),
        };
        target(commands.join(file), command_text(name, text, form))
    };
    [skill]
        .into_iter()
        .chain(COMMANDS.iter().map(command))
        .collect()
}

fn command_text(name: &str, text: &str, form: CommandForm) -> String {
    match form {
        CommandForm::Markdown { arguments } => mark(&text.replace(ARGUMENTS, arguments)),
        CommandForm::Toml => {
            let (front, body) = split_front_matter(text);
            let description = front_matter_field(front, "description");
            let prompt = body.trim().replace(ARGUMENTS, "{{args}}");
            format!(
                "{TOML_MARKER} {WRITTEN_BY}\ndescription = \"{description}\"\nprompt = '''\n\
                 {prompt}\n'''\n"
            )
        }
        CommandForm::Skill => {
            let (front, body) = split_front_matter(text);
            let description = front_matter_field(front, "description");
            let body = body.replace(&format!(": {ARGUMENTS}"), ", as the user asks for it.");
            mark(&format!(
                "---\nname: {name}\ndescription: {description}. Only when the user starts it.\n\
                 disable-model-invocation: true\nuser-invocable: true\n---\n{body}"
            ))
        }
    }
}

/// Adds the line by which we recognise a Markdown file of ours. It comes last, because the front
/// matter must come first.
fn mark(text: &str) -> String {
    format!("{text}\n{MARKDOWN_MARKER} {WRITTEN_BY} -->\n")
}

/// Splits a Markdown file into its front matter and the rest.
fn split_front_matter(text: &str) -> (&str, &str) {
    let inner = text.strip_prefix("---\n").unwrap_or_default();
    inner.split_once("\n---\n").unwrap_or(("", text))
}

fn front_matter_field<'t>(front: &'t str, name: &str) -> &'t str {
    let mut fields = front.lines().filter_map(|line| line.split_once(": "));
    fields
        .find(|(key, _)| *key == name)
        .map_or("", |(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::document::is_our_file;

    fn files(form: CommandForm) -> Vec<(String, String)> {
        skill_and_commands(
            Flavor::Gemini,
            Path::new("skills"),
            Path::new("commands"),
            form,
        )
        .into_iter()
        .map(|target| {
            let DesiredContent::WholeFile(text) = target.desired else {
                panic!("{:?}", target.path);
            };
            (target.path.display().to_string(), text)
        })
        .collect()
    }

    #[test]
    fn every_form_is_recognised_and_says_where_the_arguments_go() {
        for (form, path, arguments) in [
            (
                CommandForm::Markdown {
                    arguments: "{{args}}",
                },
                "commands/forget.md",
                "agrees: {{args}}\n",
            ),
            (
                CommandForm::Toml,
                "commands/forget.toml",
                "agrees: {{args}}\n",
            ),
            (
                CommandForm::Skill,
                "commands/forget/SKILL.md",
                "agrees, as the user asks for it.\n",
            ),
        ] {
            let files = files(form);
            assert_eq!(files[0].0, "skills/session-memory/SKILL.md");
            assert!(files.iter().all(|(_, text)| is_our_file(text)), "{form:?}");
            let (_, forget) = files.iter().find(|(name, _)| name == path).unwrap();
            assert!(forget.contains(arguments), "{forget}");
            assert!(!forget.contains(ARGUMENTS), "{forget}");
        }
    }

    #[test]
    fn commands_for_gemini_are_valid_toml() {
        for (name, text) in &files(CommandForm::Toml)[1..] {
            let table: toml::Table = text.parse().unwrap();
            assert!(table["prompt"].as_str().unwrap().len() > 50, "{name}");
            assert!(!table["description"].as_str().unwrap().is_empty(), "{name}");
        }
    }
}
