//! Runs needed for a precision, against quadrature values made with 40-digit arithmetic.

use tail::Gev;
use tail::planning::{Precision, Quantity, parse, plan, unit_error};

#[test]
fn unit_errors_match_the_reference_table() {
    let quantities = [
        Quantity::Location,
        Quantity::Scale,
        Quantity::Shape,
        Quantity::ReturnLevel(10.0),
        Quantity::ReturnLevel(100.0),
        Quantity::ReturnLevel(1000.0),
    ];
    let table: [(f64, [f64; 6]); 6] = [
        (-0.4, [1.068, 0.771, 0.454, 0.946, 0.945, 1.16]),
        (-0.2, [1.096, 0.764, 0.575, 1.528, 2.878, 4.78]),
        (0.0, [1.118, 0.808, 0.690, 2.479, 7.195, 15.74]),
        (0.1, [1.125, 0.848, 0.747, 3.148, 11.09, 28.3]),
        (0.2, [1.131, 0.898, 0.803, 3.986, 16.99, 51.3]),
        (0.4, [1.136, 1.021, 0.913, 6.333, 39.57, 172.8]),
    ];
    for (shape, wanted) in table {
        for (quantity, wanted) in quantities.into_iter().zip(wanted) {
            let found = unit_error(shape, quantity).unwrap();
            assert!((found / wanted - 1.0).abs() < 3e-3, "{shape} {quantity:?}: {found} against {wanted}");
        }
    }
}

#[test]
fn the_worked_examples_come_out() {
    let law = Gev::new(0.0, 1.0, 0.0).unwrap();
    let runs = |text: &str| plan(&law, parse(text).unwrap(), 0.95, 1.0).unwrap().runs;
    assert_eq!(runs("shape=0.05"), 733.0);
    assert!((runs("return-level(100)=0.5") - 796.0).abs() <= 1.0);
    let inflated = plan(&law, parse("shape=0.05").unwrap(), 0.95, 2.0).unwrap();
    assert_eq!(inflated.runs, 1466.0);
}

#[test]
fn wishes_are_read_and_faults_named() {
    let wish = parse("return-level(100) = 0.5%").unwrap();
    assert_eq!(wish.quantity, Quantity::ReturnLevel(100.0));
    assert!(matches!(wish.precision, Precision::Relative(p) if (p - 0.005).abs() < 1e-15));
    for bad in ["shape", "shape=5%", "return-level(1)=1%", "mean=1%", "scale=-3"] {
        assert!(parse(bad).is_err(), "{bad}");
    }
}
