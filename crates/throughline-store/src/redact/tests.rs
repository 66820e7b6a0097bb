//! Text in, text out.

use super::rules::{self, proof};
use super::*;

fn redactor() -> Redactor {
    Redactor::new([7; 32])
}

#[test]
fn every_rule_proves_itself() {
    let redactor = redactor();
    for rule in rules::all() {
        assert!(
            regex::bytes::RegexBuilder::new(rule.pattern).unicode(false).build().is_ok(),
            "{}: {}",
            rule.name,
            rule.pattern
        );
        for template in rule.catches {
            let text = proof::expand(template);
            assert!(
                redactor.clean(&text).is_changed(),
                "{} misses {text}",
                rule.name
            );
        }
        for template in rule.spares {
            let text = proof::expand(template);
            assert_eq!(
                redactor.clean(&text).as_str(),
                text,
                "{} takes {text}",
                rule.name
            );
        }
    }
}
