//! Python's `random.Random`: the same seed must yield the same minute of the hour as in Salt.

use super::digest;

const SIZE: usize = 624;
const MIDDLE: usize = 397;

/// The Mersenne Twister, MT19937.
pub struct Random {
    state: [u32; SIZE],
    next: usize,
}

impl Random {
    /// Seeds as `random.seed(text)` does.
    pub fn from_text(text: &str) -> Random {
        let mut bytes = text.as_bytes().to_vec();
        bytes.extend(digest::raw(digest::DigestAlgorithm::Sha512, text.as_bytes()));
        Random::from_number(&bytes)
    }

    /// Seeds as `random.seed(number)` does; the sign is ignored.
    pub fn from_integer(number: i64) -> Random {
        Random::from_number(&number.unsigned_abs().to_be_bytes())
    }

    /// Seeds from a number's bytes, the most significant first.
    fn from_number(bytes: &[u8]) -> Random {
        let mut words: Vec<u32> =
            bytes.rchunks(4).map(|part| part.iter().fold(0, |word, byte| (word << 8) | u32::from(*byte))).collect();
        while words.len() > 1 && words.last() == Some(&0) {
            words.pop();
        }
        Random::from_words(&words)
    }

    /// Seeds from random bytes of the machine.
    pub fn from_bytes(bytes: &[u8]) -> Random {
        Random::from_number(bytes)
    }

    fn plain(seed: u32) -> Random {
        let mut state = [seed; SIZE];
        for index in 1..SIZE {
            let before = state[index - 1];
            state[index] = 1_812_433_253_u32.wrapping_mul(before ^ (before >> 30)).wrapping_add(index as u32);
        }
        Random { state, next: SIZE }
    }

    fn from_words(words: &[u32]) -> Random {
        let mut random = Random::plain(19_650_218);
        let state = &mut random.state;
        let (mut place, mut word) = (1, 0);
        for _ in 0..SIZE.max(words.len()) {
            let before = state[place - 1];
            let mixed = state[place] ^ (before ^ (before >> 30)).wrapping_mul(1_664_525);
            state[place] = mixed.wrapping_add(words[word]).wrapping_add(word as u32);
            (place, word) = (place + 1, (word + 1) % words.len());
            if place >= SIZE {
                state[0] = state[SIZE - 1];
                place = 1;
            }
        }
        for _ in 1..SIZE {
            let before = state[place - 1];
            let mixed = state[place] ^ (before ^ (before >> 30)).wrapping_mul(1_566_083_941);
            state[place] = mixed.wrapping_sub(place as u32);
            place += 1;
            if place >= SIZE {
                state[0] = state[SIZE - 1];
                place = 1;
            }
        }
        state[0] = 0x8000_0000;
        random
    }

    fn word(&mut self) -> u32 {
        if self.next >= SIZE {
            for index in 0..SIZE {
                let joined = (self.state[index] & 0x8000_0000) | (self.state[(index + 1) % SIZE] & 0x7fff_ffff);
                let twist = if joined & 1 == 0 { 0 } else { 0x9908_b0df };
                self.state[index] = self.state[(index + MIDDLE) % SIZE] ^ (joined >> 1) ^ twist;
            }
            self.next = 0;
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    fn bits(&mut self, mut count: u32) -> u64 {
        let (mut bits, mut shift) = (0, 0);
        while count > 0 {
            let word = if count < 32 { self.word() >> (32 - count) } else { self.word() };
            bits |= u64::from(word) << shift;
            (shift, count) = (shift + 32, count.saturating_sub(32));
        }
        bits
    }

    /// A number below the limit, uniformly distributed; 0 if there is none.
    pub fn below(&mut self, limit: u64) -> u64 {
        if limit == 0 {
            return 0;
        }
        let length = u64::BITS - limit.leading_zeros();
        loop {
            let bits = self.bits(length);
            if bits < limit {
                return bits;
            }
        }
    }

    /// A sample of a list's items without repetition, in random order.
    pub fn sample<T: Clone>(&mut self, items: &[T], size: usize) -> Vec<T> {
        let size = size.min(items.len());
        // For small samples Python draws positions until it finds unused ones.
        let mut limit = 21;
        if size > 5 {
            let mut power = 1;
            while power < size * 3 {
                power *= 4;
            }
            limit += power;
        }
        if items.len() <= limit {
            let mut pool = items.to_vec();
            return (0..size)
                .map(|index| {
                    let left = pool.len() - index;
                    let chosen = self.below(left as u64) as usize;
                    pool.swap(chosen, left - 1);
                    pool[left - 1].clone()
                })
                .collect();
        }
        let mut taken = std::collections::HashSet::new();
        let mut place = || loop {
            let chosen = self.below(items.len() as u64) as usize;
            if taken.insert(chosen) {
                return items[chosen].clone();
            }
        };
        (0..size).map(|_| place()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from Python 3's `random`.
    #[test]
    fn numbers_are_pythons() {
        let mut random = Random::from_text("web1");
        assert_eq!([random.below(60), random.below(60), random.below(1000), random.below(1 << 40)], SEEDED);
        let mut random = Random::from_integer(42);
        assert_eq!([random.below(10), random.below(10), random.below(100)], [1, 0, 94]);
        let items: Vec<u32> = (0..10).collect();
        assert_eq!(Random::from_integer(7).sample(&items, 4), SAMPLE_OF_FEW);
        let items: Vec<u32> = (0..100).collect();
        assert_eq!(Random::from_integer(7).sample(&items, 4), SAMPLE_OF_MANY);
    }

    const SEEDED: [u64; 4] = [52, 20, 267, 750615705911];
    const SAMPLE_OF_FEW: [u32; 4] = [5, 2, 6, 9];
    const SAMPLE_OF_MANY: [u32; 4] = [41, 19, 50, 83];
}
