//! `x509`: keys, signing requests and certificates.
//!
//! Keys are created and used by the target's own `openssl` (3.0 or newer); certificates are parsed here.

mod asn1;
mod certificate;
mod extensions;
mod functions;
mod key;
mod managed;
mod openssl;
mod parsed;
mod place;
mod states;
mod subject;

use super::{CatalogFunction, Function, StateEntry, entry, state};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<functions::CreateCertificate>(),
    entry::<functions::CreateCsr>(),
    entry::<functions::CreatePrivateKey>(),
    entry::<functions::Expires>(),
    entry::<functions::GetPemEntry>(),
    entry::<functions::GetPrivateKeySize>(),
    entry::<functions::GetPublicKey>(),
    entry::<functions::ReadCertificate>(),
    entry::<functions::ReadCsr>(),
    entry::<functions::VerifyPrivateKey>(),
    entry::<functions::VerifySignature>(),
    entry::<functions::WillExpire>(),
];

pub const STATES: &[StateEntry] = &[
    state::<managed::CertificateManaged>(),
    state::<managed::CsrManaged>(),
    state::<states::PemManaged>(),
    state::<states::PrivateKeyManaged>(),
];
