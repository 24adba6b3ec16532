//! A block of numbers in few bits.

/// Numbers of a block.
pub const BLOCK: usize = 1024;

/// A block with more different numbers has no list.
const MOST_LISTED: usize = 128;

/// Blocks whose numbers need fewer bits than this have no list.
const LEAST_LISTED: u32 = 4;

/// A block of numbers.
#[derive(Clone, Debug, Default)]
pub struct PackedBlock {
    base: u64,
    step: u64,
    scale: u64,
    /// Bits of each number in `words`.
    bits: u32,
    words: Box<[u64]>,
    /// Where it is not empty, `words` are places in it.
    list: Box<[u64]>,
}

/// Bits that a number needs.
fn width(value: u64) -> u32 {
    u64::BITS - value.leading_zeros()
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Least and largest of numbers.
fn ends(values: impl Iterator<Item = u64>) -> (u64, u64) {
    values.fold((u64::MAX, 0), |(least, most), value| (least.min(value), most.max(value)))
}

impl PackedBlock {
    /// So many of one number.
    pub fn constant(value: u64) -> Self {
        Self { base: value, ..Self::default() }
    }

    /// The number of which all are one, where it is known without a look at them.
    pub fn is_constant(&self) -> Option<u64> {
        (self.bits == 0 && self.step == 0).then_some(self.base)
    }

    /// Bytes on the heap.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        (self.words.len() + self.list.len()) * 8
    }

    /// The smallest block that holds the numbers, of which there are [`BLOCK`].
    pub fn of(values: &[u64]) -> Self {
        let first = values[0];
        let step = values[1].wrapping_sub(first);
        let on_line = |at: usize| first.wrapping_add(step.wrapping_mul(at as u64));
        if values.iter().enumerate().all(|(at, value)| *value == on_line(at)) {
            return Self { base: first, step, ..Self::default() };
        }
        let (least, most) = ends(values.iter().copied());
        let mut scale = 0;
        for value in values {
            let above = value - least;
            if scale == 0 || above % scale != 0 {
                scale = gcd(above, scale);
                if scale == 1 {
                    break;
                }
            }
        }
        let scale = scale.max(1);
        let bits = width((most - least) / scale);
        let sloping = Self::sloping(values, scale, bits).filter(|_| width(most - least) <= 60);
        let bits = sloping.map_or(bits, |(.., bits)| bits);
        if bits >= LEAST_LISTED
            && let Some(listed) = Self::listed(values, bits)
        {
            return listed;
        }
        let (base, step, bits) = sloping.unwrap_or((least, 0, bits));
        let above = |at: usize| values[at].wrapping_sub(base).wrapping_sub(step.wrapping_mul(at as u64));
        let words = match scale {
            1 => packed(values.len(), bits, above),
            scale => packed(values.len(), bits, |at| above(at) / scale),
        };
        Self { base, step, scale, bits, words, list: Box::default() }
    }

    /// A line below numbers that grow, if what they lie above it needs at least two bits less than `bits`: where it begins, by
    /// how much it rises, and these bits. Only of numbers that are less than 2⁶⁰ apart, so that signs mean something.
    fn sloping(values: &[u64], scale: u64, bits: u32) -> Option<(u64, u64, u32)> {
        let (first, last) = (values[0], values[values.len() - 1]);
        if bits < 4 || last <= first {
            return None;
        }
        let steps = values.len() as u64 - 1;
        let step = ((last - first) / scale + steps / 2) / steps * scale;
        // The lowest line may begin below 0, where numbers are as far from it as if they were signed.
        let from_first = |(at, value): (usize, &u64)| {
            value.wrapping_sub(first).wrapping_sub(step.wrapping_mul(at as u64)).cast_signed()
        };
        let (least, most) = values
            .iter()
            .enumerate()
            .map(from_first)
            .fold((i64::MAX, i64::MIN), |(least, most), value| (least.min(value), most.max(value)));
        let fewer = width(most.checked_sub(least)?.cast_unsigned() / scale);
        (fewer + 2 <= bits).then(|| (first.wrapping_add(least.cast_unsigned()), step, fewer))
    }

    /// A block with a list, if that is smaller than one of so many bits a number.
    fn listed(values: &[u64], bits: u32) -> Option<Self> {
        const SLOTS: usize = MOST_LISTED * 2;
        let slot_of = |value: u64| (value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % SLOTS;
        // Places in the list, from 1.
        let mut slots = [0_u8; SLOTS];
        let mut list: Vec<u64> = Vec::new();
        let mut places = [0_u8; BLOCK];
        let mut before = None;
        for (place, value) in places.iter_mut().zip(values) {
            if let Some((known, of)) = before
                && known == *value
            {
                *place = of;
                continue;
            }
            let mut slot = slot_of(*value);
            let found = loop {
                match slots[slot] {
                    0 if list.len() == MOST_LISTED => return None,
                    0 => {
                        list.push(*value);
                        slots[slot] = list.len() as u8;
                        break list.len() as u8 - 1;
                    }
                    one if list[usize::from(one) - 1] == *value => break one - 1,
                    _ => slot = (slot + 1) % SLOTS,
                }
            };
            *place = found;
            before = Some((*value, found));
        }
        let fewer = width(list.len() as u64 - 1);
        let is_smaller = list.len() * 64 + values.len() * fewer as usize <= values.len() * bits as usize;
        is_smaller.then(|| Self {
            bits: fewer,
            words: packed(values.len(), fewer, |at| u64::from(places[at])),
            list: list.into(),
            ..Self::default()
        })
    }

    fn raw(&self, at: usize) -> u64 {
        if self.bits == 0 {
            return 0;
        }
        let from = at * self.bits as usize;
        let (word, shift) = (from / 64, from % 64);
        let high = self.words[word + 1] << 1 << (63 - shift);
        (self.words[word] >> shift | high) & (u64::MAX >> (64 - self.bits))
    }

    pub fn get(&self, at: usize) -> u64 {
        match self.list.is_empty() {
            false => self.list[self.raw(at) as usize],
            true => {
                let line = self.base.wrapping_add(self.step.wrapping_mul(at as u64));
                line.wrapping_add(self.raw(at).wrapping_mul(self.scale))
            }
        }
    }

    /// Gives all numbers.
    #[inline]
    pub fn each(&self, mut to: impl FnMut(u64)) {
        let mut line = self.base;
        if self.bits == 0 {
            for _ in 0..BLOCK {
                to(line);
                line = line.wrapping_add(self.step);
            }
        } else if !self.list.is_empty() {
            self.each_raw(|raw| to(self.list[raw as usize]));
        } else if self.step == 0 {
            self.each_raw(|raw| to(line.wrapping_add(raw.wrapping_mul(self.scale))));
        } else {
            self.each_raw(|raw| {
                to(line.wrapping_add(raw.wrapping_mul(self.scale)));
                line = line.wrapping_add(self.step);
            });
        }
    }

    /// Gives each number as it is packed.
    #[inline]
    fn each_raw(&self, mut to: impl FnMut(u64)) {
        let (bits, mask) = (self.bits, u64::MAX >> (64 - self.bits));
        if bits < 64 && 64 % bits == 0 {
            for word in &self.words[..BLOCK * bits as usize / 64] {
                let mut word = *word;
                for _ in 0..64 / bits {
                    to(word & mask);
                    word >>= bits;
                }
            }
            return;
        }
        let mut words = self.words.iter();
        let mut low = words.next().copied().unwrap_or(0);
        let mut high = words.next().copied().unwrap_or(0);
        let mut shift = 0;
        for _ in 0..BLOCK {
            let raw = (low >> shift | high << 1 << (63 - shift)) & mask;
            shift += bits;
            if shift >= 64 {
                shift -= 64;
                low = high;
                high = words.next().copied().unwrap_or(0);
            }
            to(raw);
        }
    }
}

/// So many numbers, of so many bits each, one behind the other, and a word so that each has one behind its own.
fn packed(count: usize, bits: u32, of: impl Fn(usize) -> u64) -> Box<[u64]> {
    if bits == 0 {
        return Box::default();
    }
    let mut words = Vec::with_capacity((count * bits as usize).div_ceil(64) + 1);
    let (mut word, mut shift) = (0, 0);
    for at in 0..count {
        let value = of(at);
        word |= value << shift;
        shift += bits;
        if shift >= 64 {
            words.push(word);
            shift -= 64;
            // What of the number did not fit.
            word = if shift == 0 { 0 } else { value >> (bits - shift) };
        }
    }
    words.push(word);
    words.resize(words.capacity(), 0);
    words.into()
}
