//! Numbers below a limit in another order, computed one at a time: no list of them is kept.

use samples::random::split_mix;

/// Rounds of the network: even, so that the sides are where they were. Few values of a side mix slowly: with 6 rounds,
/// neighbours among 16 numbers stay neighbours a fifth too often.
fn rounds(limit: u64) -> u64 {
    if limit < 1 << 16 { 14 } else { 8 }
}

/// The `place`-th of the numbers from 0 to `limit - 1` in a random order that `key` chooses. The order of the next
/// `limit` places is another one.
///
/// The order is a Feistel network on pairs below a · b, the least such product with a = ⌈√limit⌉ that holds all numbers;
/// what falls outside is permuted again (Black and Rogaway 2002, "Ciphers with arbitrary finite domains").
///
/// # Errors
/// A limit below 1, a place below 0.
pub(crate) fn shuffled(place: i64, limit: i64, key: i64) -> Result<i64, String> {
    if limit < 1 {
        return Err(format!("`shuffled` needs at least one number to put in order, not {limit}"));
    }
    let Ok(place) = u64::try_from(place) else {
        return Err(format!("`shuffled` needs a place of 0 or more, not {place}"));
    };
    let limit = limit as u64;
    let mut seed = (key as u64) ^ (place / limit).wrapping_mul(0xd134_2543_de82_ef95);
    let key = split_mix(&mut seed);
    let left = root(limit);
    let right = limit.div_ceil(left);
    let mut number = place % limit;
    loop {
        number = permuted(number, (left, right), (key, rounds(limit)));
        if number < limit {
            return Ok(number as i64);
        }
    }
}

/// A number scattered over those below `limit`: 2⁶⁴ divided by the golden ratio, or its complement, times the number, and of
/// that the remainder (multiplicative hashing, Knuth 1973). The factor is the one of Linux and of fio, so that what fio scatters
/// is scattered alike.
///
/// # Errors
/// A limit below 1.
pub(crate) fn scattered(number: i64, limit: i64) -> Result<i64, String> {
    if limit < 1 {
        return Err(format!("`scattered` needs at least one number to scatter over, not {limit}"));
    }
    Ok(((number as u64).wrapping_mul(0x61C8_8646_80B5_83EB) % limit as u64) as i64)
}

/// The least number whose square is `number` or more.
fn root(number: u64) -> u64 {
    let floor = number.isqrt();
    if floor * floor == number { floor } else { floor + 1 }
}

/// One pass through the network: `number` is below the product of the sides, and so is the result.
fn permuted(number: u64, (left, right): (u64, u64), (key, rounds): (u64, u64)) -> u64 {
    let (mut a, mut b) = (number % left, number / left);
    // The two halves change sides each round.
    for round in 0..rounds {
        let mut seed = key ^ (round << 60) ^ b.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let side = if round % 2 == 0 { left } else { right };
        let mixed = (u128::from(split_mix(&mut seed)) * u128::from(side)) >> 64;
        let moved = a + mixed as u64;
        (a, b) = (b, if moved >= side { moved - side } else { moved });
    }
    a + b * left
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_number_comes_once_a_pass(limit in 1_i64..700, key: i64, pass in 0_i64..5) {
            let mut found: Vec<i64> = (0..limit).map(|at| shuffled(pass * limit + at, limit, key).unwrap()).collect();
            found.sort_unstable();
            prop_assert_eq!(found, (0..limit).collect::<Vec<_>>());
        }

        #[test]
        fn any_numbers_give_a_number_below_the_limit_or_an_error(place: i64, limit: i64, key: i64) {
            match shuffled(place, limit, key) {
                Ok(number) => prop_assert!((0..limit).contains(&number)),
                Err(_) => prop_assert!(place < 0 || limit < 1),
            }
        }
    }

    #[test]
    fn scattered_numbers_have_a_place_each_where_there_are_a_power_of_two() {
        let places = |limit| {
            (0..limit).map(|at| scattered(at, limit).unwrap()).collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(places(256).len(), 256);
        // As many as fio 3.33 comes to in a file of 250 blocks with `random_distribution=zipf:0.6`.
        assert_eq!(places(250).len(), 98);
        assert_eq!(scattered(1, 1 << 40), Ok(0x61C8_8646_80B5_83EB & ((1 << 40) - 1)));
        assert!(scattered(1, 0).is_err());
        assert!((0..7).contains(&scattered(-3, 7).unwrap()));
    }

    #[test]
    fn passes_and_keys_differ() {
        let order = |pass: i64, key| -> Vec<i64> {
            (0..50).map(|at| shuffled(pass * 50 + at, 50, key).unwrap()).collect()
        };
        assert_ne!(order(0, 1), order(1, 1));
        assert_ne!(order(0, 1), order(0, 2));
        assert_ne!(order(0, 1), (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn the_order_is_as_good_as_drawn() {
        // Of 10,000 keys each of 16 numbers is first about 625 times, and the first two are neighbours about as often as
        // chance has it: χ² with 15 degrees of freedom is below 37.7 in 999 of 1,000 cases.
        let mut first = [0_f64; 16];
        let mut neighbours = 0;
        for key in 0..10_000 {
            let at = |place| shuffled(place, 16, key).unwrap();
            first[at(0) as usize] += 1.0;
            neighbours += i32::from(at(1) == at(0) + 1);
        }
        let square: f64 = first.iter().map(|count| (count - 625.0).powi(2) / 625.0).sum();
        assert!(square < 37.7, "{square} {first:?}");
        assert!((540..710).contains(&neighbours), "{neighbours} of 10,000, where 625 are expected");
    }
}
