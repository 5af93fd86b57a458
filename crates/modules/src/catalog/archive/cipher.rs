//! [`Cipher`]: the traditional encryption of zip archives, the only one that Salt can read.

use super::crc::crc_step;

pub struct Cipher {
    keys: [u32; 3],
}

impl Cipher {
    pub fn new(password: &[u8]) -> Cipher {
        let mut cipher = Cipher { keys: [0x1234_5678, 0x2345_6789, 0x3456_7890] };
        password.iter().for_each(|byte| cipher.update(*byte));
        cipher
    }

    pub fn decrypt(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            let value = (self.keys[2] | 2) & 0xffff;
            *byte ^= (value.wrapping_mul(value ^ 1) >> 8) as u8;
            self.update(*byte);
        }
    }

    fn update(&mut self, byte: u8) {
        self.keys[0] = crc_step(self.keys[0], byte);
        self.keys[1] = self.keys[1].wrapping_add(self.keys[0] & 0xff).wrapping_mul(134_775_813).wrapping_add(1);
        self.keys[2] = crc_step(self.keys[2], (self.keys[1] >> 24) as u8);
    }
}
