//! Readers for Python: linters, type checkers, test runners, exceptions, installers.

use super::{Reader, reader};

pub(super) const READERS: &[Reader] = &[
    reader(
        r#"\bFailed: Timeout >"#,
        "pytest/timeout",
        &[(
            "FAILED tests/test_a.py::test_x - Failed: Timeout >30.0s",
            "pytest/timeout",
        )],
    ),
    reader(
        r#"Failed building wheel for|Building wheel for \S+ .*did not run successfully"#,
        "pip/build-failed",
        &[(
            "  ERROR: Failed building wheel for psycopg2",
            "pip/build-failed",
        )],
    ),
    reader(
        r"requires a different Python|Python version .* is not supported by the project",
        "pip/wrong-python",
        &[(
            "ERROR: Package 'shop' requires a different Python: 3.9.18 not in '>=3.11'",
            "pip/wrong-python",
        )],
    ),
    reader(
        r"conflicting dependencies|^ERROR: ResolutionImpossible",
        "pip/no-solution",
        &[(
            concat!(
                "ERROR: Cannot install a and b because these package versions have conf",
                "licting dependencies."
            ),
            "pip/no-solution",
        )],
    ),
    reader(
        r"No virtual environment found",
        "uv/no-virtual-environment",
        &[(
            concat!(
                "error: No virtual environment found; run `uv venv` to create an enviro",
                "nment"
            ),
            "uv/no-virtual-environment",
        )],
    ),
    reader(
        r"^\S+\.pyi?:\d+:\d+: [CRWEF]\d{4}: .*\(([a-z-]+)\)$",
        "pylint/$1",
        &[(
            "src/a.py:1:0: C0114: Missing module docstring (missing-module-docstring)",
            "pylint/missing-module-docstring",
        )],
    ),
    reader(
        r"^\S+\.(?:pyi?|ipynb):(?:cell \d+:)?\d+:\d+: ([A-Z]{1,4}\d{3,4})\b",
        "ruff/$1",
        &[
            (
                "src/a.py:3:8: F401 [*] `os` imported but unused",
                "ruff/F401",
            ),
            (
                "./a.py:10:80: E501 line too long (92 > 79 characters)",
                "ruff/E501",
            ),
        ],
    ),
    reader(
        r"^([A-Z]{1,4}\d{3,4}) (?:\[\*\] )?[A-Z`]",
        "ruff/$1",
        &[("F401 [*] `os` imported but unused", "ruff/F401")],
    ),
    reader(
        r"^\S+\.pyi?:\d+(?::\d+)?: error: .*\[([a-z-]+)\]$",
        "mypy/$1",
        &[(
            "src/a.py:3: error: Argument 1 to \"f\" has incompatible type  [arg-type]",
            "mypy/arg-type",
        )],
    ),
    reader(
        r#"^\S+\.pyi?:\d+(?::\d+)?: error: "#,
        "mypy/error",
        &[("a.py:3: error: Name \"x\" is not defined", "mypy/error")],
    ),
    reader(
        r#"^error\[([a-z]+(?:-[a-z]+)+)\]: "#,
        "ty/$1",
        &[(
            "error[unresolved-import]: Cannot resolve imported module `foo`",
            "ty/unresolved-import",
        )],
    ),
    reader(
        r#"Imports are incorrectly sorted"#,
        "isort/unsorted",
        &[(
            "ERROR: /app/a.py Imports are incorrectly sorted and/or formatted.",
            "isort/unsorted",
        )],
    ),
    reader(
        r#"Issue: \[(B\d{3}):"#,
        "bandit/$1",
        &[(
            ">> Issue: [B602:subprocess_popen_with_shell_equals_true] x",
            "bandit/B602",
        )],
    ),
    reader(
        r"- error: .*\((report\w+)\)$|^\s+.*\((report[A-Z]\w+)\)$",
        "pyright/$1$2",
        &[(
            "  /a/b.py:3:5 - error: \"x\" is not a known attribute (reportAttributeAccessIssue)",
            "pyright/reportAttributeAccessIssue",
        )],
    ),
    reader(
        r"^would reformat |^Would reformat: ",
        "python-format/unformatted",
        &[("would reformat src/a.py", "python-format/unformatted")],
    ),
    reader(
        r"No module named '?([\w-]+)",
        "python/no-module $1",
        &[
            (
                "ModuleNotFoundError: No module named 'yaml'",
                "python/no-module yaml",
            ),
            (
                "/usr/bin/python3: No module named pytest",
                "python/no-module pytest",
            ),
        ],
    ),
    reader(
        r"^E\s+fixture '\w+' not found",
        "pytest/no-fixture",
        &[("E       fixture 'client' not found", "pytest/no-fixture")],
    ),
    reader(
        r"^FAILED \S+\.py.* - (?:assert |AssertionError)|^E\s+assert ",
        "pytest/AssertionError",
        &[
            (
                "FAILED tests/test_a.py::test_x - assert 3 == 4",
                "pytest/AssertionError",
            ),
            ("E       assert 3 == 4", "pytest/AssertionError"),
        ],
    ),
    reader(
        r"^(?:FAILED|ERROR) \S+\.py\S* - ([A-Za-z_][\w.]*)",
        "pytest/$1",
        &[(
            "FAILED tests/test_a.py::test_x - AssertionError: assert 1 == 2",
            "pytest/AssertionError",
        )],
    ),
    reader(
        r"^(?:FAILED|ERROR) \S+\.py(?:::\S+)?$|^(?:FAIL|ERROR): test\w* \(",
        "pytest/failed",
        &[("FAILED tests/test_a.py::test_x", "pytest/failed")],
    ),
    reader(
        r"^E\s{3,}([A-Za-z_]\w*(?:Error|Exception))\b",
        "pytest/$1",
        &[(
            "E       AssertionError: assert 1 == 2",
            "pytest/AssertionError",
        )],
    ),
    reader(
        r"since poetry\.lock was last generated|poetry\.lock is not up to date",
        "poetry/lock-file-out-of-date",
        &[(
            "pyproject.toml changed significantly since poetry.lock was last generated.",
            "poetry/lock-file-out-of-date",
        )],
    ),
    reader(
        r"The lockfile at `uv\.lock` needs to be updated",
        "uv/lock-file-out-of-date",
        &[(
            "error: The lockfile at `uv.lock` needs to be updated, but `--locked` was provided.",
            "uv/lock-file-out-of-date",
        )],
    ),
    reader(
        r"externally-managed-environment",
        "pip/externally-managed",
        &[(
            "error: externally-managed-environment",
            "pip/externally-managed",
        )],
    ),
    reader(
        concat!(
            r"No solution found when resolving|version solving failed|",
            r"is not compatible with some of the required",
        ),
        "pip/no-solution",
        &[(
            "  × No solution found when resolving dependencies:",
            "pip/no-solution",
        )],
    ),
    reader(
        r"No matching distribution found for|Could not find a version that satisfies the req",
        "pip/no-such-version",
        &[(
            "ERROR: No matching distribution found for foo",
            "pip/no-such-version",
        )],
    ),
];

/// Any other exception. These readers come last, because the message often says more.
pub(super) const EXCEPTIONS: &[Reader] = &[
    reader(
        r"^([A-Za-z_][\w.]*(?:Error|Exception|Interrupt))(?::|$)",
        "exception/$1",
        &[
            (
                "ValueError: invalid literal for int()",
                "exception/ValueError",
            ),
            (
                "django.core.exceptions.ImproperlyConfigured.MyError: x",
                "exception/django.core.exceptions.ImproperlyConfigured.MyError",
            ),
        ],
    ),
    reader(
        r"^((?:[a-z_]\w*\.)+[A-Z]\w+): ",
        "exception/$1",
        &[(
            concat!(
                "django.core.exceptions.ImproperlyConfigured: The setting must not be e",
                "mpty."
            ),
            "exception/django.core.exceptions.ImproperlyConfigured",
        )],
    ),
];
