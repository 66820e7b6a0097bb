//! E-mail addresses of people.

/// True when the `@` belongs to the address of a person. Documentation domains, machines, bots and
/// authors of commits, who occur in every log, do not count.
pub(super) fn is_email(bytes: &[u8], at: usize) -> bool {
    let local = bytes[..at].iter().rev().take(64);
    let local = local
        .take_while(|b| b.is_ascii_alphanumeric() || b"._%+-".contains(b))
        .count();
    let domain = bytes[at + 1..].iter().take(128);
    let domain = domain
        .take_while(|b| b.is_ascii_alphanumeric() || b".-".contains(b))
        .count();
    let (local, domain) = (&bytes[at - local..at], &bytes[at + 1..at + 1 + domain]);
    // A diff sign is not part of the name.
    let local = local
        .strip_prefix(b"+")
        .or(local.strip_prefix(b"-"))
        .unwrap_or(local);
    let Some(dot) = domain.iter().rposition(|&b| b == b'.') else {
        return false;
    };
    let is_domain = dot > 0
        && (2..=24).contains(&(domain.len() - dot - 1))
        && domain[dot + 1..].iter().all(u8::is_ascii_alphabetic);
    if local.len() < 2 || !is_domain || !local.iter().any(u8::is_ascii_alphabetic) {
        return false;
    }
    let start = at - local.len();
    // `user:password@host` and `git@host:path` are not addresses of people.
    let before = start.checked_sub(1).map_or(b' ', |before| bytes[before]);
    let after = bytes.get(at + 1 + domain.len()).copied().unwrap_or(b' ');
    if b"/:@".contains(&before)
        || b"/:@".contains(&after) && after != b':'
        || after == b':' && local == b"git"
    {
        return false;
    }
    let is_one_of = |list: &[&str], text: &[u8]| {
        list.iter()
            .any(|one| text.eq_ignore_ascii_case(one.as_bytes()))
    };
    let is_machine = is_one_of(
        &[
            "git", "noreply", "no-reply", "root", "admin", "postgres", "support", "info", "bot",
            "user", "test", "hello", "contact", "security", "dev", "me", "you", "foo", "bar",
            "alice", "bob", "someone", "name", "email",
        ],
        local,
    );
    let ends = |tail: &str| {
        domain.len() >= tail.len()
            && domain[domain.len() - tail.len()..].eq_ignore_ascii_case(tail.as_bytes())
    };
    let is_documentation = [
        "example.com", "example.org", "example.net", ".test", ".example", ".invalid", ".local",
        ".localhost", "noreply.github.com", "users.noreply.github.com", "acme.com", "acme.dev",
        "foo.com", "bar.com", "domain.com", "email.com", "test.com", "company.com",
        "googlegroups.com", "gserviceaccount.com",
    ]
    .iter()
    .any(|tail| ends(tail));
    !is_machine
        && !is_documentation
        && !is_author_line(bytes, start)
        && !is_file_extension(&domain[dot + 1..])
}

/// True for the address of a commit's author, a package's maintainer or a signer, which are public.
fn is_author_line(bytes: &[u8], start: usize) -> bool {
    let line = bytes[..start]
        .iter()
        .rev()
        .take(96)
        .take_while(|&&b| b != b'\n')
        .count();
    let line = &bytes[start - line..start];
    [
        "Author", "author", "Commit", "Signed-off-by", "Co-authored-by", "Co-Authored-By",
        "Reviewed-by", "maintainer", "Maintainer", "Copyright", "copyright", "(c)", "user.email",
        "Merge:", "Tagger", "ssh-",
    ]
    .iter()
    .any(|word| memchr::memmem::find(line, word.as_bytes()).is_some())
}

/// True for the extension of a file such as `icon@2x.png` or `file@v1.ts`.
fn is_file_extension(ending: &[u8]) -> bool {
    [
        "png", "jpg", "jpeg", "svg", "gif", "ts", "js", "py", "rs", "json", "md", "css", "html",
        "webp", "service", "so", "whl", "gz", "lock", "local", "internal", "lan",
    ]
    .iter()
    .any(|one| ending.eq_ignore_ascii_case(one.as_bytes()))
}
