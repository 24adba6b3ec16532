//! Fails where first screens say what is false more often than stated, on draws of known distributions.

#[test]
fn first_screens_are_true_as_often_as_they_claim() {
    let studies: Vec<truth::Study> =
        truth::quick().iter().map(|cell| truth::run(cell).unwrap_or_else(|why| panic!("{why}"))).collect();
    println!("{}", truth::markdown(&studies));
    let failures = truth::failures(&studies, truth::KNOWN);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn words_that_are_not_registered_are_an_error() {
    let distribution = truth::Distribution::of(truth::Base::Gev(0.1));
    let cell = truth::Cell::of(truth::Screen::Fit, distribution, 2, (1, 0));
    let asked = truth::Asked { cell: &cell, values: &[0.01, 0.02] };
    let registry = truth::claims::of(truth::Screen::Fit);
    assert!(registry.read("the values\nAll tables: -v\n", &asked).is_ok());
    let why = registry.read("the values\nThe disk is about to fail.\n", &asked).unwrap_err();
    assert!(why.contains("no clause is registered for: The disk is about to fail."), "{why}");
}
