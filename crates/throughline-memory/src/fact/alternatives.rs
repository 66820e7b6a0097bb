//! Groups of tools and conventions of which a project uses one at a time.

/// The names in one row exclude each other.
const ALTERNATIVES: &[&[&str]] = &[
    &["npm", "pnpm", "yarn", "bun"],
    &["pip", "uv", "poetry", "pipenv", "conda", "pdm"],
    &["tabs", "spaces"],
    &["jest", "vitest", "mocha"],
    &["pytest", "unittest"],
    &["nextest", "cargo-test"],
    &["black", "yapf"],
    &["eslint", "biome"],
    &["mysql", "mariadb", "postgres", "postgresql", "sqlite"],
    &["rebase", "merge"],
    &["camelcase", "snake_case", "kebab-case"],
    &["docker", "podman"],
    &["make", "just"],
    &["webpack", "vite", "rollup", "esbuild"],
    &["maven", "gradle"],
    &["axios", "fetch"],
    &["main", "master"],
    &["flake8", "ruff", "pylint"],
    &["npx", "bunx"],
];

/// Says whether a project uses either `a` or `b`, but not both.
pub fn are_alternatives(a: &str, b: &str) -> bool {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let holds = |row: &[&str]| row.contains(&a.as_str()) && row.contains(&b.as_str());
    a != b && ALTERNATIVES.iter().any(|row| holds(row))
}

#[cfg(test)]
mod tests {
    use super::are_alternatives;

    #[test]
    fn one_at_a_time() {
        assert!(are_alternatives("npm", "PNPM"));
        assert!(!are_alternatives("npm", "npm"));
        assert!(!are_alternatives("serde", "tokio"));
    }
}
