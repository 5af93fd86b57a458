# Run in the new root. Users: deploy (sudo, su, doas with a password), ops (sudo and doas without), nosudo (neither).
for user in deploy ops nosudo; do
  useradd --create-home --shell /bin/bash "$user"
done
# Cheap hashes: what is measured is the product, not crypt.
for user in root deploy ops nosudo; do
  echo "$user:$user-password"
done | chpasswd --crypt-method SHA256
echo 'deploy ALL=(ALL:ALL) ALL' >/etc/sudoers.d/deploy
echo 'ops ALL=(ALL:ALL) NOPASSWD: ALL' >/etc/sudoers.d/ops
chmod 440 /etc/sudoers.d/*
printf 'permit deploy\npermit nopass ops\n' >/etc/doas.conf
chmod 400 /etc/doas.conf
rm -f /etc/ssh/ssh_host_*
mkdir -p /etc/ssh/authorized_keys
# Not needed once all is unpacked, and two thirds of the root's files.
apt-get clean
rm -rf /usr/share/doc /usr/share/man /usr/share/locale /var/lib/apt/lists/*
