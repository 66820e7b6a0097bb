//! What a command runs: the programs in it, and the key that joins repeated runs.

/// Programs whose first arguments name what they do.
#[rustfmt::skip]
const WITH_SUBCOMMANDS: &[&str] = &[
    "apt", "apt-get", "brew", "bun", "bunx", "bundle", "cargo", "composer", "dart", "deno",
    "docker", "dotnet", "flutter", "gh", "git", "go", "golangci-lint", "gradle", "gradlew", "helm",
    "hatch", "just", "kubectl", "make", "mise", "mix", "mvn", "nix", "npm", "npx", "nx", "pip",
    "pip3", "pnpm", "poetry", "python", "python3", "rake", "rustup", "swift", "task", "terraform",
    "turbo", "uv", "uvx", "xcodebuild", "yarn",
];
/// Programs that only run the program in their arguments.
const PREFIXES: &[&str] = &["sudo", "time", "env", "command", "nohup", "exec", "timeout"];
/// Commands that only prepare the shell for the next one.
const PREPARATIONS: &[&str] = &["cd", "export", "pushd", "set", "source", "unset"];
const KEY_WORDS_MAX: usize = 3;
/// A command has at most this many programs worth noting.
const PROGRAMS_MAX: usize = 8;

/// Returns the name of a command that other runs share: its program and subcommands.
pub(crate) fn program_key(command: &str) -> String {
    let all = simple_commands(command);
    let prepares = |words: &&Vec<&str>| PREPARATIONS.contains(&words[0]);
    // `cd app && make` runs make.
    let main = all.iter().find(|words| !prepares(words)).or(all.first());
    let words = main.map_or(&[][..], Vec::as_slice);
    let Some((program, rest)) = words.split_first() else {
        return String::new();
    };
    let program = base_name(program);
    let mut key = program.to_owned();
    if WITH_SUBCOMMANDS.contains(&program) {
        let names = rest.iter().copied().take_while(|word| is_name(word));
        for word in names.take(KEY_WORDS_MAX - 1) {
            key.push(' ');
            key.push_str(word);
        }
        // `python -m pytest` runs pytest.
        if let Some(at) = rest.iter().position(|word| *word == "-m")
            && program.starts_with("python")
            && let Some(module) = rest.get(at + 1)
        {
            key = format!("{program} -m {module}");
        }
    }
    key
}

/// Returns the names of the programs that a command runs.
pub(super) fn programs(command: &str) -> Vec<String> {
    let all = simple_commands(command).into_iter().take(PROGRAMS_MAX);
    let mut names: Vec<String> = all
        .filter_map(|words| words.first().map(|program| base_name(program).to_owned()))
        .filter(|program| is_name(program))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Splits a command into the words of its simple commands, without settings and prefixes.
fn simple_commands(command: &str) -> Vec<Vec<&str>> {
    let mut quote = None;
    let separates = |c: char| {
        match (quote, c) {
            (None, '\'' | '"' | '`') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        quote.is_none() && matches!(c, '&' | ';' | '|' | '\n' | '(' | ')')
    };
    let is_setting = |word: &&str| word.contains('=') && !word.starts_with('-');
    let parts = command.split(separates).map(|part| {
        part.split_whitespace()
            .skip_while(|word| is_setting(word) || PREFIXES.contains(word))
            .collect::<Vec<_>>()
    });
    // The `1` of `2>&1` is split off too, but it is not a command.
    let starts_with_name = |words: &Vec<&str>| words.first().is_some_and(|word| is_program(word));
    parts.filter(starts_with_name).collect()
}

fn is_program(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || "./~_".contains(c)) && word != "."
}

/// Says whether a word may be a subcommand or the name of a task: no option, path or redirection.
fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || ":_-@+".contains(c))
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_the_same_task_share_a_key() {
        for (command, key) in [
            ("mise run lint 2>&1", "mise run lint"),
            ("FOO=1 npm run test:ci -- --grep x", "npm run test:ci"),
            ("go test ./... -run TestX", "go test"),
            ("git add -A && git commit -m 'x; y'", "git add"),
            ("pytest tests/a.py -k x", "pytest"),
            ("python3 -m pytest -q", "python3 -m pytest"),
            ("./gradlew build", "gradlew build"),
            ("cd app && npm test", "npm test"),
            ("cd app", "cd"),
            ("rg -n 'a|b' src", "rg"),
            ("sudo docker compose up", "docker compose up"),
            ("", ""),
        ] {
            assert_eq!(program_key(command), key, "{command}");
        }
    }

    #[test]
    fn every_program_of_a_command_is_named() {
        assert_eq!(
            programs("cd a && cargo test 2>&1 | tail -5"),
            ["cargo", "cd", "tail"]
        );
        assert_eq!(programs("echo 'rm -rf /; x'"), ["echo"]);
    }
}
