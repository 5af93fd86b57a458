//! Bytes of a hostile peer: never a panic, and what decodes must survive another trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rocksalt_core::frame::{Decoder, encode};

fuzz_target!(|input: &[u8]| {
    // The first byte says where the bytes are split, as a pipe would.
    let Some((&split, bytes)) = input.split_first() else { return };
    let (first, second) = bytes.split_at(usize::from(split).min(bytes.len()));
    let mut decoder = Decoder::new();
    for part in [first, second] {
        decoder.push(part);
        while let Ok(Some(frame)) = decoder.next_frame() {
            let mut again = Vec::new();
            encode(&frame, &mut again).expect("what was read can be written");
            let mut other = Decoder::new();
            other.push(&again);
            let back = other.next_frame().expect("what was written can be read").expect("it is whole");
            assert_eq!(back, frame);
        }
    }
});
