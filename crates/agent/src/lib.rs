//! The program on the target: answers calls over stdin and stdout.
