timezone: Europe/Berlin

# Where packages come from: your mirror. A repository with a key of its own has its text as `key`, which is written
# to `keyring`.
repository:
  url: http://mirror.example.org/debian
  suite: bookworm
  components: main
  keyring: /usr/share/keyrings/debian-archive-keyring.gpg

sysctl:
  net.core.somaxconn: 1024
  net.ipv4.tcp_syncookies: 1
  net.ipv4.conf.all.accept_redirects: 0
  net.ipv4.conf.all.rp_filter: 1

# Open to everybody; all else is closed.
firewall:
  tcp: [22, 80]
