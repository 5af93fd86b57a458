//! Options of the target, which follow the jump in a rule.

/// In Salt's order.
#[rustfmt::skip]
pub const AFTER_JUMP: [&str; 120] = [
    "j", "jump",
    // Options of iptables itself.
    "add-set", "and-mark", "and-tos", "checksum-fill", "clamp-mss-to-pmtu", "clustermac", "ctevents", "ctmask",
    "del-set", "ecn-tcp-remove", "exist", "expevents", "gateway", "hash-init", "hashmode", "helper", "label",
    "local-node", "log-ip-options", "log-level", "log-prefix", "log-tcp-options", "log-tcp-sequence", "log-uid",
    "map-set", "mask", "mss", "new", "nfmask", "nflog-group", "nflog-prefix", "nflog-range", "nflog-threshold",
    "nodst", "notrack", "on-ip", "on-port", "or-mark", "or-tos", "persistent", "queue-balance", "queue-bypass",
    "queue-num", "random", "random-fully", "rateest-ewmalog", "rateest-interval", "rateest-name", "reject-with",
    "restore", "restore-mark", "sack-perm", "save-mark", "selctx", "set-class", "set-dscp", "set-dscp-class",
    "set-mark", "set-mss", "set-tos", "set-xmark", "strip-options", "timeout", "timestamp", "to", "to-destination",
    "to-ports", "to-source", "total-nodes", "tproxy-mark", "ttl-dec", "ttl-inc", "ttl-set", "type", "ulog-cprange",
    "ulog-nlgroup", "ulog-prefix", "ulog-qthreshold", "wscale", "xor-mark", "xor-tos", "zone", "zone-orig",
    "zone-reply",
    // Options of its extensions.
    "dst-pfx", "hl-dec", "hl-inc", "hl-set", "hmark-dport-mask", "hmark-dst-prefix", "hmark-mod", "hmark-offset",
    "hmark-proto-mask", "hmark-rnd", "hmark-spi-mask", "hmark-sport-mask", "hmark-src-prefix", "hmark-tuple",
    "led-always-blink", "led-delay", "led-trigger-id", "queue-cpu-fanout", "src-pfx",
    "to-port",
    // Options of xtables-addons.
    "addr", "and-mask", "delude", "honeypot", "or-mask", "prefix", "reset", "reuse", "set-mac", "shift", "static",
    "tarpit", "tname", "ttl",
];
