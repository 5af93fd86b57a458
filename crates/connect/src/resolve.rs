//! Resolves a host name to its addresses.

use std::net::{IpAddr, SocketAddr};

use rocksalt_core::link::{LinkFailure, Stage};

/// All addresses of a name, in the order to try them.
pub async fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, LinkFailure> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let found = if cfg!(all(target_feature = "crt-static", target_env = "gnu")) {
        // A static glibc can't load the system's name service modules, but `getent` can.
        ask_getent(host, port).await
    } else {
        tokio::net::lookup_host((host, port)).await.map(Iterator::collect).map_err(|error| error.to_string())
    };
    let failure = |text: String| {
        LinkFailure::new(Stage::Resolve, text)
            .hint("is the name right? an address can be given as `host` in the roster")
    };
    match found {
        Ok(addresses) if addresses.is_empty() => Err(failure(format!("'{host}' has no address"))),
        Ok(addresses) => {
            tracing::debug!(host, ?addresses, "resolved the host name");
            Ok(addresses)
        }
        Err(reason) => Err(failure(format!("can't find the address of '{host}': {reason}"))),
    }
}

async fn ask_getent(host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let output = tokio::process::Command::new("getent").args(["ahosts", "--", host]).output();
    let output = output.await.map_err(|error| format!("can't run getent: {error}"))?;
    let mut addresses = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let address = line.split_whitespace().next().and_then(|word| word.parse::<IpAddr>().ok());
        if let Some(address) = address.map(|address| SocketAddr::new(address, port))
            && !addresses.contains(&address)
        {
            addresses.push(address);
        }
    }
    Ok(addresses)
}
