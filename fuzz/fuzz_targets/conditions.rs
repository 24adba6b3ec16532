//! Every text is a condition or an error that says what to write; what is read is written in the same words again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ppl::condition::Condition;

fuzz_target!(|text: &str| {
    match Condition::parse(text) {
        Ok(found) => {
            assert!(found.bound.value() > 0.0 && found.bound.value().is_finite());
            let again = Condition::parse(&found.text).expect("the same text");
            assert_eq!(again, found);
            let written = Condition::parse(&format!("{} < 1", found.quantity)).expect("a quantity as it is shown");
            assert_eq!(written.quantity, found.quantity);
        }
        Err(why) => assert!(!why.to_string().is_empty()),
    }
    match Condition::parse_steady(text) {
        Ok(rule) => assert_eq!(Condition::parse_steady(&rule.text), Ok(rule)),
        Err(why) => assert!(!why.to_string().is_empty()),
    }
});
