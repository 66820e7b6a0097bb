//! Prompts that memory must answer, and prompts that it must leave alone.
//!
//! One workspace with a dozen sessions; the prompts are written as people type them and share
//! few words with what was said. Nothing is tuned to one of them: a change of ranking or gate
//! has to keep both lists.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail")]

mod support;

use memory::{FactKind, Trust};
use support::{Said, Sessions};
use throughline_recall::RecallAnswer;

const THRESHOLD: &str = "We decided that the threshold must come from config.toml, not from code. \
    Never hard-code it again.";

fn store() -> Sessions {
    let test = Sessions::new();
    inventory(&test);
    operations(&test);
    product(&test);
    test
}

fn inventory(test: &Sessions) {
    test.session(
        "low-stock",
        "shop",
        40,
        &[
            Said::User("Warn when an item runs low in inventory.py, say below five pieces."),
            Said::Agent("Let me look at inventory.py."),
            Said::Tool(
                "Read",
                "{\"file_path\":\"/src/shop/inventory.py\"}",
                "def count(item):\n    \
            return stock[item]",
            ),
            Said::Edit(
                "/src/shop/inventory.py",
                "+REORDER_AT = 5\n+def low_stock(item):\n+    return \
            count(item) < REORDER_AT",
            ),
            Said::Agent("Added low_stock() with REORDER_AT = 5."),
            Said::User(THRESHOLD),
            Said::Tool(
                "Read",
                "{\"file_path\":\"/src/shop/config.toml\"}",
                "[alerts]\nreorder_at = 7",
            ),
            Said::Edit(
                "/src/shop/inventory.py",
                "-REORDER_AT = 5\n+def reorder_threshold():\n+    \
            return config[\"alerts\"][\"reorder_at\"]",
            ),
            Said::Agent(
                "Done: inventory.py reads alerts.reorder_at from config.toml; the constant is \
            gone.",
            ),
        ],
    );
    test.session(
        "rounding",
        "shop",
        33,
        &[
            Said::User("The cart total is off by a cent for carts with a voucher."),
            Said::Tool(
                "Bash",
                "{\"command\":\"pytest tests/test_cart.py\"}",
                "1 failed, 11 passed in \
            0.31s",
            ),
            Said::Agent(
                "The cause: each line was rounded before the voucher was applied. The total \
            is now rounded once, in cart.py.",
            ),
            Said::User("Good. Money is always Decimal, never float, in all of the checkout."),
            Said::Agent("Noted; checkout.py uses Decimal everywhere."),
        ],
    );
    test.fact(
        "shop",
        FactKind::Command,
        Trust::Model,
        "`pytest -q tests` works",
    );
    test.fact(
        "shop",
        FactKind::Command,
        Trust::Model,
        "`make deploy-staging` works",
    );
}

fn operations(test: &Sessions) {
    test.session(
        "metrics",
        "shop",
        30,
        &[
            Said::User(
                "We decided that the metrics endpoint listens on port 8123: 9090 is the \
            default of Prometheus and taken on the hosts.",
            ),
            Said::Edit("/src/shop/metrics.py", "-PORT = 9090\n+PORT = 8123"),
            Said::Agent("metrics.py serves on 8123 now."),
        ],
    );
    test.session(
        "grafana",
        "shop",
        26,
        &[
            Said::User(
                "ok I think I am missing some setup steps on grafana. not seeing any logs from \
            staging there.",
            ),
            Said::Agent("Let me read the collector's log."),
            Said::Tool(
                "Bash",
                "{\"command\":\"docker logs alloy\"}",
                "level=error status=401 \
            msg=\"final error sending batch\"",
            ),
            Said::Agent(
                "Here is a checklist for the grafana setup of staging: the stack, the data \
            source, the credentials.",
            ),
            Said::User("all of that is done already"),
            Said::Agent(
                "Found the cause: the API token of Grafana only had the scope logs:read, so \
            staging logs were refused with 401.",
            ),
            Said::User("added the scope, works now"),
            Said::Agent("Staging logs arrive in Grafana. The token has logs:write now."),
        ],
    );
    test.session(
        "deploy",
        "shop",
        22,
        &[
            Said::User(
                "Deploys to production go through the release branch only, and never on \
            Fridays.",
            ),
            Said::Agent("Understood."),
            Said::User("The nightly backup takes two hours, why?"),
            Said::Tool("Bash", "{\"command\":\"du -sh backups\"}", "41G backups"),
            Said::Agent(
                "The nightly backup copied the thumbnail cache, 38 of 41 GB. It is excluded \
            now and takes six minutes.",
            ),
        ],
    );
    test.session(
        "queue",
        "shop",
        19,
        &[
            Said::User("Orders get stuck in the queue since yesterday."),
            Said::Agent(
                "The worker crashed on an order without an address: format_label() raised \
            KeyError. It skips such orders now and logs them.",
            ),
            Said::User(
                "We chose RabbitMQ over Redis streams because the ops team already runs it.",
            ),
            Said::Agent("Good to know."),
        ],
    );
}

fn product(test: &Sessions) {
    test.session(
        "login",
        "shop",
        15,
        &[
            Said::User("Login fails for users with a plus sign in their email."),
            Said::Agent(
                "The form decoded the plus as a space. login.py now encodes the address \
            before the lookup.",
            ),
            Said::User("Sessions must expire after 30 minutes of inactivity, legal asked for it."),
            Said::Edit("/src/shop/login.py", "+SESSION_MINUTES = 30"),
            Said::Agent("Sessions expire after 30 minutes now."),
        ],
    );
    test.session(
        "export",
        "shop",
        11,
        &[
            Said::User("The CSV export loses umlauts when Excel opens it."),
            Said::Agent("Excel expects a byte order mark; export.py writes UTF-8 with one now."),
            Said::User("The export is for the accountants, it must keep the column order of 2019."),
            Said::Agent("The columns are in that order."),
        ],
    );
    test.session(
        "images",
        "shop",
        8,
        &[
            Said::User(
                "Product images: serve webp, keep the jpeg fallback for the old kiosk \
            terminals.",
            ),
            Said::Edit("/src/shop/images.py", "+FORMATS = (\"webp\", \"jpeg\")"),
            Said::Agent("images.py offers both formats."),
            Said::User("why is the search page slow?"),
            Said::Agent(
                "The search page ran one query per product; it joins the prices now and takes \
            80 ms.",
            ),
        ],
    );
}

/// Prompts, and a part of what each must be given.
const ANSWERED: &[(&str, &str)] = &[
    (
        "Implement the threshold for low stock alerts in inventory.py",
        "must come from config.toml",
    ),
    (
        "implement the reorder threshold feature in inventory.py",
        "must come from config.toml",
    ),
    (
        "add a constant REORDER_AT = 10 to inventory.py",
        "must come from config.toml",
    ),
    ("change the threshold to 9", "must come from config.toml"),
    (
        "What did we decide about the threshold?",
        "must come from config.toml",
    ),
    ("How do we run the tests here?", "pytest -q tests"),
    ("run the test suite please", "pytest -q tests"),
    (
        "what's the command to deploy to staging?",
        "make deploy-staging",
    ),
    ("What port does the metrics endpoint listen on?", "8123"),
    (
        "Add a section to the README on how to reach the metrics endpoint with curl",
        "8123",
    ),
    (
        "write a docker-compose file that exposes the metrics endpoint",
        "8123",
    ),
    (
        "which port should prometheus scrape for this service, why not the default one?",
        "8123",
    ),
    ("why aren't we on 9090?", "8123"),
    ("why does grafana not show staging logs", "logs:read"),
    (
        "grafana shows no staging logs again, what was it last time?",
        "logs:read",
    ),
    (
        "may I deploy to production on a friday?",
        "release branch only",
    ),
    (
        "why did the nightly backup take so long?",
        "thumbnail cache",
    ),
    ("orders are stuck in the queue again", "format_label"),
    (
        "why RabbitMQ and not Redis streams?",
        "ops team already runs it",
    ),
    (
        "which message broker did we choose, rabbitmq or redis?",
        "ops team already runs it",
    ),
    (
        "users with a plus sign in the email cannot log in",
        "decoded the plus",
    ),
    (
        "after how many minutes of inactivity do sessions expire?",
        "30 minutes",
    ),
    (
        "umlauts are broken in the csv export when opened in excel",
        "byte order mark",
    ),
    (
        "can I reorder the columns of the export for the accountants?",
        "column order of 2019",
    ),
    ("drop the jpeg fallback of the product images", "kiosk"),
    ("do the old kiosk terminals get webp images?", "kiosk"),
    ("what made the search page slow?", "one query per product"),
    (
        "the cart total is off by a cent with a voucher",
        "rounded before the voucher",
    ),
    (
        "use float for the money amounts in the checkout",
        "always Decimal",
    ),
    (
        "should money in the checkout be float or Decimal?",
        "always Decimal",
    ),
];

/// Prompts about other things, and about this workspace where nothing that was said helps.
const LEFT_ALONE: &[&str] = &[
    "rename the customer struct",
    "write a haiku about autumn",
    "continue",
    "yes, go on",
    "thanks, looks good",
    "fix the lint errors",
    "commit this and push",
    "add a docstring to this function",
    "explain what this file does",
    "convert this loop into a list comprehension",
    "what is the capital of Portugal?",
    "write a regex that matches ISO dates",
    "translate the error messages into French",
    "add dark mode to the settings page",
    "create a new React component for the avatar",
    "how do I center a div?",
    "bump the python version to 3.13",
    "add type hints to utils.py",
    "split this module into two",
    "make the button blue",
    "write unit tests for the slugify helper",
    "what does the yield keyword do in python?",
    "add pagination to the blog archive",
    "remove the unused imports",
    "set up a pre-commit hook with ruff",
    "why is my laptop fan so loud?",
    "generate a favicon from the logo",
    "add a docstring to inventory.py",
    "sort the imports in login.py",
    "is there a newsletter signup form?",
];

#[test]
fn prompts_that_memory_can_help_are_answered() {
    let test = store();
    let mut missed = Vec::new();
    for (prompt, part) in ANSWERED {
        let recalled = test.prompt("shop", prompt);
        let given = match &recalled.answer {
            RecallAnswer::Inject(pack) => pack.text.as_str(),
            RecallAnswer::Abstain(_) => "",
        };
        if !given.contains(part) {
            let considered: Vec<_> = recalled
                .considered
                .iter()
                .map(|c| format!("  {:.2} {:?} {:.90}", c.score, c.decision, c.text))
                .collect();
            let sure = 100.0 * recalled.confidence;
            missed.push(format!("{prompt}: {sure:.0} %\n{}", considered.join("\n")));
        }
    }
    assert!(
        missed.is_empty(),
        "{} missed:\n{}",
        missed.len(),
        missed.join("\n")
    );
}

#[test]
fn other_prompts_are_left_alone() {
    let test = store();
    let mut spoken = Vec::new();
    for prompt in LEFT_ALONE {
        let recalled = test.prompt("shop", prompt);
        if let RecallAnswer::Inject(pack) = &recalled.answer {
            let sure = 100.0 * recalled.confidence;
            spoken.push(format!("{prompt}: {sure:.0} %\n{}", pack.text));
        }
    }
    assert!(
        spoken.is_empty(),
        "{} got something:\n{}",
        spoken.len(),
        spoken.join("\n")
    );
}

#[test]
fn a_chore_without_a_known_command_is_left_alone() {
    let test = Sessions::new();
    inventory(&test);
    for prompt in ["run the linter", "build it", "how do we lint here?"] {
        assert_eq!(test.given("shop", prompt), "", "{prompt}");
    }
    assert_eq!(test.given("elsewhere", "How do we run the tests here?"), "");
}
