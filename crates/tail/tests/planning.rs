//! Runs needed for a precision, against quadrature values computed with 40-digit arithmetic.

use tail::Gev;
use tail::planning::{Precision, PrecisionGoal, Quantity, plan, unit_error};

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
fn the_worked_examples_of_the_documentation_are_reproduced() {
    let distribution = Gev::new(0.0, 1.0, 0.0).unwrap();
    let goal = |quantity, half| PrecisionGoal { quantity, precision: Precision::Absolute(half) };
    let runs = |quantity, half| plan(&distribution, goal(quantity, half), 0.95, 1.0).unwrap().runs;
    assert_eq!(runs(Quantity::Shape, 0.05), 733.0);
    assert!((runs(Quantity::ReturnLevel(100.0), 0.5) - 796.0).abs() <= 1.0);
    let inflated = plan(&distribution, goal(Quantity::Shape, 0.05), 0.95, 2.0).unwrap();
    assert_eq!(inflated.runs, 1466.0);
}

#[test]
fn a_factor_needs_the_runs_that_simulations_found() {
    // SE(ln k) √n for an exponential tail, at four ratios of scale to location, and the runs on each system
    // that find 1% with a chance of 80%.
    for (ratio, error, runs) in
        [(0.019, 0.0271, 58.0), (0.05, 0.072, 412.0), (0.1, 0.146, 1698.0), (0.3, 0.445, 15_673.0)]
    {
        let distribution = Gev::new(1.0, ratio, 0.0).unwrap();
        let found = tail::planning::factor_error(&distribution).unwrap();
        assert!((found / error - 1.0).abs() < 0.01, "{ratio}: {found}");
        let wish = PrecisionGoal { quantity: Quantity::Factor, precision: Precision::Relative(0.01) };
        let planned = tail::planning::plan_with(&distribution, wish, 0.95, 0.8, 1.0).unwrap();
        assert!((planned.runs / runs - 1.0).abs() < 0.02, "{ratio}: {}", planned.runs);
    }
}
