//! `ldap` against a real directory: Debian's slapd, on loopback, with TLS.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rocksalt_core::Secret;
use rocksalt_daemon::access::Rights;
use rocksalt_daemon::audit::Audit;
use rocksalt_daemon::auth::{Auth, Credentials, Settings};
use rocksalt_daemon::requests::RefusalKind;

use super::fixture::{self, map};

const PACKAGES: [&str; 6] = ["libldap-2.5-0", "libltdl7", "libodbc2", "libsasl2-2", "libwrap0", "slapd"];

const ENTRIES: &str = "\
dn: dc=example,dc=com
objectClass: dcObject
objectClass: organization
o: example
dc: example

dn: ou=People,dc=example,dc=com
objectClass: organizationalUnit
ou: People

dn: ou=Groups,dc=example,dc=com
objectClass: organizationalUnit
ou: Groups

dn: uid=fred,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
uid: fred
cn: Fred
sn: Fred
userPassword: freds password

dn: uid=a*(b),ou=People,dc=example,dc=com
objectClass: inetOrgPerson
uid: a*(b)
cn: Odd
sn: Odd
userPassword: odds password

dn: uid=twin,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
uid: twin
cn: Twin
sn: Twin
userPassword: twins password

dn: cn=again,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
uid: twin
cn: again
sn: Twin
userPassword: twins password

dn: cn=ops,ou=Groups,dc=example,dc=com
objectClass: posixGroup
cn: ops
gidNumber: 100
memberUid: fred
memberUid: a*(b)

dn: cn=dev,ou=Groups,dc=example,dc=com
objectClass: posixGroup
cn: dev
gidNumber: 101
memberUid: twin

dn: cn=named,ou=Groups,dc=example,dc=com
objectClass: groupOfNames
cn: named
member: uid=fred,ou=People,dc=example,dc=com
";

struct Directory {
    slapd: Child,
    plain: u16,
    tls: u16,
    place: tempfile::TempDir,
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = self.slapd.kill();
        let _ = self.slapd.wait();
    }
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

fn program(root: &Path, name: &str) -> Command {
    let triple = if cfg!(target_arch = "aarch64") { "aarch64-linux-gnu" } else { "x86_64-linux-gnu" };
    let mut command = Command::new(root.join("usr/sbin").join(name));
    command.env("LD_LIBRARY_PATH", root.join("usr/lib").join(triple));
    command
}

/// A certificate for this machine's own name, and the authority that signed it.
fn certificates(place: &Path) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority");
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).expect("names");
    let certificate = params.signed_by(&key, &authority).expect("a certificate");
    fs::write(place.join("ca.pem"), authority.pem()).expect("a file");
    fs::write(place.join("cert.pem"), certificate.pem()).expect("a file");
    fs::write(place.join("key.pem"), key.serialize_pem()).expect("a file");
    let other = KeyPair::generate().expect("a key");
    let other =
        CertificateParams::new(vec!["localhost".to_owned()]).expect("names").self_signed(&other).expect("another");
    fs::write(place.join("other.pem"), other.pem()).expect("a file");
}

fn start() -> Directory {
    let root: PathBuf = rocksalt_testkit::unpacked("slapd", &PACKAGES).unwrap_or_else(|error| panic!("{error}"));
    let place = fixture::directory();
    let at = place.path();
    certificates(at);
    fs::create_dir(at.join("db")).expect("a directory");
    let schemas: String = ["core", "cosine", "nis", "inetorgperson"]
        .map(|name| format!("include {}/etc/ldap/schema/{name}.schema\n", root.display()))
        .concat();
    let (root_text, at_text) = (root.display(), at.display());
    let config = format!(
        "{schemas}modulepath {root_text}/usr/lib/ldap\nmoduleload back_mdb\n\
         TLSCACertificateFile {at_text}/ca.pem\nTLSCertificateFile {at_text}/cert.pem\n\
         TLSCertificateKeyFile {at_text}/key.pem\n\
         database mdb\nsuffix \"dc=example,dc=com\"\ndirectory {at_text}/db\n\
         rootdn \"cn=admin,dc=example,dc=com\"\nrootpw admins-password\n\
         access to attrs=userPassword by anonymous auth by * none\naccess to * by users read by * none\n"
    );
    fs::write(at.join("slapd.conf"), config).expect("a file");
    fs::write(at.join("entries.ldif"), ENTRIES).expect("a file");
    let added = program(&root, "slapd")
        .args(["-T", "add", "-f"])
        .arg(at.join("slapd.conf"))
        .arg("-l")
        .arg(at.join("entries.ldif"))
        .output()
        .expect("slapadd starts");
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    let (plain, tls) = (free_port(), free_port());
    let slapd = program(&root, "slapd")
        .args(["-d", "0", "-h", &format!("ldap://127.0.0.1:{plain} ldaps://127.0.0.1:{tls}"), "-f"])
        .arg(at.join("slapd.conf"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("slapd starts");
    let limit = Instant::now() + Duration::from_secs(30);
    while TcpStream::connect(("127.0.0.1", tls)).is_err() {
        assert!(Instant::now() < limit, "slapd does not listen");
        std::thread::sleep(Duration::from_millis(50));
    }
    Directory { slapd, plain, tls, place }
}

impl Directory {
    async fn auth(&self, config: &str) -> Auth {
        let config = format!(
            "external_auth: {{ldap: {{fred: ['.*'], 'ops%': [test.ping]}}}}\n\
             auth.ldap.basedn: dc=example,dc=com\n{config}"
        );
        let settings = Settings::read(&map(&config), self.place.path(), Path::new("users")).expect("settings");
        assert_eq!(settings.warnings(), Vec::<String>::new());
        Auth::open(fixture::store().await, Arc::new(settings), Audit::default())
    }
}

/// The groups, or the kind of refusal.
async fn login(auth: &Auth, user: &str, password: &str) -> Result<Vec<String>, RefusalKind> {
    let password = Secret::new(password.to_owned());
    let credentials = Credentials { user: user.into(), password, eauth: "ldap".into(), token_expire: None };
    match auth.verify(&credentials, None).await.map(|caller| caller.rights) {
        Ok(Rights::Listed { groups }) => Ok(groups),
        Ok(other) => panic!("{other:?}"),
        Err(refusal) => Err(refusal.kind),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_proves_who_somebody_is() {
    let directory = tokio::task::spawn_blocking(start).await.expect("a directory");
    let (plain, tls) = (directory.plain, directory.tls);
    let search = "auth.ldap.binddn: 'cn=admin,dc=example,dc=com'\nauth.ldap.bindpw: admins-password\n\
                  auth.ldap.filter: 'uid={{ username }}'\n";
    let wrong = Err(RefusalKind::Unauthenticated);

    // The user's entry is searched for, over each kind of connection.
    for way in [
        format!("auth.ldap.server: 127.0.0.1\nauth.ldap.port: {plain}\n"),
        format!("auth.ldap.uri: ldaps://localhost:{tls}\nauth.ldap.ca_file: ca.pem\n"),
        format!("auth.ldap.uri: ldap://localhost:{plain}\nauth.ldap.starttls: true\nauth.ldap.ca_file: ca.pem\n"),
    ] {
        let auth = directory.auth(&format!("{search}{way}")).await;
        assert_eq!(login(&auth, "fred", "freds password").await, Ok(vec!["ops".to_owned()]), "{way}");
        assert_eq!(login(&auth, "fred", "wrong").await, wrong, "{way}");
    }

    // Names and passwords that must fail.
    let here = format!("{search}auth.ldap.server: 127.0.0.1\nauth.ldap.port: {plain}\n");
    let auth = directory.auth(&here).await;
    assert_eq!(login(&auth, "fred", "").await, wrong, "a bind without a password proves nothing");
    assert_eq!(login(&auth, "nobody", "freds password").await, wrong);
    assert_eq!(login(&auth, "fre*", "freds password").await, wrong, "a name is no pattern");
    assert_eq!(login(&auth, "*)(uid=fred", "freds password").await, wrong, "and no filter");
    assert_eq!(login(&auth, "a*(b)", "odds password").await, Ok(vec!["ops".to_owned()]), "and may be odd");
    assert_eq!(login(&auth, "twin", "twins password").await, wrong, "two entries are nobody");

    // Binds with the user's own DN, without a search account.
    let own =
        format!("auth.ldap.binddn: 'uid={{{{ username }}}},ou=People,dc=example,dc=com'\nauth.ldap.port: {plain}\n");
    let auth = directory.auth(&own).await;
    assert_eq!(login(&auth, "fred", "freds password").await, Ok(vec!["ops".to_owned()]));
    assert_eq!(login(&auth, "fred,ou=People", "freds password").await, wrong);
    assert_eq!(login(&auth, "fred", "x").await, wrong);

    // Groups that list members by DN, and a base for groups that doesn't exist.
    let active =
        "auth.ldap.activedirectory: true\nauth.ldap.accountattributename: uid\nauth.ldap.groupclass: groupOfNames\n";
    let auth = directory.auth(&format!("{here}{active}")).await;
    assert_eq!(login(&auth, "fred", "freds password").await, Ok(vec!["named".to_owned()]));
    let auth = directory.auth(&format!("{here}auth.ldap.groupou: Nowhere\n")).await;
    assert_eq!(login(&auth, "fred", "freds password").await, Ok(Vec::new()));

    // A directory that is not trusted or not reachable is reported as unavailable.
    for way in [
        format!("auth.ldap.uri: ldaps://localhost:{tls}\nauth.ldap.ca_file: other.pem\n"),
        format!("auth.ldap.uri: ldap://localhost:{plain}\nauth.ldap.starttls: true\nauth.ldap.ca_file: other.pem\n"),
        format!("auth.ldap.uri: ldap://127.0.0.1:{}\n", free_port()),
    ] {
        let auth = directory.auth(&format!("{search}{way}")).await;
        assert_eq!(login(&auth, "fred", "freds password").await, Err(RefusalKind::Unavailable), "{way}");
    }
    let auth = directory.auth(&here.replace("admins-password", "another")).await;
    assert_eq!(login(&auth, "fred", "freds password").await, Err(RefusalKind::Unavailable));
}
