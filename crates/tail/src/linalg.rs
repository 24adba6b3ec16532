//! Factors, solves and inverts small dense symmetric matrices, row-major in slices.

/// Cholesky factor of a symmetric `n` x `n` matrix, in place (lower triangle). `false` when the matrix is
/// not positive definite; the contents are then meaningless.
pub fn cholesky(a: &mut [f64], n: usize) -> bool {
    for j in 0..n {
        let mut d = a[j * n + j];
        let original = d;
        for k in 0..j {
            d -= a[j * n + k] * a[j * n + k];
        }
        // A pivot within rounding error of 0 does not count as positive.
        if !d.is_finite() || d <= original.abs() * 1e-14 {
            return false;
        }
        let root = d.sqrt();
        a[j * n + j] = root;
        for i in j + 1..n {
            let mut s = a[i * n + j];
            for k in 0..j {
                s -= a[i * n + k] * a[j * n + k];
            }
            a[i * n + j] = s / root;
        }
    }
    true
}

/// Solve `L Lᵀ x = b` in place, given the factor of [`cholesky`].
pub fn cholesky_solve(l: &[f64], n: usize, x: &mut [f64]) {
    for i in 0..n {
        let mut s = x[i];
        for k in 0..i {
            s -= l[i * n + k] * x[k];
        }
        x[i] = s / l[i * n + i];
    }
    for i in (0..n).rev() {
        let mut s = x[i];
        for k in i + 1..n {
            s -= l[k * n + i] * x[k];
        }
        x[i] = s / l[i * n + i];
    }
}

/// Inverse of a symmetric positive definite matrix, exactly symmetric; `None` when it is not one. The
/// matrix is scaled to unit diagonal first, so units do not matter.
pub fn inverse(a: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut scale = Vec::with_capacity(n);
    for i in 0..n {
        let d = a[i * n + i];
        if !(d > 0.0 && d.is_finite()) {
            return None;
        }
        scale.push(1.0 / d.sqrt());
    }
    let mut l: Vec<f64> = (0..n * n).map(|at| a[at] * scale[at / n] * scale[at % n]).collect();
    if !cholesky(&mut l, n) {
        return None;
    }
    let mut out = vec![0.0; n * n];
    let mut column = vec![0.0; n];
    for j in 0..n {
        column.iter_mut().enumerate().for_each(|(i, c)| *c = if i == j { 1.0 } else { 0.0 });
        cholesky_solve(&l, n, &mut column);
        for i in 0..n {
            out[i * n + j] = column[i] * scale[i] * scale[j];
        }
    }
    for i in 0..n {
        for j in 0..i {
            let mean = 0.5 * (out[i * n + j] + out[j * n + i]);
            out[i * n + j] = mean;
            out[j * n + i] = mean;
        }
    }
    Some(out)
}

/// `A B` of two `n` x `n` matrices.
pub fn multiply(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..n {
            out[i * n + j] = (0..n).map(|k| a[i * n + k] * b[k * n + j]).sum();
        }
    }
    out
}

/// `T A Tᵀ`: the covariance of a linear map `T` (n x n).
pub fn congruence(t: &[f64], a: &[f64], n: usize) -> Vec<f64> {
    let ta = multiply(t, a, n);
    let mut out = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..n {
            out[i * n + j] = (0..n).map(|k| ta[i * n + k] * t[j * n + k]).sum();
        }
    }
    out
}

/// `xᵀ A x`.
pub fn quadratic(a: &[f64], x: &[f64]) -> f64 {
    let n = x.len();
    (0..n).map(|i| x[i] * (0..n).map(|j| a[i * n + j] * x[j]).sum::<f64>()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_undoes_badly_scaled_matrices() {
        let a = [4.0e18, 1.0e9, 0.2, 1.0e9, 2.0, 1.0e-10, 0.2, 1.0e-10, 3.0e-19];
        let product = multiply(&a, &inverse(&a, 3).unwrap(), 3);
        for i in 0..3 {
            for j in 0..3 {
                let scale = (a[i * 4] / a[j * 4]).sqrt();
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((product[i * 3 + j] / scale - expected).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn an_indefinite_matrix_is_refused() {
        assert!(inverse(&[1.0, 2.0, 2.0, 1.0], 2).is_none());
        assert!(inverse(&[0.0], 1).is_none());
    }
}
