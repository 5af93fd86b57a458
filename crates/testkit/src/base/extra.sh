# Installs packages over a base root, in a mount namespace of its own; what is new stays in the layer.
# Arguments: the base root, the (empty) layer, a line for sources.list or nothing, a directory or nothing, the packages.
# With the directory they are only fetched, into it, with all that they need beyond the base.
base=$1 layer=$2 source=$3 fetched=$4
shift 4
mount --make-rprivate /
scratch=$layer.scratch
rm -rf "$scratch"
mkdir -p "$scratch/work" "$scratch/root"
mount -t overlay overlay -o "lowerdir=$base,upperdir=$layer,workdir=$scratch/work" "$scratch/root"
root=$scratch/root
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/var/lib/apt/lists"
mount -t tmpfs tmpfs "$root/var/cache/apt"
mkdir -p "$root/var/lib/apt/lists/partial" "$root/var/cache/apt/archives/partial"
if [ -e "$root/etc/resolv.conf" ] && [ -e /etc/resolv.conf ]; then
  mount --bind /etc/resolv.conf "$root/etc/resolv.conf"
fi
cp "$root/etc/apt/sources.list" "$root/tmp/sources.list"
[ -z "$source" ] || echo "$source" >"$root/tmp/sources.list"
# Nothing is to be started: there is no machine yet.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
export DEBIAN_FRONTEND=noninteractive LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin
options='-q -o APT::Sandbox::User=root -o Dir::Etc::sourcelist=/tmp/sources.list -o Dir::Etc::sourceparts=/dev/null'
chroot "$root" apt-get $options update
if [ -n "$fetched" ]; then
  mount --bind "$fetched" "$root/var/cache/apt/archives"
  mkdir "$fetched/partial"
  options="$options --download-only"
fi
chroot "$root" apt-get $options --yes --no-install-recommends install "$@" </dev/null
if [ -n "$fetched" ]; then
  rm -rf "$fetched/partial" "$fetched/lock"
  umount -R "$root"
  rm -rf "$scratch"
  exit
fi
rm -f "$root/usr/sbin/policy-rc.d" "$root"/var/log/apt/* "$root/var/log/dpkg.log" "$root/var/log/alternatives.log"
rm -rf "$root"/usr/share/doc/* "$root"/usr/share/man/* "$root"/usr/share/locale/*
umount -R "$root"
rm -rf "$scratch"
