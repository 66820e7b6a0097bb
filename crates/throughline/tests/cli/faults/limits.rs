//! Few file handles, little memory, odd names.

#![cfg(unix)]

use std::fs;

use super::{Machine, in_shell, outcome, undisturbed};

#[test]
fn limits_stop_it_or_do_not_matter() {
    let expected = undisturbed(20);
    let machine = Machine::new(20);
    for limit in [
        "ulimit -n 64", "ulimit -n 16", "ulimit -n 9", "ulimit -v 150000", "ulimit -u 4",
    ] {
        let (code, said) = outcome(&mut in_shell(limit, &machine.ingest()));
        // Success, an error message, or a signal; but never a silent failure.
        assert!(
            matches!(code, Some(0)) || !said.is_empty(),
            "{limit}: {code:?} in silence"
        );
        if limit == "ulimit -n 64" {
            assert_eq!(code, Some(0), "{said}");
        }
    }
    machine.run_ingest();
    assert!(machine.dump() == expected);
}

#[test]
fn odd_folders_work_or_are_refused_clearly() {
    let machine = Machine::new(3);
    let long = "d".repeat(200);
    let deep = format!("{long}/").repeat(30);
    let odd: Vec<(Vec<u8>, bool)> = vec![
        (b"with a space".to_vec(), true),
        ("ümläut-日本".into(), true),
        (b"per%20cent?and#hash".to_vec(), true),
        (b"'quoted\"".to_vec(), true),
        (b"not-utf8-\xff".to_vec(), true),
        (long.clone().into_bytes(), true),
        (deep.into_bytes(), false),
    ];
    for (name, works) in odd {
        use std::os::unix::ffi::OsStrExt;
        let home = machine.env.home().join(std::ffi::OsStr::from_bytes(&name));
        let mut ingest = machine.ingest();
        let (code, said) = outcome(ingest.env("THROUGHLINE_HOME", &home));
        assert_eq!(
            code,
            Some(if works { 0 } else { 2 }),
            "{}: {said}",
            home.display()
        );
        if works {
            let mut ask = machine.env.command(&["sessions", "--json"]);
            assert_eq!(outcome(ask.env("THROUGHLINE_HOME", &home)).0, Some(0));
            fs::remove_dir_all(&home).unwrap();
        } else {
            assert!(said.starts_with("error: "), "{said}");
        }
    }
    // Without HOME, the operating system names the user's own home, which a test must not write to.
    let mut homeless = machine.ingest();
    let (code, said) = outcome(homeless.env_remove("HOME"));
    assert_eq!(code, Some(0), "{said}");
}
