# The first process of a throw-away host, in new namespaces.
# Arguments: the host's directory, its base root, its name, its addresses with prefix lengths, and the layer with its
# further packages, if there is one.
# The host's changes live in a tmpfs: of its own mount namespace, so that they go when its last process does; or of one
# around it (`power.sh`), where they outlast its restarts.
set -e
directory=$1 base=$2 hostname=$3 addresses=$4 extra=$5
noexec() { # keeps what is there
  mkdir -p "$1"
  mount --bind "$1" "$1"
  mount -o remount,bind,noexec,nosuid "$1"
}
show() { # a directory of this machine
  mkdir -p "$2"
  mount --bind "$1" "$2"
  mount -o remount,bind,ro "$2"
}
fill() {
  mount -t tmpfs -o size=64k,mode="$(stat -c %a "$1")" tmpfs "$1"
  mkdir -p "$1/sshd" && chmod 755 "$1/sshd"
  if [ "$1" = home ]; then
    for user in deploy ops nosudo; do cp -a "$base/home/$user" home/; done
  fi
  dd if=/dev/zero of="$1/.full" bs=1k 2>/dev/null || true
}
{
  printf 'addr replace %s dev eth0\n' $addresses
  printf 'link set eth0 up\nlink set lo up\n'
} | ip -batch -
mount --make-rprivate /
mkdir -p "$directory/scratch" "$directory/root"
if [ ! -d "$directory/scratch/upper" ]; then
  mount -t tmpfs -o mode=755 tmpfs "$directory/scratch"
  mkdir "$directory/scratch/upper" "$directory/scratch/work"
fi
mount -t overlay overlay \
  -o "lowerdir=$directory/layer:${extra:+$extra:}$base,upperdir=$directory/scratch/upper,workdir=$directory/scratch/work" "$directory/root"
cd "$directory/root"
mount -t proc proc proc
# Each start has a name of its own, though the kernel is the machine's.
cat proc/sys/kernel/random/uuid >"$directory/scratch/boot_id"
mount --bind "$directory/scratch/boot_id" proc/sys/kernel/random/boot_id
mount -t sysfs -o ro sysfs sys
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mkdir -p run/sshd
hostname "$hostname"
if [ -n "$CGROUP" ]; then
  mount -t cgroup2 cgroup2 sys/fs/cgroup
  # A plain file, or systemd would print on the machine's console.
  rm -f dev/console
  touch dev/console
fi
. "$directory/setup"
start=$(cat "$directory/start")
pivot_root . mnt
umount -l /mnt
cd /
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin $start
