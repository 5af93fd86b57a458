//! [`Crc`]: CRC-32, the checksum of zip archives.

pub struct Crc(u32);

impl Crc {
    pub fn new() -> Crc {
        Crc(!0)
    }

    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = crc_step(self.0, *byte);
        }
    }

    pub fn end(&self) -> u32 {
        !self.0
    }
}

/// Adds one byte to a checksum.
pub fn crc_step(sum: u32, byte: u8) -> u32 {
    const TABLE: [u32; 256] = table();
    TABLE[((sum ^ u32::from(byte)) & 0xff) as usize] ^ (sum >> 8)
}

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut sum = index as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 1 { 0xedb8_8320 ^ (sum >> 1) } else { sum >> 1 };
            bit += 1;
        }
        table[index] = sum;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_zip() {
        let mut crc = Crc::new();
        crc.add(b"123456789");
        assert_eq!(crc.end(), 0xcbf4_3926);
    }
}
